//! PodUnavailableBudgets: one row for every error and warning, the proposal's own manifest, and the definition.
//!
//! The rows are in `complaints/`, in the form that `errors.rs` has.

#![allow(clippy::expect_used)]

use lockstep_api::budget::{self, check, check_document, definition};
use lockstep_api::{Document, crd, json_to_yaml, yaml_to_json};
use serde_json::{Value, json};

const SEED: &str = "
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata:
  name: llm-serving-budget
  namespace: inference
spec:
  selector:
    matchLabels:
      app: llm-serving
  maxUnavailable: 1         # interpreted as groups
  podGroupPolicy:
    groupLabelKey: leaderworkerset.sigs.k8s.io/group-index
    minReadyReplicas: 3     # 1 leader + 2 workers Ready → group serves traffic
";

fn manifest(annotations: &str, spec: &str) -> String {
    let spec = spec.replace('\n', "\n  ");
    format!(
        "apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\n\
         metadata:\n  name: llm\n  annotations:\n    {annotations}\nspec:\n  {spec}\n"
    )
}

fn complaints(text: &str) -> Vec<String> {
    match check_document(&Document::parse(text).expect("YAML")) {
        Ok(checked) => checked.warnings.iter().map(|problem| format!("? {problem}")).collect(),
        Err(problems) => problems.iter().map(|problem| format!("! {problem}")).collect(),
    }
}

#[track_caller]
fn table(rows: &str, build: impl Fn(&str) -> String) {
    let is_word = |line: &&str| line.starts_with("! ") || line.starts_with("? ");
    let mut wrong = String::new();
    for row in rows.trim_end().split("\n\n") {
        let words: Vec<&str> = row.lines().filter(is_word).collect();
        let given: Vec<&str> = row.lines().filter(|line| !is_word(line)).collect();
        let said = complaints(&build(&given.join("\n")));
        if said != words {
            wrong.push_str(&format!("{}\n{}\n\n", given.join("\n"), said.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "what is said now:\n\n{wrong}");
}

#[test]
fn specs() {
    table(include_str!("complaints/budgets.txt"), |spec| manifest("a: b", spec));
}

#[test]
fn annotations() {
    let spec = "selector: {matchLabels: {app: llm}}\nminAvailable: 2";
    table(include_str!("complaints/budget_annotations.txt"), |annotation| manifest(annotation, spec));
    let both =
        manifest("kruise.io/pub-protect-operations: DELETE", &format!("{spec}\nprotectOperations: [EVICT]"));
    assert_eq!(
        complaints(&both),
        [
            "? metadata.annotations[kruise.io/pub-protect-operations]: \"DELETE\": spec.protectOperations is given too, and counts"
        ]
    );
}

#[test]
fn whole_objects() {
    for (text, words) in [
        (
            "kind: PodUnavailableBudget\n",
            vec!["! apiVersion: required", "! metadata: required", "! spec: required"],
        ),
        (
            "apiVersion: policy.kruise.io/v1\nkind: PodDisruptionBudget\n",
            vec![
                "! apiVersion: \"policy.kruise.io/v1\": must be policy.kruise.io/v1alpha1",
                "! kind: \"PodDisruptionBudget\": must be PodUnavailableBudget",
            ],
        ),
        ("5\n", vec!["! 5: must be a map, not a number"]),
    ] {
        let mut said = complaints(text);
        said.sort();
        assert_eq!(said, words, "{text}");
    }
}

#[test]
fn the_proposal_s_manifest_passes() {
    let checked = check(&yaml_to_json(SEED).expect("YAML")).expect("a budget");
    assert_eq!(checked.warnings, []);
    let lowered = checked.budget.lower().expect("lowered");
    assert_eq!(lowered.name, "inference/llm-serving-budget");
    assert_eq!(lowered.spec.pod_group_policy.map(|policy| policy.min_ready_replicas), Some(3));
    assert_eq!(lowered.spec.desired(3), 2);
    assert_eq!(checked.budget.group_label(), Some(budget::LWS_GROUP_INDEX));
}

#[test]
fn what_was_checked_is_what_is_stored() {
    let value =
        yaml_to_json(&manifest("a: b", "targetRef: {apiVersion: v1, kind: A, name: b}\nmaxUnavailable: 30%"));
    let value = value.expect("YAML");
    let checked = check(&value).expect("a budget").budget;
    let stored: budget::PodUnavailableBudget = serde_json::from_value(value).expect("a budget");
    assert_eq!(checked.spec, stored.spec);
}

#[test]
fn the_definition_is_structural_and_described() {
    let definition = definition::definition();
    assert_eq!(definition["metadata"]["name"], definition::NAME);
    assert!(definition::is_ours(&definition));
    assert!(definition["spec"]["versions"][0]["subresources"].get("scale").is_none());
    let schema = crd::schema_of(&definition);
    fn walk(path: &str, schema: &Value) {
        for foreign in ["oneOf", "anyOf", "allOf", "$ref", "const", "title", "nullable", "default"] {
            assert!(schema.get(foreign).is_none(), "{path}: {foreign}");
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let described =
                property["description"].is_string() || path.contains(".metadata") || name == "values";
            assert!(described, "{path} has no description");
            walk(&path, property);
        }
        for below in ["items", "additionalProperties"] {
            if let Some(below) = schema.get(below) {
                walk(&format!("{path}[]"), below);
            }
        }
    }
    walk("", schema);
    let operations = schema.pointer("/properties/spec/properties/protectOperations/items");
    assert_eq!(operations.map(|it| &it["enum"]), Some(&json!(["DELETE", "EVICT", "UPDATE"])));
    assert!(json_to_yaml(&definition).len() < 20_000);
}
