//! A real control plane with the operator beside it, and sets in a few words.

#![allow(dead_code)]

use std::time::Duration;

use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::cluster::Builder;
use lockstep_testkit::operator::Operator;

/// The program under test.
pub const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");

/// How long pods take to start, in most scenarios.
pub const START: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(400));

/// A cluster with ten nodes that has known our kinds for long, and an operator; nothing where there is no control plane
/// to be had.
pub async fn with_operator(builder: Builder, more: &[&str]) -> Option<(Cluster, Operator)> {
    let builder = builder.kinds(lockstep_api::crd::all().map(|(_, definition)| definition));
    let cluster = builder.not_a_guest().nodes(NodeGroup::new("node", 10)).start_or_skip().await?;
    let operator = cluster.operator(LOCKSTEP, more).await.expect("an operator");
    Some((cluster, operator))
}

/// A set: its spec but for the roles, and its roles.
pub fn set(spec: &str, roles: &[String]) -> String {
    let lines = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let roles: String = roles.iter().map(|role| lines(role)).collect();
    format!(
        "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {{name: llama}}\nspec:\n{}  roles:\n{roles}",
        lines(spec)
    )
}

/// A role of single pods: its name, how many, its image, and what else its fields are.
pub fn role(name: &str, replicas: u32, image: &str, more: &str) -> String {
    let bad = if image == "missing" { "kubelet.lockstep.dev/image: missing" } else { "" };
    let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "- name: {name}
  replicas: {replicas}
{more}  template:
    metadata: {{annotations: {{{bad}}}}}
    spec: {{containers: [{{name: main, image: 'vllm:{image}'}}]}}
"
    )
}

/// A role of a leader and so many workers.
pub fn gang(name: &str, replicas: u32, workers: u32, image: &str, more: &str) -> String {
    let bad = if image == "missing" {
        "metadata: {annotations: {kubelet.lockstep.dev/image: missing}}, "
    } else {
        ""
    };
    let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
    let template = format!("{{{bad}spec: {{containers: [{{name: main, image: 'vllm:{image}'}}]}}}}");
    format!(
        "- name: {name}
  replicas: {replicas}
{more}  members:
  - {{name: leader, template: {template}}}
  - {{name: worker, count: {workers}, template: {template}}}
"
    )
}

/// A namespace with one set in it, looked at with kubectl.
pub struct Stage<'a> {
    cluster: &'a Cluster,
    /// The namespace.
    pub namespace: String,
}

/// A pod, as far as these tests care.
#[derive(Debug, Clone)]
pub struct Line {
    pub name: String,
    pub node: String,
    pub image: String,
    pub batch: String,
    pub ready: bool,
    pub gated: bool,
}

impl<'a> Stage<'a> {
    /// A fresh namespace.
    pub async fn new(cluster: &'a Cluster) -> Self {
        let namespace = cluster.new_namespace("stage").await.expect("a namespace");
        Self { cluster, namespace }
    }

    /// Runs kubectl and gives what it says.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let kubectl = self.cluster.program("kubectl").expect("kubectl");
        let done = tokio::process::Command::new(kubectl)
            .arg(format!("--kubeconfig={}", self.cluster.kubeconfig().display()))
            .arg(format!("--namespace={}", self.namespace))
            .args(arguments)
            .output()
            .await
            .expect("kubectl runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Applies a manifest.
    pub async fn apply(&self, manifest: &str) {
        let path = self.cluster.dir().expect("a folder").join(format!("{}.yaml", self.namespace));
        std::fs::write(&path, manifest).expect("written");
        self.kubectl(&["apply", "-f", &path.display().to_string()]).await;
    }

    /// Waits until the set says that it is ready.
    pub async fn until_ready(&self) {
        self.kubectl(&["wait", "lss/llama", "--for=condition=Ready", "--timeout=180s"]).await;
    }

    /// The pods.
    pub async fn pods(&self) -> Vec<Line> {
        let text = self.kubectl(&["get", "pods", "-o", "json"]).await;
        let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let line = |pod: &serde_json::Value| {
            let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            Line {
                name: text(&pod["metadata"]["name"]),
                node: text(&pod["spec"]["nodeName"]),
                image: text(&pod["spec"]["containers"][0]["image"]),
                batch: text(&pod["metadata"]["labels"]["batch.lockstep.dev/near"]),
                ready: conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"),
                gated: pod["spec"]["schedulingGates"].is_array(),
            }
        };
        list["items"].as_array().into_iter().flatten().map(line).collect()
    }

    /// Waits until the pods are so.
    pub async fn until(&self, what: &str, so: impl Fn(&[Line]) -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(180);
        loop {
            let pods = self.pods().await;
            if so(&pods) {
                return;
            }
            let set = self.kubectl(&["get", "lss", "-o", "yaml"]).await;
            assert!(tokio::time::Instant::now() < deadline, "never {what}:\n{pods:#?}\n{set}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
