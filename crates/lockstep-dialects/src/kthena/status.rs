//! What is said of a ModelServing.

use serde_json::Value;

use crate::{Raised, Seen, World};

pub(super) fn raise(_object: &Value, _seen: &Seen<'_>, _world: &World) -> Raised {
    Raised::default()
}
