//! Everything that is wrong with a budget, or probably not meant.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use lockstep_core::budget::BudgetSpec;
use lockstep_core::number::IntOrPercent;
use serde_json::Value;

use super::{PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS, PodUnavailableBudget, PodUnavailableBudgetSpec};
use crate::decode;
use crate::document::Document;
use crate::findings::Findings;
use crate::path::Path;
use crate::problem::Problem;
use crate::validate::{is_label_value, is_qualified};
use crate::words::{join_or, nearest};
use crate::yaml::Node;

/// Kruise's words for what is protected against. To resize a pod in place takes nothing away, so nothing is asked.
const WORDS: [&str; 4] = ["DELETE", "EVICT", "UPDATE", "RESIZE"];

/// A budget that was read and checked, and what deserves a word nevertheless.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The budget, as its user wrote it; without status.
    pub budget: PodUnavailableBudget,
    /// What is accepted but probably not meant.
    pub warnings: Vec<Problem>,
}

/// Checks a budget, and says everything that is wrong with it.
pub fn check(value: &Value) -> Result<Checked, Vec<Problem>> {
    check_node(&Node::from(value))
}

/// Checks a budget in a file, and says on which line what is wrong.
pub fn check_document(document: &Document) -> Result<Checked, Vec<Problem>> {
    check_node(document.node())
}

fn check_node(node: &Node) -> Result<Checked, Vec<Problem>> {
    let mut found = Findings::new(node);
    let budget = decode::budget(node, &mut found);
    if let Some(budget) = &budget {
        pods(&budget.spec, &mut found);
        limits(budget, &mut found);
        policy(&budget.spec, &mut found);
        operations(budget, &mut found);
        total(budget, &mut found);
    }
    let warnings = found.close()?;
    match budget {
        Some(budget) => Ok(Checked { budget, warnings }),
        None => Err(vec![Problem::of_file("no PodUnavailableBudget could be read", None)]),
    }
}

fn spec() -> Path {
    Path::root().field("spec")
}

fn annotation(key: &str) -> Path {
    Path::root().field("metadata").field("annotations").key(key)
}

/// Which pods: said exactly once.
fn pods(budget: &PodUnavailableBudgetSpec, found: &mut Findings) {
    let names = ["selector", "targetRef", "targetReference"];
    let given: Vec<&str> = names.into_iter().filter(|name| found.given(&spec().field(name))).collect();
    match given.as_slice() {
        [] => {
            found.error(&spec(), "needs one of selector, targetRef and targetReference: which pods it covers")
        }
        [first, more @ ..] => {
            for name in more {
                let message =
                    format!("{first} says already which pods are covered; only one of them is accepted");
                found.error(&spec().field(name), message);
            }
        }
    }
    let path = spec().field("selector");
    if let Some(selector) = budget.selector.as_ref().filter(|_| found.sound(&path)) {
        self::selector(selector, &path, found);
    }
    for (name, target) in [("targetRef", &budget.target_ref), ("targetReference", &budget.target_reference)] {
        let Some(target) = target else { continue };
        let fields = [("apiVersion", &target.api_version), ("kind", &target.kind), ("name", &target.name)];
        for (field, text) in fields {
            let path = spec().field(name).field(field);
            if text.is_empty() && found.sound(&path) {
                found.error(&path, "must not be empty");
            }
        }
        let path = spec().field(name).field("apiVersion");
        if target.api_version.matches('/').count() > 1 && found.sound(&path) {
            found.error(
                &path,
                format!("{:?} is no API version: GROUP/VERSION or VERSION is accepted", target.api_version),
            );
        }
    }
}

fn selector(selector: &LabelSelector, path: &Path, found: &mut Findings) {
    for (name, value) in selector.match_labels.iter().flatten() {
        let path = path.field("matchLabels").key(name);
        key(name, &path, found);
        self::value(value, &path, found);
    }
    let expressions = selector.match_expressions.as_deref().unwrap_or_default();
    for (i, it) in expressions.iter().enumerate() {
        let path = path.field("matchExpressions").index(i);
        key(&it.key, &path.field("key"), found);
        let values = it.values.as_deref().unwrap_or_default();
        match (it.operator.as_str(), values.is_empty()) {
            ("In" | "NotIn", true) => {
                found.error(
                    &path.field("values"),
                    format!("required with {}: one value or more", it.operator),
                );
            }
            ("Exists" | "DoesNotExist", false) => {
                found.error(&path.field("values"), format!("{} takes no values", it.operator));
            }
            _ => {}
        }
        for (j, text) in values.iter().enumerate() {
            value(text, &path.field("values").index(j), found);
        }
    }
    if selector.match_labels.as_ref().is_none_or(|labels| labels.is_empty()) && expressions.is_empty() {
        found.warn(path, "selects every pod of the namespace");
    }
}

fn key(name: &str, path: &Path, found: &mut Findings) {
    if found.sound(path) && !is_qualified(name) {
        found.error(path, "must be a label's key, such as app or example.com/app");
    }
}

fn value(text: &str, path: &Path, found: &mut Findings) {
    if found.sound(path) && !is_label_value(text) {
        let form = "must be a label's value: up to 63 letters, digits, '-', '_' and '.', starting and ending with a \
                    letter or digit";
        found.error(path, form);
    }
}

/// How many: said at least once, and so that something could go.
fn limits(budget: &PodUnavailableBudget, found: &mut Findings) {
    let [most, least] = ["maxUnavailable", "minAvailable"].map(|name| spec().field(name));
    if !found.given(&most) && !found.given(&least) {
        found.error(&spec(), "needs maxUnavailable, minAvailable or both: how many may be gone");
    }
    if !found.sound(&most) || !found.sound(&least) {
        return;
    }
    let never = "nothing may ever go: a drain would wait for ever";
    let PodUnavailableBudgetSpec { max_unavailable, min_available, .. } = &budget.spec;
    let holds = matches!(max_unavailable, Some(IntOrPercent::Int(0) | IntOrPercent::Percent(0)));
    if holds {
        found.warn(&most, format!("{never}; use 1 or more"));
    }
    if matches!(min_available, Some(IntOrPercent::Percent(100))) {
        found.warn(&least, format!("{never}; use less than 100%, or maxUnavailable"));
    }
    if max_unavailable == &Some(IntOrPercent::Percent(100)) && min_available.is_none() {
        found.warn(&most, "everything may go at once: nothing is protected");
    }
    let Some(BudgetSpec { protect_total_replicas: Some(total), .. }) =
        budget.lower().ok().map(|budget| budget.spec)
    else {
        return;
    };
    if let Some(IntOrPercent::Int(least_of_all)) = min_available
        && *least_of_all >= total
        && total > 0
    {
        let message = format!("{never}, as {PROTECT_TOTAL_REPLICAS} says that there are {total}");
        found.warn(&least, message);
    }
}

fn policy(budget: &PodUnavailableBudgetSpec, found: &mut Findings) {
    if let Some(policy) = &budget.pod_group_policy {
        key(&policy.group_label_key, &spec().field("podGroupPolicy").field("groupLabelKey"), found);
    }
}

/// What is protected against, in the spec or in Kruise's annotation.
fn operations(budget: &PodUnavailableBudget, found: &mut Findings) {
    let listed = spec().field("protectOperations");
    if budget.spec.protect_operations.as_ref().is_some_and(Vec::is_empty) && found.sound(&listed) {
        found.warn(&listed, "names nothing; DELETE and EVICT are protected");
    }
    let Some(text) = budget.annotation(PROTECT_OPERATIONS) else { return };
    let path = annotation(PROTECT_OPERATIONS);
    if budget.spec.protect_operations.is_some() {
        found.warn(&path, "spec.protectOperations is given too, and counts");
        return;
    }
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    for word in words.iter().filter(|word| !WORDS.contains(word)) {
        let meant = nearest(word, &WORDS).map(|meant| format!("; did you mean {meant}?"));
        let accepted = || format!("; accepted are {}", join_or(&WORDS));
        found.warn(&path, format!("{word:?} protects against nothing{}", meant.unwrap_or_else(accepted)));
    }
    if words.contains(&"RESIZE") {
        found.warn(&path, "RESIZE has no effect: a pod that is resized in place stays");
    }
    if !words.iter().any(|word| WORDS[..3].contains(word)) {
        found.warn(&path, "nothing that can be protected against is named; DELETE and EVICT are protected");
    }
}

fn total(budget: &PodUnavailableBudget, found: &mut Findings) {
    let Some(text) = budget.annotation(PROTECT_TOTAL_REPLICAS) else { return };
    if text.trim().parse::<u32>().is_err() {
        let path = annotation(PROTECT_TOTAL_REPLICAS);
        found.warn(&path, "not a whole number, and passed over; what the owners say is expected");
    }
}
