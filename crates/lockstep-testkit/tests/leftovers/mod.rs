//! What a cluster could leave behind, and programs that end badly.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use lockstep_testkit::{Cluster, Component, say};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

/// How the program is to end.
pub const HOW: &str = "LOCKSTEP_TEST_ENDS_BY";
/// Where it says what it started.
const WHERE: &str = "LOCKSTEP_TEST_TRACES";

/// What a cluster has on this machine: a folder, processes, a port.
#[derive(Debug, Serialize, Deserialize)]
pub struct Traces {
    dir: PathBuf,
    processes: Vec<u32>,
    address: String,
}

impl Traces {
    pub fn of(cluster: &Cluster) -> Self {
        let all = [Component::Etcd, Component::ApiServer, Component::ControllerManager, Component::Scheduler];
        Self {
            dir: cluster.dir().expect("our own").to_owned(),
            processes: all.into_iter().filter_map(|component| cluster.process_id(component)).collect(),
            address: cluster.access().expect("our own").url.trim_start_matches("https://").to_owned(),
        }
    }

    /// Tells the test that started this program.
    pub fn hand_over(&self) {
        let path = PathBuf::from(std::env::var_os(WHERE).expect("told where"));
        let aside = path.with_extension("part");
        std::fs::write(&aside, serde_json::to_vec(self).expect("JSON")).expect("written");
        std::fs::rename(aside, path).expect("moved");
    }

    pub fn everything_is_there(&self) -> bool {
        self.processes.len() == 4 && self.left().len() == 6
    }

    /// What is still there.
    pub fn left(&self) -> Vec<String> {
        let dir = self.dir.exists().then(|| self.dir.display().to_string());
        let alive = |pid: &&u32| PathBuf::from(format!("/proc/{pid}")).exists();
        let processes = self.processes.iter().filter(alive).map(|pid| format!("process {pid}"));
        let port = TcpStream::connect(&self.address).is_ok().then(|| self.address.clone());
        dir.into_iter().chain(processes).chain(port).collect()
    }
}

/// Starts this program again, lets it start a cluster and end badly, and sees what is left.
pub async fn end_of(how: &str, signal: Option<Signal>) {
    let name = format!("lockstep-traces-{}-{how}-{signal:?}", std::process::id());
    let told = std::env::temp_dir().join(name.replace([' ', '(', ')'], ""));
    let program = std::env::current_exe().expect("this program");
    // A shell starts what it runs in the background deaf to Ctrl-C, and whoever is started by that is, too.
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(program)
        .args(["a_test_that_ends_badly", "--exact", "--ignored", "--test-threads=1"])
        .env(HOW, how)
        .env(WHERE, &told)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("started");
    let traces: Traces = loop {
        if let Ok(text) = std::fs::read(&told) {
            break serde_json::from_slice(&text).expect("JSON");
        }
        if let Some(status) = child.try_wait().expect("asked") {
            assert!(status.success(), "ended before its cluster stood");
            return say("SKIPPED: the program that was to end badly was skipped");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    if let Some(signal) = signal {
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32)).expect("runs");
        kill_process(pid, signal).expect("sent");
    }
    assert!(!child.wait().await.expect("ended").success());
    // The supervisor needs a moment after the program is gone.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while !traces.left().is_empty() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::remove_file(&told).expect("removed");
    assert_eq!(traces.left(), Vec::<String>::new());
}
