//! What is wrong with events: of the old kind little, of the new one more.

use serde_json::Value;

use super::meta;
use crate::builtin::access::{at, has, int, same, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{NameRule, qualified};

/// An event that is created through one of the two groups.
pub(super) fn create(group: &str, event: &Value, causes: &mut Causes) {
    common(group, event, causes);
    if group.is_empty() {
        return;
    }
    meta::create(event, true, NameRule::Subdomain, causes);
    series(event, causes);
    let nothing = Value::from("");
    if !has(event, "eventTime") {
        causes.required(&At::new("eventTime"), "");
    }
    let sort = text(event, "type");
    if !["Normal", "Warning"].contains(&sort) {
        causes.invalid(&At::new("type"), &nothing, &format!("has invalid value: {sort}"));
    }
    let source = at(event, &["deprecatedSource"]);
    let unset = [
        ("firstTimestamp", has(event, "deprecatedFirstTimestamp")),
        ("lastTimestamp", has(event, "deprecatedLastTimestamp")),
        ("count", int(event, "deprecatedCount").unwrap_or_default() != 0),
        ("source", !text(source, "component").is_empty() || !text(source, "host").is_empty()),
    ];
    for (field, _) in unset.into_iter().filter(|(_, set)| *set) {
        causes.invalid(&At::new(field), &nothing, "needs to be unset");
    }
}

/// An event that is updated.
pub(super) fn update(group: &str, new: &Value, old: &Value, causes: &mut Causes) {
    common(group, new, causes);
    if group.is_empty() {
        return;
    }
    meta::update(new, old, causes);
    if !same(at(new, &["series"]), at(old, &["series"])) {
        series(new, causes);
    }
    // The fields bear the names of the old kind.
    for (field, named) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        causes.immutable(&At::new(named), at(new, &[field]), at(old, &[field]));
    }
}

fn series(event: &Value, causes: &mut Causes) {
    if has(event, "series") {
        let series = at(event, &["series"]);
        if int(series, "count").unwrap_or_default() < 2 {
            causes.invalid(&At::new("series.count"), &Value::from(""), "should be at least 2");
        }
        if !has(series, "lastObservedTime") {
            causes.required(&At::new("series.lastObservedTime"), "");
        }
    }
}

fn common(group: &str, event: &Value, causes: &mut Causes) {
    let (about, controller, message) = match group {
        "" => ("involvedObject", "reportingComponent", "message"),
        _ => ("regarding", "reportingController", "note"),
    };
    let namespace = text(at(event, &["metadata"]), "namespace");
    let of = text(at(event, &[about]), "namespace");
    let here = At::new("involvedObject").child("namespace");
    let timed = has(event, "eventTime");
    let matches = match (timed, of) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, of) => namespace == of,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !matches {
        causes.invalid(&here, &Value::from(of), "does not match event.namespace");
    }
    if !timed {
        return;
    }
    let who = text(event, controller);
    if who.is_empty() {
        causes.required(&At::new(controller), "");
    }
    causes.invalid_each(&At::new(controller), who, qualified(who));
    for (field, needed, most) in [
        ("reportingInstance", true, 128),
        ("action", true, 128),
        ("reason", true, 128),
        (message, false, 1024),
    ] {
        let (value, here) = (text(event, field), At::new(if field == "note" { "message" } else { field }));
        if needed && value.is_empty() {
            causes.required(&here, "");
        }
        if value.len() > most {
            causes.invalid(&here, &Value::from(""), &format!("can have at most {most} characters"));
        }
    }
}
