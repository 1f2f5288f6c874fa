//! What is wrong with a manifest, and where: one line a person can act on.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong, or that deserves a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The field: `spec.roles[1].updateStrategy.partition`. Empty when the file as a whole is meant.
    pub path: String,
    /// What was found there, as the user wrote it; nothing for a field that is missing or has many lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What would be accepted.
    pub message: String,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Problem {
    /// A problem of the file rather than of a field.
    pub(crate) fn of_file(message: impl Into<String>, line: Option<usize>) -> Self {
        Self { path: String::new(), value: None, message: message.into(), line }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if let Some(value) = &self.value {
            write!(f, "{value}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
