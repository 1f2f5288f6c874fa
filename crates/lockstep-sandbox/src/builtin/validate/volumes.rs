//! What is wrong with volumes and where they are mounted. Volumes of other systems are taken as they are.

use serde_json::Value;

use super::env::{SHOWN_IN_FILES, field_ref, resource_ref};
use super::pod::Pod;
use crate::builtin::access::{at, flag, has, int, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::label;
use crate::builtin::quantity::Quantity;

/// Everything a volume can be, in the order in which it is looked at.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const HOST_PATHS: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks the volumes of a pod; returns the names of those that can be mounted.
pub(super) fn volumes<'a>(spec: &'a Value, here: &At, causes: &mut Causes) -> Vec<(&'a str, &'a Value)> {
    let mut found: Vec<(&str, &Value)> = Vec::new();
    for (place, volume) in list(spec, "volumes").iter().enumerate() {
        let here = here.index(place);
        let before = causes.len();
        source(volume, &here, causes);
        let name = text(volume, "name");
        if name.is_empty() {
            causes.required(&here.child("name"), "");
        } else {
            causes.invalid_each(&here.child("name"), name, label(name));
        }
        if found.iter().any(|(known, _)| *known == name) {
            causes.duplicate(&here.child("name"), &Value::from(name));
        }
        if causes.len() == before {
            found.push((name, volume));
        }
    }
    found
}

fn source(volume: &Value, here: &At, causes: &mut Causes) {
    let mut said = SOURCES.into_iter().filter(|source| has(volume, source));
    let Some(first) = said.next() else {
        causes.required(here, "must specify a volume type");
        return;
    };
    let (of, place) = (at(volume, &[first]), here.child(first));
    match first {
        "emptyDir" => {
            let limit = text(of, "sizeLimit");
            if Quantity::read(limit).is_ok_and(|limit| limit.is_negative()) {
                causes.forbidden(
                    &place.child("sizeLimit"),
                    "SizeLimit field must be a valid resource quantity",
                );
            }
        }
        "hostPath" => host_path(of, &place, causes),
        "secret" => files(of, "secretName", &place, causes),
        "configMap" => files(of, "name", &place, causes),
        "persistentVolumeClaim" if text(of, "claimName").is_empty() => {
            causes.required(&place.child("claimName"), "")
        }
        "downwardAPI" => {
            mode(of, "defaultMode", &place, causes);
            list(of, "items").iter().for_each(|item| file_of_pod(item, &place, causes));
        }
        "projected" => projected(of, &place, causes),
        _ => {}
    }
    for other in said {
        causes.forbidden(&here.child(other), "may not specify more than 1 volume type");
    }
}

fn host_path(of: &Value, here: &At, causes: &mut Causes) {
    match text(of, "path") {
        "" => causes.required(&here.child("path"), ""),
        path => {
            no_backsteps(path, &here.child("path"), causes);
            let sort = text(of, "type");
            if !HOST_PATHS.contains(&sort) {
                causes.unsupported(&here.child("type"), &Value::from(sort), &HOST_PATHS);
            }
        }
    }
}

fn files(of: &Value, name: &str, here: &At, causes: &mut Causes) {
    if text(of, name).is_empty() {
        causes.required(&here.child(name), "");
    }
    mode(of, "defaultMode", here, causes);
    for (place, item) in list(of, "items").iter().enumerate() {
        key_to_path(item, &here.child("items").index(place), causes);
    }
}

fn mode(of: &Value, field: &str, here: &At, causes: &mut Causes) {
    if let Some(mode) = int(of, field).filter(|mode| !(0..=0o777).contains(mode)) {
        causes.invalid(&here.child(field), &Value::from(mode), MODE);
    }
}

fn key_to_path(item: &Value, here: &At, causes: &mut Causes) {
    for field in ["key", "path"] {
        if text(item, field).is_empty() {
            causes.required(&here.child(field), "");
        }
    }
    own_path(text(item, "path"), &here.child("path"), causes);
    mode(item, "mode", here, causes);
}

fn file_of_pod(item: &Value, here: &At, causes: &mut Causes) {
    let path = text(item, "path");
    if path.is_empty() {
        causes.required(&here.child("path"), "");
    }
    own_path(path, &here.child("path"), causes);
    if has(item, "fieldRef") {
        field_ref(at(item, &["fieldRef"]), &SHOWN_IN_FILES, &here.child("fieldRef"), causes);
        if has(item, "resourceFieldRef") {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            causes.invalid(here, &Value::from("resource"), why);
        }
    } else if has(item, "resourceFieldRef") {
        resource_ref(at(item, &["resourceFieldRef"]), true, &here.child("resourceFieldRef"), causes);
    } else {
        causes.required(here, "one of fieldRef and resourceFieldRef is required");
    }
    mode(item, "mode", here, causes);
}

fn projected(of: &Value, here: &At, causes: &mut Causes) {
    mode(of, "defaultMode", here, causes);
    let mut paths: Vec<&str> = Vec::new();
    for (place, source) in list(of, "sources").iter().enumerate() {
        let each = here.child("sources").index(place);
        for sort in ["secret", "configMap"].into_iter().filter(|sort| has(source, sort)) {
            let (of, each) = (at(source, &[sort]), each.child(sort));
            if text(of, "name").is_empty() {
                causes.required(&each.child("name"), "");
            }
            for (place, item) in list(of, "items").iter().enumerate() {
                key_to_path(item, &each.child("items").index(place), causes);
                let path = text(item, "path");
                if paths.contains(&path) {
                    causes.invalid(here, &Value::from(text(of, "name")), "conflicting duplicate paths");
                } else if !path.is_empty() {
                    paths.push(path);
                }
            }
        }
        if has(source, "serviceAccountToken") {
            token(at(source, &["serviceAccountToken"]), &each.child("serviceAccountToken"), here, causes);
        }
        if has(source, "downwardAPI") {
            for item in list(at(source, &["downwardAPI"]), "items") {
                file_of_pod(item, &each.child("downwardAPI"), causes);
            }
        }
    }
}

fn token(token: &Value, each: &At, here: &At, causes: &mut Causes) {
    let why = match int(token, "expirationSeconds") {
        Some(..600) => "may not specify a duration less than 10 minutes",
        Some(4_294_967_297..) => "may not specify a duration larger than 2^32 seconds",
        _ => "",
    };
    if !why.is_empty() {
        causes.invalid(&each.child("expirationSeconds"), at(token, &["expirationSeconds"]), why);
    }
    match text(token, "path") {
        "" => causes.required(&here.child("path"), ""),
        path => own_path(path, &here.child("path"), causes),
    }
}

/// A path that stays where it is.
pub(super) fn no_backsteps(path: &str, here: &At, causes: &mut Causes) {
    if path.split('/').any(|part| part == "..") {
        causes.invalid(here, &Value::from(path), "must not contain '..'");
    }
}

/// A relative path that stays below.
pub(super) fn downwards(path: &str, here: &At, causes: &mut Causes) {
    if path.starts_with('/') {
        causes.invalid(here, &Value::from(path), "must be a relative path");
    }
    no_backsteps(path, here, causes);
}

fn own_path(path: &str, here: &At, causes: &mut Causes) {
    downwards(path, here, causes);
    if path.starts_with("..") && !path.starts_with("../") {
        causes.invalid(here, &Value::from(path), "must not start with '..'");
    }
}

/// Where volumes are mounted.
pub(super) fn mounts(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    let devices = list(container, "volumeDevices");
    let mut paths: Vec<&str> = Vec::new();
    for (place, mount) in list(container, "volumeMounts").iter().enumerate() {
        let each = here.index(place);
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            causes.required(&each.child("name"), "");
        }
        if !pod.volumes.iter().any(|(known, _)| *known == name) {
            causes.not_found(&each.child("name"), &Value::from(name));
        }
        if path.is_empty() {
            causes.required(&each.child("mountPath"), "");
        }
        if paths.contains(&path) {
            causes.invalid(&each.child("mountPath"), &Value::from(path), "must be unique");
        }
        paths.push(path);
        if devices.iter().any(|device| text(device, "name") == name) {
            causes.invalid(
                &each.child("name"),
                &Value::from(name),
                "must not already exist in volumeDevices",
            );
        }
        if devices.iter().any(|device| text(device, "devicePath") == path) {
            let why = "must not already exist as a path in volumeDevices";
            causes.invalid(&each.child("mountPath"), &Value::from(path), why);
        }
        sub_paths(mount, &each, here, causes);
        if has(mount, "mountPropagation") {
            propagation(container, mount, &here.child("mountPropagation"), causes);
        }
        if has(mount, "recursiveReadOnly") {
            recursive(mount, &here.child("recursiveReadOnly"), causes);
        }
    }
}

fn sub_paths(mount: &Value, each: &At, here: &At, causes: &mut Causes) {
    let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !sub.is_empty() {
        downwards(sub, &here.child("subPath"), causes);
    }
    if !expression.is_empty() {
        if !sub.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            causes.invalid(&each.child("subPathExpr"), &Value::from(expression), why);
        }
        downwards(expression, &here.child("subPathExpr"), causes);
    }
}

fn propagation(container: &Value, mount: &Value, here: &At, causes: &mut Causes) {
    let mode = text(mount, "mountPropagation");
    let modes = ["Bidirectional", "HostToContainer", "None"];
    if !modes.contains(&mode) {
        causes.unsupported(here, &Value::from(mode), &modes);
    }
    if mode == "Bidirectional" && !flag(at(container, &["securityContext"]), "privileged") {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        causes.forbidden(here, why);
    }
}

fn recursive(mount: &Value, here: &At, causes: &mut Causes) {
    let modes = ["Disabled", "Enabled", "IfPossible"];
    match text(mount, "recursiveReadOnly") {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !flag(mount, "readOnly") {
                causes.forbidden(here, "may only be specified when readOnly is true");
            }
            if !["", "None"].contains(&text(mount, "mountPropagation")) {
                causes
                    .forbidden(here, "may only be specified when mountPropagation is None or not specified");
            }
        }
        other => causes.unsupported(here, &Value::from(other), &modes),
    }
}

/// Where volumes are devices.
pub(super) fn devices(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    let (mut seen, mut paths): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (place, device) in list(container, "volumeDevices").iter().enumerate() {
        let here = here.index(place);
        let name = text(device, "name");
        let volume = pod.volumes.iter().find(|(known, _)| *known == name);
        if name.is_empty() {
            causes.required(&here.child("name"), "");
        }
        if seen.contains(&name) {
            causes.invalid(&here.child("name"), &Value::from(name), "must be unique");
        }
        match volume {
            Some((_, volume)) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                causes.invalid(&here.child("name"), &Value::from(name), why);
            }
            Some(_) => {}
            None => causes.not_found(&here.child("name"), &Value::from(name)),
        }
        if text(device, "devicePath").is_empty() {
            causes.required(&here.child("devicePath"), "");
        }
        let path = text(device, "devicePath");
        let mut wrong_path = |why: &str| causes.invalid(&here.child("devicePath"), &Value::from(path), why);
        if paths.contains(&path) {
            wrong_path("must be unique");
        }
        if path.split('/').any(|part| part == "..") {
            wrong_path("can not contain backsteps ('..')");
        } else {
            paths.push(path);
        }
        let mounts = list(container, "volumeMounts");
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            causes.invalid(&here.child("name"), &Value::from(name), "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == path) {
            let why = "must not already exist as a path in volumeMounts";
            causes.invalid(&here.child("devicePath"), &Value::from(path), why);
        }
        if !name.is_empty() {
            seen.push(name);
        }
    }
}
