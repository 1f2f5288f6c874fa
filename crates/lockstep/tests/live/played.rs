//! The test plays the operator: every state there is, whenever it is wanted.

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use lockstep_api::label;
use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_api::stored::StoredSet;
use lockstep_core::snapshot::{CompleteSet, Memory, RestartMemory};
use lockstep_core::time::Time;
use lockstep_testkit::proxy::{Fault, Refusal, Rule, Verb, Which};
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};

use super::stage::Stage;

const SHOP: &str = "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: shop}
spec:
  progressDeadlineSeconds: 60
  coordination:
  - name: canary
    steps: [{role: web, updateTo: 1}, {pause: {}}, {role: web, updateTo: 100%}]
  roles:
  - {name: web, replicas: 4, template: {spec: {containers: [{name: web, image: 'nginx:2'}]}}}
";

/// Only an API server: nobody does anything unless the test does.
async fn stage() -> Option<Stage> {
    let cluster = Cluster::builder().not_a_guest().without(Component::Scheduler);
    let cluster = cluster.without(Component::ControllerManager).start_or_skip().await?;
    Some(Stage::new(cluster).await)
}

fn status(phase: &str, updated: u32, memory: &Memory) -> Value {
    let web = RoleStatus { name: "web".to_owned(), replicas: 4, updated, ..RoleStatus::default() };
    let mut status = LockstepSetStatus { replicas: 1, roles: vec![web], ..LockstepSetStatus::default() };
    status.observed_generation = 1;
    status.rollout.phase = phase.to_owned();
    status.revision.update = "a41d0".to_owned();
    status.memory = json!(memory);
    json!(status)
}

fn spec_of(set: &DynamicObject) -> lockstep_core::model::Spec {
    let manifest = json!({
        "apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet",
        "metadata": {"name": "shop"}, "spec": set.data["spec"],
    });
    lockstep_api::lower(&lockstep_api::parse_json(&manifest).expect("valid").set)
}

async fn memory_of(stage: &Stage) -> Memory {
    let set = stage.sets().get("shop").await.expect("there");
    serde_json::from_value(set.data["status"]["memory"].clone()).expect("a memory")
}

#[tokio::test]
async fn what_is_missing_is_said_as_kubectl_says_it() {
    let Some(stage) = stage().await else { return };
    for args in [["get", "shop"], ["status", "shop"], ["pause", "shop"], ["history", "shop"]] {
        stage.lockstep(&args).await.refuses("Run `lockstep install`");
    }
    stage.lockstep(&["get"]).await.refuses("the CRD lockstepsets.lockstep.dev is missing");
    stage.cluster.install_kinds().await.expect("installed");
    let missing = format!("lockstepset \"shop\" not found in namespace {:?}", stage.namespace);
    for verb in ["get", "status", "why", "pause", "resume", "promote", "abort", "retry", "undo", "history"] {
        stage.lockstep(&[verb, "lss/shop"]).await.refuses(&missing);
    }
    let none = stage.lockstep(&["get"]).await;
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.starts_with("No LockstepSets"), "{}", none.err);
    stage.lockstep(&["get", "deploy/shop"]).await.refuses("is no LockstepSet");
}

#[tokio::test]
async fn status_follows_to_the_end_and_its_exit_code_says_which() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    stage.create(SHOP).await;
    let mut running = stage.follow(&["status", "shop"]);
    assert_eq!(running.line().await, "shop: the operator has not looked at it yet");
    let memory = Memory::default();
    for updated in [0, 1] {
        stage.say("shop", status("Progressing", updated, &memory)).await;
        let line = running.line().await;
        assert!(line.starts_with(&format!("shop: progressing: {updated} of 4 instances")), "{line}");
    }
    // A status that says nothing new is not worth a line; the next line is the last.
    stage.say("shop", status("Progressing", 1, &Memory { since: Some(Time(1)), ..Memory::default() })).await;
    stage.say("shop", status("Complete", 4, &memory)).await;
    let (lines, code) = running.end().await;
    assert_eq!((lines.len(), code), (1, 0), "{lines:?}");
    assert!(lines[0].starts_with("shop: complete at a41d0: 4 of 4"), "{lines:?}");

    for (phase, code) in [("PartitionReached", 0), ("Stalled", 2), ("RolledBack", 2)] {
        stage.say("shop", status(phase, 2, &memory)).await;
        assert_eq!(stage.lockstep(&["status", "shop"]).await.code, code, "{phase}");
        assert_eq!(stage.lockstep(&["status", "shop", "--no-wait"]).await.code, code, "{phase}");
    }
    stage.say("shop", status("Progressing", 2, &memory)).await;
    let late = stage.lockstep(&["status", "shop", "--timeout", "200ms"]).await;
    assert_eq!(late.code, 3, "{}{}", late.out, late.err);
    assert!(late.err.contains("shop is not at its end after 200ms"), "{}", late.err);
    let once = stage.lockstep(&["status", "shop", "--no-wait", "-o", "json"]).await.json();
    assert_eq!((&once["rollout"]["phase"], &once["name"]), (&json!("Progressing"), &json!("shop")));
    assert!(once.get("memory").is_none());
    let mut running = stage.follow(&["status", "shop"]);
    running.until("progressing").await;
    stage.sets().delete("shop", &Default::default()).await.expect("deleted");
    assert_eq!(running.end().await.1, 1);
}

#[tokio::test]
async fn get_is_drawn_again_when_something_changes() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    stage.create(SHOP).await;
    let (mut tree, mut list) = (stage.follow(&["get", "shop", "-w"]), stage.follow(&["get", "-w"]));
    tree.until("Unseen").await;
    list.until("Unseen").await;
    stage.say("shop", status("Progressing", 1, &Memory::default())).await;
    tree.until("Progressing").await;
    tree.until("web-3").await;
    list.until("Progressing").await;
    let mut machines = stage.follow(&["get", "shop", "-w", "-o", "json"]);
    let first: Value = serde_json::from_str(&machines.line().await).expect("one document on a line");
    assert_eq!(first["groups"][0]["roles"][0]["instances"][3]["mark"], "missing");
    stage.sets().delete("shop", &Default::default()).await.expect("deleted");
    assert_eq!(tree.end().await.1, 1);
}

/// kubectl finds it by its name, and its help is called as it was called.
#[tokio::test]
async fn as_a_plugin_of_kubectl() {
    let Some(stage) = stage().await else { return };
    let dir = stage.cluster.dir().expect("our own");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lockstep"), dir.join("kubectl-lockstep")).expect("linked");
    let kubectl = stage.cluster.program("kubectl").expect("kubectl");
    let run = async |args: &[&str]| {
        let mut command = tokio::process::Command::new(&kubectl);
        command.arg("lockstep").args(args).env("PATH", dir).env("KUBECONFIG", stage.cluster.kubeconfig());
        let ran = command.output().await.expect("runs");
        String::from_utf8(ran.stdout).expect("text") + &String::from_utf8(ran.stderr).expect("text")
    };
    let help = run(&["promote", "--help"]).await;
    assert!(help.contains("Usage: kubectl lockstep promote"), "{help}");
    let missing = run(&["get"]).await;
    assert!(missing.contains("lockstep install"), "{missing}");
}

#[tokio::test]
async fn promote_abort_and_retry_change_what_is_remembered_and_nothing_else() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    let set = stage.create(SHOP).await;
    stage.lockstep(&["promote", "shop"]).await.refuses("the operator has not looked at shop yet");
    let target = spec_of(&set).revision();
    let mut memory = Memory { since: Some(Time(1)), ..Memory::default() };
    stage.say("shop", status("Progressing", 1, &memory)).await;
    stage.lockstep(&["promote", "shop"]).await.refuses("no pause holds shop now");
    stage.lockstep(&["promote", "shop", "-g", "1"]).await.refuses("shop has no group 1; it has 1 group");
    stage.lockstep(&["abort", "shop"]).await.refuses("has never stood complete");
    stage.lockstep(&["retry", "shop"]).await.refuses("nothing to retry");

    let entered = memory.groups.entry(0).or_default();
    entered.pauses.insert(format!("{target}/canary/1"), Time(5));
    memory.complete =
        Some(CompleteSet { revision: "6f2c9".parse().expect("short"), ..CompleteSet::default() });
    memory.restarts.insert("0/web/1".to_owned(), RestartMemory { count: 3, last: Time(9) });
    let mut held = status("Stalled", 1, &memory);
    held["rollout"]["blocked"] = json!([{
        "what": "shop-0/web-1", "reason": "PauseStep", "rule": "coordination[canary].steps[1]",
        "since": "2026-01-01T00:00:00Z", "message": "step 2/3: pause",
    }]);
    stage.say("shop", held).await;
    stage.lockstep(&["promote", "shop"]).await.says("\"shop\" promoted past coordination[canary].steps[1]");
    let promoted = memory_of(&stage).await.promoted;
    assert_eq!(promoted.iter().map(|p| (p.rule.as_str(), p.step)).collect::<Vec<_>>(), [("canary", 1)]);
    stage.lockstep(&["promote", "shop"]).await.refuses("no pause holds shop now");
    let retried = stage.lockstep(&["retry", "shop", "-o", "json"]).await.json();
    assert_eq!(retried["clearedRestarts"], 1);
    stage.lockstep(&["abort", "shop"]).await.says("goes back to 6f2c9");
    let after = memory_of(&stage).await;
    assert_eq!(after.overridden.expect("aborted").spec, target);
    assert!(after.restarts.is_empty());
    assert_eq!((after.groups, after.promoted), (memory.groups, promoted), "the rest is as it was");
    let status = &stage.sets().get("shop").await.expect("there").data["status"];
    assert_eq!((&status["rollout"]["phase"], &status["replicas"]), (&json!("Stalled"), &json!(1)));
}

/// Somebody else writes between our reading and our writing: we read again.
#[tokio::test]
async fn a_status_that_changed_meanwhile_is_read_again() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    stage.create(SHOP).await;
    let mut memory = Memory::default();
    memory.restarts.insert("0/web/1".to_owned(), RestartMemory { count: 3, last: Time(9) });
    stage.say("shop", status("Stalled", 1, &memory)).await;
    let proxy = stage.cluster.proxy().await.expect("a proxy");
    let access = stage.cluster.access().expect("our own").through(&proxy.url(), proxy.ca_pem());
    let kubeconfig = stage.cluster.dir().expect("our own").join("through-the-proxy");
    access.write(&kubeconfig).expect("written");
    let writes = Which::verbs([Verb::Update]).of("lockstepsets/status");
    let refused = proxy.add(Rule::new(writes, Fault::Refuse(Refusal::new(409, "Conflict"))).times(2));
    let ran = stage.lockstep_through(&["retry", "shop"], kubeconfig).await;
    ran.says("tries again");
    assert_eq!(refused.hits(), 2);
    assert!(memory_of(&stage).await.restarts.is_empty());
}

#[tokio::test]
async fn pausing_is_a_field_of_the_spec() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    stage.create(SHOP).await;
    let paused = async || stage.sets().get("shop").await.expect("there").data["spec"]["paused"].clone();
    stage.lockstep(&["pause", "shop"]).await.says("paused; `lockstep resume shop` lets it go on");
    assert_eq!(paused().await, true);
    stage.lockstep(&["pause", "shop"]).await.says("is paused already");
    let resumed = stage.lockstep(&["resume", "lss/shop", "-o", "yaml"]).await;
    resumed.says("changed: true").says("paused: false");
    assert_eq!(paused().await, false);
    let set = stage.sets().get("shop").await.expect("there");
    let managers = set.metadata.managed_fields.expect("managers");
    assert!(managers.iter().any(|by| by.manager.as_deref() == Some("lockstep-cli")));
}

/// Stores what a manifest would be, as the operator does.
async fn store(stage: &Stage, set: &DynamicObject, number: i64, manifest: &str) -> String {
    let stored = StoredSet::of(&lockstep_api::parse(manifest).expect("valid").set);
    let hash = stored.revision().to_string();
    let owner = json!({
        "apiVersion": "lockstep.dev/v1alpha1", "kind": "LockstepSet", "name": "shop",
        "uid": set.metadata.uid, "controller": true,
    });
    let object: ControllerRevision = serde_json::from_value(json!({
        "metadata": {
            "name": format!("shop-{hash}"), "ownerReferences": [owner],
            "labels": {label::SET: "shop", label::SET_REVISION: hash},
        },
        "revision": number, "data": stored,
    }))
    .expect("a revision");
    let api: Api<ControllerRevision> = Api::namespaced(stage.cluster.client(), &stage.namespace);
    api.create(&PostParams::default(), &object).await.expect("stored");
    hash
}

#[tokio::test]
async fn history_and_the_way_back() {
    let Some(stage) = stage().await else { return };
    stage.cluster.install_kinds().await.expect("installed");
    let set = stage.create(SHOP).await;
    stage.lockstep(&["history", "shop"]).await.says("no revision is stored yet");
    let first = store(&stage, &set, 1, &SHOP.replace("nginx:2", "nginx:1")).await;
    let second = store(&stage, &set, 2, SHOP).await;
    let mut said = status("Progressing", 1, &Memory::default());
    said["revision"] = json!({"stable": first, "update": second});
    stage.say("shop", said).await;
    let list = stage.lockstep(&["history", "shop"]).await;
    list.says(&format!("1          {first}   stable")).says("wished for").says("web (image)");
    stage.lockstep(&["history", "shop", "--revision", &second]).await.says("image: nginx:2");
    let diff = stage.lockstep(&["history", "shop", "--diff", "1..2"]).await;
    diff.says("members[web].template.spec.containers[web].image\n    - nginx:1\n    + nginx:2\n");
    stage.lockstep(&["history", "shop", "--diff", "1..7"]).await.refuses("no revision \"7\"");

    let image = async || {
        let set = stage.sets().get("shop").await.expect("there");
        set.data["spec"]["roles"][0]["template"]["spec"]["containers"][0]["image"].clone()
    };
    stage
        .lockstep(&["undo", "shop", "--dry-run"])
        .await
        .says("would go back to revision 1")
        .says("+ nginx:1");
    assert_eq!(image().await, "nginx:2");
    let undone = stage.lockstep(&["undo", "shop"]).await;
    undone.says(&format!("goes back to revision 1 ({first}): role web"));
    assert_eq!(image().await, "nginx:1");
    let set = stage.sets().get("shop").await.expect("there");
    assert_eq!(spec_of(&set).revision().to_string(), first);
    assert_eq!(set.data["spec"]["coordination"][0]["name"], "canary", "the rest is as it was");
    stage.lockstep(&["undo", "shop", "--to-revision", "1"]).await.refuses("nothing to undo");
    stage.lockstep(&["undo", "shop", "--to-revision", &second]).await.says("goes back to revision 2");
}
