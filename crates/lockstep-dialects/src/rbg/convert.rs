//! Between the two versions, without loss.
//!
//! What has a place in both moves there. What only v1alpha2 can say is kept in an annotation of the v1alpha1 object,
//! role by role, and put back on the way home. v1alpha2 has a place for everything v1alpha1 says.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::read::without_nulls;
use super::role::leader_worker_set_is_meant;

/// Holds what v1alpha1 has no words for.
const KEPT: &str = "conversion.lockstep.dev/v1alpha2";

/// Fields of a v1alpha2 role that a typed client of v1alpha1 would drop.
const ONLY_NEW: [&str; 3] = ["podManagementPolicy", "instanceTopologyConstraint", "topologyConstraint"];

/// The same of its `scalingAdapter`.
const ADAPTER_NEW: [&str; 2] = ["labels", "scaleDownPolicy"];

/// An object of one of the kinds, in another of its versions: `v1alpha1` or `v1alpha2`.
pub fn convert(object: &Value, to_version: &str) -> Value {
    let mut out = object.clone();
    let from = object["apiVersion"].as_str().unwrap_or_default();
    let (group, from) = from.split_once('/').unwrap_or(("", from));
    if from == to_version || !out.is_object() {
        return out;
    }
    out["apiVersion"] = json!(format!("{group}/{to_version}"));
    if let Some(spec) = out.get_mut("spec") {
        // What is null says nothing, and must not look like something that has no place in the other version.
        *spec = without_nulls(spec);
    }
    match (object["kind"].as_str(), to_version) {
        (Some("RoleBasedGroup"), "v1alpha1") => older(&mut out, older_spec),
        (Some("RoleBasedGroup"), "v1alpha2") => newer(&mut out, newer_spec),
        (Some("RoleBasedGroupSet"), "v1alpha1") => older(&mut out, older_set),
        (Some("RoleBasedGroupSet"), "v1alpha2") => newer(&mut out, newer_set),
        _ => {}
    }
    out
}

/// An object with everything in its place, also if it was read in the older version.
pub(crate) fn whole(object: &Value) -> Cow<'_, Value> {
    if object["metadata"]["annotations"][KEPT].is_string() {
        Cow::Owned(convert(object, "v1alpha2"))
    } else {
        Cow::Borrowed(object)
    }
}

type Fields = Map<String, Value>;

fn older(object: &mut Value, change: impl Fn(&mut Fields, &mut Fields)) {
    let mut kept = Fields::new();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        change(spec, &mut kept);
    }
    if !kept.is_empty() && object["metadata"].is_object() {
        let annotations = &mut object["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[KEPT] = json!(Value::Object(kept).to_string());
    }
}

fn newer(object: &mut Value, change: impl Fn(&mut Fields, &Fields)) {
    let mut kept = Fields::new();
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations")
        && let Some(Value::String(text)) = annotations.remove(KEPT)
    {
        if annotations.is_empty() {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("annotations"));
        }
        if let Ok(Value::Object(read)) = serde_json::from_str(&text) {
            kept = read;
        }
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        change(spec, &kept);
    }
}

fn older_set(spec: &mut Fields, kept: &mut Fields) {
    if let Some(Value::Object(mut template)) = spec.remove("groupTemplate") {
        let inner = template.remove("spec");
        let moved = inner.is_some();
        if let Some(mut inner) = inner {
            if let Some(inner) = inner.as_object_mut() {
                older_spec(inner, kept);
            }
            spec.insert("template".to_owned(), inner);
        }
        if !moved || !template.is_empty() {
            kept.insert("groupTemplate".to_owned(), Value::Object(template));
        }
    }
    for field in ["rolloutStrategy", "updateStrategy"] {
        if let Some(value) = spec.remove(field) {
            kept.insert(field.to_owned(), value);
        }
    }
}

fn newer_set(spec: &mut Fields, kept: &Fields) {
    let mut template = kept.get("groupTemplate").and_then(Value::as_object).cloned();
    if let Some(Value::Object(mut inner)) = spec.remove("template") {
        newer_spec(&mut inner, kept);
        template.get_or_insert_default().insert("spec".to_owned(), Value::Object(inner));
    }
    if let Some(template) = template {
        spec.entry("groupTemplate").or_insert(Value::Object(template));
    }
    for field in ["rolloutStrategy", "updateStrategy"] {
        if let Some(value) = kept.get(field) {
            spec.entry(field).or_insert_with(|| value.clone());
        }
    }
}

fn older_spec(spec: &mut Fields, kept: &mut Fields) {
    let mut roles = Fields::new();
    if let Some(value) = spec.remove("topologyConstraint") {
        kept.insert("topologyConstraint".to_owned(), value);
    }
    let list = spec.get_mut("roles").and_then(Value::as_array_mut);
    for role in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        let left = older_role(role);
        let name = role.get("name").and_then(Value::as_str).unwrap_or_default();
        if !left.is_empty() {
            roles.insert(name.to_owned(), Value::Object(left));
        }
    }
    if !roles.is_empty() {
        kept.insert("roles".to_owned(), Value::Object(roles));
    }
}

fn newer_spec(spec: &mut Fields, kept: &Fields) {
    if let Some(value) = kept.get("topologyConstraint") {
        spec.entry("topologyConstraint").or_insert_with(|| value.clone());
    }
    let list = spec.get_mut("roles").and_then(Value::as_array_mut);
    for role in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        newer_role(role);
        let name = role.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Some(Value::Object(left)) = kept.get("roles").and_then(|roles| roles.get(name)) {
            put_back(role, left);
        }
    }
}

/// Fields of a role that only v1alpha1 has.
const OLD: [&str; 5] = ["template", "templateRef", "templatePatch", "leaderWorkerSet", "components"];

/// What stands where in a leader-worker pattern: v1alpha2, v1alpha1.
const LEADER_WORKER: [(&str, &str); 3] = [
    ("size", "size"),
    ("leaderTemplatePatch", "patchLeaderTemplate"),
    ("workerTemplatePatch", "patchWorkerTemplate"),
];

/// Moves what v1alpha1 can say; what is left comes back.
fn older_role(role: &mut Fields) -> Fields {
    let mut left = Fields::new();
    // Of patterns that would end in the same place, which nobody accepts, all stay whole.
    let both = role.contains_key("leaderWorkerPattern") && role.contains_key("standalonePattern");
    let taken = both || OLD.iter().any(|field| role.contains_key(*field));
    for name in ["leaderWorkerPattern", "customComponentsPattern", "standalonePattern"] {
        let Some(value) = role.remove(name) else { continue };
        let rest = match value {
            Value::Object(pattern) if !taken => older_pattern(name, pattern, role),
            other => Some(other),
        };
        left.extend(rest.map(|rest| (name.to_owned(), rest)));
    }
    for field in ONLY_NEW {
        left.extend(role.remove(field).map(|value| (field.to_owned(), value)));
    }
    if let Some(Value::Object(adapter)) = role.get_mut("scalingAdapter") {
        let kept = ADAPTER_NEW.iter().filter_map(|field| adapter.remove_entry(*field));
        let kept: Fields = kept.collect();
        if !kept.is_empty() {
            left.insert("scalingAdapter".to_owned(), Value::Object(kept));
        }
    }
    left
}

/// What of a pattern stays behind; nothing if the pattern will be found again by what moved.
fn older_pattern(name: &str, mut pattern: Fields, role: &mut Fields) -> Option<Value> {
    match name {
        "customComponentsPattern" => {
            let moved = match pattern.remove("components") {
                Some(Value::Array(components)) if !components.is_empty() => {
                    role.insert("components".to_owned(), Value::Array(components));
                    true
                }
                Some(other) => {
                    pattern.insert("components".to_owned(), other);
                    false
                }
                None => false,
            };
            return (!moved || !pattern.is_empty()).then_some(Value::Object(pattern));
        }
        "leaderWorkerPattern" => {
            let mut older = Fields::new();
            for (new, old) in LEADER_WORKER {
                older.extend(pattern.remove(new).map(|value| (old.to_owned(), value)));
            }
            role.insert("leaderWorkerSet".to_owned(), Value::Object(older));
            older_source(&mut pattern, role);
            return (!pattern.is_empty()).then_some(Value::Object(pattern));
        }
        _ => {}
    }
    let moved = older_source(&mut pattern, role);
    (!moved || !pattern.is_empty()).then_some(Value::Object(pattern))
}

/// A template, or a reference with a patch in it.
fn older_source(pattern: &mut Fields, role: &mut Fields) -> bool {
    let mut moved = false;
    if let Some(template) = pattern.remove("template") {
        role.insert("template".to_owned(), template);
        moved = true;
    }
    if let Some(mut reference) = pattern.remove("templateRef") {
        if let Some(patch) = reference.as_object_mut().and_then(|reference| reference.remove("patch")) {
            role.insert("templatePatch".to_owned(), patch);
        }
        role.insert("templateRef".to_owned(), reference);
        moved = true;
    }
    moved
}

fn newer_role(role: &mut Fields) {
    // What is said in the words of v1alpha2 already stays as it is, and so does what is said beside it.
    if ["leaderWorkerPattern", "customComponentsPattern", "standalonePattern"]
        .iter()
        .any(|name| role.contains_key(*name))
    {
        return;
    }
    // It would become a pattern that nobody asked for; both versions understand it as it stands.
    if role.get("leaderWorkerSet").and_then(Value::as_object).is_some_and(|it| !is_meant(role, it)) {
        return;
    }
    if let Some(Value::Array(list)) = role.get("components")
        && !list.is_empty()
        && let Some(components) = role.remove("components")
    {
        role.insert("customComponentsPattern".to_owned(), json!({"components": components}));
    }
    if role.get("leaderWorkerSet").is_some_and(Value::is_object)
        && let Some(Value::Object(mut older)) = role.remove("leaderWorkerSet")
    {
        let mut pattern = Fields::new();
        for (new, old) in LEADER_WORKER {
            pattern.extend(older.remove(old).map(|value| (new.to_owned(), value)));
        }
        newer_source(&mut pattern, role);
        role.insert("leaderWorkerPattern".to_owned(), Value::Object(pattern));
        return;
    }
    let mut pattern = Fields::new();
    newer_source(&mut pattern, role);
    if !pattern.is_empty() {
        role.insert("standalonePattern".to_owned(), Value::Object(pattern));
    }
}

fn is_meant(role: &Fields, given: &Fields) -> bool {
    let kind = role.get("workload").and_then(|workload| workload["kind"].as_str());
    leader_worker_set_is_meant(kind, given.values().all(Value::is_null))
}

fn newer_source(pattern: &mut Fields, role: &mut Fields) {
    if let Some(template) = role.remove("template") {
        pattern.insert("template".to_owned(), template);
    }
    if let Some(mut reference) = role.remove("templateRef") {
        if let Some(fields) = reference.as_object_mut()
            && let Some(patch) = role.remove("templatePatch")
        {
            fields.insert("patch".to_owned(), patch);
        }
        pattern.insert("templateRef".to_owned(), reference);
    }
}

/// Puts back what was left, where nothing else stands by now.
fn put_back(into: &mut Fields, left: &Fields) {
    for (key, value) in left {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(value)) => put_back(into, value),
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
