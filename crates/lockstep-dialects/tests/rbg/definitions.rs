//! What an API server is told.

use lockstep_dialects::rbg::Rbg;
use lockstep_dialects::{Dialect, of};
use serde_json::{Value, json};

/// Every value has one type, or says that it may be anything.
fn structural(schema: &Value, at: &str) {
    let free = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    assert!(schema["type"].is_string() || free, "{at}: {schema}");
    for word in ["anyOf", "oneOf", "$ref", "default"] {
        assert!(schema.get(word).is_none(), "{at} has {word}");
    }
    let both = schema["properties"].is_object() && schema.get("additionalProperties").is_some();
    assert!(!both, "{at} has both properties and additionalProperties");
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        structural(below, &format!("{at}.{name}"));
    }
    for one in ["items", "additionalProperties"] {
        if schema[one].is_object() {
            structural(&schema[one], &format!("{at}[]"));
        }
    }
}

#[test]
fn every_schema_is_structural() {
    let definitions = Rbg.definitions();
    let names: Vec<&Value> = definitions.iter().map(|it| &it["spec"]["names"]["kind"]).collect();
    let kinds: Vec<&str> = Rbg.kinds().iter().map(|kind| kind.kind).collect();
    assert_eq!(names, kinds);
    for definition in &definitions {
        let versions = definition["spec"]["versions"].as_array().expect("versions");
        assert_eq!(versions.iter().filter(|version| version["storage"] == true).count(), 1);
        for version in versions {
            let schema = &version["schema"]["openAPIV3Schema"];
            structural(schema, &definition["spec"]["names"]["kind"].to_string());
        }
    }
}

#[test]
fn fields_explain_themselves() {
    fn undescribed(schema: &Value, at: &str, found: &mut Vec<String>) {
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            if below["description"].as_str().is_none_or(str::is_empty) {
                found.push(format!("{at}.{name}"));
            }
            undescribed(below, &format!("{at}.{name}"), found);
        }
        if schema["items"].is_object() {
            undescribed(&schema["items"], &format!("{at}[]"), found);
        }
    }
    for definition in Rbg.definitions() {
        let mut found = Vec::new();
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        undescribed(spec, "spec", &mut found);
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn both_versions_are_ours() {
    for version in ["v1alpha1", "v1alpha2"] {
        let object = json!({"apiVersion": format!("workloads.x-k8s.io/{version}"), "kind": "RoleBasedGroup"});
        assert_eq!(
            of(&object).map(|(dialect, kind)| (dialect.name(), kind.kind)),
            Some(("rbg", "RoleBasedGroup"))
        );
    }
    assert!(of(&json!({"apiVersion": "workloads.x-k8s.io/v1", "kind": "RoleBasedGroup"})).is_none());
}
