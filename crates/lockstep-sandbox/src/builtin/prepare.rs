//! What an object becomes before it is validated: a request changes the specification or the status, never both, and
//! generations count changes of the specification.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::access::{at, default, drop_field, has, int, keep, list, list_mut, made, put, same, text};
use super::{GroupKind, features, levels, service};

/// How a kind is treated.
struct Ways {
    /// There is a status, which only its own path changes.
    status: bool,
    /// There is a generation, which counts changes of this field.
    generation: Option<&'static str>,
}

fn ways(of: GroupKind<'_>) -> Ways {
    let (status, generation) = match of {
        ("", "Pod")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job" | "CronJob")
        | ("policy", "PodDisruptionBudget")
        | ("apiextensions.k8s.io", "CustomResourceDefinition") => (true, Some("spec")),
        ("", "Namespace" | "Service") | ("scheduling.k8s.io", "PodGroup") => (true, None),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => (false, Some("webhooks")),
        // The first generation is the only one.
        ("scheduling.k8s.io", "PriorityClass") => (false, Some("")),
        _ => (false, None),
    };
    Ways { status, generation }
}

/// The specification of pods within an object, if there is one.
fn pod_spec<'a>(of: GroupKind<'_>, object: &'a mut Value) -> Option<&'a mut Value> {
    let path = match of {
        ("", "Pod") => "/spec",
        ("apps", "ControllerRevision") => return None,
        ("apps", _) | ("batch", "Job") => "/spec/template/spec",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        _ => return None,
    };
    object.pointer_mut(path).filter(|spec| spec.is_object())
}

/// Prepares an object that is created.
pub(super) fn create(of: GroupKind<'_>, object: &mut Value, now: Timestamp) {
    let ways = ways(of);
    let metadata = made(object, "metadata");
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        drop_field(metadata, field);
    }
    if ways.generation.is_some() {
        put(metadata, "generation", 1);
    }
    if ways.status {
        put(object, "status", json!({}));
    }
    if let Some(spec) = pod_spec(of, object) {
        features::drop_disabled(spec);
    }
    match of {
        ("", "Pod") => pod(object, now),
        ("", "Namespace") => namespace(object),
        ("", "Node") => {
            drop_field(made(object, "spec"), "configSource");
            drop_field(made(object, "status"), "config");
        }
        ("", "ServiceAccount") => name_only(object),
        ("apps", "DaemonSet") => set_template_generation(object, template_generation(object).max(1)),
        ("scheduling.k8s.io", "PodGroup") => drop_disabled(object, None),
        ("coordination.k8s.io", "Lease") => drop_election(object, None),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => stored_version(object),
        _ => {}
    }
}

/// Prepares an object that is updated.
pub(super) fn update(of: GroupKind<'_>, new: &mut Value, old: &Value) {
    let ways = ways(of);
    keep(made(new, "metadata"), "generation", at(old, &["metadata"]));
    if ways.status || of == ("", "Node") {
        keep(new, "status", old);
    }
    if let Some(spec) = pod_spec(of, new) {
        features::drop_disabled(spec);
    }
    match of {
        ("", "Pod") if !has(at(new, &["spec"]), "resources") => {
            keep(made(new, "spec"), "resources", at(old, &["spec"]));
        }
        ("", "Namespace") => keep(made(new, "spec"), "finalizers", at(old, &["spec"])),
        ("", "Node") => keep(made(new, "spec"), "configSource", at(old, &["spec"])),
        ("", "Service") => service::drop_what_the_type_has_not(new, old),
        ("", "Secret") if text(new, "type").is_empty() => keep(new, "type", old),
        ("", "ServiceAccount") => name_only(new),
        ("apps", "DaemonSet") => {
            let changed = !same(at(new, &["spec", "template"]), at(old, &["spec", "template"]));
            set_template_generation(new, template_generation(old) + i64::from(changed));
        }
        ("scheduling.k8s.io", "PodGroup") => drop_disabled(new, Some(old)),
        ("coordination.k8s.io", "Lease") => drop_election(new, Some(old)),
        _ => {}
    }
    if let Some(field) = ways.generation {
        let changed = !same(at(new, &[field]), at(old, &[field]));
        // A Deployment's annotations count as well.
        let annotated = of == ("apps", "Deployment")
            && !same(at(new, &["metadata", "annotations"]), at(old, &["metadata", "annotations"]));
        if changed || annotated {
            let next = int(at(old, &["metadata"]), "generation").unwrap_or_default() + 1;
            put(made(new, "metadata"), "generation", next);
        }
    }
    if of == ("apiextensions.k8s.io", "CustomResourceDefinition") {
        stored_version(new);
    }
    keep_metadata(new, old);
}

/// Prepares an object whose status is updated.
pub(super) fn update_status(of: GroupKind<'_>, new: &mut Value, old: &Value) {
    keep(made(new, "metadata"), "generation", at(old, &["metadata"]));
    keep(new, "spec", old);
    match of {
        ("", "Pod") => pod_status(new, old),
        ("apps", "Deployment") => keep(made(new, "metadata"), "labels", at(old, &["metadata"])),
        ("scheduling.k8s.io", "PodGroup") => {
            for field in ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] {
                keep(made(new, "metadata"), field, at(old, &["metadata"]));
            }
            drop_field(made(new, "status"), "resourceClaimStatuses");
        }
        _ => {}
    }
    keep_metadata(new, old);
}

/// Prepares a namespace whose finalizers are updated.
pub(super) fn finalize(new: &mut Value, old: &Value) {
    keep(made(new, "metadata"), "generation", at(old, &["metadata"]));
    keep(new, "status", old);
    keep_metadata(new, old);
}

/// What no update changes of the metadata, of built-in kinds and others: the creation, the deletion that has begun,
/// and the identity, where the update does not name it.
pub fn keep_metadata(new: &mut Value, old: &Value) {
    let old = at(old, &["metadata"]);
    let new = made(new, "metadata");
    if text(new, "uid").is_empty() {
        keep(new, "uid", old);
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if has(old, field) {
            keep(new, field, old);
        }
    }
    if let Some(period) = old.get("deletionGracePeriodSeconds") {
        default(new, "deletionGracePeriodSeconds", period.clone());
    }
}

fn pod(object: &mut Value, now: Timestamp) {
    let mut status = json!({"phase": "Pending"});
    if !list(at(object, &["spec"]), "schedulingGates").is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    put(object, "status", status);
    select_by_keys(object);
    levels::fill(made(object, "spec"));
    let class = levels::quality(at(object, &["spec"]));
    put(made(object, "status"), "qosClass", class);
}

/// Terms that name keys of labels select by the values the pod has.
fn select_by_keys(object: &mut Value) {
    let labels = at(object, &["metadata", "labels"]).clone();
    let spec = made(object, "spec");
    for constraint in list_mut(spec, "topologySpreadConstraints") {
        add_keys(constraint, &labels);
    }
    for affinity in ["podAffinity", "podAntiAffinity"] {
        if !has(at(spec, &["affinity"]), affinity) {
            continue;
        }
        let affinity = made(made(spec, "affinity"), affinity);
        for term in list_mut(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            add_keys(made(term, "podAffinityTerm"), &labels);
        }
        for term in list_mut(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            add_keys(term, &labels);
        }
    }
}

fn add_keys(term: &mut Value, labels: &Value) {
    if !has(term, "labelSelector") {
        return;
    }
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in list(term, field).iter().filter_map(Value::as_str).filter(|key| has(labels, key)) {
            added.push(json!({"key": key, "operator": operator, "values": [text(labels, key)]}));
        }
    }
    if added.is_empty() {
        return;
    }
    let selector = made(term, "labelSelector");
    let mut expressions = list(selector, "matchExpressions").to_vec();
    expressions.append(&mut added);
    put(selector, "matchExpressions", expressions);
}

fn namespace(object: &mut Value) {
    put(object, "status", json!({"phase": "Active"}));
    let spec = made(object, "spec");
    let mut finalizers = list(spec, "finalizers").to_vec();
    if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
        finalizers.push(Value::from("kubernetes"));
    }
    put(spec, "finalizers", finalizers);
    let name = text(at(object, &["metadata"]), "name").to_owned();
    put(made(made(object, "metadata"), "labels"), "kubernetes.io/metadata.name", name);
}

/// Of the secrets of an account, only their names count.
fn name_only(object: &mut Value) {
    for secret in list_mut(object, "secrets") {
        *secret = match text(secret, "name") {
            "" => json!({}),
            name => json!({"name": name}),
        };
    }
}

/// A DaemonSet counts the changes of its template in an annotation.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(of: &Value) -> i64 {
    text(at(of, &["metadata", "annotations"]), TEMPLATE_GENERATION).parse().unwrap_or_default()
}

fn set_template_generation(of: &mut Value, generation: i64) {
    put(made(made(of, "metadata"), "annotations"), TEMPLATE_GENERATION, generation.to_string());
}

/// What belongs to features that are not on by default.
fn drop_disabled(group: &mut Value, old: Option<&Value>) {
    let spec = made(group, "spec");
    for field in
        ["schedulingConstraints", "resourceClaims", "preemptionPolicy", "parentCompositePodGroupName"]
    {
        if !old.is_some_and(|old| has(at(old, &["spec"]), field)) {
            drop_field(spec, field);
        }
    }
}

fn drop_election(lease: &mut Value, old: Option<&Value>) {
    for field in ["strategy", "preferredHolder"] {
        if !old.is_some_and(|old| has(at(old, &["spec"]), field)) {
            drop_field(made(lease, "spec"), field);
        }
    }
}

/// The version that is stored from now on is one of those that were ever stored.
fn stored_version(definition: &mut Value) {
    let stored = |version: &&Value| version["storage"] == true;
    let name =
        list(at(definition, &["spec"]), "versions").iter().find(stored).map(|version| text(version, "name"));
    let Some(name) = name.map(str::to_owned) else { return };
    let status = made(definition, "status");
    let mut versions = list(status, "storedVersions").to_vec();
    if !versions.iter().any(|version| *version == name) {
        versions.push(Value::from(name));
        put(status, "storedVersions", versions);
    }
}

fn pod_status(new: &mut Value, old: &Value) {
    keep(made(new, "metadata"), "ownerReferences", at(old, &["metadata"]));
    drop_field(made(new, "metadata"), "deletionTimestamp");
    let old = at(old, &["status"]);
    let new = made(new, "status");
    for field in ["qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration"] {
        if !has(new, field) {
            keep(new, field, old);
        }
    }
    // Of several conditions of one type, each keeps the generation of its predecessor.
    let mut before: Vec<&Value> = list(old, "conditions").iter().collect();
    for condition in list_mut(new, "conditions") {
        let place = before.iter().position(|before| text(before, "type") == text(condition, "type"));
        if let Some(generation) = place.and_then(|place| int(before.remove(place), "observedGeneration")) {
            default(condition, "observedGeneration", generation);
        }
    }
}
