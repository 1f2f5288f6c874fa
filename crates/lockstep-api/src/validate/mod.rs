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
    let names: Vec<&str> = set.spec.roles.iter().map(|role| role.name.as_str()).collect();
    known("role", name, &names, path, found)
}

/// The position of a name; an error at `path` if there is none.
fn known(what: &str, name: &str, names: &[&str], path: &Path, found: &mut Findings) -> Option<usize> {
    let position = names.iter().position(|it| *it == name);
    // One whose own name could not be read may be the one that is meant.
    if position.is_none() && !name.is_empty() && names.iter().all(|it| !it.is_empty()) {
        let message = match nearest(name, names) {
            Some(meant) => format!("no such {what}; did you mean {meant}?"),
            None if names.len() > 10 => format!("no such {what}"),
            None => format!("no such {what}; the {what}s are {}", names.join(", ")),
        };
        found.error(path, message);
    }
    position
}
