//! The definitions of our kinds: structural, small, and true to the types they are made from.

#![allow(clippy::expect_used)]

use lockstep_api::crd;
use lockstep_api::role_scale::RoleScale;
use serde_json::{Map, Value, json};

/// Every schema of a definition with its path, the root first.
fn schemas(definition: &Value) -> Vec<(String, &Map<String, Value>)> {
    fn walk<'a>(path: String, schema: &'a Value, found: &mut Vec<(String, &'a Map<String, Value>)>) {
        let fields = schema.as_object().expect("a schema is an object");
        found.push((path.clone(), fields));
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            walk(format!("{path}.{name}"), property, found);
        }
        for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
            if let Some(below) = fields.get(key) {
                walk(format!("{path}{mark}"), below, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(String::new(), crd::schema_of(definition), &mut found);
    found
}

/// A value as an API server would fill it in.
fn filled_in(mut value: Value, schema: &Value) -> Value {
    if let Value::Object(fields) = &mut value {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if !fields.contains_key(name)
                && let Some(default) = property.get("default")
            {
                fields.insert(name.clone(), default.clone());
            }
            if let Some(given) = fields.get_mut(name) {
                *given = filled_in(given.take(), property);
            }
        }
    }
    if let Value::Array(items) = &mut value {
        for item in items {
            *item = filled_in(item.take(), &schema["items"]);
        }
    }
    value
}

#[test]
fn every_value_has_one_type_and_a_description() {
    for (name, definition) in crd::all() {
        for (path, schema) in schemas(&definition) {
            let either = schema.contains_key("x-kubernetes-int-or-string");
            assert_eq!(either, !schema.contains_key("type"), "{name}{path}");
            for foreign in ["oneOf", "anyOf", "allOf", "$ref", "$defs", "const", "title", "nullable"] {
                assert!(!schema.contains_key(foreign), "{name}{path}: {foreign}");
            }
            let format = schema.get("format").and_then(Value::as_str);
            assert!(
                matches!(format, None | Some("int32" | "int64" | "date-time")),
                "{name}{path}: {format:?}"
            );
            let named = !path.ends_with("[]") && !path.ends_with("{}") && !path.starts_with(".metadata");
            assert!(!named || schema.contains_key("description"), "{name}{path} has no description");
        }
    }
}

#[test]
fn small_enough_for_a_client_side_apply() {
    for (name, definition) in crd::all() {
        let bytes = definition.to_string().len();
        assert!(bytes < 60 * 1024, "{name}: {bytes} bytes");
    }
}

#[test]
fn defaults_are_those_of_the_reader() {
    let definition = crd::lockstep_set();
    let template = json!({"spec": {"containers": [{"name": "main", "image": "x:1"}]}});
    let given = json!({
        "apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND, "metadata": {"name": "a"},
        "spec": {
            "coordination": [
                {"name": "near", "affinity": {"topologyKey": "kubernetes.io/hostname", "ratios": {"a": 1}}},
                {"name": "grow", "roles": ["a", "b"], "scaling": {"maxSkew": "10%"}},
            ],
            "roles": [
                {"name": "a", "template": template, "updateStrategy": {}, "restartPolicy": {}},
                {"name": "b", "members": [{"name": "m", "template": template}]},
            ],
        },
    });
    let filled = filled_in(given.clone(), crd::schema_of(&definition));
    assert_eq!(filled.pointer("/spec/updateStrategy/maxUnavailable"), Some(&json!(1)));
    assert_eq!(filled.pointer("/spec/roles/0/restartPolicy/baseDelaySeconds"), Some(&json!(30)));
    assert_eq!(filled.pointer("/spec/roles/1/members/0/count"), Some(&json!(1)));
    let read = |value: &Value| lockstep_api::parse_json(value).expect("a set").set;
    assert_eq!(read(&filled), read(&given));
    // And nothing is left for the reader to fill in.
    let written = |value: &Value| serde_json::to_value(&*read(value)).expect("JSON");
    let spelled_out = json!({"spec": {"coordination": filled["spec"]["coordination"]}});
    let mut whole = written(&given);
    whole["spec"]["coordination"] = spelled_out["spec"]["coordination"].clone();
    assert_eq!(whole, filled);
}

#[test]
fn what_a_revision_is_made_of_has_no_defaults() {
    let definition = crd::lockstep_set();
    for (path, schema) in schemas(&definition) {
        let content = path.contains(".template") || path.starts_with(".spec.identity");
        assert!(!content || !schema.contains_key("default"), "{path}");
        assert!(!path.starts_with(".status") || !schema.contains_key("default"), "{path}");
    }
}

#[test]
fn second_spellings_are_known() {
    let definition = crd::lockstep_set();
    let rule =
        crd::schema_of(&definition).pointer("/properties/spec/properties/coordination/items/properties");
    let rule = rule.expect("the schema of a rule");
    for (long, short) in [("rollingUpdate", "skew"), ("affinityScheduling", "affinity")] {
        assert!(rule[long]["properties"].is_object(), "{long}");
        assert_eq!(rule[long]["properties"], rule[short]["properties"]);
    }
}

#[test]
fn every_list_is_bounded() {
    let definition = crd::lockstep_set();
    for (path, schema) in schemas(&definition).iter().filter(|(path, _)| path.starts_with(".spec")) {
        if schema.get("type") == Some(&json!("array")) {
            assert!(schema.contains_key("maxItems"), "{path}");
            assert!(schema.contains_key("x-kubernetes-list-type"), "{path}");
        }
    }
}

#[test]
fn a_role_scale_is_an_object_like_any_other() {
    let scale = RoleScale::new("llama", "prefill", 4);
    assert_eq!(scale.metadata.name.as_deref(), Some("llama-prefill"));
    let value = serde_json::to_value(&scale).expect("JSON");
    assert_eq!(value["spec"], json!({"set": "llama", "role": "prefill", "replicas": 4}));
    assert_eq!(serde_json::from_value::<RoleScale>(value).expect("a RoleScale"), scale);
}
