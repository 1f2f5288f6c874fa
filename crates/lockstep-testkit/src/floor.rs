//! The floor: what a raw client takes for the same writes, on the same control plane, in the same run.
//!
//! A benchmark of ours that says "so many instances per second" means nothing alone; held against this it
//! says what Lockstep adds.

use std::fmt;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use lockstep_kubelet::annotations::STAND_IN;
use serde_json::json;

use crate::cluster::{Cluster, ClusterError};
use crate::pods::is_ready;

/// How long pods may take to be ready, or gone.
const PATIENCE: Duration = Duration::from_secs(300);

/// How fast a raw parallel client writes.
#[derive(Debug, Clone, Copy)]
pub struct Floor {
    /// How many pods were created and deleted.
    pub pods: usize,
    /// How many requests were under way at a time.
    pub parallel: usize,
    /// How long all creates took.
    pub creating: Duration,
    /// How long after the last create the last pod was ready.
    pub ready_after: Duration,
    /// How long all deletes took.
    pub deleting: Duration,
    /// How long after the last delete the last pod was gone.
    pub gone_after: Duration,
}

impl Floor {
    /// Creates per second.
    pub fn creates_per_second(&self) -> u64 {
        per_second(self.pods, self.creating)
    }

    /// Deletes per second.
    pub fn deletes_per_second(&self) -> u64 {
        per_second(self.pods, self.deleting)
    }

    /// Creates so many pods, waits until all are ready, and deletes them, so many requests at a time. The
    /// cluster must have nodes with room for them.
    pub async fn measure(cluster: &Cluster, pods: usize, parallel: usize) -> Result<Self, ClusterError> {
        let client = cluster.client();
        let stand_in = cluster.stand_in();
        let namespace = cluster.new_namespace("floor").await?;
        let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        let names: Vec<String> = (0..pods).map(|i| format!("floor-{i}")).collect();

        let began = Instant::now();
        let creating = stream::iter(&names)
            .map(|name| async { api.create(&PostParams::default(), &pod(name, stand_in)?).await.map(drop) })
            .buffer_unordered(parallel);
        creating.try_collect::<()>().await.map_err(ClusterError::api("create pods"))?;
        let creating = began.elapsed();

        let ready_after = until(&api, |all| all.iter().filter(|pod| is_ready(pod)).count() >= pods).await?;

        let began = Instant::now();
        let deleting = stream::iter(&names)
            .map(|name| async { api.delete(name, &DeleteParams::default()).await.map(drop) })
            .buffer_unordered(parallel);
        deleting.try_collect::<()>().await.map_err(ClusterError::api("delete pods"))?;
        let deleting = began.elapsed();

        let gone_after = until(&api, <[Pod]>::is_empty).await?;
        let namespaces: Api<Namespace> = Api::all(client);
        let deleted = namespaces.delete(&namespace, &DeleteParams::default()).await;
        deleted.map_err(ClusterError::api(format!("delete namespace {namespace}")))?;
        Ok(Self { pods, parallel, creating, ready_after, deleting, gone_after })
    }
}

fn per_second(count: usize, time: Duration) -> u64 {
    let micros = time.as_micros().max(1);
    u64::try_from(count as u128 * 1_000_000 / micros).unwrap_or(u64::MAX)
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "raw client, {} pods, {} requests at a time", self.pods, self.parallel)?;
        writeln!(
            f,
            "  creates/s  {:>6}   all ready {:.1?} after the last",
            self.creates_per_second(),
            self.ready_after
        )?;
        write!(
            f,
            "  deletes/s  {:>6}   all gone {:.1?} after the last",
            self.deletes_per_second(),
            self.gone_after
        )
    }
}

fn pod(name: &str, stand_in: &str) -> Result<Pod, kube::Error> {
    let manifest = json!({
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "floor"}],
            "nodeSelector": {STAND_IN: stand_in},
            "tolerations": [{"key": STAND_IN, "operator": "Exists"}],
        },
    });
    serde_json::from_value(manifest).map_err(kube::Error::SerdeError)
}

/// How long it takes until the pods are as wanted, by listing from the watch cache now and then: a watch of
/// our own would take part in what is measured.
async fn until(api: &Api<Pod>, wanted: impl Fn(&[Pod]) -> bool) -> Result<Duration, ClusterError> {
    let began = Instant::now();
    loop {
        let list = api.list(&kube::api::ListParams::default().match_any()).await;
        let list = list.map_err(ClusterError::api("list pods"))?;
        let waited = began.elapsed();
        if wanted(&list.items) {
            return Ok(waited);
        }
        if waited > PATIENCE {
            let reason = format!("{} pods are there, and not as wanted", list.items.len());
            return Err(ClusterError::Access { what: format!("go on after {waited:.0?}"), reason });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
