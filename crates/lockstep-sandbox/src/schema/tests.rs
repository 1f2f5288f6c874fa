//! Objects sent to a real API server, and what it made of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Schema;
use crate::refusal::Cause;

fn recorded(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Causes in no order: a real server tells those of a map in any.
pub(crate) fn told(causes: &[Cause]) -> BTreeSet<String> {
    causes.iter().map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message)).collect()
}

pub(crate) fn recorded_causes(answer: &Value) -> BTreeSet<String> {
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    let causes = answer["causes"].as_array().into_iter().flatten();
    causes
        .map(|cause| {
            format!("{} {}: {}", text(cause, "reason"), text(cause, "field"), text(cause, "message"))
        })
        .collect()
}

#[test]
fn values_as_a_real_server_takes_them() {
    let recorded = recorded(include_str!("../../recorded/values.json"));
    let schema = Schema::read(&recorded["schema"]);
    let mut wrong = Vec::new();
    for case in recorded["cases"].as_array().expect("cases") {
        let mut object = case["object"].clone();
        let dropped = schema.prune(&mut object);
        schema.drop_nulls(&mut object);
        schema.set_defaults(&mut object);
        // Nobody but the status endpoint writes the status.
        object.as_object_mut().expect("an object").remove("status");
        let causes = schema.validate_with(&object, None, Vec::new());
        crate::schema::whole_numbers(&mut object);
        let (answer, expected) = (told(&causes), recorded_causes(case));
        if answer != expected {
            wrong.push(format!("{}:\n  said {answer:#?}\n  not {expected:#?}", case["object"]));
        }
        if expected.is_empty() && object != case["stored"] {
            wrong.push(format!("{}: became {object}, not {}", case["object"], case["stored"]));
        }
        if expected.is_empty() && json!(dropped) != *case.get("warnings").unwrap_or(&json!([])) {
            wrong.push(format!("{}: dropped {dropped:?}, not {}", case["object"], case["warnings"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
