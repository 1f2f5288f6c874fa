//! What is wrong with objects of built-in kinds.

mod cluster;
mod container;
mod data;
mod diff;
mod env;
mod event;
mod group;
mod meta;
mod placement;
mod pod;
mod pod_update;
mod probe;
mod resources;
mod rules;
mod security;
mod service;
mod volumes;
mod webhook;
mod workload;

use serde_json::Value;

use super::GroupKind;
use super::access::{at, text};
use super::causes::{At, Causes};
use super::formats::{NameRule, subdomain};
use super::metadata::{validate_common_update, validate_metadata, validate_metadata_update};

const RBAC: &str = "rbac.authorization.k8s.io";
const SCHEDULING: &str = "scheduling.k8s.io";

fn namespaced((group, kind): GroupKind<'_>) -> bool {
    crate::kinds::is_namespaced(group, kind)
}

/// What is wrong with an object that is created.
pub(super) fn create(of: GroupKind<'_>, object: &Value, causes: &mut Causes) {
    match of {
        ("", "Pod") => pod::create(object, causes),
        ("", "Node") => cluster::node(object, causes),
        ("", "Namespace") => cluster::namespace(object, causes),
        ("", "Service") => service::create(object, causes),
        ("", "ConfigMap") => data::config_map(object, causes),
        ("", "Secret") => data::secret(object, causes),
        ("" | "events.k8s.io", "Event") => event::create(of.0, object, causes),
        ("", "ServiceAccount") => meta::create(object, true, NameRule::Subdomain, causes),
        ("apps", "ControllerRevision") => data::revision(object, causes),
        ("apps", kind) => workload::create(kind, object, causes),
        ("policy", "PodDisruptionBudget") => data::budget(object, causes),
        ("coordination.k8s.io", "Lease") => data::lease(object, causes),
        (SCHEDULING, "PriorityClass") => data::priority_class(object, causes),
        (SCHEDULING, "PodGroup") => group::create(object, causes),
        (RBAC, kind) => rules::create(kind, object, causes),
        ("admissionregistration.k8s.io", _) => webhook::configuration(object, causes),
        _ => validate_metadata(at(object, &["metadata"]), namespaced(of), NameRule::Subdomain, causes),
    }
    // Kinds that do not look at metadata get a look that all get.
    if causes.is_empty() {
        validate_metadata(at(object, &["metadata"]), namespaced(of), NameRule::Segment, causes);
    }
}

/// What is wrong with an object that is updated.
pub(super) fn update(of: GroupKind<'_>, new: &Value, old: &Value, causes: &mut Causes) {
    let metadata = |of| at(of, &["metadata"]);
    validate_common_update(metadata(new), metadata(old), namespaced(of), causes);
    match of {
        ("", "Pod") => pod_update::update(new, old, causes),
        ("", "Node") => {
            cluster::node(new, causes);
            cluster::node_update(new, old, causes);
        }
        ("", "Namespace") => {
            cluster::namespace(new, causes);
            meta::update(new, old, causes);
        }
        ("", "Service") => service::update(new, old, causes),
        ("", "ConfigMap") => data::config_map_update(new, old, causes),
        ("", "Secret") => data::secret_update(new, old, causes),
        ("", "ServiceAccount") => {
            meta::update(new, old, causes);
            meta::create(new, true, NameRule::Subdomain, causes);
        }
        ("" | "events.k8s.io", "Event") => event::update(of.0, new, old, causes),
        ("apps", "ControllerRevision") => data::revision_update(new, old, causes),
        ("apps", kind) => workload::update(kind, new, old, causes),
        ("policy", "PodDisruptionBudget") => data::budget(new, causes),
        ("coordination.k8s.io", "Lease") => data::lease_update(new, old, causes),
        (SCHEDULING, "PriorityClass") => data::priority_class_update(new, old, causes),
        (SCHEDULING, "PodGroup") => group::update(new, old, causes),
        (RBAC, kind) => rules::update(kind, new, old, causes),
        ("admissionregistration.k8s.io", _) => webhook::configuration(new, causes),
        _ => validate_metadata_update(metadata(new), metadata(old), causes),
    }
}

/// What is wrong with an object whose status is updated.
pub(super) fn update_status(of: GroupKind<'_>, new: &Value, old: &Value, causes: &mut Causes) {
    let metadata = |of| at(of, &["metadata"]);
    validate_common_update(metadata(new), metadata(old), namespaced(of), causes);
    match of {
        ("", "Pod") => pod_update::update_status(new, old, causes),
        ("", "Node") => cluster::node_update(new, old, causes),
        ("", "Namespace") => cluster::namespace_status(new, old, causes),
        ("", "Service") => service::update_status(new, old, causes),
        ("apps", kind) => workload::update_status(kind, new, old, causes),
        ("policy", "PodDisruptionBudget") => data::budget_status(new, causes),
        _ => meta::update(new, old, causes),
    }
}

/// What is wrong with the binding of a pod.
pub(super) fn binding(binding: &Value, causes: &mut Causes) {
    let (target, here) = (at(binding, &["target"]), At::new("target"));
    let (kind, name) = (text(target, "kind"), text(target, "name"));
    let node = matches!(kind, "" | "Node");
    if !node {
        causes.unsupported(&here.child("kind"), &Value::from(kind), &["Node", "<empty>"]);
    }
    if name.is_empty() {
        causes.required(&here.child("name"), "");
    } else if node {
        causes.invalid_each(&here.child("name"), name, subdomain(name));
    }
}

/// What is wrong with a namespace whose finalizers are updated.
pub(super) fn finalize(new: &Value, old: &Value, causes: &mut Causes) {
    validate_common_update(at(new, &["metadata"]), at(old, &["metadata"]), false, causes);
    cluster::namespace_finalize(new, old, causes);
}
