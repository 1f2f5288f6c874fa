//! Fields of features that are off by default: who sets them, sets nothing.

use serde_json::Value;

use super::access::{at, drop_field, has, list_mut, made};

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];

/// Drops them from a pod's specification.
pub(super) fn drop_disabled(spec: &mut Value) {
    drop_field(spec, "evictionResponders");
    for containers in CONTAINERS {
        list_mut(spec, containers).iter_mut().for_each(container);
    }
    list_mut(spec, "volumes").iter_mut().for_each(volume);
}

fn container(container: &mut Value) {
    for mount in list_mut(container, "volumeMounts") {
        drop_field(mount, "bindMountOptions");
    }
    for probe in PROBES {
        if has(container, probe) {
            handler(made(container, probe));
        }
    }
    if !has(container, "lifecycle") {
        return;
    }
    let lifecycle = made(container, "lifecycle");
    for hook in HOOKS {
        if has(lifecycle, hook) {
            handler(made(lifecycle, hook));
        }
    }
    // A lifecycle that held nothing else goes with it.
    let signal = has(lifecycle, "stopSignal");
    drop_field(lifecycle, "stopSignal");
    if signal && !HOOKS.iter().any(|hook| has(at(container, &["lifecycle"]), hook)) {
        drop_field(container, "lifecycle");
    }
}

fn handler(handler: &mut Value) {
    for (sort, field) in [("httpGet", "protocol"), ("grpc", "mode")] {
        if has(handler, sort) {
            drop_field(made(handler, sort), field);
        }
    }
}

fn volume(volume: &mut Value) {
    if has(volume, "emptyDir") {
        drop_field(made(volume, "emptyDir"), "mode");
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if has(volume, source) {
            let source = made(volume, source);
            drop_field(source, "defaultUser");
            list_mut(source, "items").iter_mut().for_each(|item| drop_field(item, "user"));
        }
    }
}
