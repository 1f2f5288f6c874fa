//! A row: what is done, one deed after the other, and what has to be so in the end.

use lockstep_core::simulate::trace::{End, Event};
use serde_json::Value;

use crate::story::Story;

/// An example of a proposal.
pub struct Row {
    /// What it is called.
    pub name: &'static str,
    /// What is done.
    pub deeds: Vec<Deed>,
    /// What has to be so besides the promises.
    pub check: fn(&Story),
    /// It takes long: on the embedded cluster only, where nobody waits.
    pub long: bool,
}

/// Something that is done to an object.
pub enum Deed {
    /// A manifest is applied, and comes to this end.
    Apply(Value, End),
    /// A manifest is applied, and it is not waited for more than that the operator has seen it.
    Begin(Value),
    /// A manifest is refused at admission, in words that contain these.
    Refused(Value, &'static [&'static str]),
    /// The status of the object becomes so.
    Until(&'static str, fn(&Value) -> bool),
    /// This has happened to its pods. What the status says is written while it happens.
    Happened(&'static str, fn(&[Event]) -> bool),
    /// Somebody deletes all pods whose names begin so, and waits until they are back.
    Delete(&'static str),
    /// The same, without waiting.
    Remove(&'static str),
}

impl Row {
    /// One manifest, and then another.
    pub fn rollout(name: &'static str, from: Value, to: Value, check: fn(&Story)) -> Self {
        Self::new(name, vec![Deed::Apply(from, End::Complete), Deed::Apply(to, End::Complete)], check)
    }

    /// These deeds.
    pub fn new(name: &'static str, deeds: Vec<Deed>, check: fn(&Story)) -> Self {
        Self { name, deeds, check, long: false }
    }

    /// The same, where nobody waits.
    pub fn long(mut self) -> Self {
        self.long = true;
        self
    }
}
