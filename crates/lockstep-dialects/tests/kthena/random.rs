//! Random manifests: good ones are accepted and roll, broken ones are refused in words.

use lockstep_api::proof::Verdict;
use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_core::simulate::rng::Rng;
use lockstep_dialects::{Seen, Served, World};
use serde_json::{Value, json};

use crate::common::*;

/// A manifest that its user would call good.
fn manifest(rng: &mut Rng) -> Value {
    let names = ["prefill", "decode", "router", "405b"];
    let count = usize::try_from(rng.between(1, 4)).expect("small");
    let roles: Vec<Value> = names[..count].iter().map(|name| role(rng, name)).collect();
    let mut spec = json!({"template": {"roles": roles}});
    maybe(rng, &mut spec, "replicas", |rng| json!(rng.below(5)));
    maybe(rng, &mut spec, "schedulerName", |_| json!("volcano"));
    let policies = [json!("ServingGroupRecreate"), json!("RoleRecreate"), json!("None")];
    maybe(rng, &mut spec, "recoveryPolicy", |rng| rng.pick(&policies).cloned().unwrap_or_default());
    maybe(rng, &mut spec, "rolloutStrategy", |rng| strategy(rng, &roles));
    let least: serde_json::Map<String, Value> = roles
        .iter()
        .map(|role| {
            (role["name"].as_str().unwrap_or_default().to_owned(), json!(rng.below(replicas(role) + 1)))
        })
        .collect();
    maybe(rng, &mut spec["template"], "gangPolicy", |_| json!({"minRoleReplicas": least}));
    maybe(rng, &mut spec["template"], "restartGracePeriodSeconds", |rng| json!(rng.below(100)));
    json!({
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": "random", "namespace": "models"},
        "spec": spec,
    })
}

fn maybe(rng: &mut Rng, at: &mut Value, field: &str, value: impl FnOnce(&mut Rng) -> Value) {
    if rng.chance(50) {
        at[field] = value(rng);
    }
}

fn replicas(role: &Value) -> u64 {
    role["replicas"].as_u64().unwrap_or(1)
}

fn role(rng: &mut Rng, name: &str) -> Value {
    let template = || json!({"spec": {"containers": [{"name": "main", "image": "vllm:1"}]}});
    let mut role = json!({"name": name, "entryTemplate": template()});
    maybe(rng, &mut role, "replicas", |rng| json!(rng.below(6)));
    maybe(rng, &mut role, "workerTemplate", |_| template());
    if role.get("workerTemplate").is_some() {
        maybe(rng, &mut role, "workerReplicas", |rng| json!(rng.below(4)));
    }
    maybe(rng, &mut role, "maxUnavailable", |rng| number(rng, 1, 4));
    maybe(rng, &mut role, "maxSurge", |rng| number(rng, 0, 3));
    if rng.chance(10) {
        role["partition"] = number(rng, 0, 4);
    }
    role
}

/// A count, or a percentage.
fn number(rng: &mut Rng, low: u64, high: u64) -> Value {
    if rng.chance(50) {
        json!(rng.between(low, high))
    } else {
        json!(format!("{}%", rng.between(low.min(1), 100)))
    }
}

fn strategy(rng: &mut Rng, roles: &[Value]) -> Value {
    let mut groups = json!({});
    maybe(rng, &mut groups, "maxUnavailable", |rng| number(rng, 1, 5));
    maybe(rng, &mut groups, "maxSurge", |rng| number(rng, 0, 2));
    maybe(rng, &mut groups, "partition", |rng| number(rng, 0, 6));
    if rng.chance(30) {
        let mut strategy = json!({"type": "RoleRollingUpdate", "rollingUpdateConfiguration": groups});
        maybe(rng, &mut strategy, "roleCoordination", |rng| json!({"maxSkew": number(rng, 1, 2)}));
        return strategy;
    }
    maybe(rng, &mut groups, "roleUpgrade", |rng| json!({"steps": steps(rng, roles)}));
    json!({"type": "ServingGroupRollingUpdate", "rollingUpdateConfiguration": groups})
}

/// Steps that never go back.
fn steps(rng: &mut Rng, roles: &[Value]) -> Vec<Value> {
    let mut reached = vec![0; roles.len()];
    let mut steps = Vec::new();
    for _ in 0..rng.below(6) {
        let i = usize::try_from(rng.below(roles.len() as u64)).expect("small");
        let all = replicas(&roles[i]);
        let to = rng.between(reached[i].min(all), all);
        reached[i] = to.max(1);
        let target = if to == 0 { json!("100%") } else { json!(to) };
        if to == 0 {
            reached[i] = all;
        }
        steps.push(json!({"role": roles[i]["name"], "updateTo": target}));
    }
    steps
}

fn world(rng: &mut Rng) -> World {
    let served = Served { volcano: rng.chance(50), pod_groups: rng.chance(50), pod_gangs: rng.chance(50) };
    World { served, ..World::default() }
}

#[test]
fn good_manifests_are_accepted_and_roll() {
    for seed in 0..300 {
        let rng = &mut Rng::new(seed);
        let (object, world) = (manifest(rng), world(rng));
        let first = dialect().lower(&object, &world);
        assert_eq!(first, dialect().lower(&object, &world), "seed {seed}: always the same");
        let lowered = first.unwrap_or_else(|problems| panic!("seed {seed}: {}\n{object}", lines(&problems)));
        let verdict = lowered.prove(None);
        assert_eq!(verdict, Verdict::Finish, "seed {seed}: {object}");
        raising_keeps_counts(&object, &lowered, rng);
    }
}

fn raising_keeps_counts(object: &Value, lowered: &lockstep_dialects::Lowered, rng: &mut Rng) {
    let replicas = lowered.set.spec.replicas;
    let mut some = || u32::try_from(rng.below(u64::from(replicas) + 1)).unwrap_or(0);
    let (ready, updated) = (some(), some());
    let role = |role: &lockstep_api::Role| RoleStatus { name: role.name.clone(), ..RoleStatus::default() };
    let status = LockstepSetStatus {
        replicas,
        ready_replicas: ready,
        updated_replicas: updated,
        roles: lowered.set.spec.roles.iter().map(role).collect(),
        ..LockstepSetStatus::default()
    };
    let seen = Seen {
        lowered: Ok(lowered),
        status: &status,
        current: true,
        lacking: &[],
        now: "2026-08-01T10:00:00Z",
    };
    let raised = dialect().raise(object, &seen, &World::default()).status;
    let field = |name: &str| raised[name].as_u64().and_then(|n| u32::try_from(n).ok());
    assert_eq!(field("replicas"), Some(replicas));
    assert_eq!(field("availableReplicas"), Some(ready));
    assert_eq!(field("updatedReplicas"), Some(updated));
    assert!(field("currentReplicas") <= Some(replicas));
}

/// Something else in some place of an object.
fn mutate(rng: &mut Rng, value: &mut Value) {
    let odd = [
        json!(null),
        json!(-1),
        json!(4_294_967_296_u64),
        json!(1.5),
        json!("x"),
        json!("101%"),
        json!([]),
        json!({}),
        json!(true),
    ];
    match value {
        Value::Object(fields) if !fields.is_empty() && rng.chance(80) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = rng.pick(&keys).cloned().unwrap_or_default();
            match rng.below(10) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert("odd".to_owned(), json!(1))),
                _ => mutate(rng, fields.entry(key).or_insert(Value::Null)),
            }
        }
        Value::Array(items) if !items.is_empty() && rng.chance(80) => {
            let i = usize::try_from(rng.below(items.len() as u64)).expect("small");
            if rng.chance(10) { items.push(items[i].clone()) } else { mutate(rng, &mut items[i]) }
        }
        other => *other = rng.pick(&odd).cloned().unwrap_or_default(),
    }
}

#[test]
fn broken_manifests_are_refused_in_words() {
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..3000 {
        let rng = &mut Rng::new(seed);
        let (mut object, world) = (manifest(rng), world(rng));
        let before = object.clone();
        for _ in 0..rng.between(1, 3) {
            mutate(rng, &mut object);
        }
        let lowered = dialect().lower(&object, &world);
        match &lowered {
            Ok(_) => accepted += 1,
            Err(problems) => {
                refused += 1;
                assert!(!problems.is_empty(), "seed {seed}: {object}");
                assert!(problems.iter().all(|it| !it.message.is_empty()), "seed {seed}: {object}");
                // What fits the schema can be read.
                let known = ["required", "must be an object"];
                let unread =
                    |it: &lockstep_api::Problem| it.path == "spec" && !known.contains(&it.message.as_str());
                assert!(!problems.iter().any(unread), "seed {seed}: {}\n{object}", lines(problems));
                // Nobody knows our fields.
                let ours = |text: &str| text.contains("spec.roles") || text.contains("spec.coordination");
                assert!(!problems.iter().any(|it| ours(&it.to_string())), "{}", lines(problems));
            }
        }
        let status = LockstepSetStatus::default();
        let lowered = lowered.as_ref().map_err(Vec::as_slice);
        let seen =
            Seen { lowered, status: &status, current: false, lacking: &[], now: "2026-08-01T10:00:00Z" };
        dialect().raise(&object, &seen, &world);
        dialect().forbidden_changes(&before, &object);
    }
    assert!(refused > 500 && accepted > 100, "{refused} refused, {accepted} accepted");
}
