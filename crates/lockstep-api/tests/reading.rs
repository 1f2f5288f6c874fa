//! Defaults, all errors at once, lines, and what the engine gets.

#![allow(clippy::unwrap_used)]

mod common;

use common::{manifest, with_roles};
use lockstep_api::{Step, check, lower, parse, parse_json};
use lockstep_core::model::{self, RestartKind, RuleKind, StrategyKind};
use lockstep_core::number::IntOrPercent::{Int, Percent};
use lockstep_core::time::Millis;

const BROKEN: &str = "\
apiVersion: lockstep.dev/v1beta1
kind: LockstepSet
metadata:
  name: Llama
spec:
  replicas: many
  updateStragety: {}
  updateStrategy:
    maxUnavailable: 0
    partition: 120%
  coordination:
  - name: canary
    steps:
    - {role: decoder, updateTo: 1}
    - {role: decode, updateTo: 5}
    - pause: {duration: soon}
  roles:
  - name: decode
    replicas: 2
    minAvailable: 3
    updateStrategy: {type: GroupRecreate, order: Sideways}
    template: {spec: {containers: [{name: main}]}}
  - name: decode
    restartPolicy: {type: Never}
  onFailure: Pray
";

#[test]
fn all_errors_at_once_in_the_order_of_the_file() {
    let problems = parse(BROKEN).unwrap_err();
    let said: Vec<String> =
        problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap())).collect();
    assert_eq!(
        said,
        [
            "1: apiVersion: \"lockstep.dev/v1beta1\": must be lockstep.dev/v1alpha1",
            "4: metadata.name: \"Llama\": must be lower case letters, digits and '-', starting and ending with a \
             letter or digit",
            "6: spec.replicas: \"many\": must be a whole number from 0 to 100000",
            "7: spec.updateStragety: unknown field; did you mean updateStrategy?",
            "10: spec.updateStrategy.partition: \"120%\": must be a whole number or a percentage up to 100%",
            "14: spec.coordination[0].steps[0].role: \"decoder\": no such role; did you mean decode?",
            "15: spec.coordination[0].steps[1].updateTo: 5: must be from 1 to 2 (the replicas of decode) or from \
             1% to 100%",
            "16: spec.coordination[0].steps[2].pause.duration: \"soon\": must be a length of time above zero and \
             up to 8760h, such as 30s, 5m or 1h30m",
            "20: spec.roles[0].minAvailable: 3: more than the role's replicas; must be from 0 to 2",
            "21: spec.roles[0].updateStrategy.type: \"GroupRecreate\": must be RollingUpdate or OnDelete; \
             GroupRecreate is for spec.updateStrategy.type only",
            "21: spec.roles[0].updateStrategy.order: \"Sideways\": must be Descending, Ascending or OldestFirst",
            "22: spec.roles[0].template.spec.containers[0].image: required",
            "23: spec.roles[1].name: \"decode\": already the name of spec.roles[0]",
            "23: spec.roles[1]: needs a template, or members for instances of several pods",
            "24: spec.roles[1].restartPolicy.type: \"Never\": must be None, Instance or Group",
            "25: spec.onFailure: \"Pray\": must be Hold or Rollback",
        ]
    );
}

#[test]
fn what_is_not_given_has_its_default() {
    let spec = lower(&parse(&manifest("roles: [{name: a, template: $T}]")).unwrap().set);
    let expected = model::Spec {
        name: "llama".to_owned(),
        replicas: 1,
        strategy: model::SetStrategy {
            kind: StrategyKind::RollingUpdate,
            max_unavailable: Int(1),
            max_surge: Int(0),
            partition: Int(0),
            order: model::Order::Descending,
        },
        roles: vec![model::Role {
            name: "a".into(),
            replicas: 1,
            revision: spec.roles[0].revision,
            min_available: None,
            min_ready: Millis(0),
            starts_after: Vec::new(),
            member_order: Default::default(),
            strategy: model::RoleStrategy::default(),
            restart: model::Restart {
                kind: RestartKind::None,
                base_delay: Millis::seconds(30),
                max_delay: Millis::minutes(10),
                grace: Millis(0),
            },
            members: vec![model::Member { name: "a".into(), count: 1, min_available: 1 }],
        }],
        rules: Vec::new(),
        gang: model::Gang { scheduler: model::GangScheduler::None, termination_delay: None },
        on_failure: model::OnFailure::Hold,
        progress_deadline: Millis::minutes(10),
        paused: false,
    };
    assert_eq!(spec, expected);
}

#[test]
fn null_is_the_same_as_nothing() {
    let plain = parse(&manifest("roles: [{name: a, template: $T}]")).unwrap();
    let nulls =
        "replicas: null\n  updateStrategy:\n  gang: ~\n  roles: [{name: a, replicas: null, template: $T}]";
    assert_eq!(parse(&manifest(nulls)).unwrap(), plain);
}

#[test]
fn several_pods_are_restarted_together() {
    let spec = lower(
        &parse(&manifest(
            "roles: [{name: a, members: [{name: leader, template: $T}, {name: worker, count: 3, minAvailable: 2, template: $T}]}]",
        ))
        .unwrap()
        .set,
    );
    assert_eq!(spec.roles[0].restart.kind, RestartKind::Instance);
    assert_eq!(spec.roles[0].pods(), 4);
    assert_eq!(spec.roles[0].members[1].min_available, 2);
}

#[test]
fn a_rule_of_several_kinds_becomes_several_rules() {
    let text = with_roles(
        "coordination: [{name: all, roles: [prefill, decode], skew: {maxSkew: 5%, partition: 2}, \
         steps: [{role: decode, updateTo: 50%}, {pause: {duration: 5m}}, {pause: {}}], \
         affinity: {topologyKey: zone, ratios: {prefill: 2, decode: 1}}, \
         scaling: {maxSkew: 1, progression: OrderScheduled}}, {name: empty, steps: []}]",
    );
    let parsed = parse(&text).unwrap();
    assert!(matches!(parsed.set.spec.coordination[0].steps.as_deref(), Some([Step::Update(_), ..])));
    let rules = lower(&parsed.set).rules;
    assert_eq!(rules.len(), 4);
    assert!(rules.iter().all(|rule| rule.name.as_str() == "all"));
    let RuleKind::RollingUpdate(skew) = &rules[0].kind else { panic!("{rules:?}") };
    assert_eq!((skew.max_skew, skew.max_unavailable, skew.partition), (Percent(5), None, Some(Int(2))));
    let RuleKind::Steps(steps) = &rules[1].kind else { panic!("{rules:?}") };
    assert_eq!(
        *steps,
        [
            model::Step::Update { role: "decode".into(), to: Percent(50) },
            model::Step::Pause { duration: Some(Millis::minutes(5)) },
            model::Step::Pause { duration: None },
        ]
    );
    let RuleKind::AffinityScheduling(affinity) = &rules[2].kind else { panic!("{rules:?}") };
    assert_eq!(affinity.batch_mode, model::BatchMode::Sequential);
    let RuleKind::Scaling(scaling) = &rules[3].kind else { panic!("{rules:?}") };
    assert_eq!(scaling.progression, model::Progression::OrderScheduled);
}

#[test]
fn a_start_order_inside_one_coordination_is_dropped() {
    let text = manifest(
        "roles: [{name: a, template: $T}, {name: b, template: $T}, {name: c, startsAfter: [a, b], template: $T}]\n  \
         coordination: [{name: r, roles: [b, c], skew: {maxSkew: 1}}]",
    );
    let spec = lower(&parse(&text).unwrap().set);
    assert_eq!(spec.roles[2].starts_after, ["a".into()]);
}

#[test]
fn what_kubernetes_adds_is_kept() {
    let text = manifest("roles: [{name: a, template: $T}]").replace(
        "{name: llama}",
        "{name: llama, namespace: ml, generation: 3, uid: u-1, managedFields: [{manager: kubectl}]}",
    ) + "status: {replicas: 1}\n";
    let set = parse(&text).unwrap().set;
    assert_eq!(set.metadata.rest["generation"], 3);
    let json = serde_json::to_value(&*set).unwrap();
    assert_eq!(json["metadata"]["managedFields"][0]["manager"], "kubectl");
    assert_eq!(json["status"]["replicas"], 1);
    assert_eq!(parse_json(&json).unwrap().set, set);
}

#[test]
fn anchors_and_merge_keys_work_as_with_kubectl() {
    let text = "\
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: llama}
spec:
  roles:
  - &decode
    name: decode
    replicas: 2
    template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
  - <<: *decode
    name: prefill
    replicas: 4
";
    let set = parse(text).unwrap().set;
    assert_eq!((set.spec.roles[0].replicas, set.spec.roles[1].replicas), (2, 4));
    assert_eq!(set.spec.roles[0].template, set.spec.roles[1].template);
}

#[test]
fn a_changed_set_is_checked_again() {
    let valid = parse(&with_roles("replicas: 2")).unwrap().set;
    let mut set = valid.clone().into_inner();
    assert_eq!(check(&set).unwrap().set, valid);
    set.spec.roles[1].name = "decode".to_owned();
    let problems = check(&set).unwrap_err();
    assert_eq!(problems[0].to_string(), "spec.roles[1].name: \"decode\": already the name of spec.roles[0]");
    assert_eq!(problems[0].line, None);
}
