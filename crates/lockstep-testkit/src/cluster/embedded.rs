//! An embedded cluster in place of real processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use lockstep_sandbox::cluster::{Cluster as Sandbox, ListenError, Listening, Setup};
use tokio::runtime::{Builder, Runtime};

use super::{AGENT, Access, Cluster, ClusterError, Component, Credential};
use crate::build::{Part, Programs};
use crate::pki::Authority;
use crate::process::Supervisor;
use crate::say;

/// The embedded cluster, and the way in for other processes.
#[derive(Debug)]
pub(super) struct Embedded {
    supervisor: Supervisor,
    _listening: Listening,
    sandbox: Sandbox,
    access: Access,
    /// Whoever stands before it or is asked by it has a certificate of this authority. It is not that of its own.
    authority: Authority,
    dir: PathBuf,
    /// Those of a real control plane, for its clients.
    programs: Option<Programs>,
    _threads: Threads,
}

/// The threads it runs on. They are its own: a test that waits for a program must not keep the cluster from answering it.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        // A test is asynchronous, and may not wait for them.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
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

    pub fn access(&self) -> &Access {
        &self.access
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Its audit log, as a file has it.
    pub fn audit(&self) -> String {
        self.sandbox.audit()
    }
}

/// Starts an embedded cluster that has a port, since operators are processes.
pub(super) async fn start(
    dir: &Path,
    without: &[Component],
    node_grace: Duration,
) -> Result<Cluster, ClusterError> {
    let keep = std::env::var_os("LOCKSTEP_KEEP").is_some();
    let supervisor = Supervisor::start(dir, keep).map_err(ClusterError::file(dir))?;
    let without = without.iter().map(ToString::to_string).collect();
    let node_grace = SignedDuration::try_from(node_grace).unwrap_or(SignedDuration::MAX);
    let threads = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.map_err(ClusterError::access("have threads"))?;
    let started = threads.spawn(async move {
        let sandbox = Sandbox::start(Setup { audit: true, without, node_grace, ..Setup::now() });
        let listening = sandbox.listen(0).await?;
        Ok::<_, ListenError>((sandbox, listening))
    });
    let _threads = Threads(Some(threads));
    let (sandbox, listening) =
        started.await.map_err(ClusterError::access("start"))?.map_err(ClusterError::access("listen"))?;
    let access = Access {
        url: format!("https://{}", listening.access.address),
        ca_pem: listening.access.authority.clone(),
        credential: Credential::Token(listening.access.token.clone()),
    };
    let kubeconfig = dir.join("admin.kubeconfig");
    access.write(&kubeconfig)?;
    let client = access.client(AGENT).await?;
    let programs = tokio::task::spawn_blocking(|| Programs::of(Part::Kubernetes, &mut say).ok()).await;
    let programs = programs.ok().flatten();
    let authority = Authority::new("lockstep test")?;
    let dir = dir.to_owned();
    let _listening = listening;
    let embedded = Embedded { supervisor, _listening, sandbox, access, authority, dir, programs, _threads };
    Ok(Cluster { kubelet: None, client, kubeconfig, guest: None, ours: None, embedded: Some(embedded) })
}
