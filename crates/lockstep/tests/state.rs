//! `lockstep plan --snapshot`: the answers for situations whose right answer is known.

#![allow(clippy::unwrap_used)]

mod common;

use common::{expect, lockstep, with_stdin};
use serde_json::{Value, json};

fn plan(manifest: &str, state: &str) -> Value {
    let ran = lockstep(&["plan", "-f", manifest, "--snapshot", state, "-o", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    serde_json::from_str(&ran.out).unwrap()
}

/// Actions as `delete decode-16`.
fn actions(plan: &Value) -> Vec<String> {
    let actions = plan["actions"].as_array().unwrap().iter();
    let said = |a: &Value| {
        format!("{} {}-{}", a["action"].as_str().unwrap(), a["role"].as_str().unwrap(), a["instance"])
    };
    actions.map(said).collect()
}

fn blocked(plan: &Value) -> Vec<String> {
    let all = plan["blocked"].as_array().unwrap().iter();
    all.map(|b| format!("{} {}", b["what"].as_str().unwrap(), b["reason"].as_str().unwrap())).collect()
}

#[test]
fn skew_holds_prefill_and_lets_decode_go_on() {
    let plan = plan("skew-40-20-v2.yaml", "state/skew-held.yaml");
    assert_eq!(actions(&plan), ["delete decode-16", "delete decode-15"]);
    assert_eq!(blocked(&plan), ["deepseek-0/prefill-29 SkewHeld", "deepseek-0/decode-14 BudgetExhausted"]);
}

#[test]
fn an_updated_instance_returns_updated_though_its_step_reopened() {
    let plan = plan("prefill-decode-v2.yaml", "state/step-reopened.yaml");
    assert_eq!(actions(&plan), ["create prefill-2"]);
    assert_eq!(plan["actions"][0]["revision"], plan["status"]["roles"][1]["revision"]["update"]);
    assert!(blocked(&plan).contains(&"llama-1/decode-0 StepNotReady".to_owned()));
}

#[test]
fn a_bad_image_stays_where_it_is() {
    let plan = plan("web.yaml", "state/bad-image.yaml");
    assert_eq!(plan["actions"], json!([]));
    assert_eq!(plan["status"]["phase"], "Stalled");
    assert_eq!(blocked(&plan), ["shop-0/web-2 NotReadyYet"]);
}

#[test]
fn the_fix_of_a_bad_image_costs_nothing() {
    let plan = plan("web.yaml", "state/bad-image-fixed.yaml");
    assert_eq!(actions(&plan), ["delete web-3"]);
    assert_eq!(plan["actions"][0]["paid"], false);
}

#[test]
fn the_tables() {
    for (manifest, state) in [
        ("skew-40-20-v2.yaml", "skew-held"),
        ("prefill-decode-v2.yaml", "step-reopened"),
        ("web.yaml", "bad-image"),
        ("web.yaml", "bad-image-fixed"),
    ] {
        let ran = lockstep(&["plan", "-f", manifest, "--snapshot", &format!("state/{state}.yaml")]);
        expect(&format!("now-{state}.txt"), &ran.out);
    }
}

#[test]
fn the_full_form_is_read_too() {
    let state = "
now: 2026-01-31T12:00:00Z
stable: {web: a1}
groups:
- group: 0
  roles:
  - role: web
    instances:
    - {instance: 0, pods: [{member: web, uid: u0, revision: stable, bound: 1h, ready: 2026-01-31T11:00:00Z}]}
    - {instance: 1, pods: [{member: web, uid: u1, revision: a1, bound: 1769857200000, ready: 1769857200000}]}
    units:
    - {instances: 2-3, revision: target}
";
    let ran = with_stdin(&["plan", "-f", "web.yaml", "--snapshot", "-", "-o", "json"], state);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let plan: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(actions(&plan), ["delete web-1"]);
    assert_eq!(plan["actions"][0]["uids"], json!(["u1"]));
    assert_eq!(plan["memory"]["roles"]["web"]["stable"], "a1");
}

#[test]
fn every_error_of_a_state_is_named() {
    let state = "
now: yesterday
stable: {wbe: a1}
groups:
- {roles: []}
- group: 1
  roles:
  - {role: wbe, units: [{instance: 0}]}
  - role: web
    units:
    - {instances: 3-1}
    - {revision: old}
    - {instance: 1, ready: maybe}
    - {instance: 2, ready: false, available: true}
    - {instance: 3, since: whenever}
    - {instance: 4, revision: far too long a name}
    - {instance: 5, colour: blue}
    - {instance: 6}
    - {instance: 6}
    instances:
    - {instance: 7, pods: [{uid: x}, {uid: z, revision: a1, ready: no}]}
memory: {best: 5, since: [], roles: {web: {stabel: x}}}
";
    let ran = with_stdin(&["plan", "-f", "web.yaml", "--snapshot", "-"], state);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    expect("wrong-state.txt", &ran.err);
}
