//! What is wrong with groups of pods.

use serde_json::Value;

use super::meta;
use crate::builtin::access::{at, has, int, same, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{NameRule, label, subdomain};

/// One that is created.
pub(super) fn create(object: &Value, causes: &mut Causes) {
    meta::create(object, true, NameRule::Subdomain, causes);
    let (spec, here) = (at(object, &["spec"]), At::new("spec"));
    if has(spec, "workloadRef") {
        for field in ["workloadName", "templateName"] {
            let (name, here) =
                (text(at(spec, &["workloadRef"]), field), here.child("workloadRef").child(field));
            match (name, field) {
                ("", _) => causes.required(&here, ""),
                (name, "workloadName") => causes.invalid_each(&here, name, subdomain(name)),
                (name, _) => causes.invalid_each(&here, name, label(name)),
            }
        }
    }
    one_of(at(spec, &["schedulingPolicy"]), ["basic", "gang"], &here.child("schedulingPolicy"), causes);
    least(spec, &here, causes);
    if has(spec, "disruptionMode") {
        one_of(at(spec, &["disruptionMode"]), ["single", "all"], &here.child("disruptionMode"), causes);
    } else {
        causes.required(&here.child("disruptionMode"), "");
    }
    let class = text(spec, "priorityClassName");
    if !class.is_empty() {
        causes.invalid_each(&here.child("priorityClassName"), class, subdomain(class));
    }
    if let Some(priority) = int(spec, "priority").filter(|priority| *priority > 1_000_000_000) {
        let why = "must be less than or equal to 1000000000";
        causes.invalid(&here.child("priority"), &Value::from(priority), why);
    }
}

/// One that is updated: only the size of a gang may change.
pub(super) fn update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    let here = At::new("spec");
    let (now, before) = (at(new, &["spec"]), at(old, &["spec"]));
    let fixed = |field: &str, causes: &mut Causes| {
        if !same(at(now, &[field]), at(before, &[field])) {
            causes.invalid(&here.child(field), &Value::Null, "field is immutable");
        }
    };
    fixed("workloadRef", causes);
    let place = here.child("schedulingPolicy");
    let (policy, was) = (at(now, &["schedulingPolicy"]), at(before, &["schedulingPolicy"]));
    if !same(policy, was) {
        one_of(policy, ["basic", "gang"], &place, causes);
        if !same(at(policy, &["basic"]), at(was, &["basic"])) {
            causes.invalid(&place.child("basic"), &Value::Null, "field is immutable");
        }
        match (has(policy, "gang"), has(was, "gang")) {
            (true, false) => {
                causes.invalid(&place.child("gang"), &Value::Null, "field cannot be set once created")
            }
            (false, true) => {
                causes.invalid(&place.child("gang"), &Value::Null, "field cannot be cleared once set")
            }
            _ => least(now, &here, causes),
        }
    }
    for field in ["resourceClaims", "disruptionMode", "priorityClassName", "priority"] {
        fixed(field, causes);
    }
}

fn one_of(of: &Value, known: [&str; 2], here: &At, causes: &mut Causes) {
    let said: Vec<&str> = known.into_iter().filter(|field| has(of, field)).collect();
    let all = known.map(|field| format!("`{field}`")).join(", ");
    match said.len() {
        0 => causes.invalid(here, &Value::from(""), &format!("must specify one of: {all}")),
        1 => {}
        _ => {
            let said = said.join(", ");
            let why = format!("must specify exactly one of: {all}");
            causes.invalid(here, &Value::from(format!("{{{said}}}")), &why);
        }
    }
}

fn least(spec: &Value, here: &At, causes: &mut Causes) {
    let gang = at(spec, &["schedulingPolicy", "gang"]);
    if gang.is_null() {
        return;
    }
    let here = here.child("schedulingPolicy").child("gang").child("minCount");
    match int(gang, "minCount").unwrap_or_default() {
        0 => causes.required(&here, ""),
        number if number < 1 => {
            causes.invalid(&here, &Value::from(number), "must be greater than or equal to 1")
        }
        _ => {}
    }
}
