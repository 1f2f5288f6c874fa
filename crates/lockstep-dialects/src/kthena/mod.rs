//! ModelServings.

use lockstep_api::Problem;
use serde_json::Value;

use crate::{Dialect, Kind, Lowered, Raised, Seen, World};

/// ModelServings.
#[derive(Debug)]
pub struct Kthena;

impl Dialect for Kthena {
    fn name(&self) -> &'static str {
        "kthena"
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
