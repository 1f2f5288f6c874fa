//! What is wrong with containers.

use serde_json::Value;

use super::env::{env, env_from};
use super::pod::Pod;
use super::probe::{handler, probes};
use super::resources::requirements;
use super::security;
use super::volumes::{devices, mounts};
use crate::builtin::access::{at, has, int, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{label, port, port_name};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// The containers that run side by side.
pub(super) fn containers(pod: &Pod<'_>, here: &At, causes: &mut Causes) {
    let all = list(pod.spec, "containers");
    if all.is_empty() {
        causes.required(here, "");
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    for (place, container) in all.iter().enumerate() {
        let here = here.index(place);
        common(pod, container, &here, causes);
        name_once(container, &mut names, &here, causes);
        if has(container, "lifecycle") {
            lifecycle(pod, container, &here.child("lifecycle"), causes);
        }
        probes(pod, container, &here, causes);
        restarts(container, &here, causes);
    }
    host_ports(all, here, causes);
}

/// The containers that run before them.
pub(super) fn init_containers(pod: &Pod<'_>, here: &At, causes: &mut Causes) {
    let mut names: Vec<&str> =
        list(pod.spec, "containers").iter().map(|container| text(container, "name")).collect();
    for (place, container) in list(pod.spec, "initContainers").iter().enumerate() {
        let each = here.index(place);
        common(pod, container, &each, causes);
        restarts(container, &each, causes);
        name_once(container, &mut names, &each, causes);
        host_ports(std::slice::from_ref(container), here, causes);
        if text(container, "restartPolicy") == "Always" {
            if has(container, "lifecycle") {
                lifecycle(pod, container, &each.child("lifecycle"), causes);
            }
            probes(pod, container, &each, causes);
        } else {
            for field in ["lifecycle"].into_iter().chain(PROBES).filter(|field| has(container, field)) {
                let why = "may not be set for init containers without restartPolicy=Always";
                causes.forbidden(&each.child(field), why);
            }
            for (place, policy) in list(container, "resizePolicy").iter().enumerate() {
                if text(policy, "restartPolicy") == "RestartContainer" {
                    let here = each.child("resizePolicy").index(place).child("restartPolicy");
                    let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    causes.invalid(&here, &policy["restartPolicy"], why);
                }
            }
        }
    }
}

fn name_once<'a>(container: &'a Value, names: &mut Vec<&'a str>, here: &At, causes: &mut Causes) {
    let name = text(container, "name");
    if names.contains(&name) {
        causes.duplicate(&here.child("name"), &Value::from(name));
    } else {
        names.push(name);
    }
}

fn common(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    match text(container, "name") {
        "" => causes.required(&here.child("name"), ""),
        name => causes.invalid_each(&here.child("name"), name, label(name)),
    }
    if text(container, "image").is_empty() {
        causes.required(&here.child("image"), "");
    }
    let policy = text(container, "terminationMessagePolicy");
    causes.one_of(&here.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    ports(container, &here.child("ports"), causes);
    env(container, &here.child("env"), causes);
    env_from(container, &here.child("envFrom"), causes);
    mounts(pod, container, &here.child("volumeMounts"), causes);
    devices(pod, container, &here.child("volumeDevices"), causes);
    let policy = text(container, "imagePullPolicy");
    causes.one_of(&here.child("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    requirements(at(container, &["resources"]), Some(pod.spec), &here.child("resources"), causes);
    resize(pod, container, &here.child("resizePolicy"), causes);
    security::container(pod, at(container, &["securityContext"]), &here.child("securityContext"), causes);
}

fn ports(container: &Value, here: &At, causes: &mut Causes) {
    let mut names: Vec<&str> = Vec::new();
    for (place, of) in list(container, "ports").iter().enumerate() {
        let here = here.index(place);
        let name = text(of, "name");
        if !name.is_empty() {
            let wrong = port_name(name);
            if !wrong.is_empty() {
                causes.invalid_each(&here.child("name"), name, wrong);
            } else if names.contains(&name) {
                causes.duplicate(&here.child("name"), &Value::from(name));
            } else {
                names.push(name);
            }
        }
        let number = int(of, "containerPort").unwrap_or_default();
        if number == 0 {
            causes.required(&here.child("containerPort"), "");
        }
        let numbers = [("containerPort", number), ("hostPort", int(of, "hostPort").unwrap_or_default())];
        for (field, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
            for why in port(number) {
                causes.invalid(&here.child(field), &Value::from(number), &why);
            }
        }
        causes.one_of(&here.child("protocol"), text(of, "protocol"), &PROTOCOLS);
    }
}

/// A port of the host is taken once.
fn host_ports(containers: &[Value], here: &At, causes: &mut Causes) {
    let mut taken: Vec<String> = Vec::new();
    for (place, container) in containers.iter().enumerate() {
        for (port_place, port) in list(container, "ports").iter().enumerate() {
            let Some(number) = int(port, "hostPort").filter(|number| *number != 0) else { continue };
            let shown = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if taken.contains(&shown) {
                let here = here.index(place).child("ports").index(port_place).child("hostPort");
                causes.duplicate(&here, &Value::from(shown));
            } else {
                taken.push(shown);
            }
        }
    }
}

fn resize(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    let mut seen: Vec<&str> = Vec::new();
    for (place, policy) in list(container, "resizePolicy").iter().enumerate() {
        let resource = text(policy, "resourceName");
        if seen.contains(&resource) {
            causes.duplicate(&here.index(place), &Value::from(resource));
        }
        seen.push(resource);
        causes.one_of(here, resource, &["cpu", "memory"]);
        let restart = text(policy, "restartPolicy");
        causes.one_of(here, restart, &["NotRequired", "RestartContainer"]);
        if text(pod.spec, "restartPolicy") == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            causes.invalid(here, &Value::from(restart), why);
        }
    }
}

fn lifecycle(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    let lifecycle = at(container, &["lifecycle"]);
    for hook in ["postStart", "preStop"] {
        if has(lifecycle, hook) {
            handler(
                pod,
                at(lifecycle, &[hook]),
                &["exec", "httpGet", "tcpSocket", "sleep"],
                &here.child(hook),
                causes,
            );
        }
    }
}

fn restarts(container: &Value, here: &At, causes: &mut Causes) {
    let rules = list(container, "restartPolicyRules");
    if !has(container, "restartPolicy") && !rules.is_empty() {
        let why = "must specify restartPolicy when restart rules are used";
        causes.required(&here.child("restartPolicy"), why);
    }
    let policy = text(container, "restartPolicy");
    if has(container, "restartPolicy") && !RESTARTS.contains(&policy) {
        causes.unsupported(&here.child("restartPolicy"), &Value::from(policy), &RESTARTS);
    }
    for (place, rule) in rules.iter().enumerate() {
        let here = here.child("restartPolicyRules").index(place);
        let actions = ["Restart", "RestartAllContainers"];
        if !actions.contains(&text(rule, "action")) {
            causes.unsupported(&here.child("action"), &Value::from(text(rule, "action")), &actions);
        }
        if !has(rule, "exitCodes") {
            causes.required(&here.child("exitCodes"), "must be specified");
            continue;
        }
        let operator = text(at(rule, &["exitCodes"]), "operator");
        if !["In", "NotIn"].contains(&operator) {
            let here = here.child("exitCodes").child("operator");
            causes.unsupported(&here, &Value::from(operator), &["In", "NotIn"]);
        }
    }
}

/// What a pod may not do that a template may.
pub(super) fn images_trimmed(spec: &Value, here: &At, causes: &mut Causes) {
    for field in ["containers", "initContainers"] {
        for (place, container) in list(spec, field).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let here = here.child(field).index(place).child("image");
                causes.invalid(&here, &Value::from(image), "must not have leading or trailing whitespace");
            }
        }
    }
}
