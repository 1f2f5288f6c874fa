//! Lockstep's own definitions and the examples of its kinds.

#![allow(clippy::expect_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lockstep_sandbox::definition::{Definition, set_defaults};
use serde_json::{Value, json};

fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    lockstep_api::yaml_to_json(&text).expect("YAML")
}

fn definition(file: &str) -> Definition {
    let mut crd = read(&format!("deploy/crds/{file}"));
    set_defaults(&mut crd);
    Definition::read(&crd).unwrap_or_else(|causes| panic!("{causes:#?}"))
}

/// Does to an object what a server does, and tells what it dropped and what is wrong.
fn taken(definition: &Definition, object: &mut Value) -> (Vec<String>, BTreeSet<String>) {
    let version = definition.storage().expect("a version");
    let dropped = version.schema.prune(object);
    version.schema.set_defaults(object);
    let causes = version.validate_after(Vec::new(), object, None);
    let said = |cause: &lockstep_sandbox::refusal::Cause| {
        format!("{} {}: {}", cause.reason, cause.field, cause.message)
    };
    (dropped, causes.iter().map(said).collect())
}

#[test]
fn the_definitions_are_sound() {
    let sets = definition("lockstepsets.yaml");
    assert_eq!(sets.resource(), "lockstepsets.lockstep.dev");
    let version = sets.storage().expect("a version");
    assert!(version.status && version.scale.is_some() && !version.columns.is_empty());
    let scales = definition("rolescales.yaml");
    assert_eq!(scales.names.short, ["lrs"]);
}

#[test]
fn the_examples_are_taken_as_they_are() {
    let sets = definition("lockstepsets.yaml");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("examples")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    assert!(names.len() > 5);
    for name in names {
        let mut object = read(&format!("examples/{name}"));
        let kept = object.clone();
        assert_eq!(taken(&sets, &mut object), (Vec::new(), BTreeSet::new()), "{name}");
        // Nothing that was said is changed by a default, and what is filled in once is not filled in again.
        assert_eq!(object["metadata"], kept["metadata"], "{name}");
        let settled = object.clone();
        taken(&sets, &mut object);
        assert_eq!(object, settled, "{name}");
    }
}

#[test]
fn what_a_real_server_refuses_of_them() {
    let sets = definition("lockstepsets.yaml");
    let recorded: Vec<Value> = serde_json::from_str(include_str!("../recorded/lockstep.json")).expect("JSON");
    let mut wrong = Vec::new();
    for case in recorded {
        let mut object = read(&format!("examples/{}", case["example"].as_str().expect("a file")));
        for (pointer, value) in case["changes"].as_object().expect("changes") {
            put(&mut object, pointer, value);
        }
        let (dropped, said) = taken(&sets, &mut object);
        let text = |cause: &Value, key: &str| cause[key].as_str().expect(key).to_owned();
        let expected: BTreeSet<String> = case["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|cause| {
                format!("{} {}: {}", text(cause, "reason"), text(cause, "field"), text(cause, "message"))
            })
            .collect();
        if said != expected {
            wrong.push(format!("{}:\n  said {said:#?}\n  not {expected:#?}", case["changes"]));
        }
        if json!(dropped) != *case.get("warnings").unwrap_or(&json!([])) {
            wrong.push(format!("{}: dropped {dropped:?}", case["changes"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_role_scale_keeps_its_role() {
    let scales = definition("rolescales.yaml");
    let version = scales.storage().expect("a version");
    let object = |role: &str| {
        json!({
            "apiVersion": "lockstep.dev/v1alpha1", "kind": "RoleScale", "metadata": {"name": "a"},
            "spec": {"set": "a", "role": role, "replicas": 1},
        })
    };
    assert_eq!(version.validate_after(Vec::new(), &object("x"), None), []);
    assert_eq!(version.validate_after(Vec::new(), &object("x"), Some(&object("x"))), []);
    let causes = version.validate_after(Vec::new(), &object("y"), Some(&object("x")));
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["spec.role"], "{causes:?}");
}

/// Puts a value at a place; nothing takes it away.
fn put(object: &mut Value, pointer: &str, value: &Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match object.pointer_mut(parent).expect(parent) {
        Value::Object(map) if value.is_null() => {
            map.remove(key);
        }
        Value::Object(map) => {
            map.insert(key.to_owned(), value.clone());
        }
        Value::Array(items) => items.push(value.clone()),
        other => panic!("{other}"),
    }
}
