//! What is wrong with roles and who they are bound to.

use serde_json::Value;

use super::meta;
use crate::builtin::access::{at, list, text};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{NameRule, segment, subdomain};
use crate::builtin::metadata::selector;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A role or a binding that is created.
pub(super) fn create(kind: &str, object: &Value, causes: &mut Causes) {
    let namespaced = !kind.starts_with("Cluster");
    meta::create(object, namespaced, NameRule::Segment, causes);
    if kind.ends_with("Binding") {
        binding(object, namespaced, causes);
    } else {
        role(object, namespaced, causes);
    }
}

/// One that is updated.
pub(super) fn update(kind: &str, new: &Value, old: &Value, causes: &mut Causes) {
    create(kind, new, causes);
    meta::update(new, old, causes);
    let (now, before) = (at(new, &["roleRef"]), at(old, &["roleRef"]));
    if kind.ends_with("Binding") && now != before {
        // A real one shows its own type here.
        let shown = ["apiGroup", "kind", "name"].map(|field| quoted(text(now, field)));
        let shown = format!("{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}", shown[0], shown[1], shown[2]);
        causes.invalid_shown(&At::new("roleRef"), &shown, "field is immutable");
    }
}

fn role(object: &Value, namespaced: bool, causes: &mut Causes) {
    // What every rule must have is told last.
    let mut without_verbs = Vec::new();
    for (place, rule) in list(object, "rules").iter().enumerate() {
        let here = At::new("rules").index(place);
        if list(rule, "verbs").is_empty() {
            without_verbs.push(here.child("verbs"));
        }
        let any = |field: &str| !list(rule, field).is_empty();
        if any("nonResourceURLs") {
            let (urls, here) = (at(rule, &["nonResourceURLs"]), here.child("nonResourceURLs"));
            if namespaced {
                causes.invalid(&here, urls, "namespaced rules cannot apply to non-resource URLs");
            }
            if any("apiGroups") || any("resources") || any("resourceNames") {
                causes.invalid(
                    &here,
                    urls,
                    "rules cannot apply to both regular resources and non-resource URLs",
                );
            }
            continue;
        }
        if !any("apiGroups") {
            causes.required(&here.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if !any("resources") {
            causes.required(&here.child("resources"), "resource rules must supply at least one resource");
        }
    }
    if object.get("aggregationRule").is_some() {
        let here = At::new("aggregationRule").child("clusterRoleSelectors");
        let selectors = list(at(object, &["aggregationRule"]), "clusterRoleSelectors");
        if selectors.is_empty() {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.required(&here, why);
        }
        for (place, of) in selectors.iter().enumerate() {
            selector(of, &here.index(place), causes);
        }
    }
    for here in without_verbs {
        causes.required(&here, "");
    }
}

fn binding(object: &Value, namespaced: bool, causes: &mut Causes) {
    let (role, here) = (at(object, &["roleRef"]), At::new("roleRef"));
    let mut nameless = Vec::new();
    let group = text(role, "apiGroup");
    if group != GROUP {
        causes.unsupported(&here.child("apiGroup"), &Value::from(group), &[GROUP]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    let kind = text(role, "kind");
    if !kinds.contains(&kind) {
        causes.unsupported(&here.child("kind"), &Value::from(kind), kinds);
    }
    let name = text(role, "name");
    causes.invalid_each(&here.child("name"), name, segment(name));
    for (place, subject) in list(object, "subjects").iter().enumerate() {
        let here = At::new("subjects").index(place);
        let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
        if name.is_empty() {
            nameless.push(here.child("name"));
        }
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    causes.invalid_each(&here.child("name"), name, subdomain(name));
                }
                if !group.is_empty() {
                    causes.unsupported(&here.child("apiGroup"), &Value::from(group), &[""]);
                }
                if !namespaced && text(subject, "namespace").is_empty() {
                    causes.required(&here.child("namespace"), "");
                }
            }
            "User" | "Group" if group != GROUP => {
                causes.unsupported(&here.child("apiGroup"), &Value::from(group), &[GROUP]);
            }
            "User" | "Group" => {}
            other => {
                let kinds = ["ServiceAccount", "User", "Group"];
                causes.unsupported(&here.child("kind"), &Value::from(other), &kinds);
            }
        }
    }
    for here in nameless {
        causes.required(&here, "");
    }
    if name.is_empty() {
        causes.required(&here.child("name"), "");
    }
}
