//! A cluster, a namespace in it, and the program that is tested.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use lockstep_api::yaml_to_json;
use lockstep_operator::set::resource;
use lockstep_testkit::Cluster;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A namespace of a cluster.
pub struct Stage {
    pub cluster: Cluster,
    pub namespace: String,
}

/// What a run came to.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// It went well and said something with this in it.
    #[track_caller]
    pub fn says(&self, part: &str) -> &Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        assert!(self.out.contains(part), "{part:?} is not in\n{}{}", self.out, self.err);
        self
    }

    /// It was refused with this in its message.
    #[track_caller]
    pub fn refuses(&self, part: &str) -> &Self {
        assert_eq!(self.code, 1, "{}{}", self.out, self.err);
        assert!(self.err.contains(part), "{part:?} is not in\n{}", self.err);
        self
    }

    /// Its answer as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).expect("JSON")
    }
}

/// A run that goes on.
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Its next line.
    pub async fn line(&mut self) -> String {
        self.lines.next_line().await.expect("readable").expect("another line")
    }

    /// The first line that has this in it.
    pub async fn until(&mut self, part: &str) -> String {
        loop {
            let line = self.line().await;
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The rest of its lines and its exit code.
    pub async fn end(mut self) -> (Vec<String>, i32) {
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.expect("readable") {
            rest.push(line);
        }
        (rest, self.child.wait().await.expect("ended").code().unwrap_or(-1))
    }
}

fn done(ran: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: ran.status.code().unwrap_or(-1), out: text(ran.stdout), err: text(ran.stderr) }
}

impl Stage {
    /// A namespace of its own.
    pub async fn new(cluster: Cluster) -> Self {
        let namespace = cluster.new_namespace("live").await.expect("a namespace");
        Self { cluster, namespace }
    }

    fn command(&self, args: &[&str], kubeconfig: PathBuf) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.args(args).args(["-n", &self.namespace]).env("KUBECONFIG", kubeconfig).kill_on_drop(true);
        command
    }

    /// Runs a command in the namespace.
    pub async fn lockstep(&self, args: &[&str]) -> Ran {
        self.lockstep_through(args, self.cluster.kubeconfig().to_owned()).await
    }

    /// The same with another kubeconfig.
    pub async fn lockstep_through(&self, args: &[&str], kubeconfig: PathBuf) -> Ran {
        done(self.command(args, kubeconfig).output().await.expect("runs"))
    }

    /// Runs a command that knows no cluster.
    pub async fn offline(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        done(command.args(args).output().await.expect("runs"))
    }

    /// Starts a command that goes on.
    pub fn follow(&self, args: &[&str]) -> Running {
        let mut command = self.command(args, self.cluster.kubeconfig().to_owned());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Running { child, lines }
    }

    /// The sets of the namespace.
    pub fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client(), &self.namespace, &resource())
    }

    /// Creates a set.
    pub async fn create(&self, manifest: &str) -> DynamicObject {
        let object = serde_json::from_value(yaml_to_json(manifest).expect("YAML")).expect("an object");
        self.sets().create(&PostParams::default(), &object).await.expect("created")
    }

    /// Plays the operator: says how a set stands. The generation is seen to.
    pub async fn say(&self, name: &str, status: Value) {
        let mut set = self.sets().get(name).await.expect("there");
        let mut status = status;
        status["observedGeneration"] = json!(set.metadata.generation);
        set.data["status"] = status;
        self.sets().replace_status(name, &PostParams::default(), &set).await.expect("said");
    }
}
