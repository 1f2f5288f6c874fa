//! What is wrong with security contexts.

use serde_json::Value;

use super::pod::Pod;
use crate::builtin::access::{at, flag, has, int, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::between;

const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn id(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    if let Some(id) = int(of, field) {
        for why in between(id, 0, i64::from(i32::MAX)) {
            causes.invalid(&here.child(field), &Value::from(id), &why);
        }
    }
}

/// That of a container. Privileged ones are not allowed, as a stock API server has it.
pub(super) fn container(pod: &Pod<'_>, of: &Value, here: &At, causes: &mut Causes) {
    if of.is_null() {
        return;
    }
    if flag(of, "privileged") {
        causes.forbidden(&here.child("privileged"), "disallowed by cluster policy");
    }
    id(of, "runAsUser", here, causes);
    id(of, "runAsGroup", here, causes);
    if has(of, "procMount") {
        let (mount, place) = (text(of, "procMount"), here.child("procMount"));
        if !["Default", "Unmasked"].contains(&mount) {
            causes.unsupported(&place, &Value::from(mount), &["Default", "Unmasked"]);
        }
        if mount == "Unmasked" && at(pod.spec, &["hostUsers"]) != &Value::Bool(false) {
            causes.invalid(&place, &Value::from(mount), "`hostUsers` must be false to use `Unmasked`");
        }
    }
    profile(of, "seccompProfile", here, causes);
    profile(of, "appArmorProfile", here, causes);
}

/// That of a pod.
pub(super) fn pod(spec: &Value, here: &At, causes: &mut Causes) {
    let of = at(spec, &["securityContext"]);
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(of, field, here, causes);
    }
    for (place, group) in list(of, "supplementalGroups").iter().enumerate() {
        for why in between(group.as_i64().unwrap_or_default(), 0, i64::from(i32::MAX)) {
            causes.invalid(&here.child("supplementalGroups").index(place), group, &why);
        }
    }
    if has(of, "fsGroupChangePolicy") {
        let policies = ["Always", "OnRootMismatch"];
        let policy = text(of, "fsGroupChangePolicy");
        if !policies.contains(&policy) {
            causes.unsupported(&here.child("fsGroupChangePolicy"), &Value::from(policy), &policies);
        }
    }
    profile(of, "seccompProfile", here, causes);
    profile(of, "appArmorProfile", here, causes);
    if has(of, "supplementalGroupsPolicy") {
        let policies = ["Merge", "Strict"];
        let policy = text(of, "supplementalGroupsPolicy");
        if !policies.contains(&policy) {
            causes.unsupported(&here.child("supplementalGroupsPolicy"), &Value::from(policy), &policies);
        }
    }
}

fn profile(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    if !has(of, field) {
        return;
    }
    let (of, here) = (at(of, &[field]), here.child(field));
    let file = text(of, "localhostProfile");
    let short = if field == "seccompProfile" { "seccomp" } else { "AppArmor" };
    match text(of, "type") {
        "" => causes.required(&here.child("type"), "type is required when seccompProfile is set"),
        "Localhost" if file.is_empty() => {
            let why = format!("must be set when {short} type is Localhost");
            causes.required(&here.child("localhostProfile"), &why);
        }
        "Localhost" => super::volumes::no_backsteps(file, &here.child("localhostProfile"), causes),
        sort if !PROFILES.contains(&sort) => {
            causes.unsupported(&here.child("type"), &Value::from(sort), &PROFILES);
        }
        sort if has(of, "localhostProfile") => {
            let why = format!("can only be set when {short} type is Localhost");
            causes.invalid(&here.child("localhostProfile"), &Value::from(file), &why);
            let _ = sort;
        }
        _ => {}
    }
}
