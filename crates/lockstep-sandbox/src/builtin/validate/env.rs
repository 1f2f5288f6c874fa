//! What is wrong with the environments of containers.

use serde_json::Value;

use crate::builtin::access::{at, has, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{config_key, label, qualified, subdomain, variable};

/// What variables can show of their pod.
const SHOWN: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What files can show of their pod.
pub(super) const SHOWN_IN_FILES: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// What can be asked for at all.
const KNOWN: [&str; 12] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.podIP",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

/// Variables.
pub(super) fn env(container: &Value, here: &At, causes: &mut Causes) {
    for (place, of) in list(container, "env").iter().enumerate() {
        let here = here.index(place);
        match text(of, "name") {
            "" => causes.required(&here.child("name"), ""),
            name => causes.invalid_each(&here.child("name"), name, variable(name)),
        }
        if has(of, "valueFrom") {
            value_from(of, &here.child("valueFrom"), causes);
        }
    }
}

fn value_from(of: &Value, here: &At, causes: &mut Causes) {
    let from = at(of, &["valueFrom"]);
    let sources: Vec<&str> = SOURCES.into_iter().filter(|source| has(from, source)).collect();
    for source in &sources {
        let (value, here) = (at(from, &[source]), here.child(source));
        match *source {
            "fieldRef" => field_ref(value, &SHOWN, &here, causes),
            "resourceFieldRef" => resource_ref(value, false, &here, causes),
            "fileKeyRef" => file_key(value, &here, causes),
            _ => key_of(value, &here, causes),
        }
    }
    let why = match sources.as_slice() {
        [] => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !text(of, "value").is_empty() => "may not be specified when `value` is not empty",
        [_, _, ..] => "may not have more than one field specified at a time",
        [_] => return,
    };
    causes.invalid(here, &Value::from(""), why);
}

/// A field of the pod.
pub(super) fn field_ref(of: &Value, shown: &[&str], here: &At, causes: &mut Causes) {
    if text(of, "apiVersion").is_empty() {
        causes.required(&here.child("apiVersion"), "");
        return;
    }
    let path = text(of, "fieldPath");
    if path.is_empty() {
        causes.required(&here.child("fieldPath"), "");
        return;
    }
    let entry = path.strip_suffix("']").and_then(|path| path.split_once("['"));
    let plain = entry.map_or(path, |(map, _)| map);
    let unknown = match entry {
        Some((map, _)) => !matches!(map, "metadata.annotations" | "metadata.labels"),
        None => !KNOWN.contains(&path) && !SHOWN.contains(&path),
    };
    if text(of, "apiVersion") != "v1" {
        let version = text(of, "apiVersion");
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        causes.invalid(&here.child("fieldPath"), &Value::from(path), &why);
    } else if unknown {
        let why = if entry.is_some() {
            format!("error converting fieldPath: field label does not support subscript: {path}")
        } else {
            format!("error converting fieldPath: field label not supported: {path}")
        };
        causes.invalid(&here.child("fieldPath"), &Value::from(path), &why);
    } else if let Some((map, key)) = entry {
        let key = if map == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        causes.invalid_each(here, &key, qualified(&key));
    } else if !shown.contains(&plain) {
        causes.unsupported(&here.child("fieldPath"), &Value::from(path), shown);
    }
}

/// A resource of a container.
pub(super) fn resource_ref(of: &Value, in_file: bool, here: &At, causes: &mut Causes) {
    let resource = text(of, "resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"].iter().any(|prefix| resource.starts_with(prefix));
    if in_file && text(of, "containerName").is_empty() {
        causes.required(&here.child("containerName"), "");
    } else if resource.is_empty() {
        causes.required(&here.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !huge {
        causes.unsupported(&here.child("resource"), &Value::from(resource), &RESOURCES);
    }
    let divisor = text(of, "divisor");
    if matches!(divisor, "" | "0") {
        return;
    }
    let (fits, why) = match resource.split_once('.').map_or("", |(_, of)| of) {
        "cpu" => (matches!(divisor, "1m" | "1"), "1m and 1 are supported with the cpu resource".to_owned()),
        of => {
            let sizes = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
            let name = match of {
                "memory" => "memory",
                "ephemeral-storage" => "local ephemeral storage",
                _ => "hugepages",
            };
            (sizes.contains(&divisor), format!("{} are supported with the {name} resource", sizes.join(", ")))
        }
    };
    if !fits {
        causes.invalid(
            &here.child("divisor"),
            &Value::from(resource),
            &format!("only divisor's values {why}"),
        );
    }
}

fn key_of(of: &Value, here: &At, causes: &mut Causes) {
    let name = text(of, "name");
    causes.invalid_each(&here.child("name"), name, subdomain(name));
    match text(of, "key") {
        "" => causes.required(&here.child("key"), ""),
        key => causes.invalid_each(&here.child("key"), key, config_key(key)),
    }
}

fn file_key(of: &Value, here: &At, causes: &mut Causes) {
    match text(of, "key") {
        "" => causes.required(&here.child("key"), ""),
        key => causes.invalid_each(&here.child("key"), key, variable(key)),
    }
    match text(of, "volumeName") {
        "" => causes.required(&here.child("volumeName"), ""),
        name => causes.invalid_each(&here.child("volumeName"), name, label(name)),
    }
    match text(of, "path") {
        "" => causes.required(&here.child("path"), ""),
        path => super::volumes::no_backsteps(path, &here.child("path"), causes),
    }
}

/// Whole ConfigMaps and Secrets.
pub(super) fn env_from(container: &Value, here: &At, causes: &mut Causes) {
    for (place, of) in list(container, "envFrom").iter().enumerate() {
        let each = here.index(place);
        let prefix = text(of, "prefix");
        if !prefix.is_empty() {
            causes.invalid_each(&each.child("prefix"), prefix, variable(prefix));
        }
        let sources: Vec<&str> =
            ["configMapRef", "secretRef"].into_iter().filter(|source| has(of, source)).collect();
        for source in &sources {
            let here = each.child(source).child("name");
            match text(at(of, &[source]), "name") {
                "" => causes.required(&here, ""),
                name => {
                    causes.invalid_each(
                        &here,
                        name,
                        crate::builtin::formats::NameRule::Subdomain.check(name, true),
                    );
                }
            }
        }
        let why = match sources.len() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        causes.invalid(here, &Value::from(""), why);
    }
}
