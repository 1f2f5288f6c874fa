//! What is wrong with a manifest, or deserves a word, in the order it was found.

use lockstep_api::Problem;
use serde_json::Value;

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

    /// Takes over what somebody else found, unless something is wrong at its place already.
    pub fn also(&mut self, error: Problem) {
        if self.errors.iter().all(|known| known.path != error.path) {
            self.errors.push(error);
        }
    }

    /// Takes over warnings of somebody else.
    pub fn extend_warnings(&mut self, warnings: impl IntoIterator<Item = Problem>) {
        self.warnings.extend(warnings);
    }

    /// Whether anything is wrong so far.
    pub fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The warnings, or everything that is wrong.
    pub fn close(self) -> Result<Vec<Problem>, Vec<Problem>> {
        if self.errors.is_empty() { Ok(self.warnings) } else { Err(self.errors) }
    }

    /// The warnings, whatever is wrong.
    pub fn warnings(self) -> Vec<Problem> {
        self.warnings
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
