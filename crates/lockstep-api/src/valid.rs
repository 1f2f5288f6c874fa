//! A set that was checked. It can only be had by parsing.

use std::ops::Deref;

use crate::lockstep_set::{LockstepSet, Role};
use crate::validate;

/// A set without errors: beyond this point nobody needs to doubt it.
#[derive(Debug, Clone, PartialEq)]
pub struct Valid(LockstepSet);

impl Valid {
    /// Only after every check.
    pub(crate) fn new(set: LockstepSet) -> Self {
        Self(set)
    }

    /// The set itself, to be changed; it must be checked again afterwards.
    pub fn into_inner(self) -> LockstepSet {
        self.0
    }
}

impl Deref for Valid {
    type Target = LockstepSet;

    fn deref(&self) -> &LockstepSet {
        &self.0
    }
}

/// The roles a role waits for at the start: those it names, but for those it shares a coordination with.
pub(crate) fn waits_for<'a>(set: &'a LockstepSet, role: &'a Role) -> impl Iterator<Item = &'a str> {
    let nodes = validate::nodes(set);
    let node = move |name: &str| {
        let position = set.spec.roles.iter().position(|role| role.name == name)?;
        nodes.get(position).copied()
    };
    let own = node(&role.name);
    role.starts_after.iter().map(String::as_str).filter(move |name| node(name) != own)
}
