//! Our definitions on a real API server: what it takes, what it refuses and with which words, and that nothing
//! of a set is changed on the way.

#![allow(clippy::expect_used)]

mod kubectl;

use std::fs;
use std::path::PathBuf;

use kubectl::Server;
use lockstep_api::{Valid, crd, json_to_yaml, parse, parse_json, revision};
use lockstep_core::revision::Revision;
use serde_json::{Value, json};

/// A server that knows our kinds, taught as people do it: by a plain client-side apply.
async fn server() -> Option<Server> {
    let server = Server::start().await?;
    for (name, definition) in crd::all() {
        server.ok(&["apply", "-f", "-"], &json_to_yaml(&definition));
        server.ok(&["wait", "--for=condition=Established", &format!("crd/{name}.lockstep.dev")], "");
    }
    Some(server)
}

fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut examples: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("an example")))
        .filter(|(_, text)| text.contains("kind: LockstepSet"))
        .collect();
    examples.sort();
    examples
}

fn revisions(set: &Valid) -> Vec<Revision> {
    set.spec.roles.iter().map(|role| revision::of(set, role)).collect()
}

/// What a revision is made of, written so that anything that fills in, drops or sorts would be seen.
const ODD: &str = r#"
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: odd}
spec:
  identity:
    podName: "{set}-{group}-{role}-{instance}-{member}-{pod}"
    labels: {example.com/size: "{size}", empty: ""}
    env: {ORDINAL: "{instance}", TEXT: " {{}} "}
  coordination:
  - {name: near, affinity: {topologyKey: kubernetes.io/hostname, ratios: {b: 1, a: 1}}}
  - {name: even, roles: [b, a], skew: {maxSkew: 50%}}
  roles:
  - name: b
    members:
    - {name: z, template: {metadata: {creationTimestamp: null}, spec: {containers: [{name: c, image: "x:1"}]}}}
    - {name: y, count: 2, template: {spec: {containers: [{name: c, image: "x:1", resources: {limits: {cpu: 0.5, memory: 1Gi}}}]}}}
  - name: a
    template:
      metadata: {annotations: {a: "1", "b/c": "null"}, labels: {}}
      spec:
        containers: [{name: c, image: "x:1", env: [], ports: [{containerPort: 80}], futureField: {deep: [1, {}]}}]
        tolerations: []
"#;

#[tokio::test]
async fn every_example_is_taken_and_comes_back_as_it_was() {
    let Some(server) = server().await else { return };
    let mut sets = examples();
    assert!(sets.len() >= 9, "{} examples", sets.len());
    sets.push(("odd".to_owned(), ODD.to_owned()));
    for (name, text) in sets {
        let given = parse(&text).expect(&name).set;
        // Examples come in pairs of one name: a set and what becomes of it.
        server.ok(&["apply", "-f", "-"], &text);
        let stored = server.get(&format!("lss/{}", given.metadata.name));
        let stored = parse_json(&stored).expect(&name).set;
        assert_eq!(revisions(&stored), revisions(&given), "{name}");
        assert_eq!(stored.spec, given.spec, "{name}");
    }
    for kind in ["lockstepsets", "rolescales"] {
        let text = server.get(&format!("crd/{kind}.lockstep.dev")).to_string();
        assert!(!text.contains("\"NonStructuralSchema\""), "{text}");
    }
}

#[tokio::test]
async fn people_can_ask_and_scale() {
    let Some(server) = server().await else { return };
    server.ok(&["apply", "-f", "-"], &examples()[0].1);
    let name = parse(&examples()[0].1).expect("an example").set.metadata.name.clone();
    let status = json!({"status": {
        "replicas": 2, "readyReplicas": 1, "updatedReplicas": 0, "selector": "lockstep.dev/set=x",
        "revision": {"stable": "6f2c9", "update": "a41d0"},
        "rollout": {"phase": "Progressing", "waitingFor": "llama-1/prefill-2 to become ready"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "memory": {"anything": [1, {"at": "all"}]},
    }});
    let lss = format!("lss/{name}");
    let patch = status.to_string();
    server.ok(&["patch", &lss, "--subresource=status", "--type=merge", "-p", &patch], "");
    assert_eq!(server.get(&lss)["status"]["memory"], json!({"anything": [1, {"at": "all"}]}));

    let shown = server.ok(&["get", "lss"], "");
    let mut lines = shown.lines().map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()));
    let head: Vec<&str> = lines.next().expect("a head").collect();
    assert_eq!(head, ["NAME", "GROUPS", "READY", "UPDATED", "PHASE", "WAITING FOR", "AGE"]);
    let row: Vec<&str> = lines.next().expect("a row").collect();
    assert_eq!(row[..6], [&name, "2", "1", "0", "Progressing", "llama-1/prefill-2 to become ready"]);
    let wide = server.ok(&["get", "lss", "-o", "wide"], "");
    assert!(wide.contains("STABLE") && wide.contains("a41d0"), "{wide}");
    assert!(server.ok(&["get", "lockstep"], "").contains(&name), "the category");
    let by_phase = |phase| server.ok(&["get", "lss", "--field-selector", phase, "-o", "name"], "");
    assert!(by_phase("status.rollout.phase=Progressing").contains(&name));
    assert!(by_phase("status.rollout.phase=Stalled").is_empty());

    server.ok(&["scale", &lss, "--replicas=5"], "");
    assert_eq!(server.get(&lss)["spec"]["replicas"], 5);
    let explained = server.eventually_ok(&["explain", "lss.spec.roles.updateStrategy"]);
    for words in ["How many instances may be unavailable", "maxSurge", "ENUM:", "OnDelete", "Default 1."] {
        assert!(explained.contains(words), "{words}: {explained}");
    }
}

#[tokio::test]
async fn one_role_can_be_scaled_and_stays_that_role() {
    let Some(server) = server().await else { return };
    let scale = lockstep_api::role_scale::RoleScale::new("llama", "prefill", 4);
    let scale = serde_json::to_value(&scale).expect("JSON");
    server.ok(&["apply", "-f", "-"], &scale.to_string());
    server.ok(&["scale", "lrs/llama-prefill", "--replicas=6"], "");
    let stored = server.get("lrs/llama-prefill");
    assert_eq!(stored["spec"], json!({"set": "llama", "role": "prefill", "replicas": 6}));
    let shown = server.ok(&["get", "lrs", "--field-selector", "spec.set=llama,spec.role=prefill"], "");
    assert!(shown.starts_with("NAME"), "{shown}");
    assert!(shown.contains("SET     ROLE      REPLICAS   AGE"), "{shown}");
    let other = json!({"spec": {"role": "decode"}}).to_string();
    let said = server.refused(&["patch", "lrs/llama-prefill", "--type=merge", "-p", &other], "");
    assert!(said.contains("role cannot be changed"), "{said}");
}

/// A set with one role `a` and one rule, changed a little.
fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "x:1"}]}});
    let mut set = json!({
        "apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND, "metadata": {"name": "a"},
        "spec": {
            "updateStrategy": {}, "progressDeadlineSeconds": 600,
            "roles": [
                {"name": "a", "replicas": 2, "template": template, "updateStrategy": {}},
                {"name": "b", "replicas": 2, "members": [{"name": "m", "count": 2, "template": template}]},
            ],
            "coordination": [{"name": "r", "roles": ["a", "b"], "scaling": {"maxSkew": "50%"}}],
        },
    });
    change(&mut set);
    set
}

/// Everything that a rule of the schema refuses, with the words for it.
fn refusals() -> Vec<(Value, &'static str)> {
    let spec = |pointer: &'static str, value: Value| {
        changed(|set| *set.pointer_mut(pointer).expect(pointer) = value)
    };
    let added = |pointer: &'static str, key: &'static str, value: Value| {
        changed(|set| set.pointer_mut(pointer).expect(pointer)[key] = value)
    };
    let zero = json!({"maxUnavailable": 0, "maxSurge": "0"});
    let stuck = "nothing could move, as maxSurge is 0 too; use maxUnavailable: 1";
    let skew = json!({"maxSkew": "5%"});
    let near = json!({"topologyKey": "zone", "ratios": {"a": 1, "b": 1}});
    let either = "must have either role and updateTo, or pause: {}";
    vec![
        (
            spec("/metadata/name", json!("a.b")),
            "must be lower case letters, digits and '-', starting and ending with a letter or digit",
        ),
        (spec("/metadata/name", json!("a".repeat(64))), "up to 63 are accepted"),
        (spec("/spec/updateStrategy", zero.clone()), stuck),
        (spec("/spec/roles/0/updateStrategy", zero), stuck),
        (added("/spec/roles/1", "minReadySeconds", json!(600)), "must be more than"),
        (
            added(
                "/spec/roles/1",
                "template",
                json!({"spec": {"containers": [{"name": "c", "image": "x"}]}}),
            ),
            "has both template and members; keep one of them",
        ),
        (
            spec("/spec/roles/1/members", json!([])),
            "needs a template, or members for instances of several pods",
        ),
        (added("/spec/roles/0", "minAvailable", json!(3)), "more than the role's replicas"),
        (added("/spec/roles/0", "startsAfter", json!(["a"])), "a role cannot start after itself"),
        (
            added("/spec/roles/0", "restartPolicy", json!({"baseDelaySeconds": 20, "maxDelaySeconds": 10})),
            "must not be above maxDelaySeconds",
        ),
        (added("/spec/roles/1/members/0", "minAvailable", json!(3)), "more than the member's count"),
        (
            spec("/spec/coordination/0", json!({"name": "r", "roles": ["a"]})),
            "needs one or more of rollingUpdate, steps, affinityScheduling and scaling",
        ),
        (
            spec(
                "/spec/coordination/0",
                json!({"name": "r", "roles": ["a", "b"], "skew": skew, "rollingUpdate": skew}),
            ),
            "another spelling of rollingUpdate, which is given too",
        ),
        (
            spec("/spec/coordination/0", json!({"name": "r", "affinity": near, "affinityScheduling": near})),
            "another spelling of affinityScheduling, which is given too",
        ),
        (
            spec("/spec/coordination/0", json!({"name": "r", "skew": skew})),
            "rollingUpdate needs the roles it spans",
        ),
        (
            spec("/spec/coordination/0", json!({"name": "r", "scaling": skew})),
            "scaling needs the roles it spans",
        ),
        (added("/spec/coordination/0", "steps", json!([{}])), either),
        (added("/spec/coordination/0", "steps", json!([{"role": "a", "updateTo": 1, "pause": {}}])), either),
    ]
}

#[tokio::test]
async fn the_server_refuses_in_the_words_of_the_validator() {
    let Some(server) = server().await else { return };
    let dry = ["apply", "--dry-run=server", "-f", "-"];
    server.ok(&dry, &changed(|_| ()).to_string());
    for (set, words) in refusals() {
        let said = server.refused(&dry, &set.to_string());
        assert!(said.contains(words), "{words}: {said}\n{set}");
        let problems = parse_json(&set).expect_err(words);
        assert!(problems.iter().any(|problem| problem.message.contains(words)), "{words}: {problems:?}");
    }
}

#[tokio::test]
async fn the_server_refuses_what_the_reader_refuses() {
    let Some(server) = server().await else { return };
    let dry = ["apply", "--dry-run=server", "-f", "-"];
    let many: Vec<Value> =
        (0..1001).map(|i| json!({"name": format!("r{i}"), "scaling": {"maxSkew": 1}})).collect();
    let bad = [
        ("/spec/roles", json!([])),
        ("/spec/roles/0/replicas", json!(-1)),
        ("/spec/roles/0/replicas", json!(100_001)),
        ("/spec/roles/0/name", json!("A")),
        ("/spec/roles/0/name", json!("b")),
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": "101%"})),
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": "a few"})),
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": -1})),
        ("/spec/roles/0/updateStrategy", json!({"maxSurge": 100_001})),
        ("/spec/roles/0/updateStrategy", json!({"type": "GroupRecreate"})),
        ("/spec/roles/0/updateStrategy", json!({"maxSurg": 1})),
        ("/spec/roles/0/template", json!("text")),
        ("/spec/roles/1/members/0/count", json!(0)),
        ("/spec/updateStrategy", json!({"order": "Sideways"})),
        ("/spec/progressDeadlineSeconds", json!(0)),
        ("/spec/coordination", json!(many)),
        ("/spec/coordination/0/roles", json!(["a", "a"])),
        ("/spec/coordination/0/scaling", json!({})),
        ("/spec/coordination/0", json!({"name": "r", "affinity": {"topologyKey": "zone", "ratios": {}}})),
        ("/spec/coordination/0", json!({"name": "r", "affinity": {"topologyKey": "/", "ratios": {"a": 1}}})),
        ("/spec/coordination/0", json!({"name": "r", "affinity": {"topologyKey": "z", "ratios": {"a": 0}}})),
        ("/spec/coordination/0", json!({"name": "r", "steps": [{"pause": {"duration": "soon"}}]})),
    ];
    for (pointer, value) in bad {
        let set = changed(|set| *set.pointer_mut(pointer).expect(pointer) = value);
        assert!(parse_json(&set).is_err(), "{set}");
        server.refused(&dry, &set.to_string());
    }
    let good = [
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": "100%", "maxSurge": "300%"})),
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": "0%", "maxSurge": 0})),
        ("/spec/roles/0/updateStrategy", json!({"maxUnavailable": "05%", "partition": "1"})),
        ("/spec/roles/0/updateStrategy", json!(null)),
        ("/spec/roles/0/replicas", json!(null)),
        ("/spec/coordination/0", json!({"name": "r", "steps": [{"pause": {"duration": "1h30m5s10ms"}}]})),
        ("/spec/coordination/0", json!({"name": "r", "steps": []})),
    ];
    for (pointer, value) in good {
        let set = changed(|set| *set.pointer_mut(pointer).expect(pointer) = value);
        assert!(parse_json(&set).is_ok(), "{set}");
        server.ok(&dry, &set.to_string());
    }
}
