//! Manifests as the tests apply them.

use lockstep_kubelet::annotations::PREFIX;
use serde_json::{Value, json};

/// Reads YAML.
pub fn yaml(text: &str) -> Value {
    lockstep_api::yaml_to_json(text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

/// The same object with every image at another tag.
pub fn with_tag(object: &Value, tag: &str) -> Value {
    let mut object = object.clone();
    each_pod_spec(&mut object, &mut |spec| {
        for container in spec["containers"].as_array_mut().expect("containers") {
            let image = container["image"].as_str().expect("an image");
            let name = image.rsplit_once(':').map_or(image, |(name, _)| name);
            container["image"] = json!(format!("{name}:{tag}"));
        }
    });
    object
}

/// The same object, every container of which asks for one of these.
pub fn asking_for(object: &Value, resource: &str) -> Value {
    let mut object = object.clone();
    each_pod_spec(&mut object, &mut |spec| {
        for container in spec["containers"].as_array_mut().expect("containers") {
            container["resources"]["limits"][resource] = json!("1");
        }
    });
    object
}

/// The same object, whose pods behave so (`image: missing`); of one role, or of all.
pub fn behaving(object: &Value, role: Option<&str>, name: &str, value: &str) -> Value {
    let mut object = object.clone();
    annotate(&mut object, role, &format!("{PREFIX}{name}"), value);
    object
}

/// The same object, whose pods take a moment to start and to end.
pub fn dressed(object: &Value) -> Value {
    let mut object = object.clone();
    for (name, value) in [("ready-after", "100ms..400ms"), ("terminates-after", "100ms")] {
        annotate(&mut object, None, &format!("{PREFIX}{name}"), value);
    }
    object
}

/// Where templates of pods stand, and where annotations of their pods.
fn annotate(value: &mut Value, role: Option<&str>, key: &str, text: &str) {
    match value {
        Value::Object(fields) => {
            let called = fields.get("name").and_then(Value::as_str);
            // Only names of roles are asked for, and only roles have what is below.
            let role = if called.is_some() && called == role { None } else { role };
            let of_clique = fields.get("spec").is_some_and(|spec| spec.get("podSpec").is_some());
            let of_template = fields.get("spec").is_some_and(|spec| spec.get("containers").is_some());
            if role.is_none() && of_clique {
                put(fields.entry("annotations").or_insert_with(|| json!({})), key, text);
            } else if role.is_none() && of_template {
                let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
                if metadata.get("annotations").is_none() {
                    metadata["annotations"] = json!({});
                }
                put(&mut metadata["annotations"], key, text);
            }
            fields.values_mut().for_each(|value| annotate(value, role, key, text));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| annotate(item, role, key, text)),
        _ => {}
    }
}

/// What is said already stays.
fn put(annotations: &mut Value, key: &str, text: &str) {
    if annotations[key].is_null() {
        annotations[key] = json!(text);
    }
}

fn each_pod_spec(value: &mut Value, change: &mut impl FnMut(&mut Value)) {
    if value.get("containers").is_some() {
        return change(value);
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| each_pod_spec(value, change)),
        Value::Array(items) => items.iter_mut().for_each(|item| each_pod_spec(item, change)),
        _ => {}
    }
}
