//! What is wrong with the kinds that make pods.

use serde_json::Value;

use super::meta;
use super::pod::template;
use crate::builtin::access::{at, entries, has, int, list, same, text};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{NameRule, percent};
use crate::builtin::metadata::{selector, selects};
use crate::builtin::wire::shown;

/// A Deployment, ReplicaSet, StatefulSet or DaemonSet that is created.
pub(super) fn create(kind: &str, object: &Value, causes: &mut Causes) {
    meta::create(object, true, NameRule::Subdomain, causes);
    spec(kind, at(object, &["spec"]), causes);
}

/// One that is updated.
pub(super) fn update(kind: &str, new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    spec(kind, at(new, &["spec"]), causes);
    let (now, before) = (at(new, &["spec", "selector"]), at(old, &["spec", "selector"]));
    if !same(now, before) {
        let here = At::new("spec").child("selector");
        let now = if now.is_null() { "null".to_owned() } else { shown("meta/v1.LabelSelector", now) };
        causes.invalid_shown(&here, &now, "field is immutable");
    }
}

fn spec(kind: &str, spec: &Value, causes: &mut Causes) {
    let here = At::new("spec");
    let number = |field: &str, causes: &mut Causes| causes.not_negative(&here.child(field), int(spec, field));
    number("replicas", causes);
    if kind == "ReplicaSet" {
        number("minReadySeconds", causes);
    }
    pods(spec, &here, causes);
    if kind == "Deployment" {
        strategy(at(spec, &["strategy"]), &here.child("strategy"), causes);
    }
    if kind != "ReplicaSet" {
        number("minReadySeconds", causes);
        number("revisionHistoryLimit", causes);
    }
    if kind == "Deployment" {
        number("progressDeadlineSeconds", causes);
        let deadline = int(spec, "progressDeadlineSeconds");
        let ready = int(spec, "minReadySeconds").unwrap_or_default();
        if let Some(deadline) = deadline.filter(|deadline| *deadline <= ready) {
            let here = here.child("progressDeadlineSeconds");
            causes.invalid(&here, &Value::from(deadline), "must be greater than minReadySeconds");
        }
    }
}

/// The selector, and the template it must select.
fn pods(spec: &Value, here: &At, causes: &mut Causes) {
    let (chosen, place) = (at(spec, &["selector"]), here.child("selector"));
    if has(spec, "selector") {
        selector(chosen, &place, causes);
        if entries(chosen, "matchLabels").next().is_none() && list(chosen, "matchExpressions").is_empty() {
            causes.invalid_shown(&place, "{}", "empty selector is invalid for deployment");
        }
    } else {
        causes.required(&place, "");
    }
    let of = at(spec, &["template"]);
    let place = here.child("template");
    // No selector selects nothing.
    let matched =
        if has(spec, "selector") { selects(chosen, at(of, &["metadata", "labels"])) } else { Some(false) };
    match matched {
        None => {
            causes.invalid_shown(
                &here.child("selector"),
                &shown("meta/v1.LabelSelector", chosen),
                "invalid label selector",
            );
            return;
        }
        Some(false) => {
            let labels = at(of, &["metadata", "labels"]);
            let why = "`selector` does not match template `labels`";
            causes.invalid(&place.child("metadata").child("labels"), labels, why);
        }
        Some(true) => {}
    }
    template(of, &place, causes);
    let (of, place) = (at(of, &["spec"]), place.child("spec"));
    let restart = text(of, "restartPolicy");
    if restart != "Always" {
        causes.unsupported(&place.child("restartPolicy"), &Value::from(restart), &["Always"]);
    }
    if has(of, "activeDeadlineSeconds") {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        causes.forbidden(&place.child("activeDeadlineSeconds"), why);
    }
}

fn strategy(strategy: &Value, here: &At, causes: &mut Causes) {
    let rolling = at(strategy, &["rollingUpdate"]);
    match text(strategy, "type") {
        "Recreate" if has(strategy, "rollingUpdate") => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.forbidden(&here.child("rollingUpdate"), why);
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let here = here.child("rollingUpdate");
            let (down, up) = (at(rolling, &["maxUnavailable"]), at(rolling, &["maxSurge"]));
            number_or_percent(down, &here.child("maxUnavailable"), causes);
            number_or_percent(up, &here.child("maxSurge"), causes);
            if amount(down) == 0 && amount(up) == 0 {
                causes.invalid(&here.child("maxUnavailable"), down, "may not be 0 when `maxSurge` is 0");
            }
            not_above_all(down, &here.child("maxUnavailable"), causes);
        }
        other => {
            // A real one shows its own type here.
            let shown =
                format!("{{\"Type\":{},\"RollingUpdate\":{}}}", quoted(other), shown_rolling(rolling));
            causes.unsupported_shown(here, &shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn shown_rolling(rolling: &Value) -> String {
    if rolling.is_null() {
        return "null".to_owned();
    }
    let zero = Value::from(0);
    let of = |field: &str| rolling.get(field).unwrap_or(&zero).clone();
    format!("{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}", of("maxUnavailable"), of("maxSurge"))
}

/// A number or a share, of pods.
pub(super) fn number_or_percent(of: &Value, here: &At, causes: &mut Causes) {
    match of {
        Value::String(share) => {
            for why in percent(share) {
                causes.invalid(here, of, &why);
            }
        }
        number => causes.not_negative(here, number.as_i64()),
    }
}

/// A share that is not more than all.
pub(super) fn not_above_all(of: &Value, here: &At, causes: &mut Causes) {
    let share = of.as_str().filter(|share| percent(share).is_empty());
    let share = share.and_then(|share| share.trim_end_matches('%').parse::<i64>().ok());
    if share.is_some_and(|share| share > 100) {
        causes.invalid(here, of, "must not be greater than 100%");
    }
}

fn amount(of: &Value) -> i64 {
    match of {
        Value::String(share) => share.trim_end_matches('%').parse().unwrap_or_default(),
        number => number.as_i64().unwrap_or_default(),
    }
}

/// A status that is updated.
pub(super) fn update_status(kind: &str, new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    let (status, here) = (at(new, &["status"]), At::new("status"));
    let fields: &[&str] = match kind {
        "Deployment" => &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
        "ReplicaSet" => &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
        _ => return,
    };
    for field in fields {
        causes.not_negative(&here.child(field), int(status, field));
    }
    let count = |field: &str| int(status, field).unwrap_or_default();
    let first = if kind == "Deployment" { "updatedReplicas" } else { "fullyLabeledReplicas" };
    for field in [first, "readyReplicas", "availableReplicas"] {
        if count(field) > count("replicas") {
            let why = "cannot be greater than status.replicas";
            causes.invalid(&here.child(field), &Value::from(count(field)), why);
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let why = "cannot be greater than readyReplicas";
        causes.invalid(&here.child("availableReplicas"), &Value::from(count("availableReplicas")), why);
    }
    let collisions = |of: &Value| int(at(of, &["status"]), "collisionCount");
    if kind == "Deployment" && collisions(old).is_some_and(|old| collisions(new).is_none_or(|new| new < old))
    {
        let new = collisions(new).unwrap_or_default();
        causes.invalid(&here.child("collisionCount"), &Value::from(new), "cannot be decremented");
    }
}
