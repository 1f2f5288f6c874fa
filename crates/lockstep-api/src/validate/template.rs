//! Pod templates: that Kubernetes can read them, and that they run something.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::findings::Findings;
use crate::path::Path;

pub(super) fn check(template: &Value, path: &Path, found: &mut Findings) {
    if !template.is_object() {
        found.error(path, "must be a pod template");
        return;
    }
    containers(template, path, found);
    match serde_path_to_error::deserialize::<_, PodTemplateSpec>(template) {
        Ok(read) => {
            if let Ok(written) = serde_json::to_value(&read) {
                unread(template, &written, path, found);
            }
        }
        Err(error) => {
            let at = place(path, error.path());
            if found.sound(&at) {
                found.error(&at, format!("Kubernetes cannot read this: {}", error.inner()));
            }
        }
    }
}

fn containers(template: &Value, path: &Path, found: &mut Findings) {
    let path = path.field("spec").field("containers");
    let containers = match template.pointer("/spec/containers") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(items)) => items,
        // The decoder says what is wrong.
        Some(_) => return,
    };
    if containers.is_empty() {
        found.error(&path, "at least one container with a name and an image is needed");
    }
    for (i, container) in containers.iter().enumerate().filter(|(_, container)| container.is_object()) {
        for field in ["name", "image"] {
            if matches!(container.get(field), None | Some(Value::Null)) {
                found.error(&path.index(i).field(field), "required");
            } else if container.get(field).and_then(Value::as_str) == Some("") {
                found.error(&path.index(i).field(field), "must not be empty");
            }
        }
    }
}

fn place(path: &Path, inner: &serde_path_to_error::Path) -> Path {
    inner.iter().fold(path.clone(), |path, segment| match segment {
        Segment::Seq { index } => path.index(*index),
        Segment::Map { key } => path.field(key),
        Segment::Enum { variant } => path.field(variant),
        Segment::Unknown => path,
    })
}

/// Fields that Kubernetes would drop: most likely misspelt.
fn unread(given: &Value, read: &Value, path: &Path, found: &mut Findings) {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => {
            for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let path = path.field(key);
                match read.get(key) {
                    Some(kept) => unread(value, kept, &path, found),
                    None => found.warn(&path, "no field that Kubernetes knows; it would be dropped"),
                }
            }
        }
        (Value::Array(given), Value::Array(read)) => {
            for (i, (given, read)) in given.iter().zip(read).enumerate() {
                unread(given, read, &path.index(i), found);
            }
        }
        _ => {}
    }
}
