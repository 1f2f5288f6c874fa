//! The three dialects on a cluster, with the operator beside it as a process: what their users see.

use lockstep_testkit::Cluster;
use lockstep_testkit::operator::Operator;
use serde_json::Value;

use crate::cluster::{Stage, with_operator};
use crate::common::{Ran, lockstep};

/// One dialect: a manifest, and what becomes of it.
pub struct Row {
    /// How kubectl calls the object.
    object: &'static str,
    /// With `IMAGE` where the image stands.
    pub manifest: &'static str,
    /// The pods.
    pods: &'static [&'static str],
    /// One of them, a label and an environment variable of it.
    pod: (&'static str, (&'static str, &'static str), (&'static str, &'static str)),
    /// How many are updated and how many are wished for, in the status.
    counts: [&'static str; 2],
}

pub const MODEL_SERVING: Row = Row {
    object: "modelservings/llama",
    manifest: "
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: llama, labels: {team: inference}}
spec:
  replicas: 2
  template:
    roles:
    - name: prefill
      replicas: 1
      workerReplicas: 1
      entryTemplate: {spec: {containers: [{name: main, image: 'IMAGE'}]}}
      workerTemplate: {spec: {containers: [{name: main, image: 'IMAGE'}]}}
    - name: decode
      replicas: 1
      entryTemplate: {spec: {containers: [{name: main, image: 'IMAGE'}]}}
",
    pods: &[
        "llama-0-decode-0-0",
        "llama-0-prefill-0-0",
        "llama-0-prefill-0-1",
        "llama-1-decode-0-0",
        "llama-1-prefill-0-0",
        "llama-1-prefill-0-1",
    ],
    pod: ("llama-1-prefill-0-1", ("modelserving.volcano.sh/role", "prefill"), ("WORKER_INDEX", "1")),
    counts: ["/updatedReplicas", "/replicas"],
};

pub const ROLE_BASED_GROUP: Row = Row {
    object: "rolebasedgroups/llama",
    manifest: "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: llama}
spec:
  roles:
  - name: router
    replicas: 1
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'IMAGE'}]}}}
  - name: decode
    replicas: 2
    standalonePattern: {template: {spec: {containers: [{name: main, image: 'IMAGE'}]}}}
",
    pods: &["llama-decode-0", "llama-decode-1", "llama-router-0"],
    pod: ("llama-decode-1", ("rbg.workloads.x-k8s.io/role-name", "decode"), ("RBG_ROLE_INDEX", "1")),
    counts: ["/roleStatuses/1/updatedReplicas", "/roleStatuses/1/replicas"],
};

pub const POD_CLIQUE_SET: Row = Row {
    object: "podcliquesets/llama",
    manifest: "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llama}
spec:
  replicas: 1
  template:
    cliques:
    - name: prefill
      spec: {roleName: prefill, replicas: 2, podSpec: {containers: [{name: main, image: 'IMAGE'}]}}
    - name: decode
      spec: {roleName: decode, replicas: 1, podSpec: {containers: [{name: main, image: 'IMAGE'}]}}
",
    pods: &["llama-0-decode-0", "llama-0-prefill-0", "llama-0-prefill-1"],
    pod: ("llama-0-prefill-1", ("grove.io/podclique", "llama-0-prefill"), ("GROVE_PCLQ_POD_INDEX", "1")),
    counts: ["/updatedReplicas", "/replicas"],
};

/// A cluster that serves the kinds, with an operator.
async fn with_kinds() -> Option<(Cluster, Operator)> {
    let (cluster, operator) = with_operator(Cluster::builder(), &[]).await?;
    for definition in lockstep_dialects::ALL.iter().flat_map(|dialect| dialect.definitions()) {
        cluster.define(&definition).await.expect("a kind");
    }
    Some((cluster, operator))
}

impl Row {
    pub async fn apply(&self, stage: &Stage<'_>, image: &str) {
        stage.apply(&self.manifest.replace("IMAGE", image)).await;
    }

    async fn get(&self, stage: &Stage<'_>) -> Value {
        let text = stage.kubectl(&["get", self.object, "-o", "json"]).await;
        serde_json::from_str(&text).expect("JSON")
    }

    pub async fn until_all_are(&self, stage: &Stage<'_>, image: &str) {
        let so = |pods: &[crate::cluster::Line]| {
            let mut names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
            names.sort_unstable();
            names == self.pods && pods.iter().all(|pod| pod.ready && pod.image == image)
        };
        stage.until(&format!("{} at {image}", self.object), so).await;
    }

    /// Waits until the status says that everything is updated.
    pub async fn until_said(&self, stage: &Stage<'_>) {
        let so = async || {
            let object = self.get(stage).await;
            let [updated, all] =
                self.counts.map(|at| object["status"].pointer(at).cloned().unwrap_or_default());
            let current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            current && updated == all && all.as_u64().is_some_and(|all| all > 0)
        };
        for _ in 0..150 {
            if so().await {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        panic!("never said: {:#}", self.get(stage).await["status"]);
    }

    async fn play(&self, cluster: &Cluster, operator: &mut Operator) {
        let stage = Stage::new(cluster).await;
        self.apply(&stage, "vllm:1").await;
        self.until_all_are(&stage, "vllm:1").await;
        self.until_said(&stage).await;
        let (name, (label, value), (variable, expected)) = self.pod;
        let pod: Value =
            serde_json::from_str(&stage.kubectl(&["get", "pod", name, "-o", "json"]).await).expect("JSON");
        assert_eq!(pod["metadata"]["labels"][label], value, "{pod:#}");
        let env = pod["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let found = env.iter().find(|it| it["name"] == variable).map(|it| it["value"].clone());
        assert_eq!(found, Some(Value::from(expected)), "{pod:#}");

        // The operator is killed as soon as something moves, and the next goes on.
        self.apply(&stage, "vllm:2").await;
        stage.until("a pod is new", |pods| pods.iter().any(|pod| pod.image == "vllm:2")).await;
        operator.kill().await;
        operator.start(cluster).expect("an operator");
        self.until_all_are(&stage, "vllm:2").await;
        self.until_said(&stage).await;
        let events = stage.kubectl(&["get", "events", "-o", "json"]).await;
        let events: Value = serde_json::from_str(&events).expect("JSON");
        let kind = self.get(&stage).await["kind"].clone();
        let told = |it: &&Value| it["involvedObject"]["kind"] == kind && it["reason"] == "RolloutStarted";
        assert!(events["items"].as_array().into_iter().flatten().filter(told).count() >= 2, "{events:#}");

        steered(cluster, &stage, self.object).await;
        stage.kubectl(&["delete", self.object, "--wait=true"]).await;
        stage.until("no pod", <[crate::cluster::Line]>::is_empty).await;
    }
}

/// The verbs take the object's name. Who would be overruled by it is told so.
async fn steered(cluster: &Cluster, stage: &Stage<'_>, object: &'static str) {
    // The cluster may be in this very thread.
    let run = async |verb: &'static str| -> Ran {
        let kubeconfig = cluster.kubeconfig().display().to_string();
        let namespace = stage.namespace.clone();
        let args = move || lockstep(&[verb, object, "--kubeconfig", &kubeconfig, "--namespace", &namespace]);
        tokio::task::spawn_blocking(args).await.expect("it runs")
    };
    let status = run("status").await;
    assert_eq!(status.code, 0, "{}", status.err);
    let undo = run("undo").await;
    assert_eq!(undo.code, 1);
    assert!(undo.err.contains("llama is made from the "), "{}", undo.err);
    for verb in ["pause", "resume"] {
        let done = run(verb).await;
        assert_eq!(done.code, 0, "{}", done.err);
    }
}

#[tokio::test]
async fn a_policy_without_its_group_says_so_until_there_is_one() {
    let Some((cluster, _operator)) = with_kinds().await else { return };
    let stage = Stage::new(&cluster).await;
    let policy = "
apiVersion: workloads.x-k8s.io/v1alpha2
kind: CoordinatedPolicy
metadata: {name: llama}
spec:
  policies:
  - name: together
    roles: [router, decode]
    strategy: {rollingUpdate: {maxSkew: 10%}}
";
    stage.apply(policy).await;
    let wait = |status: &str| format!("--for=condition=Bound={status}");
    stage.kubectl(&["wait", "coordinatedpolicies/llama", &wait("False"), "--timeout=60s"]).await;
    ROLE_BASED_GROUP.apply(&stage, "vllm:1").await;
    stage.kubectl(&["wait", "coordinatedpolicies/llama", &wait("True"), "--timeout=60s"]).await;
    ROLE_BASED_GROUP.until_all_are(&stage, "vllm:1").await;
    stage.kubectl(&["delete", ROLE_BASED_GROUP.object]).await;
    stage.kubectl(&["wait", "coordinatedpolicies/llama", &wait("False"), "--timeout=60s"]).await;
}

#[tokio::test]
async fn model_servings_roll() {
    let Some((cluster, mut operator)) = with_kinds().await else { return };
    MODEL_SERVING.play(&cluster, &mut operator).await;
}

#[tokio::test]
async fn role_based_groups_roll() {
    let Some((cluster, mut operator)) = with_kinds().await else { return };
    ROLE_BASED_GROUP.play(&cluster, &mut operator).await;
}

#[tokio::test]
async fn pod_clique_sets_roll() {
    let Some((cluster, mut operator)) = with_kinds().await else { return };
    POD_CLIQUE_SET.play(&cluster, &mut operator).await;
}
