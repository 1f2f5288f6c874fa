//! A set that was checked. It can only be had by parsing.

use std::ops::Deref;

use crate::lockstep_set::LockstepSet;

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
