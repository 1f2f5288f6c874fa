//! What is wrong with the kinds that hold a little data: ConfigMaps, Secrets, leases, revisions, priorities, budgets.

use serde_json::{Map, Value};

use super::meta;
use super::workload::{not_above_all, number_or_percent};
use crate::builtin::access::{at, entries, flag, has, int, list, same, text};
use crate::builtin::base64;
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{NameRule, condition_reason, config_key, qualified};
use crate::builtin::metadata::{selector, validate_metadata, validate_metadata_update};
use crate::builtin::wire::shown;

/// The data of a ConfigMap or a Secret.
const MOST: usize = 1024 * 1024;

fn metadata(object: &Value, causes: &mut Causes) {
    meta::create(object, true, NameRule::Subdomain, causes);
}

/// How many bytes stand in base 64.
fn decoded(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// A ConfigMap.
pub(super) fn config_map(object: &Value, causes: &mut Causes) {
    metadata(object, causes);
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let here = At::new("data").key(key);
        causes.invalid_each(&here, key, config_key(key));
        if has(at(object, &["binaryData"]), key) {
            causes.invalid(&here, &Value::from(key), "duplicate of key present in binaryData");
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, "binaryData") {
        causes.invalid_each(&At::new("binaryData").key(key), key, config_key(key));
        size += value.as_str().map_or(0, decoded);
    }
    if size > MOST {
        // The object as a whole: so Go prints a path of nothing.
        causes.too_long(&At::new("[]"), MOST);
    }
}

/// One that is updated.
pub(super) fn config_map_update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    immutable(new, old, &["data", "binaryData"], causes);
    config_map(new, causes);
}

fn immutable(new: &Value, old: &Value, fields: &[&str], causes: &mut Causes) {
    if !flag(old, "immutable") {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    if !flag(new, "immutable") {
        causes.forbidden(&At::new("immutable"), why);
    }
    for field in fields.iter().filter(|field| !same(at(new, &[field]), at(old, &[field]))) {
        causes.forbidden(&At::new(field), why);
    }
}

/// A Secret.
pub(super) fn secret(object: &Value, causes: &mut Causes) {
    metadata(object, causes);
    let here = At::new("data");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        causes.invalid_each(&here.key(key), key, config_key(key));
        size += value.as_str().map_or(0, decoded);
    }
    if size > MOST {
        causes.too_long(&here, MOST);
    }
    let data = at(object, &["data"]);
    let mut need = |keys: &[&str]| {
        for key in keys.iter().filter(|key| !has(data, key)) {
            causes.required(&here.key(key), "");
        }
    };
    match text(object, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if text(at(object, &["metadata", "annotations"]), key).is_empty() {
                causes.required(&At::new("metadata").child("annotations").key(key), "");
            }
        }
        "kubernetes.io/dockercfg" if !has(data, ".dockercfg") => need(&[".dockercfg"]),
        "kubernetes.io/dockercfg" => json(data, ".dockercfg", &here, causes),
        "kubernetes.io/dockerconfigjson" if !has(data, ".dockerconfigjson") => need(&[".dockerconfigjson"]),
        "kubernetes.io/dockerconfigjson" => json(data, ".dockerconfigjson", &here, causes),
        "kubernetes.io/basic-auth" if !has(data, "username") && !has(data, "password") => {
            need(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"]),
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

/// Keys of registries are JSON. Only what cannot even begin JSON is told as a real API server does.
fn json(data: &Value, key: &str, here: &At, causes: &mut Causes) {
    let bytes = base64::decode(text(data, key));
    let Err(wrong) = serde_json::from_slice::<Map<String, Value>>(&bytes) else { return };
    let begins = |byte: &u8| b"{[-tfn\"0123456789".contains(byte);
    let why = match bytes.first() {
        None => "unexpected end of JSON input".to_owned(),
        Some(first) if begins(first) => wrong.to_string(),
        Some(first) => format!("invalid character '{}' looking for beginning of value", char::from(*first)),
    };
    causes.invalid(&here.key(key), &Value::from("<secret contents redacted>"), &why);
}

/// One that is updated.
pub(super) fn secret_update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    causes.immutable(&At::new("type"), at(new, &["type"]), at(old, &["type"]));
    immutable(new, old, &["data"], causes);
    secret(new, causes);
}

/// A Lease. Its finalizers may bear any name.
pub(super) fn lease(object: &Value, causes: &mut Causes) {
    validate_metadata(at(object, &["metadata"]), true, NameRule::Subdomain, causes);
    lease_spec(object, causes);
}

/// One that is updated.
pub(super) fn lease_update(new: &Value, old: &Value, causes: &mut Causes) {
    validate_metadata_update(at(new, &["metadata"]), at(old, &["metadata"]), causes);
    lease_spec(new, causes);
}

fn lease_spec(object: &Value, causes: &mut Causes) {
    let (spec, here) = (at(object, &["spec"]), At::new("spec"));
    if let Some(seconds) = int(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        causes.invalid(&here.child("leaseDurationSeconds"), &Value::from(seconds), "must be greater than 0");
    }
    causes.not_negative(&here.child("leaseTransitions"), int(spec, "leaseTransitions"));
}

/// A ControllerRevision.
pub(super) fn revision(object: &Value, causes: &mut Causes) {
    metadata(object, causes);
    causes.not_negative(&At::new("revision"), int(object, "revision"));
    match at(object, &["data"]) {
        Value::Null => causes.required(&At::new("data"), "data is mandatory"),
        Value::Object(_) => {}
        _ => causes.required(&At::new("data"), "data must be a valid JSON object"),
    }
}

/// One that is updated.
pub(super) fn revision_update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    metadata(new, causes);
    causes.not_negative(&At::new("revision"), int(new, "revision"));
    let (now, before) = (at(new, &["data"]), at(old, &["data"]));
    if now != before {
        causes.invalid(&At::new("data"), now, "field is immutable");
    }
}

/// A PriorityClass.
pub(super) fn priority_class(object: &Value, causes: &mut Causes) {
    let metadata = at(object, &["metadata"]);
    meta::create(object, false, NameRule::Subdomain, causes);
    let (name, value) = (text(metadata, "name"), int(object, "value").unwrap_or_default());
    let system = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
    if name.starts_with("system-") {
        let wrong = match system.iter().find(|(known, _)| *known == name) {
            None => format!("{name} is not a known system priority class"),
            Some((_, known)) if *known != value => format!("value of {name} PriorityClass must be {known}"),
            Some(_) if flag(object, "globalDefault") => {
                format!("globalDefault of {name} PriorityClass must be false")
            }
            Some(_) => return,
        };
        let why = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {wrong}"
        );
        causes.forbidden(&At::new("metadata").child("name"), &why);
    } else if value > 1_000_000_000 {
        causes.forbidden(&At::new("value"), "maximum allowed value of a user defined priority is 1000000000");
    }
    if has(object, "preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        causes.one_of(&At::new("preemptionPolicy"), text(object, "preemptionPolicy"), &policies);
    }
}

/// One that is updated.
pub(super) fn priority_class_update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    if int(new, "value") != int(old, "value") {
        causes.forbidden(&At::new("value"), "may not be changed in an update.");
    }
    let field = ["preemptionPolicy"];
    causes.immutable(&At::new("preemptionPolicy"), at(new, &field), at(old, &field));
}

/// A PodDisruptionBudget. Its name is anything that can stand in a path.
pub(super) fn budget(object: &Value, causes: &mut Causes) {
    let (spec, here) = (at(object, &["spec"]), At::new("spec"));
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        causes.invalid_shown(
            &here,
            &shown_budget(spec),
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    for field in ["minAvailable", "maxUnavailable"].into_iter().filter(|field| has(spec, field)) {
        number_or_percent(at(spec, &[field]), &here.child(field), causes);
        not_above_all(at(spec, &[field]), &here.child(field), causes);
    }
    selector(at(spec, &["selector"]), &here.child("selector"), causes);
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = text(spec, "unhealthyPodEvictionPolicy");
    if has(spec, "unhealthyPodEvictionPolicy") && !policies.contains(&policy) {
        causes.unsupported(&here.child("unhealthyPodEvictionPolicy"), &Value::from(policy), &policies);
    }
}

/// A budget as a real API server shows its own type.
fn shown_budget(spec: &Value) -> String {
    let selector = match at(spec, &["selector"]) {
        Value::Null => "null".to_owned(),
        selector => shown("meta/v1.LabelSelector", selector),
    };
    let policy = match text(spec, "unhealthyPodEvictionPolicy") {
        "" => "null".to_owned(),
        policy => quoted(policy),
    };
    format!(
        "{{\"MinAvailable\":{},\"Selector\":{selector},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{policy}}}",
        at(spec, &["minAvailable"]),
        at(spec, &["maxUnavailable"])
    )
}

/// The status of a budget.
pub(super) fn budget_status(new: &Value, causes: &mut Causes) {
    let (status, here) = (at(new, &["status"]), At::new("status"));
    conditions(status, &here.child("conditions"), causes);
    for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        causes.not_negative(&here.child(field), int(status, field));
    }
}

/// Conditions of the common sort.
fn conditions(status: &Value, here: &At, causes: &mut Causes) {
    let mut seen: Vec<&str> = Vec::new();
    for (place, condition) in list(status, "conditions").iter().enumerate() {
        let here = here.index(place);
        let sort = text(condition, "type");
        if seen.contains(&sort) {
            causes.duplicate(&here, &Value::from(sort));
        }
        seen.push(sort);
        match sort {
            "" => causes.required(&here.child("type"), "is required"),
            sort => causes.invalid_each(&here.child("type"), sort, qualified(sort)),
        }
        causes.one_of(&here.child("status"), text(condition, "status"), &["False", "True", "Unknown"]);
        if let Some(number) = int(condition, "observedGeneration").filter(|number| *number < 0) {
            let why = "must be greater than or equal to zero";
            causes.invalid(&here.child("observedGeneration"), &Value::from(number), why);
        }
        if !has(condition, "lastTransitionTime") {
            causes.required(&here.child("lastTransitionTime"), "");
        }
        match text(condition, "reason") {
            "" => causes.required(&here.child("reason"), ""),
            reason => {
                causes.invalid_each(&here.child("reason"), reason, condition_reason(reason));
                if reason.len() > 1024 {
                    causes.too_long(&here.child("reason"), 1024);
                }
            }
        }
        if text(condition, "message").len() > 32 * 1024 {
            causes.too_long(&here.child("message"), 32 * 1024);
        }
    }
}
