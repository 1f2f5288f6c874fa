//! A PodUnavailableBudget.

use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};

use super::reader::{Choice, Place};
use super::set::{exactly, metadata, strings};
use crate::bounds::MOST;
use crate::budget::{PodGroupPolicy, PodUnavailableBudget, PodUnavailableBudgetSpec, Protected, TargetRef};
use crate::findings::Findings;
use crate::path::Path;
use crate::yaml::Node;

impl Choice for Protected {
    const WORDS: &'static [(&'static str, Self)] =
        &[("DELETE", Self::Delete), ("EVICT", Self::Evict), ("UPDATE", Self::Update)];
}

/// How a label's value is compared.
#[derive(Clone, Copy)]
struct Operator(&'static str);

impl Choice for Operator {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("In", Self("In")),
        ("NotIn", Self("NotIn")),
        ("Exists", Self("Exists")),
        ("DoesNotExist", Self("DoesNotExist")),
    ];
}

/// A budget, as far as it can be read. Its status is none of the user's business.
pub(crate) fn budget(node: &Node, found: &mut Findings) -> Option<PodUnavailableBudget> {
    let mut fields = Place { node, path: Path::root() }.object(found)?;
    exactly(&mut fields, "apiVersion", PodUnavailableBudget::API_VERSION, found);
    if !exactly(&mut fields, "kind", PodUnavailableBudget::KIND, found) {
        return None;
    }
    let metadata = fields.need("metadata", found).map(|place| metadata(&place, found)).unwrap_or_default();
    let spec = fields.need("spec", found).and_then(|place| spec(&place, found));
    fields.take("status");
    fields.finish(found);
    Some(PodUnavailableBudget {
        api_version: PodUnavailableBudget::API_VERSION.to_owned(),
        kind: PodUnavailableBudget::KIND.to_owned(),
        metadata: ObjectMeta {
            name: Some(metadata.name),
            namespace: metadata.namespace,
            labels: Some(metadata.labels),
            annotations: Some(metadata.annotations),
            ..ObjectMeta::default()
        },
        spec: spec?,
        status: None,
    })
}

fn spec(place: &Place, found: &mut Findings) -> Option<PodUnavailableBudgetSpec> {
    let mut fields = place.object(found)?;
    let spec = PodUnavailableBudgetSpec {
        selector: fields.take("selector").and_then(|place| selector(&place, found)),
        target_ref: fields.take("targetRef").and_then(|place| target(&place, found)),
        target_reference: fields.take("targetReference").and_then(|place| target(&place, found)),
        max_unavailable: fields.take("maxUnavailable").and_then(|it| it.int_or_percent(found, Some(100))),
        min_available: fields.take("minAvailable").and_then(|it| it.int_or_percent(found, Some(100))),
        pod_group_policy: fields.take("podGroupPolicy").and_then(|place| policy(&place, found)),
        protect_operations: fields.take("protectOperations").and_then(|place| {
            let words = place.list(found)?;
            Some(words.iter().filter_map(|word| word.choice(found)).collect())
        }),
    };
    fields.finish(found);
    Some(spec)
}

fn selector(place: &Place, found: &mut Findings) -> Option<LabelSelector> {
    let mut fields = place.object(found)?;
    let labels = fields.take("matchLabels").map(|place| strings(Some(place), found));
    let expressions = fields.take("matchExpressions").and_then(|place| place.list(found));
    fields.finish(found);
    let expressions = expressions.map(|all| all.iter().filter_map(|it| requirement(it, found)).collect());
    Some(LabelSelector { match_labels: labels, match_expressions: expressions })
}

fn requirement(place: &Place, found: &mut Findings) -> Option<LabelSelectorRequirement> {
    let mut fields = place.object(found)?;
    let key = fields.need_text("key", found);
    let operator = fields.need("operator", found).and_then(|place| place.choice::<Operator>(found));
    let values = fields.take("values").map(|place| place.texts(found));
    fields.finish(found);
    Some(LabelSelectorRequirement { key, operator: operator?.0.to_owned(), values })
}

fn target(place: &Place, found: &mut Findings) -> Option<TargetRef> {
    let mut fields = place.object(found)?;
    let target = TargetRef {
        api_version: fields.need_text("apiVersion", found),
        kind: fields.need_text("kind", found),
        name: fields.need_text("name", found),
    };
    fields.finish(found);
    Some(target)
}

fn policy(place: &Place, found: &mut Findings) -> Option<PodGroupPolicy> {
    let mut fields = place.object(found)?;
    let policy = PodGroupPolicy {
        group_label_key: fields.need_text("groupLabelKey", found),
        min_ready_replicas: fields.take("minReadyReplicas").and_then(|place| place.int(found, 1..=MOST)),
    };
    fields.finish(found);
    Some(policy)
}
