//! Definitions sent to a real API server, and what it made of them.

use serde_json::Value;

use super::*;
use crate::schema::tests::{recorded_causes, told};

fn recorded(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn definitions_as_a_real_server_takes_them() {
    let mut wrong = Vec::new();
    for case in recorded(include_str!("../../recorded/definitions.json")).as_array().expect("cases") {
        let mut crd = case["crd"].clone();
        set_defaults(&mut crd);
        let found = Definition::read(&crd).err().unwrap_or_default();
        let (answer, expected) = (told(&found), recorded_causes(case));
        if answer != expected {
            wrong.push(format!("{}:\n  said {answer:#?}\n  not {expected:#?}", case["crd"]["spec"]));
        }
        if let Some(stored) = case.get("stored") {
            for part in ["spec", "status"] {
                if crd[part] != stored[part] {
                    wrong.push(format!("became {}, not {}", crd[part], stored[part]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
