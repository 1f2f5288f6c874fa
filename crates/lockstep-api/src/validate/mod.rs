//! Whether what was read makes sense. Every check reports all it finds; none stops another.

mod identity;
mod names;
mod numbers;
mod roles;
mod rules;
mod start_order;
mod template;

use crate::findings::Findings;
use crate::lockstep_set::LockstepSet;
use crate::path::Path;
use crate::words::nearest;

pub(crate) use names::{is_label_value, is_qualified};
pub(crate) use start_order::nodes;

/// Checks a set that was read, as far as it was.
pub(crate) fn check(set: &LockstepSet, found: &mut Findings) {
    names::check(set, found);
    roles::check(set, found);
    numbers::check(set, found);
    rules::check(set, found);
    start_order::check(set, found);
    identity::check(set, found);
}

fn spec() -> Path {
    Path::root().field("spec")
}

fn role_path(i: usize) -> Path {
    spec().field("roles").index(i)
}

fn rule_path(i: usize) -> Path {
    spec().field("coordination").index(i)
}

/// The position of a role; an error at `path` if there is none of that name.
fn known_role(set: &LockstepSet, name: &str, path: &Path, found: &mut Findings) -> Option<usize> {
    let position = set.spec.roles.iter().position(|role| role.name == name);
    // A role whose own name could not be read may be the one that is meant.
    if position.is_none() && !name.is_empty() && set.spec.roles.iter().all(|role| !role.name.is_empty()) {
        let names: Vec<&str> = set.spec.roles.iter().map(|role| role.name.as_str()).collect();
        let message = match nearest(name, &names) {
            Some(meant) => format!("no such role; did you mean {meant}?"),
            None if names.len() > 10 => "no such role".to_owned(),
            None => format!("no such role; the roles are {}", names.join(", ")),
        };
        found.error(path, message);
    }
    position
}
