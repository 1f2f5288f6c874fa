//! What is said of an object of a dialect.

use lockstep_api::status::LockstepSetStatus;
use serde_json::{Value, json};

/// Its set, as it is seen now.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What was made of the object, or what is wrong with it.
    pub lowered: Result<&'a crate::Lowered, &'a [lockstep_api::Problem]>,
    /// The set's status; the default one if there is no set yet.
    pub status: &'a LockstepSetStatus,
    /// The generation of the set, and whether its status speaks of it.
    pub current: bool,
    /// Now, as RFC 3339 in whole seconds.
    pub now: &'a str,
}

/// What is said of an object, and of those beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Raised {
    /// The object's status, whole.
    pub status: Value,
    /// Status of objects that were made beside it: kind, name and `status` as they are to be.
    pub beside: Vec<Value>,
}

/// A condition, with the time of its last change kept if `before` (a status) has it the same already.
pub fn condition(
    before: &Value,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    seen: (&str, i64),
) -> Value {
    let (now, generation) = seen;
    let status = if holds { "True" } else { "False" };
    let old = before["conditions"].as_array().into_iter().flatten().find(|old| old["type"] == kind);
    let since =
        old.filter(|old| old["status"] == status).map_or(json!(now), |old| old["lastTransitionTime"].clone());
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        "observedGeneration": generation,
    })
}
