//! PodCliqueSets.

use lockstep_api::Problem;
use serde_json::Value;

use crate::{Dialect, Kind, Lowered, Raised, Seen, World};

/// PodCliqueSets.
#[derive(Debug)]
pub struct Grove;

impl Dialect for Grove {
    fn name(&self) -> &'static str {
        "grove"
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
