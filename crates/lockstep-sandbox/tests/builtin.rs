//! What a real API server answered, and what is answered here. The answers are in `data/builtin`.

#![allow(clippy::expect_used)]

use std::sync::Arc;

use jiff::Timestamp;
use lockstep_sandbox::builtin::{
    Context, Taken, admit, allocate, decode, is_read_otherwise, prepare_create, prepare_finalize,
    prepare_status_update, prepare_update, set_defaults, validate_create, validate_finalize,
    validate_status_update, validate_update,
};
use lockstep_sandbox::refusal::Cause;
use serde_json::{Value, json};

/// What becomes of a request.
#[derive(Debug, PartialEq)]
enum Answer {
    Gives(Value),
    Causes(Vec<[String; 3]>),
    Forbidden(String),
    Misread(String),
}

fn read(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/builtin/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the data is there");
    serde_json::from_str(&text).expect("the data is JSON")
}

fn expected(case: &Value) -> Answer {
    let text = |field: &str| case[field].as_str().expect("a text").to_owned();
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(gives) = case.get("gives") {
        Answer::Gives(gives.clone())
    } else if let Some(causes) = case.get("causes").and_then(Value::as_array) {
        let told = causes.iter().map(|cause| [of(&cause[0]), of(&cause[1]), of(&cause[2])]);
        Answer::Causes(told.collect())
    } else if case.get("forbidden").is_some() {
        Answer::Forbidden(text("forbidden"))
    } else {
        Answer::Misread(text("misread"))
    }
}

/// The classes that every cluster has.
fn priority_class(name: &str) -> Option<Arc<Value>> {
    let value = match name {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => return None,
    };
    Some(Arc::new(
        json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority"}),
    ))
}

fn told(causes: Vec<Cause>) -> Result<(), Answer> {
    let told: Vec<[String; 3]> =
        causes.into_iter().map(|cause| [cause.reason.to_owned(), cause.field, cause.message]).collect();
    if told.is_empty() { Ok(()) } else { Err(Answer::Causes(told)) }
}

/// Takes a request through all steps.
fn answer(case: &Value) -> Result<Value, Answer> {
    let of = (case["of"][0].as_str().expect("a group"), case["of"][1].as_str().expect("a kind"));
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let mut object = case["object"].clone();
    let old = case.get("old");
    let part = case["part"].as_str();
    decode(of, &mut object).map_err(|misread| Answer::Misread(misread.to_string()))?;
    set_defaults(of, &mut object);
    let context =
        Context { priority_class: &priority_class, default_priority_class: &|| None, node: &|_| None };
    if part.is_none() {
        admit(of, &mut object, old, &context)
            .map_err(|forbidden| Answer::Forbidden(forbidden.to_string()))?;
    }
    if of == ("", "Service") && part.is_none() {
        let taken = Taken { address: &|_| false, node_port: &|_| false };
        allocate(&mut object, old, &taken).or_else(told)?;
    }
    match (old, part) {
        (None, _) => {
            prepare_create(of, &mut object, now);
            told(validate_create(of, &object))?;
        }
        (Some(old), None) => {
            prepare_update(of, &mut object, old);
            told(validate_update(of, &object, old))?;
            // What is stored says more than what is answered.
            if of == ("", "Service")
                && is_read_otherwise(&object)
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("internalTrafficPolicy");
            }
        }
        (Some(old), Some("finalize")) => {
            prepare_finalize(&mut object, old);
            told(validate_finalize(&object, old))?;
        }
        (Some(old), Some(_)) => {
            prepare_status_update(of, &mut object, old);
            told(validate_status_update(of, &object, old))?;
        }
    }
    // What is stored is not always what is read.
    if of == ("", "Service")
        && is_read_otherwise(&object)
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("internalTrafficPolicy");
    }
    Ok(object)
}

/// Whether two answers are the same, where a real API server tells causes in any order.
fn same(case: &Value, one: &Answer, other: &Answer) -> bool {
    match (one, other) {
        (Answer::Causes(one), Answer::Causes(other)) if case["any_order"] == true => {
            let (mut one, mut other) = (one.clone(), other.clone());
            one.sort();
            other.sort();
            one == other
        }
        _ => one == other,
    }
}

fn compare(file: &str) {
    let cases = read(file);
    assert!(cases.len() > 10, "{file} is nearly empty");
    let mut different = Vec::new();
    for case in &cases {
        let (real, ours) = (expected(case), answer(case).map_or_else(|answer| answer, Answer::Gives));
        if !same(case, &real, &ours) {
            different.push(format!("{} {}\n  real: {real:?}\n  ours: {ours:?}", case["of"], case["name"]));
        }
    }
    let number = different.len();
    assert!(different.is_empty(), "{number} of {} differ:\n{}", cases.len(), different.join("\n"));
}

#[test]
fn pods() {
    compare("pods");
}

#[test]
fn workloads() {
    compare("workloads");
}

#[test]
fn services() {
    compare("services");
}

#[test]
fn others() {
    compare("others");
}

#[test]
fn updates() {
    compare("updates");
}

#[test]
fn corners() {
    compare("corners");
}
