//! The manifests that the proposal prints.

use lockstep_api::{Order, UpdateType};
use lockstep_core::number::IntOrPercent::Int;

use crate::support::{lower, yaml};

pub const SINGLE_NODE: &str = include_str!("../manifests/grove/use-case-1.yaml");
pub const EXCESS_CAPACITY: &str = include_str!("../manifests/grove/use-case-2.yaml");
pub const NO_EXCESS_CAPACITY: &str = include_str!("../manifests/grove/use-case-3.yaml");
pub const MULTI_NODE: &str = include_str!("../manifests/grove/use-case-4.yaml");

#[test]
fn single_node_aggregated() {
    let set = lower(&yaml(SINGLE_NODE)).set;
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
        let lowered = lower(&yaml(spec));
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
    let lowered = lower(&yaml(MULTI_NODE));
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
