//! Bodies sent to a real API server, and what it said of them.

use serde_json::{Value, json};

use super::*;

fn recorded(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn strictness_as_a_real_server_has_it() {
    for case in recorded(include_str!("../../recorded/strict.json")) {
        let body = case["body"].as_str().expect("a body");
        let found = match case["schema"].as_str() {
            Some(schema) => strict_problems(body.as_bytes(), schema),
            None => duplicate_fields(body.as_bytes()),
        };
        let expected = case["problems"].as_array().expect("problems").iter();
        // What a custom kind does not know is told by its schema.
        let expected = expected.filter(|problem| {
            case["schema"].is_string() || problem.as_str().is_some_and(|text| text.starts_with("duplicate"))
        });
        assert_eq!(found, expected.cloned().collect::<Vec<_>>(), "{body}");
    }
}

#[test]
fn an_object_has_no_field_twice() {
    let pod =
        json!({"kind": "Pod", "spec": {"z": 1, "a": {"b": 1}, "containers": [{"y": 1}]}, "status": null});
    let unknown = ["spec.a", "spec.containers[0].y", "spec.z"].map(|path| format!("unknown field {path:?}"));
    assert_eq!(unknown_fields(&pod, "io.k8s.api.core.v1.Pod"), unknown);
}
