//! What is wrong with changes of pods: almost nothing of a pod may change once it is there.

use std::net::IpAddr;

use serde_json::Value;

use super::meta;
use super::placement::tolerations;
use super::pod::{address, metadata_and_spec, own_annotations};
use crate::builtin::access::{at, drop_field, has, int, keep, list, list_mut, made, same, text};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{between, qualified, subdomain};
use crate::builtin::wire::inner_shown;

const MIRROR: &str = "kubernetes.io/config.mirror";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A pod that is updated.
pub(super) fn update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    metadata_and_spec(new, causes);
    annotation_changes(new, old, causes);
    let here = At::new("spec");
    let (new, old) = (at(new, &["spec"]), at(old, &["spec"]));
    for field in ["containers", "initContainers"] {
        if list(new, field).len() != list(old, field).len() {
            causes.forbidden(&here.child(field), "pod updates may not add or remove containers");
            return;
        }
        images(new, field, &here, causes);
    }
    if !deadline(new, old, &here.child("activeDeadlineSeconds"), causes) {
        return;
    }
    only_added_tolerations(new, old, &here.child("tolerations"), causes);
    only_lifted_gates(new, old, &here.child("schedulingGates"), causes);
    if same(new, old) {
        return;
    }
    let mut rest = new.clone();
    forgive(&mut rest, old);
    if !list(old, "schedulingGates").is_empty() {
        forgive_gated(&mut rest, old, &here, causes);
    }
    if !same(&rest, old) {
        let diff = super::diff::of_pods(old, &rest);
        causes.forbidden(&here, &format!("{CHANGEABLE}\n{diff}"));
    }
}

fn images(new: &Value, field: &str, here: &At, causes: &mut Causes) {
    for (place, container) in list(new, field).iter().enumerate() {
        let (image, here) = (text(container, "image"), here.child(field).index(place).child("image"));
        if image.is_empty() {
            causes.required(&here, "");
        }
        if image.trim() != image {
            causes.invalid(&here, &Value::from(image), "must not have leading or trailing whitespace");
        }
    }
}

/// The deadline may only come closer. Says whether it makes sense to look further.
fn deadline(new: &Value, old: &Value, here: &At, causes: &mut Causes) -> bool {
    match (int(new, "activeDeadlineSeconds"), int(old, "activeDeadlineSeconds")) {
        (Some(new), before) => {
            let wrong = between(new, 0, i64::from(i32::MAX));
            let later = before.is_some_and(|before| before < new);
            for why in &wrong {
                causes.invalid(here, &Value::from(new), why);
            }
            if wrong.is_empty() && later {
                causes.invalid(here, &Value::from(new), "must be less than or equal to previous value");
            }
            wrong.is_empty() && !later
        }
        (None, Some(_)) => {
            causes.invalid(here, &Value::Null, "must not update from a positive integer to nil value");
            true
        }
        (None, None) => true,
    }
}

fn only_added_tolerations(new: &Value, old: &Value, here: &At, causes: &mut Causes) {
    let but_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        drop_field(&mut toleration, "tolerationSeconds");
        toleration
    };
    let kept: Vec<Value> = list(new, "tolerations").iter().map(but_seconds).collect();
    if list(old, "tolerations").iter().any(|old| !kept.contains(&but_seconds(old))) {
        causes.forbidden(here, "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
    tolerations(new, here, causes);
}

fn only_lifted_gates(new: &Value, old: &Value, here: &At, causes: &mut Causes) {
    let before: Vec<&str> = list(old, "schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    for (place, gate) in list(new, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !before.contains(&name) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            causes.forbidden(&here.index(place).child("name"), &why);
        }
    }
}

/// Takes back what may change.
fn forgive(rest: &mut Value, old: &Value) {
    for field in ["containers", "initContainers"] {
        for (place, container) in list_mut(rest, field).iter_mut().enumerate() {
            if let Some(old) = list(old, field).get(place) {
                keep(container, "image", old);
            }
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        keep(rest, field, old);
    }
    let negative = int(old, "terminationGracePeriodSeconds").is_some_and(|period| period < 0);
    if negative && int(rest, "terminationGracePeriodSeconds") == Some(1) {
        keep(rest, "terminationGracePeriodSeconds", old);
    }
}

/// Pods that wait at gates may still become choosier of their nodes.
fn forgive_gated(rest: &mut Value, old: &Value, here: &At, causes: &mut Causes) {
    let (selector, before) = (at(rest, &["nodeSelector"]), at(old, &["nodeSelector"]));
    if !same(selector, before) {
        let lost =
            before.as_object().into_iter().flatten().any(|(key, value)| selector.get(key) != Some(value));
        if lost {
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            causes.invalid(&here.child("nodeSelector"), selector, why);
        }
        keep(rest, "nodeSelector", old);
    }
    let (now, before) = (at(rest, &["affinity", "nodeAffinity"]), at(old, &["affinity", "nodeAffinity"]));
    if same(now, before) {
        return;
    }
    node_affinity(now, before, &here.child("affinity").child("nodeAffinity"), causes);
    let others = ["podAffinity", "podAntiAffinity"].iter().any(|sort| has(at(rest, &["affinity"]), sort));
    if has(old, "affinity") || others {
        keep(made(rest, "affinity"), "nodeAffinity", at(old, &["affinity"]));
    } else {
        drop_field(rest, "affinity");
    }
}

fn node_affinity(now: &Value, before: &Value, here: &At, causes: &mut Causes) {
    let terms = |of: &Value| list(at(of, &[REQUIRED]), "nodeSelectorTerms").to_vec();
    let (now, before) = (terms(now), terms(before));
    let here = here.child(REQUIRED).child("nodeSelectorTerms");
    if !before.is_empty() && now.len() != before.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown: Vec<String> = now.iter().map(|term| inner_shown("NodeSelectorTerm", term)).collect();
        causes.invalid_shown(&here, &format!("[{}]", shown.join(",")), why);
        return;
    }
    let grown = |now: &[Value], before: &[Value]| now.len() >= before.len() && now[..before.len()] == *before;
    for (place, (now, before)) in now.iter().zip(&before).enumerate() {
        let parts = ["matchExpressions", "matchFields"];
        let empty = parts.iter().all(|part| list(before, part).is_empty());
        let more = parts.iter().any(|part| !list(now, part).is_empty());
        let fine = parts.iter().all(|part| grown(list(now, part), list(before, part)));
        if !fine || empty && more {
            let why = "only additions are allowed (no mutations or deletions)";
            causes.invalid_shown(&here.index(place), &inner_shown("NodeSelectorTerm", now), why);
        }
    }
}

fn annotation_changes(new: &Value, old: &Value, causes: &mut Causes) {
    let here = At::new("metadata").child("annotations");
    let (now, before) = (at(new, &["metadata", "annotations"]), at(old, &["metadata", "annotations"]));
    match (now.get(MIRROR), before.get(MIRROR)) {
        (now, Some(before)) if now != Some(before) => {
            causes.forbidden(&here.key(MIRROR), "may not remove or update mirror pod annotation");
        }
        (Some(_), None) => causes.forbidden(&here.key(MIRROR), "may not add mirror pod annotation"),
        _ => {}
    }
    own_annotations(at(new, &["metadata"]), at(new, &["spec"]), &here, causes);
}

/// A pod whose status is updated.
pub(super) fn update_status(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    annotation_changes(new, old, causes);
    let here = At::new("status");
    let (spec, was) = (at(old, &["spec"]), at(old, &["status"]));
    let status = at(new, &["status"]);
    for (place, condition) in list(status, "conditions").iter().enumerate() {
        let here = here.child("conditions").index(place);
        not_negative(condition, &here, causes);
        let sort = text(condition, "type");
        if !["PodScheduled", "Ready", "Initialized"].contains(&sort) {
            causes.invalid_each(&here.child("Type"), sort, qualified(sort));
        }
    }
    let (nominated, before) = (text(status, "nominatedNodeName"), text(was, "nominatedNodeName"));
    if !nominated.is_empty() && nominated != before {
        causes.invalid_each(&here.child("nominatedNodeName"), nominated, subdomain(nominated));
        if !text(spec, "nodeName").is_empty() {
            let why = "may not be set on pods that are already bound to a node";
            causes.forbidden(&here.child("nominatedNodeName"), why);
        }
    }
    not_negative(status, &here, causes);
    causes.immutable(&here.child("qosClass"), at(status, &["qosClass"]), at(was, &["qosClass"]));
    for (field, of) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ] {
        resurrections(
            status,
            was,
            field,
            list(spec, of),
            text(spec, "restartPolicy"),
            &here.child(field),
            causes,
        );
    }
    addresses(status, "podIP", "podIPs", &here, causes);
    addresses(status, "hostIP", "hostIPs", &here, causes);
}

fn not_negative(of: &Value, here: &At, causes: &mut Causes) {
    if let Some(generation) = int(of, "observedGeneration").filter(|generation| *generation < 0) {
        causes.invalid(
            &here.child("observedGeneration"),
            &Value::from(generation),
            "must be a non-negative integer",
        );
    }
}

/// A container that ended stays so, unless it is to be restarted.
fn resurrections(
    status: &Value,
    was: &Value,
    field: &str,
    containers: &[Value],
    policy: &str,
    here: &At,
    causes: &mut Causes,
) {
    for (place, before) in list(was, field).iter().enumerate() {
        let ended = at(before, &["state", "terminated"]);
        let named = |of: &&Value| text(of, "name") == text(before, "name");
        let alive = |now: &&Value| at(now, &["state", "terminated"]).is_null();
        if ended.is_null() || !list(status, field).iter().find(named).is_some_and(|now| alive(&now)) {
            continue;
        }
        let own = containers.iter().find(named).map_or("", |container| text(container, "restartPolicy"));
        let init = field == "initContainerStatuses";
        let restarted = field != "ephemeralContainerStatuses"
            && match if own.is_empty() { policy } else { own } {
                "Always" => !init || own == "Always" || policy == "Always",
                "OnFailure" => int(ended, "exitCode").unwrap_or_default() != 0,
                _ => false,
            };
        if !restarted {
            let why = "may not be transitioned to non-terminated state";
            causes.forbidden(&here.index(place).child("state"), why);
        }
    }
}

fn addresses(status: &Value, one: &str, several: &str, here: &At, causes: &mut Causes) {
    let all = list(status, several);
    let first = all.first().map(|first| text(first, "ip"));
    let here = here.child(several);
    if let Some(first) = first.filter(|first| one == "hostIP" && *first != text(status, one)) {
        causes.invalid(&here.index(0).child("ip"), &Value::from(first), "must be equal to `hostIP`");
    }
    for (place, of) in all.iter().enumerate() {
        address(text(of, "ip"), &here.index(place), causes);
    }
    if all.len() < 2 {
        return;
    }
    let read: Vec<Option<IpAddr>> = all.iter().map(|of| text(of, "ip").parse().ok()).collect();
    if let Some(place) = read.iter().position(Option::is_none) {
        let wrong = text(&all[place], "ip");
        let why = format!("failed to check for dual stack with error:invalid IP[{place}]: {wrong}");
        causes.internal(&here, &why);
    }
    let of_six = |address: &&Option<IpAddr>| matches!(address, Some(IpAddr::V6(_)));
    if all.len() > 2 || read.contains(&None) || read.iter().filter(of_six).count() != 1 {
        // A real one shows its own type here.
        let shown: Vec<String> =
            all.iter().map(|of| format!("{{\"IP\":{}}}", quoted(text(of, "ip")))).collect();
        let why = "may specify no more than one IP for each IP family";
        causes.invalid_shown(&here, &format!("[{}]", shown.join(",")), why);
    }
}
