//! Manifests, and the dialect that reads them.

use lockstep_api::Problem;
use lockstep_dialects::{Dialect, Lowered, Served, World};
use serde_json::Value;

pub const MINIMAL: &str = include_str!("../manifests/kthena/minimal.yaml");
pub const ORDERED: &str = include_str!("../manifests/kthena/ordered.yaml");
pub const SEVERAL_NODES: &str = include_str!("../manifests/kthena/several-nodes.yaml");
pub const EVERYTHING: &str = include_str!("../manifests/kthena/everything.yaml");
pub const REALISTIC: &str = include_str!("../manifests/kthena/realistic.yaml");

pub fn dialect() -> &'static dyn Dialect {
    lockstep_dialects::ALL.into_iter().find(|it| it.name() == "kthena").expect("it is one of them")
}

pub fn object(yaml: &str) -> Value {
    lockstep_api::yaml_to_json(yaml).expect("it is YAML")
}

/// A cluster with Volcano.
pub fn with_volcano() -> World {
    World { served: Served { volcano: true, ..Served::default() }, ..World::default() }
}

pub fn lower(yaml: &str, world: &World) -> Result<Lowered, Vec<Problem>> {
    dialect().lower(&object(yaml), world)
}

#[track_caller]
pub fn lowered(yaml: &str, world: &World) -> Lowered {
    lower(yaml, world).unwrap_or_else(|problems| panic!("{}", lines(&problems)))
}

pub fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
