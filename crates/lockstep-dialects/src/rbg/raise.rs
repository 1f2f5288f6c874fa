//! What is said.
use serde_json::Value;

use crate::{Raised, Seen, World};

/// The status.
pub(crate) fn raise(_object: &Value, _seen: &Seen<'_>, _world: &World) -> Raised {
    Raised::default()
}

/// Of a policy.
pub fn policy_status(_policy: &Value, _bound: bool, _now: &str) -> Value {
    Value::Null
}
