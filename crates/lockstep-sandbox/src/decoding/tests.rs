//! Bodies sent to a real API server, and what it said of them.

use serde_json::{Value, json};

use super::*;

fn recorded(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn types_as_a_real_server_takes_them() {
    let mut wrong = Vec::new();
    for case in recorded(include_str!("../../recorded/types.json")) {
        let schema = case["schema"].as_str().expect("a schema");
        let found = json!(type_error_in(case["object"].to_string().as_bytes(), schema));
        if found != case["error"] {
            wrong.push(format!("{}\n  said {found}\n  not {}", case["object"], case["error"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
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

#[test]
fn times_that_never_were() {
    for (text, micro, said) in [
        ("2024-01-01T00:00:00Z", false, None),
        ("2024-01-01T00:00:00.5+02:00", false, None),
        ("2024-01-01T00:00:00.000001Z", true, None),
        ("2024-13-01T00:00:00Z", false, Some(r#"parsing time "2024-13-01T00:00:00Z": month out of range"#)),
        ("2024-02-30T00:00:00Z", false, Some(r#"parsing time "2024-02-30T00:00:00Z": day out of range"#)),
        (
            "2024-01-01",
            false,
            Some(r#"parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#),
        ),
    ] {
        assert_eq!(time::problem(text, micro).as_deref(), said, "{text}");
    }
}
