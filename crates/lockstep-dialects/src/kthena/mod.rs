//! ModelServings.

mod change;
mod dependencies;
mod gang;
mod identity;
mod kinds;
mod lower;
mod rollout;
mod rollout_spec;
mod spec;
mod status;
mod template;
mod unused;

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

    fn original(&self) -> &'static crate::Original {
        &crate::original::KTHENA
    }

    fn definitions(&self) -> Vec<Value> {
        kinds::definitions()
    }

    fn kinds(&self) -> &'static [Kind] {
        &kinds::ALL
    }

    fn lower(&self, object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
        crate::shape::all_at_once(&kinds::SCHEMA, object, |object| lower::lower(object, world))
    }

    fn raise(&self, object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
        status::raise(object, seen, world)
    }

    fn forbidden_changes(&self, old: &Value, new: &Value) -> Vec<Problem> {
        change::forbidden(old, new)
    }
}
