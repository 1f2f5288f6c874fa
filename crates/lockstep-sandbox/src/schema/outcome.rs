//! What came of a check.

use super::words::Path;
use crate::refusal::Cause;

/// What is wrong, and how much was right: of several schemas that do not fit, the one that fits best is spoken of.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) wrong: Vec<Wrong>,
    pub(super) right: u32,
}

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) cause: Cause,
    /// What it says, by which it is known again.
    said: String,
}

impl Outcome {
    pub(super) fn is_fine(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Adds something, unless it was said already.
    pub(super) fn add(&mut self, said: String, cause: Cause) {
        if !self.wrong.iter().any(|wrong| wrong.said == said) {
            self.wrong.push(Wrong { cause, said });
        }
    }

    /// Adds something that is about no field.
    pub(super) fn add_general(&mut self, said: String) {
        let cause = super::words::invalid(&Path::default(), &"".into(), &said);
        self.add(said, cause);
    }

    pub(super) fn count(&mut self) {
        self.right = self.right.saturating_add(1);
    }

    pub(super) fn merge(&mut self, other: Self) {
        for wrong in other.wrong {
            self.add(wrong.said, wrong.cause);
        }
        self.right = self.right.saturating_add(other.right);
    }
}
