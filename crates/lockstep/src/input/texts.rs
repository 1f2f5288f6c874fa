//! The files of a plan, read once: whether they are about a set or about a workload that is spread over clusters is
//! seen by what they hold.

use std::path::{Path, PathBuf};

use lockstep_api::Document;
use lockstep_federation::interpret;
use serde_json::Value;

use super::complaint::{BadInput, Complaint};
use super::manifest::read_text;

/// A file, by its name on the command line.
#[derive(Debug, Clone)]
pub struct Text {
    /// Its name.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// A file, or why it cannot be read.
pub type Reading = Result<Text, BadInput>;

/// The files of `-f` and of `--to`.
#[derive(Debug)]
pub struct Texts {
    /// Those of `-f`.
    pub from: Vec<Reading>,
    /// That of `--to`.
    pub to: Reading,
}

impl Texts {
    /// Reads them.
    pub fn read(from: &[PathBuf], to: &Path) -> Self {
        let read = |path: &Path| read_text(path).map(|(file, text)| Text { file, text });
        Self { from: from.iter().map(|path| read(path)).collect(), to: read(to) }
    }

    /// Whether they are about something that is spread over clusters.
    pub fn are_spread(&self) -> bool {
        let texts = self.from.iter().chain([&self.to]).flatten();
        let objects = texts.flat_map(|it| Document::all(&it.text).unwrap_or_default());
        objects.into_iter().any(|it| is_spread(&it.to_json()))
    }

    /// The one file of `-f` that a set may have, and that of `--to`.
    pub fn of_a_set(self) -> Result<(Option<Reading>, Reading), BadInput> {
        let Self { mut from, to } = self;
        if from.len() > 1 {
            let message =
                "is given twice; one manifest of a set stands before the change, and one (--to) after it";
            return Err(BadInput(vec![Complaint::of_file("-f", message)]));
        }
        Ok((from.pop(), to))
    }
}

/// What only concerns rollouts over clusters.
fn is_spread(object: &Value) -> bool {
    let workload = interpret::of(object).is_some_and(|kind| kind.kind != lockstep_api::KIND);
    workload || object["kind"] == "ResourceBinding" || object["kind"] == "FederationPolicy"
}
