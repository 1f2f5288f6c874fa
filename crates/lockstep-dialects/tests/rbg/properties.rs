//! Random manifests: all that are valid become sets that can roll, and nothing at all makes the reader panic.

use lockstep_api::proof::Verdict;
use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_core::simulate::rng::Rng;
use lockstep_dialects::rbg::Rbg;
use lockstep_dialects::{Dialect, Seen, World};
use serde_json::{Map, Value, json};

use crate::common::{documents, said, world};

fn number(rng: &mut Rng, most: u64) -> Value {
    if rng.chance(50) { json!(format!("{}%", rng.between(0, 100))) } else { json!(rng.between(0, most)) }
}

fn template(rng: &mut Rng) -> Value {
    json!({"spec": {"containers": [{"name": "c", "image": format!("engine:{}", rng.below(3))}]}})
}

fn role(rng: &mut Rng, name: &str, old: bool) -> Value {
    let mut role = json!({"name": name, "replicas": rng.below(6)});
    let source = if rng.chance(30) {
        let patch = json!({"metadata": {"labels": {"patched": "yes"}}});
        if old {
            role["templatePatch"] = patch;
            json!({"templateRef": {"name": "base"}})
        } else {
            json!({"templateRef": {"name": "base", "patch": patch}})
        }
    } else {
        json!({"template": template(rng)})
    };
    let with = |into: &mut Value, more: &Value| {
        for (key, value) in more.as_object().into_iter().flatten() {
            into[key] = value.clone();
        }
    };
    let size = rng.between(1, 4);
    match (rng.below(3), old) {
        (0, true) => with(&mut role, &source),
        (0, false) => role["standalonePattern"] = source,
        (1, true) => {
            with(&mut role, &source);
            role["leaderWorkerSet"] =
                json!({"size": size, "patchLeaderTemplate": {"metadata": {"labels": {"l": "1"}}}});
            if rng.chance(50) {
                role["workload"] =
                    json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"});
            }
        }
        (1, false) => {
            let mut pattern = json!({"size": size, "restartPolicy": {"type": "None", "baseDelaySeconds": 3}});
            with(&mut pattern, &source);
            role["leaderWorkerPattern"] = pattern;
        }
        (_, old) => {
            role.as_object_mut().map(|role| role.remove("templatePatch"));
            let components = json!([
                {"name": "a", "size": size, "template": template(rng)},
                {"name": "b", "template": template(rng)},
            ]);
            if old {
                role["components"] = components;
            } else {
                role["customComponentsPattern"] = json!({"components": components});
            }
        }
    }
    if rng.chance(30) {
        role["rolloutStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {
            "maxUnavailable": rng.between(1, 3), "maxSurge": number(rng, 3), "partition": number(rng, 3),
        }});
    }
    if !old && rng.chance(30) {
        role["podManagementPolicy"] = json!("Parallel");
        role["scalingAdapter"] = json!({"enable": true, "labels": {"a": "b"}});
    }
    role
}

/// A valid RoleBasedGroup, or a set of them.
pub fn random(seed: u64) -> Value {
    let mut rng = Rng::new(seed);
    let old = rng.chance(50);
    let names = ["prefill", "decode", "router"];
    let count = usize::try_from(rng.between(1, 3)).expect("small");
    let mut roles: Vec<Value> = names[..count].iter().map(|name| role(&mut rng, name, old)).collect();
    if count == 3 && rng.chance(50) {
        roles[2]["dependencies"] = json!(["prefill", "decode"]);
    }
    let mut spec =
        json!({"roles": roles, "roleTemplates": [{"name": "base", "template": template(&mut rng)}]});
    if count > 1 && rng.chance(60) {
        spec["coordination"] = json!([{"name": "pd", "roles": ["prefill", "decode"], "strategy": {
            "rollingUpdate": {"maxSkew": number(&mut rng, 3), "maxUnavailable": format!("{}%", rng.between(1, 100))},
            "scaling": {"maxSkew": number(&mut rng, 3)},
        }}]);
    }
    let version = if old { "v1alpha1" } else { "v1alpha2" };
    let (kind, spec) = match (rng.chance(25), old) {
        (false, _) => ("RoleBasedGroup", spec),
        (true, true) => ("RoleBasedGroupSet", json!({"replicas": rng.below(4), "template": spec})),
        (true, false) => (
            "RoleBasedGroupSet",
            json!({"replicas": rng.below(4), "groupTemplate": {"labels": {"app": "x"}, "spec": spec}}),
        ),
    };
    json!({
        "apiVersion": format!("workloads.x-k8s.io/{version}"),
        "kind": kind,
        "metadata": {"name": "pd", "namespace": "default", "generation": 3},
        "spec": spec,
    })
}

#[test]
fn valid_manifests_become_sets_that_can_roll() {
    for seed in 0..300 {
        let object = random(seed);
        let lower = || Rbg.lower(&object, &world(&[])).map_err(|problems| said(&problems).join("\n"));
        let lowered = lower().unwrap_or_else(|problems| panic!("seed {seed}: {problems}\n{object:#}"));
        assert_eq!(lower().as_ref(), Ok(&lowered), "seed {seed}");
        assert_eq!(lowered.prove(None), Verdict::Finish, "seed {seed}\n{object:#}");
        let mut status = LockstepSetStatus::default();
        for role in &lowered.set.spec.roles {
            let count = role.replicas * lowered.set.spec.replicas;
            status.roles.push(RoleStatus {
                name: role.name.clone(),
                replicas: count,
                ready: count / 2,
                updated: count / 3,
                ..RoleStatus::default()
            });
        }
        let seen = Seen {
            lowered: Ok(&lowered),
            status: &status,
            current: true,
            lacking: &[],
            now: "2026-01-01T00:00:00Z",
        };
        let raised = Rbg.raise(&object, &seen, &World::default());
        assert_eq!(raised.status["observedGeneration"], 3);
        for (i, role) in status.roles.iter().enumerate().filter(|_| object["kind"] == "RoleBasedGroup") {
            let said = &raised.status["roleStatuses"][i];
            let wanted = json!({
                "name": role.name, "replicas": role.replicas, "readyReplicas": role.ready,
                "updatedReplicas": role.updated,
            });
            assert_eq!(*said, wanted, "seed {seed}");
        }
    }
}

/// Something else somewhere in a value.
fn mutate(value: &mut Value, rng: &mut Rng) {
    let odd = [
        Value::Null,
        json!(-1),
        json!(0),
        json!(4_294_967_296_u64),
        json!(1.5),
        json!("x"),
        json!("{"),
        json!("200%"),
        json!(""),
        json!([]),
        json!([1]),
        json!({}),
        json!({"name": 1}),
        json!(true),
    ];
    match value {
        Value::Object(fields) if !fields.is_empty() && rng.chance(85) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = rng.pick(&keys).cloned().unwrap_or_default();
            match rng.below(10) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert("more".to_owned(), json!(1))),
                _ => mutate(fields.entry(key).or_insert(Value::Null), rng),
            }
        }
        Value::Array(items) if !items.is_empty() && rng.chance(85) => {
            let i = usize::try_from(rng.below(items.len() as u64)).expect("small");
            match rng.below(10) {
                0 => drop(items.remove(i)),
                1 => items.push(items[i].clone()),
                _ => mutate(&mut items[i], rng),
            }
        }
        other => *other = rng.pick(&odd).cloned().unwrap_or(Value::Object(Map::new())),
    }
}

#[test]
fn whatever_is_written_nothing_panics() {
    let files = [
        include_str!("../manifests/rbg/old-words.yaml"),
        include_str!("../manifests/rbg/new-words.yaml"),
        include_str!("../manifests/rbg/sets.yaml"),
    ];
    let objects: Vec<Vec<Value>> = files.iter().map(|text| documents(text)).collect();
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let mut all = rng.pick(&objects).cloned().unwrap_or_default();
        for _ in 0..rng.between(1, 3) {
            let i = usize::try_from(rng.below(all.len() as u64)).expect("small");
            mutate(&mut all[i], &mut rng);
        }
        for object in &all {
            lockstep_dialects::rbg::convert(object, "v1alpha1");
            lockstep_dialects::rbg::convert(object, "v1alpha2");
        }
        let world = world(&all);
        let lowered = Rbg.lower(&all[0], &world);
        let status = LockstepSetStatus::default();
        let said = lowered.as_ref().map_err(Vec::as_slice);
        let seen =
            Seen { lowered: said, status: &status, current: true, lacking: &[], now: "2026-01-01T00:00:00Z" };
        Rbg.raise(&all[0], &seen, &world);
        match lowered {
            Ok(_) => accepted += 1,
            Err(problems) => {
                assert!(!problems.is_empty(), "seed {seed}: refused without a word: {:#}", all[0]);
                refused += 1;
            }
        }
    }
    assert!(accepted > 300 && refused > 300, "{accepted} accepted, {refused} refused");
}
