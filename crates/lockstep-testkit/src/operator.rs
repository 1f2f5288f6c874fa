//! The operator as a process beside a cluster: started, killed and started again as in real life.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cluster::{Cluster, ClusterError};
use crate::process::Process;

/// An operator that belongs to a cluster.
#[derive(Debug)]
pub struct Operator {
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    process: Option<Process>,
}

impl Operator {
    /// Where it writes what it says.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Kills it on the spot.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Asks it to end, and waits until it has.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(Duration::from_secs(10)).await;
        }
    }

    /// Starts it again.
    pub fn start(&mut self, cluster: &Cluster) -> Result<(), ClusterError> {
        self.process = Some(cluster.run(&self.program, &self.arguments, &self.log)?);
        Ok(())
    }

    /// Whether it has ended by itself, and its last words.
    pub fn ended(&mut self) -> Option<String> {
        let process = self.process.as_mut()?;
        process.ended().map(|_| process.last_words())
    }
}

impl Cluster {
    /// Makes our kinds known to the API server.
    pub async fn install_kinds(&self) -> Result<(), ClusterError> {
        for (_, definition) in lockstep_api::crd::all() {
            self.define(&definition).await?;
        }
        Ok(())
    }

    /// Starts an operator, after making our kinds known.
    pub async fn operator(&self, program: &str, more: &[&str]) -> Result<Operator, ClusterError> {
        self.install_kinds().await?;
        let kubeconfig = self.kubeconfig().to_owned();
        self.operator_through(program, &kubeconfig, more)
    }

    /// Starts an operator that goes by this kubeconfig: through a proxy, or with rights of its own.
    pub fn operator_through(
        &self,
        program: &str,
        kubeconfig: &Path,
        more: &[&str],
    ) -> Result<Operator, ClusterError> {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        self.process(program, "operator", [&[kubeconfig.as_str()], more].concat())
    }

    /// Starts a command that is there for the cluster for as long as it runs.
    pub fn process(&self, program: &str, command: &str, more: Vec<&str>) -> Result<Operator, ClusterError> {
        let arguments = std::iter::once(command).chain(more).map(str::to_owned).collect();
        let log = self.new_log(command);
        let mut operator = Operator { program: program.into(), arguments, log, process: None };
        operator.start(self)?;
        Ok(operator)
    }
}
