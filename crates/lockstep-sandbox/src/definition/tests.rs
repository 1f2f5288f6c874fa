//! Definitions sent to a real API server, and what it made of them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::schema::Schema;
use crate::schema::tests::{recorded_causes, told};
use crate::shape::{ListKind, Shape};

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

fn named(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    object["metadata"] = json!({"name": name});
    object
}

#[test]
fn updates_as_a_real_server_takes_them() {
    let recorded = recorded(include_str!("../../recorded/updates.json"));
    let version = Version::read(&recorded["version"]);
    let mut wrong = Vec::new();
    let mut compare = |case: &Value, found: Vec<Cause>| {
        let (answer, expected) = (told(&found), recorded_causes(case));
        if answer != expected {
            let (old, new) = (&case["old"], &case["new"]);
            wrong.push(format!("{old} -> {new}:\n  said {answer:#?}\n  not {expected:#?}"));
        }
    };
    for case in recorded["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().unwrap_or("fine");
        let old = case.get("old").map(|old| named(old, name));
        compare(case, version.validate_after(Vec::new(), &named(&case["new"], name), old.as_ref()));
    }
    for case in recorded["status"].as_array().expect("cases") {
        let (new, old) = (named(&case["new"], "fine"), named(&case["old"], "fine"));
        compare(case, version.validate_status_after(Vec::new(), &new, &old));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_definition_stands_as_on_a_real_server() {
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    let mut first: Option<Value> = None;
    for case in recorded(include_str!("../../recorded/standing.json")).as_array().expect("cases") {
        let mut crd = case["crd"].clone();
        set_defaults(&mut crd);
        let others: Vec<&Value> = first.iter().collect();
        let mut found = status(&crd, &others, now);
        for condition in found["conditions"].as_array_mut().expect("conditions") {
            assert_eq!(condition["lastTransitionTime"], "2027-01-15T08:00:00Z");
            condition.as_object_mut().expect("a condition").remove("lastTransitionTime");
        }
        let mut expected = case["status"].clone();
        for condition in expected["conditions"].as_array_mut().expect("conditions") {
            condition.as_object_mut().expect("a condition").remove("lastTransitionTime");
        }
        assert_eq!(found, expected, "{}", case["crd"]["spec"]["names"]);
        if first.is_none() {
            crd["status"] = found;
            first = Some(crd);
        }
    }
}

#[test]
fn what_stands_does_not_turn() {
    let early = Timestamp::from_second(1_800_000_000).expect("a time");
    let late = Timestamp::from_second(1_900_000_000).expect("a time");
    let all = recorded(include_str!("../../recorded/standing.json"));
    let mut crd = all[0]["crd"].clone();
    set_defaults(&mut crd);
    crd["status"] = status(&crd, &[], early);
    assert_eq!(status(&crd, &[], late), crd["status"]);
    crd["spec"]["versions"][0]["storage"] = false.into();
    let second = json!({"name": "v2", "served": true, "storage": true});
    crd["spec"]["versions"].as_array_mut().expect("versions").push(second);
    assert_eq!(status(&crd, &[], late)["storedVersions"], json!(["v1", "v2"]));
}

#[test]
fn what_an_update_must_leave() {
    let all = recorded(include_str!("../../recorded/definitions.json"));
    let mut old = all[0]["crd"].clone();
    set_defaults(&mut old);
    old["status"] = status(&old, &[], Timestamp::UNIX_EPOCH);
    let rows: [(&str, Value, &[&str]); 6] = [
        ("/spec/scope", "Cluster".into(), &[r#"spec.scope: Invalid value: "Cluster": field is immutable"#]),
        ("/spec/names/kind", "Foo".into(), &[r#"spec.names.kind: Invalid value: "Foo": field is immutable"#]),
        ("/spec/group", "x.y".into(), &[r#"spec.group: Invalid value: "x.y": field is immutable"#]),
        (
            "/spec/names/plural",
            "foos".into(),
            &[r#"spec.names.plural: Invalid value: "foos": field is immutable"#],
        ),
        ("/spec/names/singular", "foo".into(), &[]),
        (
            "/spec/versions/0/name",
            "v2".into(),
            &[
                "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a \
               storage version, and must remain in spec.versions until a storage migration ensures no data remains \
               persisted in v1 and removes v1 from status.storedVersions",
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let mut new = old.clone();
        *new.pointer_mut(pointer).expect(pointer) = value;
        set_defaults(&mut new);
        let causes = Definition::read_update(&new, &old).err().unwrap_or_default();
        let said: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        assert_eq!(said, expected, "{pointer}");
    }
}

#[test]
fn published_as_by_a_real_server() {
    let values = recorded(include_str!("../../recorded/values.json"));
    let mut crd = json!({
        "metadata": {"name": "probes.probe.definitions.dev"},
        "spec": {
            "group": "probe.definitions.dev", "names": {"plural": "probes", "kind": "Probe"}, "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": values["schema"]},
                "subresources": {"status": {}},
            }],
        },
    });
    set_defaults(&mut crd);
    let definition = Definition::read(&crd).expect("a definition");
    let found = Value::Object(openapi(&definition, "v1"));
    assert_eq!(found, recorded(include_str!("../../recorded/openapi.json")));
    let shape = Shape::read(&shape(definition.version("v1").expect("a version")));
    let Shape::Map(root) = shape else { panic!("a map") };
    assert_eq!(
        root.field("metadata"),
        &Shape::Named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".into())
    );
    let Shape::Map(spec) = root.field("spec") else { panic!("a map") };
    // What only narrows values does not make a map a scalar.
    assert!(matches!(spec.field("one"), Shape::Map(_)), "{:?}", spec.field("one"));
    assert!(matches!(spec.field("map"), Shape::List(list) if matches!(list.kind, ListKind::Map(_))));
    assert_eq!(spec.field("ios2"), &Shape::Scalar);
}

#[test]
fn unknown_fields_of_custom_objects() {
    let values = recorded(include_str!("../../recorded/values.json"));
    let schema = Schema::read(&values["schema"]);
    for case in recorded(include_str!("../../recorded/strict.json")).as_array().expect("cases") {
        if case["schema"].is_string() {
            continue;
        }
        let body = case["body"].as_str().expect("a body");
        let mut object: Value = serde_json::from_str(body).expect("JSON");
        let mut found = crate::decoding::duplicate_fields(body.as_bytes());
        found.extend(schema.prune(&mut object));
        assert_eq!(json!(found), case["problems"], "{body}");
        assert!(schema.prune(&mut object).is_empty());
    }
}

#[test]
fn nonsense_is_no_reason_to_fall_over() {
    for crd in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"spec": 3, "status": "x"}),
        json!({"spec": {"names": []}}),
    ] {
        let mut crd = crd;
        set_defaults(&mut crd);
        assert!(Definition::read(&crd).is_err(), "{crd}");
        status(&crd, &[&crd], Timestamp::UNIX_EPOCH);
    }
}
