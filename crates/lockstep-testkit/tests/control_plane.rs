//! A control plane of real processes: starts, stops, comes back, and leaves nothing behind.

use std::time::Instant;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use lockstep_testkit::Cluster;

#[tokio::test]
async fn it_starts() {
    let t = Instant::now();
    let cluster = Cluster::start().await.expect("starts");
    eprintln!("started in {:?}", t.elapsed());
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let names: Vec<_> = namespaces.list(&Default::default()).await.unwrap().items;
    eprintln!("{} {:?}", names.len(), cluster.dir());
    let dir = cluster.dir().unwrap().to_owned();
    let t = Instant::now();
    drop(cluster);
    eprintln!("stopped in {:?}", t.elapsed());
    assert!(!dir.exists());
}
