//! What cannot be changed once it is set.

use lockstep_api::Problem;
use serde_json::Value;

use crate::Findings;

const POLICY: &str = "spec.template.gangPolicy";

/// A gang keeps the minimum it was made with.
pub(super) fn forbidden(old: &Value, new: &Value) -> Vec<Problem> {
    let policy = |object: &Value| object.pointer("/spec/template/gangPolicy").cloned().unwrap_or_default();
    let (before, after) = (policy(old), policy(new));
    let least = |policy: &Value| policy["minRoleReplicas"].clone();
    let mut found = Findings::new(new);
    if !before.is_null() && after.is_null() {
        found.error(POLICY, "cannot be removed once it is set");
    } else if !least(&before).is_null() && least(&before) != least(&after) {
        found.error(format!("{POLICY}.minRoleReplicas"), "cannot be changed once it is set");
    }
    found.close().err().unwrap_or_default()
}
