//! Random manifests: all that are valid become sets that roll, and nothing that is not makes anybody panic.

use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use lockstep_core::simulate::rng::Rng;
use lockstep_dialects::{Seen, World};
use serde_json::{Map, Value, json};

use crate::support::{grove, lower_in};

const RUNS: u64 = 400;

fn number(rng: &mut Rng, low: u64, high: u64) -> u32 {
    u32::try_from(rng.between(low, high)).expect("small")
}

/// Limits under which something can move.
fn limits(rng: &mut Rng) -> Value {
    match rng.below(5) {
        0 => json!({}),
        1 => json!({"maxUnavailable": number(rng, 1, 3)}),
        2 => json!({"maxUnavailable": 0, "maxSurge": number(rng, 1, 3)}),
        3 => {
            json!({"maxUnavailable": format!("{}%", rng.between(0, 100)), "maxSurge": format!("{}%", rng.between(0, 150))})
        }
        _ => json!({"maxSurge": number(rng, 0, 2)}),
    }
}

fn maybe(rng: &mut Rng, fields: &mut Map<String, Value>, field: &str, value: impl FnOnce(&mut Rng) -> Value) {
    if rng.chance(40) {
        let value = value(rng);
        fields.insert(field.to_owned(), value);
    }
}

fn constraint(rng: &mut Rng) -> Value {
    let domain = *rng.pick(&["zone", "rack", "host", "nowhere"]).expect("one");
    match rng.below(3) {
        0 => json!({"topologyName": "t", "packDomain": domain}),
        1 => json!({"topologyName": "other", "pack": {"required": domain}}),
        _ => json!({"topologyName": "t", "pack": {"required": "zone", "preferred": domain}}),
    }
}

fn clique(rng: &mut Rng, i: usize, in_group: bool, before: &[String]) -> Value {
    let replicas = if rng.chance(8) { 0 } else { number(rng, 1, 4) };
    let mut spec = Map::new();
    spec.insert("podSpec".to_owned(), json!({"containers": [{"name": "main", "image": "a:1"}]}));
    spec.insert("replicas".to_owned(), json!(replicas));
    if replicas > 0 {
        maybe(rng, &mut spec, "minAvailable", |rng| json!(number(rng, 1, u64::from(replicas))));
    }
    maybe(rng, &mut spec, "updateStrategy", limits);
    maybe(rng, &mut spec, "roleName", |_| json!(format!("role-{i}")));
    maybe(rng, &mut spec, "startsAfter", |rng| {
        let names: Vec<&String> = before.iter().filter(|_| rng.chance(50)).collect();
        json!(names)
    });
    if !in_group && replicas > 0 {
        maybe(
            rng,
            &mut spec,
            "autoScalingConfig",
            |rng| json!({"minReplicas": replicas, "maxReplicas": replicas + number(rng, 0, 3)}),
        );
    }
    let mut clique = Map::new();
    clique.insert("name".to_owned(), json!(format!("c{i}")));
    maybe(rng, &mut clique, "labels", |_| json!({"x": "y"}));
    maybe(rng, &mut clique, "topologyConstraint", constraint);
    clique.insert("spec".to_owned(), Value::Object(spec));
    Value::Object(clique)
}

fn manifest(rng: &mut Rng) -> Value {
    let count = usize::try_from(rng.between(1, 6)).expect("small");
    let mut groups: Vec<Vec<String>> = vec![Vec::new(); usize::try_from(rng.below(3)).expect("small")];
    let mut cliques = Vec::new();
    let mut names = Vec::new();
    for i in 0..count {
        let group = usize::try_from(rng.below(4)).expect("small");
        let in_group = group < groups.len();
        if in_group {
            groups[group].push(format!("c{i}"));
        }
        cliques.push(clique(rng, i, in_group, &names));
        names.push(format!("c{i}"));
    }
    let mut scaling = Vec::new();
    for (g, members) in groups.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let replicas = number(rng, 1, 3);
        let mut group = Map::new();
        group.insert("name".to_owned(), json!(format!("g{g}")));
        group.insert("cliqueNames".to_owned(), json!(members));
        group.insert("replicas".to_owned(), json!(replicas));
        maybe(rng, &mut group, "minAvailable", |rng| json!(number(rng, 1, u64::from(replicas))));
        maybe(rng, &mut group, "updateStrategy", limits);
        maybe(rng, &mut group, "scaleConfig", |rng| json!({"maxReplicas": replicas + number(rng, 0, 3)}));
        maybe(rng, &mut group, "topologyConstraint", constraint);
        scaling.push(Value::Object(group));
    }
    let mut template = Map::new();
    template.insert("cliques".to_owned(), Value::Array(cliques));
    template.insert("podCliqueScalingGroups".to_owned(), Value::Array(scaling));
    maybe(rng, &mut template, "cliqueStartupType", |rng| {
        let order = rng.pick(&["AnyOrder", "InOrder", "Explicit"]).expect("one");
        json!(format!("CliqueStartupType{order}"))
    });
    maybe(rng, &mut template, "terminationDelay", |rng| json!(format!("{}s", rng.between(1, 9999))));
    maybe(rng, &mut template, "headlessServiceConfig", |_| json!({"publishNotReadyAddresses": false}));
    maybe(rng, &mut template, "topologyConstraint", constraint);
    let mut spec = Map::new();
    spec.insert("replicas".to_owned(), json!(number(rng, 0, 3)));
    spec.insert("template".to_owned(), Value::Object(template));
    maybe(rng, &mut spec, "updateStrategy", |rng| {
        let kind = rng
            .pick(&["RollingUpdate", "RollingRecreate", "ReplicaRecreate", "OnDelete", "Coherent"])
            .expect("one");
        json!({"type": kind, "rollingUpdate": limits(rng)})
    });
    json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "x", "namespace": "ml"}, "spec": spec})
}

fn world() -> World {
    let topology = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": {"name": "t"},
        "spec": {"levels": [{"domain": "zone", "key": "zone"}, {"domain": "rack", "key": "example.com/rack"}]},
    });
    World { objects: vec![topology], ..World::default() }
}

/// Counts of a set that is anywhere on its way.
fn some_status(rng: &mut Rng, set: &lockstep_api::LockstepSet) -> LockstepSetStatus {
    let groups = set.spec.replicas;
    let role = |role: &lockstep_api::Role| {
        let all = role.replicas * groups;
        let ready = number(rng, 0, u64::from(all));
        let updated = number(rng, 0, u64::from(all));
        RoleStatus { name: role.name.clone(), ready, available: ready, updated, ..RoleStatus::default() }
    };
    let roles = set.spec.roles.iter().map(role).collect();
    let mut status = LockstepSetStatus { replicas: groups, roles, ..LockstepSetStatus::default() };
    status.rollout.groups_in_update = (0..groups).filter(|_| rng.chance(40)).collect();
    status
}

#[test]
fn valid_manifests_become_sets_that_roll() {
    for seed in 0..RUNS {
        let mut rng = Rng::new(seed);
        let object = manifest(&mut rng);
        let world = world();
        let lowered = lower_in(&object, &world);
        assert_eq!(lowered, lower_in(&object, &world), "seed {seed}: lowering is a function");
        assert_eq!(lowered.prove(None).problem(), None, "seed {seed}\n{object:#}");
        assert_eq!(grove().forbidden_changes(&object, &object), [], "seed {seed}");
        // What stands beside it changes nothing when it is read back.
        let again =
            World { objects: [world.objects.clone(), lowered.beside.clone()].concat(), ..world.clone() };
        assert_eq!(lower_in(&object, &again), lowered, "seed {seed}");
        counts_are_kept(&mut rng, &object, &lowered, &again, seed);
    }
}

/// Whatever is counted over all groups is there once among the handles.
fn counts_are_kept(
    rng: &mut Rng,
    object: &Value,
    lowered: &lockstep_dialects::Lowered,
    world: &World,
    seed: u64,
) {
    let status = some_status(rng, &lowered.set);
    let seen = Seen {
        lowered: Ok(lowered),
        status: &status,
        current: true,
        lacking: &[],
        now: "2026-01-01T00:00:00Z",
    };
    let raised = grove().raise(object, &seen, world);
    for role in &status.roles {
        let suffix = format!("-{}", role.name);
        let sum = |field: &str| -> u64 {
            let of_role = raised
                .beside
                .iter()
                .filter(|it| it["metadata"]["name"].as_str().is_some_and(|name| name.ends_with(&suffix)));
            of_role.map(|it| it["status"][field].as_u64().expect(field)).sum()
        };
        assert_eq!(sum("scheduledReplicas"), u64::from(role.ready), "seed {seed} {}", role.name);
        assert_eq!(sum("updatedReplicas"), u64::from(role.updated), "seed {seed} {}", role.name);
    }
}

/// Puts nonsense somewhere into a value.
fn spoil(rng: &mut Rng, value: &mut Value) {
    let nonsense = [
        Value::Null,
        json!(-1),
        json!(0),
        json!(1e300),
        json!(99_999_999_999_u64),
        json!(""),
        json!("é{}"),
        json!("120%"),
        json!([]),
        json!({}),
        json!([null]),
        json!(true),
        json!("c0"),
        json!({"name": "c0"}),
    ];
    let replace = rng.chance(15);
    match value {
        Value::Object(fields) if !fields.is_empty() && !replace => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = rng.pick(&keys).expect("one").clone();
            if rng.chance(10) {
                fields.remove(&key);
            } else if let Some(below) = fields.get_mut(&key) {
                spoil(rng, below);
            }
        }
        Value::Array(items) if !items.is_empty() && !replace => {
            let i = usize::try_from(rng.below(items.len() as u64)).expect("small");
            if rng.chance(20) {
                let twice = items[i].clone();
                items.push(twice);
            } else {
                spoil(rng, &mut items[i]);
            }
        }
        other => *other = rng.pick(&nonsense).expect("one").clone(),
    }
}

#[test]
fn nonsense_is_answered() {
    let mut refused = 0;
    for seed in 0..4 * RUNS {
        let mut rng = Rng::new(seed);
        let good = manifest(&mut rng);
        let mut bad = good.clone();
        for _ in 0..=rng.below(4) {
            spoil(&mut rng, &mut bad);
        }
        let lowered = grove().lower(&bad, &world());
        let nothing = LockstepSetStatus::default();
        let errors: &[lockstep_api::Problem] = lowered.as_ref().err().map_or(&[], Vec::as_slice);
        assert_eq!(lowered.is_err(), !errors.is_empty(), "seed {seed}: an error says something");
        refused += usize::from(lowered.is_err());
        let seen = Seen {
            lowered: lowered.as_ref().map_err(|_| errors),
            status: &nothing,
            current: true,
            lacking: &[],
            now: "2026-01-01T00:00:00Z",
        };
        let _ = grove().raise(&bad, &seen, &world());
        let _ = grove().forbidden_changes(&good, &bad);
    }
    assert!(refused > 100, "{refused}");
}

/// Broken files, as people have them: lines lost, doubled, shifted and torn.
#[test]
fn broken_text_is_answered() {
    const WORDS: [&str; 12] = ["{", "}", "[", ": ", "- ", "null", "-1", "'", "120%", "*a", "&a ", "\u{e9}"];
    let text = include_str!("../manifests/grove/leader-worker.yaml");
    let mut read = 0;
    for seed in 0..4 * RUNS {
        let mut rng = Rng::new(seed);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=rng.below(3) {
            let i = usize::try_from(rng.below(lines.len() as u64)).expect("small");
            match rng.below(5) {
                0 => drop(lines.remove(i)),
                1 => lines.insert(i, lines[i].clone()),
                2 => lines[i].insert_str(0, "  "),
                3 => lines[i] = lines[i].trim_start().to_owned(),
                _ => {
                    let at = lines[i].len() / 2;
                    lines[i].insert_str(at, rng.pick(&WORDS).expect("one"));
                }
            }
        }
        let Ok(object) = lockstep_api::yaml_to_json(&lines.join("\n")) else { continue };
        read += 1;
        let _ = grove().lower(&object, &World::default());
    }
    assert!(read > 100, "{read}");
}
