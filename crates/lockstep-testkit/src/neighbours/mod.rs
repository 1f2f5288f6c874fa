//! Other people's controllers as processes beside a cluster: built from their own modules, installed by their own
//! manifests, and otherwise as they are.

pub mod karmada;
pub mod kruise;
pub mod leader_worker_set;
mod manifests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::build::{Part, Programs};
use crate::cluster::{Cluster, ClusterError};
use crate::process::Process;
use crate::say;

/// How long a neighbour may take until it works.
const PATIENCE: Duration = Duration::from_secs(180);

/// How often one that is to come up is asked.
const ASK: Duration = Duration::from_millis(50);

/// A program of somebody else, for as long as the cluster is there.
#[derive(Debug)]
pub struct Neighbour {
    part: Part,
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    process: Mutex<Option<Process>>,
}

impl Neighbour {
    /// Where it writes what it says.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process().as_ref().map(Process::id)
    }

    /// Whether it has ended by itself, and its last words.
    pub fn ended(&self) -> Option<String> {
        let mut process = self.process();
        let process = process.as_mut()?;
        process.ended().map(|_| process.last_words())
    }

    /// Kills it on the spot.
    pub async fn kill(&self) {
        let process = self.process().take();
        if let Some(process) = process {
            process.kill().await;
        }
    }

    /// Starts it again beside the cluster it was started beside.
    pub fn start_again(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        let process = cluster.run(&self.program, &self.arguments, &self.log)?;
        *self.process() = Some(process);
        Ok(())
    }

    fn start(cluster: &Cluster, home: &Home, name: &str, flags: &[String]) -> Result<Self, ClusterError> {
        let program = home.programs.path(name)?;
        Self::run(cluster, home, name, program, flags.to_vec())
    }

    /// The same, with variables of the environment (`NAME=value`).
    fn start_in(
        cluster: &Cluster,
        home: &Home,
        name: &str,
        environment: &[String],
        flags: &[String],
    ) -> Result<Self, ClusterError> {
        let program = home.programs.path(name)?.display().to_string();
        let arguments = environment.iter().chain([&program]).chain(flags).cloned().collect();
        Self::run(cluster, home, name, "env".into(), arguments)
    }

    fn run(
        cluster: &Cluster,
        home: &Home,
        name: &str,
        program: PathBuf,
        arguments: Vec<String>,
    ) -> Result<Self, ClusterError> {
        let log = cluster.new_log(name);
        let process = Mutex::new(None);
        let neighbour = Self { part: home.part, program, arguments, log, process };
        neighbour.start_again(cluster)?;
        Ok(neighbour)
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it does what is asked. A neighbour that has ended is not waited for.
    async fn until(&self, asked: impl AsyncFn() -> Result<(), String>) -> Result<(), ClusterError> {
        let started = tokio::time::Instant::now();
        while let Err(reason) = asked().await {
            let what = format!("work with {}", self.part);
            if let Some(words) = self.ended() {
                return Err(ClusterError::Access { what, reason: format!("it ended by itself:\n{words}") });
            }
            if started.elapsed() > PATIENCE {
                return Err(ClusterError::Access { what, reason });
            }
            tokio::time::sleep(ASK).await;
        }
        Ok(())
    }
}

/// What a neighbour is installed from.
#[derive(Debug)]
struct Home {
    part: Part,
    programs: Programs,
    /// The folder of its main module, with its manifests.
    sources: PathBuf,
}

impl Home {
    /// Finds it, or builds it: that takes minutes, and others may want to go on meanwhile.
    async fn of(part: Part) -> Result<Self, ClusterError> {
        let find = move || {
            let programs = Programs::of(part, &mut say)?;
            let sources = programs.sources(part)?;
            Ok(Self { part, programs, sources })
        };
        tokio::task::spawn_blocking(find).await.map_err(ClusterError::access("build a neighbour"))?
    }
}

/// Where a neighbour's webhooks answer.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) port: u16,
    /// The folder with `tls.crt` and `tls.key`.
    pub(crate) certificates: PathBuf,
    /// Who signed them.
    pub(crate) ca_pem: String,
}

impl Door {
    /// A free port, and certificates in a folder of this name, for loopback and these DNS names.
    pub(crate) fn new(cluster: &Cluster, name: &str, known_as: &[&str]) -> Result<Self, ClusterError> {
        let (Some(authority), Some(dir)) = (cluster.authority(), cluster.dir()) else {
            let reason = "it is a cluster of the user's own".to_owned();
            return Err(ClusterError::Access { what: format!("put {name} beside the cluster"), reason });
        };
        let certificates = dir.join(format!("{name}-certs"));
        fs::create_dir_all(&certificates).map_err(ClusterError::file(&certificates))?;
        let identity = authority.serve(known_as)?;
        for (file, text) in [("tls.crt", &identity.certificate_pem), ("tls.key", &identity.key_pem)] {
            let path = certificates.join(file);
            fs::write(&path, text).map_err(ClusterError::file(&path))?;
        }
        let port = crate::cluster::free_port().map_err(ClusterError::file(Path::new("127.0.0.1")))?;
        Ok(Self { port, certificates, ca_pem: authority.certificate_pem().to_owned() })
    }
}
