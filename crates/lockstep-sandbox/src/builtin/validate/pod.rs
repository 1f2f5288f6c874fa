//! What is wrong with pods and templates of pods.

use std::net::IpAddr;

use serde_json::Value;

use super::container::{containers, images_trimmed, init_containers};
use super::meta;
use super::{placement, resources, security, volumes};
use crate::builtin::access::{at, flag, has, int, list, text, texts};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{NameRule, between, label, loose_subdomain, qualified, subdomain};
use crate::builtin::metadata::{annotations, labels};
use crate::builtin::wire::inner_shown;

const DNS: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// What the parts of a pod's specification look at.
pub(super) struct Pod<'a> {
    /// The specification.
    pub spec: &'a Value,
    /// The volumes that can be mounted.
    pub volumes: Vec<(&'a str, &'a Value)>,
}

/// A pod that is created.
pub(super) fn create(object: &Value, causes: &mut Causes) {
    metadata_and_spec(object, causes);
    let (spec, here) = (at(object, &["spec"]), At::new("spec"));
    if !list(spec, "ephemeralContainers").is_empty() {
        causes.forbidden(&here.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        causes.forbidden(&here.child("nodeName"), why);
    }
}

/// What is looked at whenever a pod is written.
pub(super) fn metadata_and_spec(object: &Value, causes: &mut Causes) {
    let metadata = at(object, &["metadata"]);
    meta::create(object, true, NameRule::Subdomain, causes);
    let (spec, here) = (at(object, &["spec"]), At::new("spec"));
    own_annotations(metadata, spec, &At::new("metadata").child("annotations"), causes);
    pod_spec(spec, true, &here, causes);
    if text(spec, "serviceAccountName").is_empty() {
        for (place, volume) in list(spec, "volumes").iter().enumerate() {
            let sources = list(at(volume, &["projected"]), "sources");
            for (source, _) in
                sources.iter().enumerate().filter(|(_, source)| has(source, "serviceAccountToken"))
            {
                let here =
                    here.child("volumes").index(place).child("projected").child("sources").index(source);
                let why = "must not be specified when serviceAccountName is not set";
                causes.forbidden(&here.child("serviceAccountToken"), why);
            }
        }
    }
    let grace = int(spec, "terminationGracePeriodSeconds");
    causes.not_negative(&here.child("terminationGracePeriodSeconds"), grace);
    images_trimmed(spec, &here, causes);
}

/// Annotations that mean something.
pub(super) fn own_annotations(metadata: &Value, spec: &Value, here: &At, causes: &mut Causes) {
    let annotations = at(metadata, &["annotations"]);
    let mirror = "kubernetes.io/config.mirror";
    if has(annotations, mirror) && text(spec, "nodeName").is_empty() {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        causes.invalid(&here.key(mirror), at(annotations, &[mirror]), why);
    }
    let cost = "controller.kubernetes.io/pod-deletion-cost";
    let value = text(annotations, cost);
    let number =
        value.parse::<i32>().is_ok() && !value.starts_with('+') && (value == "0" || !value.starts_with('0'));
    if has(annotations, cost) && !number {
        causes.invalid(&here.key(cost), &Value::from(value), "must be a 32bit integer");
    }
}

/// The template of pods.
pub(super) fn template(template: &Value, here: &At, causes: &mut Causes) {
    let metadata = at(template, &["metadata"]);
    labels(at(metadata, &["labels"]), &here.child("labels"), causes);
    annotations(at(metadata, &["annotations"]), &here.child("annotations"), causes);
    let spec = at(template, &["spec"]);
    own_annotations(metadata, spec, &here.child("annotations"), causes);
    pod_spec(spec, false, &here.child("spec"), causes);
    if !list(spec, "ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        causes.forbidden(&here.child("spec").child("ephemeralContainers"), why);
    }
}

fn pod_spec(spec: &Value, is_pod: bool, here: &At, causes: &mut Causes) {
    if !has(spec, "terminationGracePeriodSeconds") {
        causes.required(&here.child("terminationGracePeriodSeconds"), "");
    }
    let volumes = volumes::volumes(spec, &here.child("volumes"), causes);
    let pod = Pod { spec, volumes };
    claims(spec, &here.child("resourceClaims"), causes);
    containers(&pod, &here.child("containers"), causes);
    init_containers(&pod, &here.child("initContainers"), causes);
    resources::whole(spec, &here.child("resources"), causes);
    host_network(spec, is_pod, &here.child("containers"), causes);
    let restart = text(spec, "restartPolicy");
    causes.one_of(&here.child("restartPolicy"), restart, &["Always", "OnFailure", "Never"]);
    causes.one_of(&here.child("dnsPolicy"), text(spec, "dnsPolicy"), &DNS);
    labels(at(spec, &["nodeSelector"]), &here.child("nodeSelector"), causes);
    security::pod(spec, &here.child("securityContext"), causes);
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        causes.invalid(&here.child("shareProcessNamespace"), &Value::from(true), why);
    }
    placement::affinity(spec, &here.child("affinity"), causes);
    dns(spec, &here.child("dnsConfig"), causes);
    gates(spec, here, causes);
    placement::spread(spec, &here.child("topologySpreadConstraints"), causes);
    if at(spec, &["hostUsers"]) == &Value::Bool(false) {
        // A real one calls them like this.
        for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
        {
            if flag(spec, field) {
                causes.forbidden(&here.child(shown), "when `hostUsers` is false");
            }
        }
    }
    names(spec, here, causes);
    placement::tolerations(spec, &here.child("tolerations"), causes);
    aliases(spec, &here.child("hostAliases"), causes);
    classes(spec, here, causes);
    files(spec, here, causes);
}

/// Files that variables are read from lie in volumes that are made for the pod.
fn files(spec: &Value, here: &At, causes: &mut Causes) {
    for field in ["initContainers", "containers"] {
        for (place, container) in list(spec, field).iter().enumerate() {
            let here = here.child(field).index(place).child("env");
            for (number, variable) in list(container, "env").iter().enumerate() {
                let here = here.index(number).child("valueFrom").child("fileKeyRef").child("volumeName");
                let file = at(variable, &["valueFrom", "fileKeyRef"]);
                if !file.is_null() {
                    file_volume(spec, text(file, "volumeName"), &here, causes);
                }
            }
        }
    }
}

fn file_volume(spec: &Value, name: &str, here: &At, causes: &mut Causes) {
    match list(spec, "volumes").iter().find(|volume| text(volume, "name") == name) {
        None => causes.not_found(here, &Value::from(name)),
        Some(volume) if has(volume, "emptyDir") => {}
        Some(_) => causes.invalid(here, &Value::from(name), "referenced volume must be of type emptyDir"),
    }
}

fn claims(spec: &Value, here: &At, causes: &mut Causes) {
    let mut seen: Vec<&str> = Vec::new();
    for (place, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let here = here.index(place);
        let name = text(claim, "name");
        if name.is_empty() {
            causes.required(&here.child("name"), "");
        } else if seen.contains(&name) {
            causes.duplicate(&here.child("name"), &Value::from(name));
        } else {
            causes.invalid_each(&here.child("name"), name, label(name));
            seen.push(name);
        }
        let fields = ["resourceClaimName", "resourceClaimTemplateName"];
        let said: Vec<&str> = fields.into_iter().filter(|field| has(claim, field)).collect();
        let why = match said.len() {
            0 => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            2 => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            _ => "",
        };
        if !why.is_empty() {
            causes.invalid_shown(&here, &inner_shown("PodResourceClaim", claim), why);
        }
        for field in said {
            let name = text(claim, field);
            causes.invalid_each(&here.child(field), name, subdomain(name));
        }
    }
}

fn host_network(spec: &Value, is_pod: bool, here: &At, causes: &mut Causes) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (place, container) in list(spec, "containers").iter().enumerate() {
        for (port_place, port) in list(container, "ports").iter().enumerate() {
            let host = int(port, "hostPort").unwrap_or_default();
            if (is_pod || host != 0) && host != int(port, "containerPort").unwrap_or_default() {
                let here = here.index(place).child("ports").index(port_place).child("hostPort");
                causes.invalid(
                    &here,
                    &Value::from(host),
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn dns(spec: &Value, here: &At, causes: &mut Causes) {
    let config = at(spec, &["dnsConfig"]);
    let servers = texts(config, "nameservers");
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            causes.required(here, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            causes.required(&here.child("nameservers"), why);
            return;
        }
    }
    if servers.len() > 3 {
        let why = "must not have more than 3 nameservers";
        causes.invalid(&here.child("nameservers"), at(config, &["nameservers"]), why);
    }
    for (place, server) in servers.into_iter().enumerate() {
        address(server, &here.child("nameservers").index(place), causes);
    }
    let searches = texts(config, "searches");
    if searches.len() > 32 {
        let why = "must not have more than 32 search paths";
        causes.invalid(&here.child("searches"), at(config, &["searches"]), why);
    }
    for (place, search) in searches.into_iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        causes.invalid_each(&here.child("searches").index(place), search, loose_subdomain(search));
    }
    for (place, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            causes.required(&here.child("options").index(place), "must not be empty");
        }
    }
}

/// An address.
pub(super) fn address(text: &str, here: &At, causes: &mut Causes) {
    if text.parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        causes.invalid(here, &Value::from(text), why);
    }
}

fn gates(spec: &Value, here: &At, causes: &mut Causes) {
    for (place, gate) in list(spec, "readinessGates").iter().enumerate() {
        let condition = text(gate, "conditionType");
        let here = here.child("readinessGates").index(place).child("conditionType");
        causes.invalid_each(&here, condition, qualified(condition));
    }
    let mut seen: Vec<&str> = Vec::new();
    for (place, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        let here = here.child("schedulingGates").index(place);
        causes.invalid_each(&here, name, qualified(name));
        if seen.contains(&name) {
            causes.duplicate(&here, &Value::from(name));
        }
        seen.push(name);
    }
}

fn names(spec: &Value, here: &At, causes: &mut Causes) {
    if has(spec, "hostnameOverride") {
        let (name, here) = (text(spec, "hostnameOverride"), here.child("hostnameOverride"));
        if flag(spec, "setHostnameAsFQDN") {
            causes.forbidden(&here, "may not be specified when setHostnameAsFQDN is true");
        }
        if flag(spec, "hostNetwork") {
            causes.forbidden(&here, "may not be specified when hostNetwork is true");
        }
        if name.len() > 64 {
            causes.too_long(&here, 64);
        }
        causes.invalid_each(&here, name, subdomain(name));
    }
    for field in ["serviceAccountName", "nodeName"] {
        let name = text(spec, field);
        if !name.is_empty() {
            causes.invalid_each(&here.child(field), name, subdomain(name));
        }
    }
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        for why in between(seconds, 1, i64::from(i32::MAX)) {
            causes.invalid(&here.child("activeDeadlineSeconds"), &Value::from(seconds), &why);
        }
    }
    for field in ["hostname", "subdomain"] {
        let name = text(spec, field);
        if !name.is_empty() {
            causes.invalid_each(&here.child(field), name, label(name));
        }
    }
}

fn aliases(spec: &Value, here: &At, causes: &mut Causes) {
    for (place, alias) in list(spec, "hostAliases").iter().enumerate() {
        let here = here.index(place);
        address(text(alias, "ip"), &here.child("ip"), causes);
        for (number, name) in texts(alias, "hostnames").into_iter().enumerate() {
            causes.invalid_each(&here.child("hostnames").index(number), name, subdomain(name));
        }
    }
}

fn classes(spec: &Value, here: &At, causes: &mut Causes) {
    for field in ["priorityClassName", "runtimeClassName"] {
        let name = text(spec, field);
        if !name.is_empty() {
            causes.invalid_each(&here.child(field), name, subdomain(name));
        }
    }
    if has(spec, "preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        causes.one_of(&here.child("preemptionPolicy"), text(spec, "preemptionPolicy"), &policies);
    }
    if has(spec, "overhead") {
        let overhead = serde_json::json!({"limits": at(spec, &["overhead"])});
        resources::requirements(&overhead, Some(&Value::Null), &here.child("overhead"), causes);
    }
    if has(spec, "os") {
        let name = text(at(spec, &["os"]), "name");
        causes.one_of(&here.child("os"), name, &["linux", "windows"]);
        security::for_system(spec, here, causes);
    }
    if has(spec, "schedulingGroup") {
        let (group, here) =
            (at(spec, &["schedulingGroup"]), here.child("schedulingGroup").child("podGroupName"));
        if has(group, "podGroupName") {
            let name = text(group, "podGroupName");
            causes.invalid_each(&here, name, subdomain(name));
        } else {
            causes.invalid(&here, &Value::Null, "must specify one of: `podGroupName`");
        }
    }
}
