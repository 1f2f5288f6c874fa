//! Any other YAML or JSON file, read by the same reader as a manifest: fault profiles, observed states.

use serde_json::Value;

use crate::path::Path;
use crate::problem::Problem;
use crate::yaml::{self, Data, Entry, Node};

/// One document of a file. It remembers on which line everything stands.
#[derive(Debug, Clone)]
pub struct Document(Node);

impl Document {
    /// Reads a file that holds exactly one document, without keys written twice.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut documents = yaml::documents(text).map_err(|problem| vec![problem])?;
        let node = match (documents.pop(), documents.len()) {
            (Some(node), 0) => node,
            (None, _) => return Err(vec![Problem::of_file("nothing in it", None)]),
            (Some(_), more) => {
                let message = format!("one document is expected, not {}", more + 1);
                return Err(vec![Problem::of_file(message, None)]);
            }
        };
        let mut problems = Vec::new();
        find_twice(&node, &Path::root(), &mut problems);
        if problems.is_empty() { Ok(Self(node)) } else { Err(problems) }
    }

    /// Reads a file that holds any number of objects, each without keys written twice: a document each, or the items
    /// of a `kind: List`.
    pub fn all(text: &str) -> Result<Vec<Self>, Vec<Problem>> {
        let objects = yaml::objects(text).map_err(|problem| vec![problem])?;
        let mut problems = Vec::new();
        objects.iter().for_each(|node| find_twice(node, &Path::root(), &mut problems));
        if problems.is_empty() { Ok(objects.into_iter().map(Self).collect()) } else { Err(problems) }
    }

    /// The line of a place that is written as in a message: `spec.roles[1].template`.
    pub fn line_of(&self, place: &str) -> Option<usize> {
        let names = place.split(['.', '[', ']']).filter(|name| !name.is_empty());
        self.line(&names.map(str::to_owned).collect::<Vec<_>>())
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0
    }

    /// The document as JSON.
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    /// The line on which a place, or what is nearest above it, starts: `["changes", "0", "at"]`.
    pub fn line(&self, place: &[String]) -> Option<usize> {
        let mut path = Path::root();
        let mut here = Some(&self.0);
        for name in place {
            let index = match here.map(|node| &node.data) {
                Some(Data::List(_)) => name.parse().ok(),
                _ => None,
            };
            path = index.map_or_else(|| path.field(name), |index| path.index(index));
            here = self.0.find(&path).0;
        }
        self.0.find(&path).1
    }
}

/// Reads one document as JSON.
pub fn yaml_to_json(text: &str) -> Result<Value, Vec<Problem>> {
    Document::parse(text).map(|document| document.to_json())
}

/// Writes JSON as one YAML document: always the same text for the same value.
pub fn json_to_yaml(value: &Value) -> String {
    yaml::write(value)
}

fn find_twice(node: &Node, path: &Path, problems: &mut Vec<Problem>) {
    match &node.data {
        Data::Map(entries) => {
            for (i, Entry { key, line, value }) in entries.iter().enumerate() {
                let place = path.field(key);
                if entries[..i].iter().any(|earlier| earlier.key == *key) {
                    let line = Some(*line).filter(|line| *line > 0);
                    let message = "written twice".to_owned();
                    problems.push(Problem { path: place.to_string(), value: None, message, line });
                }
                find_twice(value, &place, problems);
            }
        }
        Data::List(items) => {
            for (i, item) in items.iter().enumerate() {
                find_twice(item, &path.index(i), problems);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn remembers_lines() {
        let document = Document::parse("a:\n- b: 1\n- c:\n    d: 2\n").unwrap();
        assert_eq!(document.to_json()["a"][1]["c"]["d"], 2);
        assert_eq!(document.line(&place(&["a", "1", "c", "d"])), Some(4));
        assert_eq!(document.line(&place(&["a", "0", "nowhere", "else"])), Some(2));
        assert_eq!(document.line_of("a[1].c.d"), Some(4));
        let documents = Document::all("a: 1\n---\nb:\n  c: 2\n").unwrap();
        assert_eq!((documents.len(), documents[1].line_of("b.c")), (2, Some(4)));
    }

    #[test]
    fn one_document_without_repeated_keys() {
        let messages = |text: &str| -> Vec<String> {
            Document::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
        };
        assert_eq!(messages(""), ["nothing in it"]);
        assert_eq!(messages("a: 1\n---\nb: 2\n"), ["one document is expected, not 2"]);
        assert_eq!(messages("a: {b: 1, b: 2}\na: 3\n"), ["a.b: written twice", "a: written twice"]);
    }
}
