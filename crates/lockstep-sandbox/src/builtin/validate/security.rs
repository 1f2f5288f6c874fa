//! What is wrong with security contexts.

use serde_json::Value;

use super::pod::Pod;
use crate::builtin::access::{at, flag, has, int, list, text, texts};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::between;
use crate::builtin::wire::inner_shown;

const SYSCTL: &str = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const OF_PODS_NOT_WINDOWS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const OF_CONTAINERS_NOT_WINDOWS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn id(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    if let Some(id) = int(of, field) {
        for why in between(id, 0, i64::from(i32::MAX)) {
            causes.invalid(&here.child(field), &Value::from(id), &why);
        }
    }
}

/// That of a container. Privileged ones are allowed, as clusters have it (`--allow-privileged`).
pub(super) fn container(pod: &Pod<'_>, of: &Value, here: &At, causes: &mut Causes) {
    if of.is_null() {
        return;
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
    if at(of, &["allowPrivilegeEscalation"]) == &Value::Bool(false) {
        let with = |what: &str| format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        if flag(of, "privileged") {
            causes.invalid_shown(here, &inner_shown("SecurityContext", of), &with("`privileged` to true"));
        }
        if texts(at(of, &["capabilities"]), "add").contains(&"CAP_SYS_ADMIN") {
            let why = with("`capabilities.Add` CAP_SYS_ADMIN");
            causes.invalid_shown(here, &inner_shown("SecurityContext", of), &why);
        }
    }
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
    sysctls(spec, of, &here.child("sysctls"), causes);
    choice(of, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], here, causes);
    profile(of, "seccompProfile", here, causes);
    profile(of, "appArmorProfile", here, causes);
    choice(of, "supplementalGroupsPolicy", &["Merge", "Strict"], here, causes);
    choice(of, "seLinuxChangePolicy", &["MountOption", "Recursive"], here, causes);
}

fn choice(of: &Value, field: &str, known: &[&str], here: &At, causes: &mut Causes) {
    if has(of, field) && !known.contains(&text(of, field)) {
        causes.unsupported(&here.child(field), at(of, &[field]), known);
    }
}

/// Parameters of the kernel.
fn sysctls(spec: &Value, of: &Value, here: &At, causes: &mut Causes) {
    let mut seen: Vec<&str> = Vec::new();
    for (place, sysctl) in list(of, "sysctls").iter().enumerate() {
        let (name, here) = (text(sysctl, "name"), here.index(place).child("name"));
        if name.is_empty() {
            causes.required(&here, "");
        } else if !is_sysctl(name) {
            let why = format!("must have at most 253 characters and match regex ^{SYSCTL}$");
            causes.invalid(&here, &Value::from(name), &why);
        } else if seen.contains(&name) {
            causes.duplicate(&here, &Value::from(name));
        }
        seen.push(name);
        let plain = name.replace('/', ".");
        if flag(spec, "hostNetwork") && plain.starts_with("net.") {
            causes.invalid(&here, &Value::from(name), "may not be specified when 'hostNetwork' is true");
        }
        let shared = ["kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue."];
        if flag(spec, "hostIPC") && shared.iter().any(|prefix| plain.starts_with(prefix)) {
            causes.invalid(&here, &Value::from(name), "may not be specified when 'hostIPC' is true");
        }
    }
}

/// What parameters of the kernel are called.
fn is_sysctl(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| matches!(c, 'a'..='z' | '0'..='9'));
    let inner = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    let part =
        |part: &str| edge(part.chars().next()) && edge(part.chars().next_back()) && part.chars().all(inner);
    name.len() <= 253 && name.split(['.', '/']).all(part)
}

/// What can only be set for other systems than the one a pod is for.
pub(super) fn for_system(spec: &Value, here: &At, causes: &mut Causes) {
    let windows = match text(at(spec, &["os"]), "name") {
        "linux" => false,
        "windows" => true,
        _ => return,
    };
    let why = if windows {
        "cannot be set for a windows pod"
    } else {
        "windows options cannot be set for a linux pod"
    };
    let forbid = |of: &Value, fields: &[&str], here: &At, causes: &mut Causes| {
        for field in fields.iter().filter(|field| has(of, field)) {
            causes.forbidden(&here.child(field), why);
        }
    };
    let of_pod: &[&str] = if windows { &OF_PODS_NOT_WINDOWS } else { &["windowsOptions"] };
    forbid(at(spec, &["securityContext"]), of_pod, &here.child("securityContext"), causes);
    if windows {
        forbid(spec, &["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"], here, causes);
    }
    let of_container: &[&str] = if windows { &OF_CONTAINERS_NOT_WINDOWS } else { &["windowsOptions"] };
    for field in ["initContainers", "containers"] {
        for (place, container) in list(spec, field).iter().enumerate() {
            let here = here.child(field).index(place).child("securityContext");
            forbid(at(container, &["securityContext"]), of_container, &here, causes);
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
