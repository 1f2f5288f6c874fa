//! kubectl, as people use it, on a real API server.

#![allow(clippy::expect_used, dead_code, missing_docs)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_testkit::Cluster;
use serde_json::Value;

/// How long what the server publishes in its own time may take.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Server {
    pub cluster: Cluster,
    kubectl: PathBuf,
}

impl Server {
    pub async fn start() -> Option<Self> {
        let cluster = Cluster::builder().not_a_guest().start_or_skip().await?;
        let kubectl = cluster.program("kubectl").expect("a cluster of our own has a kubectl");
        Some(Self { cluster, kubectl })
    }

    /// What it says; it must succeed.
    pub fn ok(&self, args: &[&str], stdin: &str) -> String {
        let (success, out, err) = self.run(args, stdin);
        assert!(success, "kubectl {}: {err}\n{stdin}", args.join(" "));
        out
    }

    /// The same for what the server publishes in its own time.
    pub fn eventually_ok(&self, args: &[&str]) -> String {
        let began = Instant::now();
        loop {
            let (success, out, err) = self.run(args, "");
            if success {
                return out;
            }
            assert!(began.elapsed() < PATIENCE, "kubectl {}: {err}", args.join(" "));
        }
    }

    /// What it complains about; it must fail.
    pub fn refused(&self, args: &[&str], stdin: &str) -> String {
        let (success, out, err) = self.run(args, stdin);
        assert!(!success, "kubectl {}: {out}\n{stdin}", args.join(" "));
        err
    }

    pub fn get(&self, what: &str) -> Value {
        let text = self.ok(&["get", what, "-o", "json"], "");
        serde_json::from_str(&text).expect("JSON")
    }

    fn run(&self, args: &[&str], stdin: &str) -> (bool, String, String) {
        let mut child = Command::new(&self.kubectl)
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        // A command that does not read its stdin may have ended by now.
        let _ = child.stdin.take().expect("a stdin").write_all(stdin.as_bytes());
        let output = child.wait_with_output().expect("kubectl ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.success(), text(output.stdout), text(output.stderr))
    }
}
