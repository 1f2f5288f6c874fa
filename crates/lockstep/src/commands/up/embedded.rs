//! A cluster of our own: the embedded one, with nodes that a kubelet stand-in plays.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::FutureExt;
use kube::Client;
use lockstep_kubelet::{Kubelet, NodeGroup, Options};
use lockstep_sandbox::cluster::data::Data;
use lockstep_sandbox::cluster::{Cluster, Setup};
use tokio::task::JoinHandle;

use super::cluster::{NodeSwitch, Running, StartOptions};
use super::stand_ins::StandIns;

/// What is held is written so long after it changed, so that a storm of changes is written once.
const REST: Duration = Duration::from_secs(1);

/// Starts a cluster of our own.
pub async fn start(options: &StartOptions) -> Result<Running> {
    let data = options.data.as_deref().map(Data::read).transpose()?.flatten();
    let cluster = Cluster::start(Setup { data, ..Setup::now() });
    let listening = cluster.listen(options.port.unwrap_or(0)).await?;
    let kubeconfig = Kubeconfig::write(&listening.access.kubeconfig("lockstep"))?;
    let path = kubeconfig.0.clone();
    let client = Client::new(cluster.service(), "default");
    let group = NodeGroup::new("node", options.nodes);
    let gpus = options.gpus.to_string();
    let group = if options.gpus > 0 { group.with_capacity("nvidia.com/gpu", &gpus) } else { group };
    group.create(&client).await.context("cannot make nodes")?;
    let kubelet = Kubelet::start(client.clone(), Options::default());
    let nodes: Rc<dyn NodeSwitch> = Rc::new(StandIns::new(client.clone()));
    let keeping = options.data.clone().map(|file| (tokio::spawn(keep(cluster.clone(), file.clone())), file));
    let end = async move {
        drop(kubelet);
        let kept = keeping.map(|(task, file)| finish(&task, &cluster, &file)).transpose();
        drop((listening, kubeconfig, cluster));
        kept.map(drop)
    };
    Ok(Running { client, kubeconfig: Some(path), scope: None, nodes: Some(nodes), end: Some(end.boxed_local()) })
}

/// Writes down what the cluster holds, again and again.
async fn keep(cluster: Cluster, file: PathBuf) {
    let mut changes = cluster.changes();
    loop {
        changes.next().await;
        tokio::time::sleep(REST).await;
        changes.catch_up();
        if let Err(error) = cluster.data().write(&file) {
            tracing::warn!(%error, "the cluster is not kept");
        }
    }
}

/// The last words are kept, too.
fn finish(task: &JoinHandle<()>, cluster: &Cluster, file: &Path) -> Result<()> {
    task.abort();
    Ok(cluster.data().write(file)?)
}

/// A kubeconfig that goes with the cluster.
struct Kubeconfig(PathBuf);

impl Kubeconfig {
    /// It holds a token: nobody else may read it.
    fn write(text: &str) -> Result<Self> {
        let name = format!("lockstep-up-{}.kubeconfig", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
