//! PodCliqueSets.
//!
//! A standalone clique becomes a role of single pods, a scaling group a role whose members are its cliques.

mod changes;
mod check;
mod children;
mod claims;
mod counts;
mod duration;
mod form;
mod identity;
mod kinds;
mod lower;
mod members;
mod order;
mod placement;
mod progress;
mod queues;
mod raise;
mod read;
mod sharing;
mod spec;
mod spec_of_children;

use lockstep_api::Problem;
use serde_json::Value;

use self::form::Form;
use crate::findings::Findings;
use crate::{Dialect, Kind, Lowered, Raised, Seen, World};

/// PodCliqueSets.
#[derive(Debug)]
pub struct Grove;

impl Dialect for Grove {
    fn name(&self) -> &'static str {
        "grove"
    }

    fn original(&self) -> &'static crate::Original {
        &crate::original::GROVE
    }

    fn definitions(&self) -> Vec<Value> {
        kinds::definitions()
    }

    fn kinds(&self) -> &'static [Kind] {
        &kinds::ALL
    }

    fn lower(&self, object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
        crate::shape::all_at_once(&read::SCHEMA, object, |object| made(object, world))
    }

    fn raise(&self, object: &Value, seen: &Seen<'_>, world: &World) -> Raised {
        raise::raise(object, seen, world)
    }

    fn forbidden_changes(&self, old: &Value, new: &Value) -> Vec<Problem> {
        let (Ok(before), Ok(after)) = (read::spec(old), read::spec(new)) else { return Vec::new() };
        let mut found = Findings::new(new);
        changes::forbidden((old, &before), (new, &after), &mut found);
        found.close().err().unwrap_or_default()
    }
}

/// What becomes of an object that fits its schema.
fn made(object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
    let spec = read::spec(object)?;
    let mut found = Findings::new(object);
    let form = Form::of(object, &spec, &mut found);
    check::check(&form, &mut found);
    placement::check(&form, world, &mut found);
    claims::check(&form, world, &mut found);
    queues::check(&form, &mut found);
    let (set, places) = lower::set(&form, world, &mut found);
    let lowered = Lowered::close(&set, Vec::new(), places, found)?;
    Ok(Lowered { beside: children::beside(&form, world), ..lowered })
}
