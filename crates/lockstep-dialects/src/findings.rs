//! What is wrong with a manifest, or deserves a word, in the order it was found.

use lockstep_api::Problem;
use serde_json::Value;

use crate::places::Places;

/// Errors and warnings about one object, at places written as its user knows them: `spec.roles[1].replicas`.
#[derive(Debug, Clone)]
pub struct Findings<'a> {
    object: &'a Value,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl<'a> Findings<'a> {
    /// Nothing yet.
    pub fn new(object: &'a Value) -> Self {
        Self { object, errors: Vec::new(), warnings: Vec::new() }
    }

    /// Something that cannot be accepted; the message says what would be.
    pub fn error(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let problem = self.problem(path.into(), message.into());
        self.errors.push(problem);
    }

    /// Something that is accepted but deserves a word.
    pub fn warn(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let problem = self.problem(path.into(), message.into());
        self.warnings.push(problem);
    }

    /// Takes over what somebody else found.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = Problem>) {
        self.errors.extend(errors);
    }

    /// Takes over warnings of somebody else.
    pub fn extend_warnings(&mut self, warnings: impl IntoIterator<Item = Problem>) {
        self.warnings.extend(warnings);
    }

    /// Takes over what is wrong with the set that was made, in the terms of the manifest.
    pub(crate) fn translate_errors(&mut self, errors: &[Problem], places: &Places) {
        let errors: Vec<Problem> = errors.iter().map(|problem| self.translated(problem, places)).collect();
        self.errors.extend(errors);
    }

    /// Takes over what deserves a word about the set that was made, in the terms of the manifest.
    pub(crate) fn translate_warnings(&mut self, warnings: &[Problem], places: &Places) {
        let warnings: Vec<Problem> =
            warnings.iter().map(|problem| self.translated(problem, places)).collect();
        self.warnings.extend(warnings);
    }

    /// At the place of the manifest, with what stands there: the set may have a value of its own making.
    fn translated(&self, problem: &Problem, places: &Places) -> Problem {
        let Problem { path, message, .. } = places.translate(problem);
        self.problem(path, message)
    }

    /// Whether anything is wrong so far.
    pub fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The warnings, or everything that is wrong.
    pub fn close(self) -> Result<Vec<Problem>, Vec<Problem>> {
        if self.errors.is_empty() { Ok(self.warnings) } else { Err(self.errors) }
    }

    fn problem(&self, path: String, message: String) -> Problem {
        let value = find(self.object, &path).and_then(shown);
        Problem { path, value, message, line: None }
    }
}

/// The value at a place.
pub(crate) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let pointer: String =
        path.replace('[', ".").replace(']', "").split('.').map(|name| format!("/{name}")).collect();
    object.pointer(&pointer)
}

/// A value in one line, as the user wrote it.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) | Value::Array(_) | Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_shows_what_stands_at_its_place() {
        let object = json!({"spec": {"roles": [{"name": "a", "replicas": 7}]}});
        let mut found = Findings::new(&object);
        found.error("spec.roles[0].replicas", "must be at most 4");
        found.error("spec.roles[0].template", "required");
        let said: Vec<String> = found.close().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["spec.roles[0].replicas: 7: must be at most 4", "spec.roles[0].template: required"]
        );
    }
}
