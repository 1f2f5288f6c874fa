//! What is wrong with an input, and where.

use std::fmt;

use lockstep_api::Problem;
use serde::Serialize;

/// One thing that is wrong with a file, or worth a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// The file, as it was named on the command line.
    pub file: String,
    /// Whether it is refused.
    pub severity: Severity,
    /// What and where.
    #[serde(flatten)]
    pub problem: Problem,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Refused.
    Error,
    /// Accepted, but probably not meant.
    Warning,
}

impl Complaint {
    /// An error.
    pub fn error(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), severity: Severity::Error, problem }
    }

    /// A warning.
    pub fn warning(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), severity: Severity::Warning, problem }
    }

    /// An error of the file as a whole.
    pub fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self::error(file, Problem { path: String::new(), value: None, message: message.into(), line: None })
    }

    /// A warning about the file as a whole.
    pub fn warning_of_file(file: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::of_file(file, message) }
    }

    /// `file:line`, or the file alone.
    pub fn place(&self) -> String {
        match self.problem.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}: {word}: {}", self.place(), self.problem)
    }
}

/// An input that cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct BadInput(pub Vec<Complaint>);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, complaint) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{complaint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BadInput {}
