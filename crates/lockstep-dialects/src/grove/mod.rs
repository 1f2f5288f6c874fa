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
use crate::shape;
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
        shape::all_at_once(&read::SCHEMA, object, |object| made(object, world))
    }

    fn warnings(&self, object: &Value, world: &World) -> Vec<Problem> {
        match self.lower(object, world) {
            Ok(lowered) => lowered.warnings,
            Err(_) => shape::rest(&read::SCHEMA, object).map(|rest| said(&rest, world)).unwrap_or_default(),
        }
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

/// Whatever is wrong with a form, or deserves a word.
fn judge(form: &Form<'_>, world: &World, found: &mut Findings<'_>) {
    check::check(form, found);
    placement::check(form, world, found);
    claims::check(form, world, found);
    queues::check(form, found);
}

/// What deserves a word in an object that is refused.
fn said(object: &Value, world: &World) -> Vec<Problem> {
    let Ok(spec) = read::spec(object) else { return Vec::new() };
    let mut found = Findings::new(object);
    let form = Form::of(object, &spec, &mut found);
    judge(&form, world, &mut found);
    found.warnings()
}

/// What becomes of an object that fits its schema.
fn made(object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
    let spec = read::spec(object)?;
    let mut found = Findings::new(object);
    let form = Form::of(object, &spec, &mut found);
    judge(&form, world, &mut found);
    let (set, places) = lower::set(&form, world, &mut found);
    let lowered = Lowered::close(&set, Vec::new(), places, found)?;
    Ok(Lowered { beside: children::beside(&form, world), ..lowered })
}
