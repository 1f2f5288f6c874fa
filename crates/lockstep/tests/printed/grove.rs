//! What the proposal of Grove prints: four use cases, and every numbered sequence.

use lockstep_core::simulate::trace::{End, Event, What};
use serde_json::{Value, json};

use crate::manifest::{with_tag, yaml};
use crate::row::{Deed, Row};
use crate::story::{Story, Unit, condition};

macro_rules! printed {
    ($name:literal) => {
        yaml(include_str!(concat!("../../../lockstep-dialects/tests/manifests/grove/", $name, ".yaml")))
    };
}

/// A PodCliqueSet of a spec in which `$P` stands for a pod spec.
pub fn object(spec: &str) -> Value {
    let spec = spec.replace("$P", "{containers: [{name: main, image: 'vllm:1'}]}");
    let indented = spec.lines().collect::<Vec<_>>().join("\n  ");
    yaml(&format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: simple}}\nspec:\n  {indented}\n"
    ))
}

/// "Example with `replicas=3`, `maxSurge=1`, `maxUnavailable=0`."
pub fn clique() -> Value {
    object(
        "replicas: 1\ntemplate:\n  cliques:\n  - {name: a, updateStrategy: {maxUnavailable: 0, maxSurge: 1}, spec: {replicas: 3, podSpec: $P}}",
    )
}

/// "Example with `replicas=3`, `minAvailable=3`, `maxSurge=1`, `maxUnavailable=0`", and with another minimum.
pub fn scaling_group(minimum: u32) -> Value {
    let mut object = object(
        "replicas: 1\ntemplate:\n  cliques:\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups:\n  - {name: sg, cliqueNames: [leader, worker], replicas: 3, updateStrategy: {maxUnavailable: 0, maxSurge: 1}}",
    );
    object["spec"]["template"]["podCliqueScalingGroups"][0]["minAvailable"] = json!(minimum);
    object
}

/// Replicas that are recreated, each of two standalone cliques and a scaling group of two.
pub fn recreated(replicas: u32, unavailable: u32, surge: u32) -> Value {
    let mut object = object(
        "updateStrategy: {type: ReplicaRecreate}\ntemplate:\n  cliques:\n  - {name: frontend, spec: {podSpec: $P}}\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups: [{name: prefill, cliqueNames: [leader, worker], replicas: 2, minAvailable: 2}]",
    );
    object["spec"]["replicas"] = json!(replicas);
    object["spec"]["updateStrategy"]["rollingUpdate"] =
        json!({"maxUnavailable": unavailable, "maxSurge": surge});
    object
}

/// A surge, then one after the other, and the surge goes last: no holes.
fn through_surge(story: &Story, unit: Unit, names: &str, order: &[u32]) {
    let verbs = |i: u32, verbs: &[&str]| -> Vec<String> {
        verbs.iter().map(|verb| format!("{verb} {names}{i}")).collect()
    };
    let surge = u32::try_from(order.len()).expect("a few");
    let mut steps = verbs(surge, &["create", "ready"]);
    steps.extend(order.iter().flat_map(|i| verbs(*i, &["delete", "gone", "create", "ready"])));
    steps.extend(verbs(surge, &["delete", "gone"]));
    assert_eq!(story.steps(unit), steps);
}

/// "oldest pod first (by creation timestamp)", which counts in seconds: of pods that are as old as each other the
/// lowest. Those of one clique may be created just before and just after a full second.
fn by_age(story: &Story, role: &str, replicas: u32) -> Vec<u32> {
    let moved: Vec<u32> = story
        .deleted()
        .iter()
        .filter_map(|it| it.strip_prefix(&format!("0/{role}-"))?.parse().ok())
        .collect();
    let order: Vec<u32> = moved.into_iter().filter(|i| *i < replicas).collect();
    let turns = order.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(turns <= 1, "{order:?}");
    let mut all = order.clone();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..replicas), "{order:?}");
    order
}

/// Standalone ones, in the use cases.
const CLIQUES: [&str; 2] = ["frontend", "agg-worker"];

/// One group after the other, from the lowest; inside it each role in order.
fn in_order(story: &Story, groups: &[u32], roles: &[(&str, &[u32])]) {
    let moves = story.deleted();
    let order: Vec<&str> = moves.iter().map(|it| &it[..1]).collect();
    assert!(order.is_sorted(), "{moves:?}");
    for group in groups {
        for (role, expected) in roles {
            let prefix = format!("{group}/{role}-");
            let mut moved: Vec<&str> = moves.iter().filter_map(|it| it.strip_prefix(&prefix)).collect();
            if CLIQUES.contains(role) {
                // By age, which need not be the order of their numbers.
                moved.sort_unstable();
            }
            let expected: Vec<String> = expected.iter().map(u32::to_string).collect();
            assert_eq!(moved, expected, "{group}/{role} in {moves:?}");
        }
    }
}

/// Their status, once everything is done.
fn updated(status: &Value) -> bool {
    let replicas = &status["replicas"];
    condition(status, "UpdateInProgress", "False").is_some()
        && ["updatedReplicas", "availableReplicas"].iter().all(|field| status[*field] == *replicas)
}

pub fn rows() -> Vec<Row> {
    let row = |name, object: Value, check| {
        let deeds = vec![
            Deed::Apply(object.clone(), End::Complete),
            Deed::Apply(with_tag(&object, "2"), End::Complete),
            Deed::Until("everything is updated", updated),
        ];
        Row::new(name, deeds, check)
    };
    vec![
        row("use case 1: single node", printed!("use-case-1"), |story| {
            in_order(story, &[0], &[("frontend", &[0, 1]), ("agg-worker", &[0, 1, 2, 3])]);
            assert_eq!((story.fewest("frontend"), story.fewest("agg-worker")), (1, 3));
        }),
        row("use case 2: incompatible, excess capacity", printed!("use-case-2"), |story| {
            through_surge(story, Unit::Group(2), "", &[0, 1]);
            assert!(!story.ever_mixed());
            assert_eq!((story.fewest("prefill"), story.fewest("decode")), (2, 2));
        }),
        row("use case 3: incompatible, no excess capacity", printed!("use-case-3"), |story| {
            in_order(story, &[0, 1], &[("prefill", &[0]), ("decode", &[0])]);
            assert!(!story.ever_mixed());
            assert_eq!((story.fewest("prefill"), story.fewest("decode")), (1, 1));
        }),
        row("use case 4: multi-node", printed!("use-case-4"), |story| {
            in_order(story, &[0, 1], &[("prefill", &[0, 1, 2]), ("decode", &[0, 1, 2])]);
            assert_eq!((story.fewest("prefill"), story.fewest("decode")), (5, 4));
        }),
        // Without a word about it: "defaults to current behavior".
        row("as before the proposal", printed!("default"), |story| {
            let roles: [(&str, &[u32]); 3] =
                [("frontend", &[0, 1, 2]), ("prefill", &[0, 1]), ("decode", &[0, 1])];
            in_order(story, &[0, 1], &roles);
            assert_eq!(roles.map(|(role, _)| story.fewest(role)), [5, 3, 3]);
        }),
        row("a clique with surge", clique(), |story| {
            through_surge(story, Unit::Instance, "a-", &by_age(story, "a", 3));
            assert_eq!(story.fewest("a"), 3);
        }),
        row("a scaling group with surge, all of it in the base gang", scaling_group(3), |story| {
            through_surge(story, Unit::Instance, "sg-", &[0, 1, 2]);
            assert_eq!(story.fewest("sg"), 3);
        }),
        row("a scaling group with surge beside a scaled gang", scaling_group(2), |story| {
            through_surge(story, Unit::Instance, "sg-", &[0, 1, 2]);
            assert_eq!(story.fewest("sg"), 3);
        }),
        row("replicas recreated with surge", recreated(3, 0, 1), |story| {
            through_surge(story, Unit::Group(3), "", &[0, 1, 2]);
            assert!(!story.ever_mixed());
        }),
        row("replicas recreated one at a time", recreated(2, 1, 0), |story| {
            let each = |i: u32| ["delete", "gone", "create", "ready"].map(|verb| format!("{verb} {i}"));
            assert_eq!(story.steps(Unit::Group(3)), [each(0), each(1)].concat());
        }),
        row("replicas recreated at once", recreated(2, 2, 0), |story| {
            let steps = story.steps(Unit::Group(3));
            let at = |step: &str| steps.iter().position(|it| it == step).expect("it happened");
            assert!(at("delete 1") < at("ready 0") && at("delete 0") < at("ready 1"), "{steps:?}");
            assert!(!story.ever_mixed());
        }),
        several_at_once(),
        in_order_inside(),
    ]
}

/// `CliqueStartupTypeInOrder` inside a scaling group: in each of its replicas, whenever one starts; and a pod that comes
/// back into one that stands waits for nobody.
fn in_order_inside() -> Row {
    let object = object(
        "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupTypeInOrder\n  cliques:\n  - {name: leader, spec: {podSpec: $P}}\n  - {name: worker, spec: {replicas: 2, podSpec: $P}}\n  podCliqueScalingGroups:\n  - {name: sg, cliqueNames: [leader, worker], replicas: 2, updateStrategy: {maxUnavailable: 0, maxSurge: 1}}",
    );
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Apply(with_tag(&object, "2"), End::Complete),
        Deed::Delete("simple-0-sg-1-worker-0"),
        Deed::Until("everything is updated", updated),
    ];
    Row::new("cliques of a scaling group in order", deeds, |story| {
        let starts = |it: &What| match it {
            What::MemberReady { of, member, .. } => Some(format!("{member} {} ready", of.instance)),
            What::MemberFree { of, member, .. } => Some(format!("{member} {} starts", of.instance)),
            _ => None,
        };
        let since = story.events[story.changed..].iter();
        let members: Vec<String> = since.filter_map(|event| starts(&event.what)).collect();
        let each = |i: u32| {
            ["leader N starts", "leader N ready", "worker N starts", "worker N ready"]
                .map(|step| step.replace('N', &i.to_string()))
        };
        let expected = [each(2), each(0), each(1)].concat();
        assert_eq!(
            members.iter().take(expected.len()).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        // The one that was deleted.
        assert!(members.iter().skip(expected.len()).all(|it| it == "worker 1 ready"), "{members:?}");
        let gates = |event: &&Event| matches!(event.what, What::Gate { .. });
        let gated = story.events[story.changed..].iter().filter(gates).count();
        assert_eq!(gated, 6, "the workers of three replicas, and not the one that comes back");
    })
}

/// "Update 2 replicas simultaneously (`maxUnavailable=2`) instead of one at a time."
fn several_at_once() -> Row {
    let object = object(
        "replicas: 1\ntemplate:\n  cliques: [{name: a, spec: {podSpec: $P}}]\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [a], replicas: 4, updateStrategy: {maxUnavailable: 2}}]",
    );
    Row::rollout("two at a time", object.clone(), with_tag(&object, "2"), |story| {
        assert_eq!(story.fewest("sg"), 2);
        let mut first = story.deleted()[..2].to_vec();
        first.sort();
        assert_eq!(first, ["0/sg-0", "0/sg-1"]);
    })
}
