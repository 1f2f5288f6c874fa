//! RoleBasedGroups.

use lockstep_api::Problem;
use serde_json::Value;

use crate::{Dialect, Kind, Lowered, Raised, Seen, World};

/// RoleBasedGroups.
#[derive(Debug)]
pub struct Rbg;

impl Dialect for Rbg {
    fn name(&self) -> &'static str {
        "rbg"
    }

    fn definitions(&self) -> Vec<Value> {
        Vec::new()
    }

    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    fn lower(&self, _object: &Value, _world: &World) -> Result<Lowered, Vec<Problem>> {
        Err(Vec::new())
    }

    fn raise(&self, _object: &Value, _seen: &Seen<'_>, _world: &World) -> Raised {
        Raised::default()
    }
}
