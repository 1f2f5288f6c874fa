//! What can be wrong with rules.

use serde_json::Value;

use super::{dump, list, text, there};
use crate::refusal::Cause;
use crate::schema::words::{self, Path};
use crate::schema::{Rule, RuleProblem, Schema};

/// Rules, before they are read.
pub(super) fn as_written(at: &Path, schema: &Value) -> Vec<Cause> {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let broken = |text: &str| text.contains(['\n', '\r']);
    let mut causes = Vec::new();
    let known = Schema::read_without_rules(schema);
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let at = at.child("x-kubernetes-validations").index(index);
        let (written, message) = (text(rule, "rule").trim(), text(rule, "message"));
        let shown = || Value::from(message);
        if written.is_empty() {
            causes.push(words::required(&at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            causes.push(words::invalid(&at.child("message"), &shown(), "must be non-empty if specified"));
        } else if broken(message.trim()) {
            causes.push(words::invalid(&at.child("message"), &shown(), "must not contain line breaks"));
        } else if broken(written) && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            causes.push(words::required(&at.child("message"), why));
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            causes.push(words::required(&at.child("messageExpression"), why));
        }
        if let Some(reason) = there(rule, "reason").filter(|reason| !REASONS.iter().any(|one| reason == one))
        {
            let reasons: Vec<String> = REASONS.iter().map(|one| (*one).to_owned()).collect();
            causes.push(words::not_supported(&at.child("reason"), reason, &reasons));
        }
        causes.extend(blamed(&at.child("fieldPath"), text(rule, "fieldPath"), &known));
    }
    causes
}

fn blamed(at: &Path, path: &str, schema: &Schema) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut wrong = |why: &str| causes.push(words::invalid(at, &path.into(), why));
    if !path.is_empty() && path.trim().is_empty() {
        wrong("must be non-empty if specified");
    }
    if path.contains(['\n', '\r']) {
        wrong("must not contain line breaks");
    }
    if !path.is_empty() && schema.field_path(path, true).is_err() {
        wrong("must be a valid path");
    }
    causes
}

/// Rules, read. `unknown_again` is the outermost part around them whose elements are not known again.
pub(super) fn read(at: &Path, written: &Value, root: bool, unknown_again: Option<&Path>) -> Vec<Cause> {
    let rules = list(written, "x-kubernetes-validations");
    if rules.is_empty() {
        return Vec::new();
    }
    let mut schema = Schema::read_without_rules(written);
    let problems = schema.compile_own_rules(root);
    let mut causes = Vec::new();
    for (index, (rule, problems)) in rules.iter().zip(problems).enumerate() {
        let at = at.child("x-kubernetes-validations").index(index);
        for problem in problems {
            let (key, why) = match &problem {
                RuleProblem::Rule(why) => ("rule", why),
                RuleProblem::Message(why) => ("messageExpression", why),
            };
            let message = format!("Invalid value: {}: {why}", dump::rule(rule));
            causes.push(Cause { reason: "FieldValueInvalid", message, field: at.child(key).to_string() });
        }
        let uses_old = schema.rules.get(index).is_some_and(Rule::uses_old);
        if let (true, Some(around)) = (uses_old, unknown_again) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {around}");
            causes.push(words::invalid(&at.child("rule"), &rule["rule"], &why));
        } else if let (false, Some(optional)) = (uses_old, there(rule, "optionalOldSelf")) {
            let why = "may not be set if oldSelf is not used in rule";
            causes.push(words::invalid(&at.child("optionalOldSelf"), optional, why));
        }
    }
    causes
}
