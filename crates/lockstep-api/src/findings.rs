//! What was found wrong so far. Nothing stops at the first error.

use crate::path::Path;
use crate::problem::Problem;
use crate::yaml::Node;

/// Errors and warnings about one manifest.
pub(crate) struct Findings<'a> {
    root: &'a Node,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
    broken: Vec<Path>,
}

impl<'a> Findings<'a> {
    pub fn new(root: &'a Node) -> Self {
        Self { root, errors: Vec::new(), warnings: Vec::new(), broken: Vec::new() }
    }

    /// Something that cannot be accepted. Value and line are those of the place.
    pub fn error(&mut self, path: &Path, message: impl Into<String>) {
        let problem = self.problem(path, message);
        self.errors.push(problem);
        self.broken.push(path.clone());
    }

    /// An error about a field's name, not about its value.
    pub fn error_of_key(&mut self, path: &Path, line: usize, message: impl Into<String>) {
        let line = Some(line).filter(|line| *line > 0);
        self.errors.push(Problem { path: path.to_string(), value: None, message: message.into(), line });
    }

    /// Something that is accepted but deserves a word.
    pub fn warn(&mut self, path: &Path, message: impl Into<String>) {
        let problem = self.problem(path, message);
        self.warnings.push(problem);
    }

    fn problem(&self, path: &Path, message: impl Into<String>) -> Problem {
        let (node, line) = self.root.find(path);
        let value = node.and_then(Node::shown);
        Problem { path: path.to_string(), value, message: message.into(), line }
    }

    /// Whether nothing was found wrong at this place, above or below it: only then is it worth comparing with
    /// other places.
    pub fn sound(&self, path: &Path) -> bool {
        !self.broken.iter().any(|broken| broken.covers(path) || path.covers(broken))
    }

    /// Whether the user wrote something at this place.
    pub fn given(&self, path: &Path) -> bool {
        self.root.find(path).0.is_some()
    }

    /// The place of a field that has a long and a short name, as the user spelled it.
    pub fn spelled(&self, parent: &Path, long: &str, short: &str) -> Path {
        let short = parent.field(short);
        if self.given(&short) { short } else { parent.field(long) }
    }

    /// The warnings, or all errors in the order of the file.
    pub fn close(mut self) -> Result<Vec<Problem>, Vec<Problem>> {
        if self.errors.is_empty() {
            return Ok(self.warnings);
        }
        self.errors.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        Err(self.errors)
    }
}
