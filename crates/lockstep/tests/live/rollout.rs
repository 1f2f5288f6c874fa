//! A whole rollout under the real operator, seen and steered from the command line.

use kube::api::{Patch, PatchParams};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use serde_json::{Value, json};

use super::stage::Stage;

const LLAMA: &str = "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: llama}
spec:
  coordination:
  - name: canary
    steps: [{role: decode, updateTo: 1}, {pause: {}}, {role: prefill, updateTo: 100%}]
  roles:
  - name: decode
    replicas: 2
    template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: 'vllm:1'}]}}
  - name: prefill
    replicas: 2
    members:
    - {name: leader, template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: 'vllm:1'}]}}}
    - {name: worker, count: 2, template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: 'vllm:1'}]}}}
";

async fn apply(stage: &Stage, manifest: &str) {
    let value = lockstep_api::yaml_to_json(manifest).expect("YAML");
    let parameters = PatchParams::apply("a-user").force();
    stage.sets().patch("llama", &parameters, &Patch::Apply(value)).await.expect("applied");
}

fn marks(tree: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut marks = Vec::new();
    for role in list(&tree["groups"][0]["roles"]) {
        for instance in list(&role["instances"]) {
            let (role, mark) =
                (role["role"].as_str().unwrap_or("?"), instance["mark"].as_str().unwrap_or("?"));
            marks.push(format!("{role}-{} {mark}", instance["instance"]));
        }
    }
    marks
}

#[tokio::test]
async fn from_the_first_start_to_an_abort() {
    let nodes = NodeGroup::new("node", 2);
    let Some(cluster) = Cluster::builder().not_a_guest().nodes(nodes).start_or_skip().await else { return };
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_lockstep"), &[]).await.expect("an operator");
    let stage = Stage::new(cluster).await;
    let files = stage.cluster.dir().expect("our own").to_owned();
    let new = LLAMA.replace("vllm:1", "vllm:2");
    let new_file = files.join("new.yaml");
    std::fs::write(&new_file, &new).expect("written");

    apply(&stage, LLAMA).await;
    stage.lockstep(&["status", "llama", "--timeout", "2m"]).await.says("llama: complete at ");
    let tree = stage.lockstep(&["get", "llama"]).await;
    tree.says("└─ llama-0").says("   │  └─ decode-1").says("      │  ├─ leader-0").says("   node-");
    let tree = stage.lockstep(&["get", "llama", "-o", "json"]).await.json();
    let settled = ["decode-0 settled", "decode-1 settled", "prefill-0 settled", "prefill-1 settled"];
    assert_eq!(marks(&tree), settled);
    stage.lockstep(&["get"]).await.says("llama   1        1       1         Complete");
    let to = new_file.to_str().expect("text");
    let ahead = stage.lockstep(&["plan", "--live", "llama", "--to", to]).await;
    ahead.says("roles decode and prefill change (image)").says("Can finish: yes");

    // Up to the pause.
    apply(&stage, &new).await;
    let mut running = stage.follow(&["status", "llama", "--timeout", "2m"]);
    running.until("waiting: llama-0: step 2/3: pause").await;
    let why = stage.lockstep(&["why", "llama"]).await;
    why.says("pause, until it is promoted").says("by coordination[canary].steps[1] (PauseStep)");
    why.says(&format!("to go on: `lockstep promote llama -g 0 -n {}`", stage.namespace));
    let tree = stage.lockstep(&["get", "llama", "-o", "json"]).await.json();
    assert_eq!(marks(&tree), ["decode-0 old", "decode-1 settled", "prefill-0 old", "prefill-1 old"]);
    assert_eq!(tree["groups"][0]["inUpdate"], true);

    // What the engine sees, here and anywhere else.
    let state = files.join("state.json");
    stage.lockstep(&["why", "llama", "--dump", state.to_str().expect("text")]).await.says("Waiting: ");
    let now = stage.lockstep(&["plan", "--live", "llama", "-o", "json"]).await.json();
    let replay = files.join("state.set.yaml");
    let (set, state) = (replay.to_str().expect("text"), state.to_str().expect("text"));
    let replayed = stage.offline(&["plan", "-f", set, "--snapshot", state, "-o", "json"]).await.json();
    for plan in [&now, &replayed] {
        assert_eq!(plan["actions"], json!([]));
        assert_eq!(plan["blocked"][0]["reason"], "PauseStep");
        assert_eq!(plan["memory"]["complete"], now["memory"]["complete"]);
    }
    // And how it would go on from here: what has moved stays, or goes back first.
    let rest = stage.lockstep(&["plan", "--live", "llama"]).await;
    rest.says("what is left of the rollout").says("decode-0").says("Can finish: yes");
    assert!(!rest.out.contains("decode-1 "), "it is updated already:\n{}", rest.out);
    let old_file = files.join("old.yaml");
    std::fs::write(&old_file, LLAMA).expect("written");
    let back = stage.lockstep(&["plan", "--live", "llama", "--to", old_file.to_str().expect("text")]).await;
    back.says("from what stands now").says("decode-1").says("1 replacement").says("Can finish: yes");

    stage
        .lockstep(&["promote", "llama", "-g", "0"])
        .await
        .says("promoted past coordination[canary].steps[1]");
    let (lines, code) = running.end().await;
    assert_eq!(code, 0, "{lines:?}");
    stage.lockstep(&["history", "llama", "--diff", "1..2"]).await.says("    - vllm:1\n    + vllm:2");

    // Back by the spec, up to the pause; then the other way by an abort.
    stage.lockstep(&["undo", "llama"]).await.says("goes back to revision 1");
    let mut running = stage.follow(&["status", "llama", "--timeout", "2m"]);
    running.until("pause").await;
    stage.lockstep(&["abort", "llama"]).await.says("until its spec changes");
    let (lines, code) = running.end().await;
    assert_eq!(code, 2, "{lines:?}");
    stage.lockstep(&["history", "llama"]).await.says("gone back to, stable");
    stage.lockstep(&["retry", "llama"]).await.refuses("stays there until its spec changes");
    let tree = stage.lockstep(&["get", "llama", "-o", "json"]).await.json();
    assert_eq!(marks(&tree), settled, "all at vllm:2 again");
}
