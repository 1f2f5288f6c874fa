//! What is wrong with security contexts.

use serde_json::Value;

use super::pod::Pod;
use crate::builtin::access::{at, flag, has, int, list, text};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::between;
use crate::builtin::wire::inner_shown;

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

/// Which profile restricts what calls and files there are.
fn profile(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    if !has(of, field) {
        return;
    }
    let (of, here) = (at(of, &[field]), here.child(field));
    let (sort, file) = (text(of, "type"), here.child("localhostProfile"));
    if sort.is_empty() {
        causes.required(&here.child("type"), &format!("type is required when {field} is set"));
    } else if !PROFILES.contains(&sort) {
        causes.unsupported(&here.child("type"), &Value::from(sort), &PROFILES);
    }
    let seccomp = field == "seccompProfile";
    let short = if seccomp { "seccomp" } else { "AppArmor" };
    match (sort, of.get("localhostProfile").and_then(Value::as_str)) {
        ("Localhost", None) => causes.required(&file, &format!("must be set when {short} type is Localhost")),
        ("Localhost", Some(path)) if seccomp => super::volumes::downwards(path, &file, causes),
        (sort, Some(path)) if sort != "Localhost" && (seccomp || PROFILES.contains(&sort)) => {
            // A real one shows its own type here, for one of the two.
            let shown = if seccomp { inner_shown("SeccompProfile", of) } else { quoted(path) };
            causes.invalid_shown(&file, &shown, &format!("can only be set when {short} type is Localhost"));
        }
        _ => {}
    }
}
