//! An embedded cluster in place of real processes.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;
use lockstep_sandbox::cluster::{Cluster as Sandbox, Listening, Setup};

use super::access::client_from;
use super::{Cluster, ClusterError};
use crate::build::{Part, Programs};
use crate::process::Supervisor;
use crate::say;

/// The embedded cluster, and the way in for other processes.
#[derive(Debug)]
pub(super) struct Embedded {
    supervisor: Supervisor,
    _listening: Listening,
    _sandbox: Sandbox,
    dir: PathBuf,
    /// Those of a real control plane, for its clients.
    programs: Option<Programs>,
}

impl Embedded {
    pub fn programs(&self) -> Option<&Programs> {
        self.programs.as_ref()
    }

    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Starts an embedded cluster that has a port, since operators are processes.
pub(super) async fn start(dir: &Path) -> Result<Cluster, ClusterError> {
    let keep = std::env::var_os("LOCKSTEP_KEEP").is_some();
    let supervisor = Supervisor::start(dir, keep).map_err(ClusterError::file(dir))?;
    let sandbox = Sandbox::start(Setup::now());
    let listening = sandbox.listen(0).await.map_err(ClusterError::access("listen"))?;
    let kubeconfig = dir.join("admin.kubeconfig");
    let text = listening.access.kubeconfig("embedded");
    std::fs::write(&kubeconfig, text).map_err(ClusterError::file(&kubeconfig))?;
    let config = Kubeconfig::read_from(&kubeconfig).map_err(ClusterError::access("the embedded cluster"))?;
    let client = client_from(config, "lockstep-testkit", "the embedded cluster").await?;
    let programs = tokio::task::spawn_blocking(|| Programs::of(Part::Kubernetes, &mut say).ok()).await;
    let programs = programs.ok().flatten();
    let embedded =
        Embedded { supervisor, _listening: listening, _sandbox: sandbox, dir: dir.to_owned(), programs };
    Ok(Cluster { kubelet: None, client, kubeconfig, guest: None, ours: None, embedded: Some(embedded) })
}
