//! What the proposal of RoleBasedGroups prints: 40 to 20, 200 and 100, and two to one on three nodes.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use lockstep_core::simulate::trace::{End, Subject, What};
use lockstep_kubelet::NodeGroup;
use serde_json::{Value, json};

use crate::manifest::{asking_for, behaving, with_tag, yaml};
use crate::row::{Deed, Row};
use crate::story::{Story, condition};

const PARTITION: &str = include_str!("../../../lockstep-dialects/tests/manifests/rbg/seed-partition.yaml");
const AFFINITY: &str = include_str!("../../../lockstep-dialects/tests/manifests/rbg/seed-affinity.yaml");

/// The nodes for batches: there is room for one batch on each.
pub fn nodes() -> Vec<NodeGroup> {
    let three = NodeGroup::new("batch", 3);
    vec![three.with_capacity("example.com/sequential", "3").with_capacity("example.com/parallel", "3")]
}

/// Prefill and decode, and what stands beside the roles.
fn group(prefill: u32, decode: u32, coordination: Value) -> Value {
    let role = |name: &str, replicas: u32| {
        let template = json!({"spec": {"containers": [{"name": name, "image": "engine:1"}]}});
        json!({"name": name, "replicas": replicas, "template": template})
    };
    let mut spec = json!({"roles": [role("prefill", prefill), role("decode", decode)]});
    if !coordination.is_null() {
        spec["coordination"] = json!([coordination]);
    }
    json!({
        "apiVersion": "workloads.x-k8s.io/v1alpha1", "kind": "RoleBasedGroup",
        "metadata": {"name": "pd"}, "spec": spec,
    })
}

fn together(strategy: Value) -> Value {
    json!({"name": "pd", "type": "RollingUpdate", "roles": ["prefill", "decode"], "strategy": strategy})
}

/// A small one.
pub fn probe() -> Value {
    let mut object = group(1, 1, Value::Null);
    object["metadata"]["name"] = json!("probe");
    object
}

fn state<'a>(status: &'a Value, role: &str) -> &'a str {
    status["coordinationState"][0]["progress"][role]["state"].as_str().unwrap_or_default()
}

fn both(status: &Value, word: &str) -> bool {
    ["prefill", "decode"].iter().all(|role| state(status, role) == word)
}

pub fn rows() -> Vec<Row> {
    vec![
        forty_to_twenty(),
        stage_by_stage(),
        two_hundred_and_one_hundred(),
        batches("Sequential", "example.com/sequential", in_turn),
        batches("Parallel", "example.com/parallel", side_by_side),
        in_tandem(),
        as_before(),
        refused(),
    ]
}

/// "if Prefill is upgrading faster while Decode lags, pause Prefill's rollout and wait for Decode to catch up".
fn forty_to_twenty() -> Row {
    let slow = |object: Value| behaving(&object, Some("decode"), "ready-after", "1s");
    let object = group(40, 20, together(json!({"maxUnavailable": "25%", "maxSkew": "10%"})));
    let deeds = vec![
        Deed::Apply(slow(object.clone()), End::Complete),
        Deed::Apply(slow(with_tag(&object, "2")), End::Complete),
        Deed::Until("both are complete", |status| both(status, "Complete")),
    ];
    Row::new("40 to 20", deeds, |story| {
        let widest = story.widest(["prefill", "decode"]);
        assert!(widest <= 100, "{widest} thousandths apart");
        assert!(story.fewest("prefill") >= 30 && story.fewest("decode") >= 15);
        assert_eq!((story.replaced("prefill").len(), story.replaced("decode").len()), (40, 20));
        assert!(story.ever_said(|status| state(status, "prefill") == "HeldBySkew"), "prefill waits");
    })
}

/// The third stage of the table, 10 and 5, is where a partition of 75% holds; from there to the last.
fn stage_by_stage() -> Row {
    let object = |partition: &str| {
        group(40, 20, together(json!({"maxUnavailable": "25%", "maxSkew": "10%", "partition": partition})))
    };
    let deeds = vec![
        Deed::Apply(object("75%"), End::Complete),
        Deed::Apply(with_tag(&object("75%"), "2"), End::PartitionReached),
        Deed::Until("both wait for the partition", |status| {
            let updated = |role: usize| &status["roleStatuses"][role]["updatedReplicas"];
            both(status, "PartitionReached") && *updated(0) == 10 && *updated(1) == 5
        }),
        Deed::Apply(with_tag(&object("0"), "2"), End::Complete),
        Deed::Until("both are complete", |status| both(status, "Complete")),
    ];
    Row::new("40 to 20, stage by stage", deeds, |story| {
        assert_eq!((story.replaced("prefill").len(), story.replaced("decode").len()), (40, 20));
        assert!(story.widest(["prefill", "decode"]) <= 100);
    })
}

/// "the prefill pods from ordinal 199 to 160 are updated", "the decode pods from ordinal 99 to 80".
fn two_hundred_and_one_hundred() -> Row {
    let object = yaml(PARTITION);
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Apply(with_tag(&object, "2"), End::PartitionReached),
        Deed::Until("both wait for the partition", |status| both(status, "PartitionReached")),
    ];
    Row::new("200 and 100", deeds, |story| {
        assert_eq!(story.replaced("prefill"), (160..200).collect());
        assert_eq!(story.replaced("decode"), (80..100).collect());
        let widest = story.widest(["prefill", "decode"]);
        assert!(widest <= 10, "{widest} thousandths apart");
        assert!(story.fewest("prefill") >= 190 && story.fewest("decode") >= 95);
    })
}

/// Which batch an instance belongs to: two prefill, one decode.
fn batch(of: &Subject) -> u32 {
    if of.role.as_str() == "prefill" { of.instance / 2 } else { of.instance }
}

/// "Batch 1: Deploy prefill-0, prefill-1, decode-0 on node-1" and so on, and an update that leaves them there.
fn batches(mode: &'static str, resource: &str, check: fn(&Story)) -> Row {
    let mut object = asking_for(&yaml(AFFINITY), resource);
    object["spec"]["coordination"][0]["strategy"]["affinityScheduling"]["batchMode"] = json!(mode);
    Row::rollout(mode, object.clone(), with_tag(&object, "2"), check)
}

fn each_batch_on_a_node_of_its_own(story: &Story) {
    let mut nodes: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for pod in &story.pods {
        let name = pod.name_any();
        let (role, i) =
            name.strip_prefix("deepseek-pd-").and_then(|it| it.split_once('-')).expect("role and ordinal");
        let i: u32 = i.parse().expect("an ordinal");
        let batch = if role == "prefill" { i / 2 } else { i };
        let labels = pod.labels();
        assert_eq!(
            labels.get("coordination.workloads.x-k8s.io/prefill-decode-affinity").map(String::as_str),
            Some("member")
        );
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        nodes.entry(batch).or_default().insert(node);
    }
    assert_eq!(story.pods.len(), 9);
    assert!(nodes.values().all(|on| on.len() == 1), "{nodes:?}");
    assert_eq!(nodes.values().flatten().collect::<BTreeSet<_>>().len(), 3, "{nodes:?}");
}

/// "In Sequential mode, the controller waits for all pods in a batch to be ready before deploying the next batch".
fn in_turn(story: &Story) {
    each_batch_on_a_node_of_its_own(story);
    let mut ready: BTreeMap<u32, u32> = BTreeMap::new();
    let mut gated = 0;
    for event in &story.events[..story.changed] {
        match &event.what {
            What::Gate { .. } => gated += 1,
            What::Scheduled { of, .. } if batch(of) > 0 => {
                assert_eq!(ready.get(&(batch(of) - 1)), Some(&3), "{of} before its turn");
            }
            What::Ready { of, .. } => *ready.entry(batch(of)).or_default() += 1,
            _ => {}
        }
    }
    assert_eq!(gated, 6);
}

/// "In Parallel mode, multiple batches can be deployed concurrently".
fn side_by_side(story: &Story) {
    each_batch_on_a_node_of_its_own(story);
    assert!(!story.events.iter().any(|event| matches!(event.what, What::Gate { .. })));
}

/// Story 1: "If the current Decode upgrade fails for any reason […] we also want to halt Prefill's rollout progress so
/// that both roles can be rolled back in tandem."
fn in_tandem() -> Row {
    let object = group(40, 20, together(json!({"maxUnavailable": "25%", "maxSkew": "10%"})));
    let bad = behaving(&with_tag(&object, "2"), Some("decode"), "image", "missing");
    let deeds = vec![
        Deed::Apply(object.clone(), End::Complete),
        Deed::Begin(bad),
        Deed::Until("prefill waits for decode", |status| {
            let ready = &status["roleStatuses"][0]["readyReplicas"];
            state(status, "prefill") == "HeldBySkew" && *ready == 40
        }),
        Deed::Apply(object, End::Complete),
        Deed::Until("both are back", |status| {
            both(status, "Complete") && condition(status, "Ready", "True").is_some()
        }),
    ];
    Row::new("both go back in tandem", deeds, |story| {
        assert!(story.replaced("prefill").len() <= 4, "{:?}", story.replaced("prefill"));
        assert!(story.replaced("decode").len() <= 5, "{:?}", story.replaced("decode"));
        assert!(story.widest(["prefill", "decode"]) <= 100);
    })
}

/// "otherwise, it will fall back to the existing independent role update behavior".
fn as_before() -> Row {
    let object = group(4, 2, Value::Null);
    Row::rollout("as before the proposal", object.clone(), with_tag(&object, "2"), |story| {
        let moves = story.deleted();
        let of = |role: &str| -> Vec<String> {
            moves.iter().filter_map(|it| it.strip_prefix(&format!("0/{role}-"))).map(str::to_owned).collect()
        };
        assert_eq!((of("prefill").concat(), of("decode").concat()), ("3210".to_owned(), "10".to_owned()));
        // Side by side: neither waits for the other.
        assert_eq!((story.fewest("prefill"), story.fewest("decode")), (3, 1));
        assert_eq!(story.most_down(), 2);
        assert!(!story.ever_said(|status| status.get("coordinationState").is_some()));
    })
}

/// "if a role is defined in coordination, validation will prohibit that role from specifying its own updateStrategy"
fn refused() -> Row {
    let object = group(4, 2, together(json!({"maxSkew": "25%"})));
    let mut own = object.clone();
    own["spec"]["roles"][1]["rolloutStrategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
    let mut nobody = object.clone();
    nobody["spec"]["coordination"][0]["roles"] = json!(["prefill", "encode"]);
    let deeds = vec![
        Deed::Begin(object.clone()),
        Deed::Refused(own, &["spec.roles[1].rolloutStrategy", "spec.coordination[0]"]),
        Deed::Refused(nobody, &["spec.coordination[0].roles[1]", "encode"]),
        Deed::Apply(object, End::Complete),
    ];
    Row::new("rules that cannot be", deeds, |_| {})
}
