//! What is wrong with what pods say of where they want to run.

use serde_json::Value;

use crate::builtin::access::{at, entries, has, int, list, text, texts};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{label, label_value, qualified, subdomain};
use crate::builtin::metadata::selector;

pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Tolerations.
pub(super) fn tolerations(spec: &Value, here: &At, causes: &mut Causes) {
    for (place, toleration) in list(spec, "tolerations").iter().enumerate() {
        let here = here.index(place);
        let (key, value) = (text(toleration, "key"), text(toleration, "value"));
        let (operator, effect) = (text(toleration, "operator"), text(toleration, "effect"));
        if !key.is_empty() {
            causes.invalid_each(&here.child("key"), key, qualified(key));
        } else if operator != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.invalid(&here.child("operator"), &Value::from(operator), why);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.invalid(&here.child("effect"), &Value::from(effect), why);
        }
        match operator {
            "Equal" | "" => {
                let wrong = label_value(value);
                if !wrong.is_empty() {
                    causes.invalid(&here.child("operator"), &Value::from(value), &wrong.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let why = "value must be empty when `operator` is 'Exists'";
                    causes.invalid(&here.child("operator"), &Value::from(value), why);
                }
            }
            "Lt" | "Gt" => {
                let operators = ["Equal", "Exists", "Lt", "Gt"];
                causes.unsupported(&here.child("operator"), &Value::from(operator), &operators);
            }
            other => causes.unsupported(&here.child("operator"), &Value::from(other), &["Equal", "Exists"]),
        }
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            causes.unsupported(&here.child("effect"), &Value::from(effect), &EFFECTS);
        }
    }
}

/// Affinities.
pub(super) fn affinity(spec: &Value, here: &At, causes: &mut Causes) {
    let affinity = at(spec, &["affinity"]);
    let (nodes, place) = (at(affinity, &["nodeAffinity"]), here.child("nodeAffinity"));
    if has(nodes, REQUIRED) {
        let terms = list(at(nodes, &[REQUIRED]), "nodeSelectorTerms");
        let place = place.child(REQUIRED).child("nodeSelectorTerms");
        if terms.is_empty() {
            causes.required(&place, "must have at least one node selector term");
        }
        for (number, term) in terms.iter().enumerate() {
            node_term(term, true, &place.index(number), causes);
        }
    }
    for (number, term) in list(nodes, PREFERRED).iter().enumerate() {
        let place = place.child(PREFERRED).index(number);
        weight(term, &place, causes);
        node_term(at(term, &["preference"]), false, &place.child("preference"), causes);
    }
    for sort in ["podAffinity", "podAntiAffinity"] {
        let (pods, place) = (at(affinity, &[sort]), here.child(sort));
        for (number, term) in list(pods, REQUIRED).iter().enumerate() {
            pod_term(term, &place.child(REQUIRED).index(number), causes);
        }
        for (number, term) in list(pods, PREFERRED).iter().enumerate() {
            let place = place.child(PREFERRED).index(number);
            weight(term, &place, causes);
            pod_term(at(term, &["podAffinityTerm"]), &place.child("podAffinityTerm"), causes);
        }
    }
}

fn weight(term: &Value, here: &At, causes: &mut Causes) {
    let weight = int(term, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        causes.invalid(&here.child("weight"), &Value::from(weight), "must be in the range 1-100");
    }
}

fn node_term(term: &Value, values_count: bool, here: &At, causes: &mut Causes) {
    for (number, requirement) in list(term, "matchExpressions").iter().enumerate() {
        let here = here.child("matchExpressions").index(number);
        let values = texts(requirement, "values");
        match (text(requirement, "operator"), values.len()) {
            ("In" | "NotIn", 0) => {
                causes
                    .required(&here.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            ("Exists" | "DoesNotExist", 1..) => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.forbidden(&here.child("values"), why);
            }
            ("Gt" | "Lt", number) if number != 1 => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                causes.required(&here.child("values"), why);
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
            (other, _) => {
                causes.invalid(&here.child("operator"), &Value::from(other), "not a valid selector operator");
            }
        }
        let key = text(requirement, "key");
        causes.invalid_each(&here.child("key"), key, qualified(key));
        for (number, value) in values.into_iter().enumerate().filter(|_| values_count) {
            causes.invalid_each(&here.child("values").index(number), value, label_value(value));
        }
    }
    for (number, requirement) in list(term, "matchFields").iter().enumerate() {
        node_field(requirement, &here.child("matchFields").index(number), causes);
    }
}

fn node_field(requirement: &Value, here: &At, causes: &mut Causes) {
    let values = texts(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.len() != 1 => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            causes.required(&here.child("values"), why);
        }
        "In" | "NotIn" => {}
        other => {
            causes.invalid(&here.child("operator"), &Value::from(other), "not a valid selector operator")
        }
    }
    let key = text(requirement, "key");
    if key == "metadata.name" {
        for (number, value) in values.into_iter().enumerate() {
            causes.invalid_each(&here.child("values").index(number), value, subdomain(value));
        }
    } else {
        causes.invalid(&here.child("key"), &Value::from(key), "not a valid field selector key");
    }
}

fn pod_term(term: &Value, here: &At, causes: &mut Causes) {
    selector(at(term, &["labelSelector"]), &here.child("labelSelector"), causes);
    selector(at(term, &["namespaceSelector"]), &here.child("namespaceSelector"), causes);
    for name in texts(term, "namespaces") {
        causes.invalid_each(&here.child("namespace"), name, label(name));
    }
    label_keys(term, here, causes);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        causes.required(&here.child("topologyKey"), "can not be empty");
    }
    causes.invalid_each(&here.child("topologyKey"), key, qualified(key));
}

/// Keys of labels by whose values pods are selected.
fn label_keys(term: &Value, here: &At, causes: &mut Causes) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = texts(term, field);
        if !keys.is_empty() && !has(term, "labelSelector") {
            causes.forbidden(&here.child(field), "must not be specified when labelSelector is not set");
            continue;
        }
        for (number, key) in keys.into_iter().enumerate() {
            causes.invalid_each(&here.child(field).index(number), key, qualified(key));
        }
    }
    let (matched, mismatched) = (texts(term, "matchLabelKeys"), texts(term, "mismatchLabelKeys"));
    let chosen = at(term, &["labelSelector"]);
    let mut seen: Vec<&str> = entries(chosen, "matchLabels").map(|(key, _)| key).collect();
    for expression in list(chosen, "matchExpressions") {
        let key = text(expression, "key");
        let place = matched.iter().position(|matched| *matched == key);
        if let Some(place) = place.filter(|_| seen.contains(&key)) {
            let why = "exists in both matchLabelKeys and labelSelector";
            causes.invalid(&here.index(place), &Value::from(key), why);
        }
        seen.push(key);
    }
    for (place, key) in matched.iter().enumerate().filter(|(_, key)| mismatched.contains(key)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        causes.invalid(&here.child("matchLabelKeys").index(place), &Value::from(*key), why);
    }
}

/// How pods are spread.
pub(super) fn spread(spec: &Value, here: &At, causes: &mut Causes) {
    let all = list(spec, "topologySpreadConstraints");
    for (place, constraint) in all.iter().enumerate() {
        let here = here.index(place);
        let (key, action) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        positive(constraint, "maxSkew", &here, causes);
        if key.is_empty() {
            causes.required(&here.child("topologyKey"), "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            causes.unsupported(&here.child("whenUnsatisfiable"), &Value::from(action), &actions);
        }
        let same =
            |other: &&Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if all[place + 1..].iter().any(|other| same(&other)) {
            let here = here.child("{topologyKey, whenUnsatisfiable}");
            causes.duplicate(&here, &Value::from(format!("{{{key}, {action}}}")));
        }
        if has(constraint, "minDomains") {
            positive(constraint, "minDomains", &here, causes);
            if action != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                causes.invalid(&here.child("minDomains"), at(constraint, &["minDomains"]), &why);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = text(constraint, field);
            if has(constraint, field) && !["Honor", "Ignore"].contains(&policy) {
                causes.unsupported(&here.child(field), &Value::from(policy), &["Honor", "Ignore"]);
            }
        }
        label_keys(constraint, &here, causes);
        selector(at(constraint, &["labelSelector"]), &here.child("labelSelector"), causes);
    }
}

fn positive(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    let number = int(of, field).unwrap_or_default();
    if number <= 0 {
        causes.invalid(&here.child(field), &Value::from(number), "must be greater than zero");
    }
}
