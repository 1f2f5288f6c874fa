//! The manifests that the proposal prints, with images filled in.

use lockstep_api::{Order, UpdateType};
use lockstep_core::number::IntOrPercent::Int;
use serde_json::{Value, json};

use crate::support::{lower, object};

/// Gives every clique a pod spec, and every scaling group of the proposal the cliques of its text.
fn completed(spec: &str) -> Value {
    let mut object = object(spec);
    let template = &mut object["spec"]["template"];
    let mut cliques = template["cliques"].as_array().cloned().unwrap_or_default();
    for group in template["podCliqueScalingGroups"].as_array_mut().into_iter().flatten() {
        let name = group["name"].as_str().expect("a name").to_owned();
        group["cliqueNames"] = json!([format!("{name}-leader"), format!("{name}-worker")]);
        cliques.push(json!({"name": format!("{name}-leader"), "spec": {}}));
        cliques.push(json!({"name": format!("{name}-worker"), "spec": {"replicas": 2}}));
    }
    for clique in &mut cliques {
        clique["spec"]["podSpec"] = json!({"containers": [{"name": "main", "image": "vllm:1"}]});
    }
    template["cliques"] = Value::Array(cliques);
    object
}

pub const SINGLE_NODE: &str = "
replicas: 1
updateStrategy:
  type: RollingUpdate
  rollingUpdate:
    maxUnavailable: 1
    maxSurge: 0
template:
  cliques:
    - name: frontend
      replicas: 2
      # Default: maxUnavailable=1, maxSurge=0 (sequential pod updates)
    - name: agg-worker
      replicas: 3
      updateStrategy:
        maxUnavailable: 0
        maxSurge: 1 # Maintain full capacity during updates
";

pub const EXCESS_CAPACITY: &str = "
replicas: 2
updateStrategy:
  type: ReplicaRecreate
  rollingUpdate:
    maxUnavailable: 0
    maxSurge: 1 # Create surge replica before deleting old ones
template:
  podCliqueScalingGroups:
    - name: prefill
    - name: decode
";

pub const NO_EXCESS_CAPACITY: &str = "
replicas: 2
updateStrategy:
  type: ReplicaRecreate
  rollingUpdate:
    maxUnavailable: 1
    maxSurge: 0 # No surge, delete before create
template:
  podCliqueScalingGroups:
    - name: prefill
    - name: decode
";

pub const MULTI_NODE: &str = "
replicas: 2
updateStrategy:
  type: RollingUpdate
  rollingUpdate:
    maxUnavailable: 1
    maxSurge: 0
template:
  podCliqueScalingGroups:
    - name: prefill
      replicas: 3
      updateStrategy:
        maxUnavailable: 1
        maxSurge: 0 # Sequential PCSG replica updates
    - name: decode
      replicas: 2
      updateStrategy:
        maxUnavailable: 0
        maxSurge: 1 # Maintain full capacity during updates
";

/// The manifest of one of the proposal's four use cases.
pub fn manifest(spec: &str) -> Value {
    completed(spec.trim())
}

#[test]
fn single_node_aggregated() {
    let set = lower(&manifest(SINGLE_NODE)).set;
    let strategy = set.spec.update_strategy;
    assert_eq!(
        (strategy.kind, strategy.max_unavailable, strategy.max_surge, strategy.order),
        (UpdateType::RollingUpdate, Int(1), Int(0), Order::Ascending)
    );
    let roles: Vec<_> = set
        .spec
        .roles
        .iter()
        .map(|role| {
            let strategy = role.strategy();
            (role.name.as_str(), role.replicas, strategy.max_unavailable, strategy.max_surge, strategy.order)
        })
        .collect();
    assert_eq!(
        roles,
        [
            ("frontend", 2, Int(1), Int(0), Order::OldestFirst),
            ("agg-worker", 3, Int(0), Int(1), Order::OldestFirst)
        ]
    );
}

#[test]
fn replicas_that_are_recreated() {
    for (spec, unavailable, surge) in [(EXCESS_CAPACITY, 0, 1), (NO_EXCESS_CAPACITY, 1, 0)] {
        let lowered = lower(&manifest(spec));
        let strategy = lowered.set.spec.update_strategy;
        assert_eq!(
            (strategy.kind, strategy.max_unavailable, strategy.max_surge, strategy.order),
            (UpdateType::GroupRecreate, Int(unavailable), Int(surge), Order::Ascending)
        );
        assert_eq!(lowered.warnings, []);
        assert!(lowered.set.spec.roles.iter().all(|role| role.update_strategy.is_none()));
    }
}

#[test]
fn scaling_groups_that_roll() {
    let lowered = lower(&manifest(MULTI_NODE));
    let said: Vec<String> = lowered.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "spec.updateStrategy.rollingUpdate: has no effect under RollingUpdate, which moves one replica at a time"
        ]
    );
    let [prefill, decode] = lowered.set.spec.roles.as_slice() else { panic!("two roles") };
    assert_eq!((prefill.replicas, prefill.pods(), prefill.min_available), (3, 3, Some(Int(1))));
    assert_eq!((prefill.strategy().max_unavailable, prefill.strategy().max_surge), (Int(1), Int(0)));
    assert_eq!((decode.strategy().max_unavailable, decode.strategy().max_surge), (Int(0), Int(1)));
    assert_eq!((prefill.strategy().order, decode.strategy().order), (Order::Ascending, Order::Ascending));
}
