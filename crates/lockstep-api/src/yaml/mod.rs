//! YAML as a tree that remembers its lines and keeps every key, also those written twice.

mod list;
mod load;
mod scalar;
mod write;

use serde_json::{Map, Number, Value};

use crate::path::{Path, Segment};

pub(crate) use list::objects;
pub(crate) use load::documents;
pub(crate) use write::write;

/// A value and the line it starts at; 0 when it did not come from text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub line: usize,
    pub data: Data,
    /// The text it was read from, where that says something else.
    pub written: Option<String>,
}

/// What a node holds.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value, in the order they were written.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    pub line: usize,
    pub value: Node,
}

impl Node {
    /// The value of a key; of a key written twice, the last.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.data {
            Data::Map(entries) => entries.iter().rev().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether there is nothing here.
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// What stands at a place, and the line it (or what is nearest above it) starts at.
    pub fn find(&self, path: &Path) -> (Option<&Node>, Option<usize>) {
        let mut here = self;
        let mut line = self.line;
        for segment in path.segments() {
            let (next, next_line) = match segment {
                Segment::Field(key) | Segment::Key(key) => match here.entry(key) {
                    Some(entry) => (Some(&entry.value), entry.line),
                    None => (None, 0),
                },
                Segment::Index(i) => match &here.data {
                    Data::List(items) => (items.get(*i), items.get(*i).map_or(0, |item| item.line)),
                    _ => (None, 0),
                },
            };
            let Some(next) = next else { return (None, Some(line).filter(|l| *l > 0)) };
            here = next;
            line = if next_line > 0 { next_line } else { line };
        }
        (Some(here), Some(line).filter(|l| *l > 0))
    }

    /// How many values it holds, itself included, and how deep they lie.
    fn size(&self) -> (usize, usize) {
        let total = |(nodes, depth): (usize, usize), value: &Node| {
            let (more, below) = value.size();
            (nodes + more, depth.max(below))
        };
        let (nodes, depth) = match &self.data {
            Data::List(items) => items.iter().fold((0, 0), total),
            Data::Map(entries) => entries.iter().map(|entry| &entry.value).fold((0, 0), total),
            _ => return (1, 0),
        };
        (nodes + 1, depth + 1)
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(b) => Value::Bool(*b),
            Data::Number(n) => Value::Number(n.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Data::Map(entries) => Value::Object(
                entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// A short rendering for messages; nothing for what spans lines.
    pub fn shown(&self) -> Option<String> {
        const LONGEST: usize = 60;
        if let Some(written) = &self.written {
            return Some(written.clone());
        }
        match &self.data {
            Data::Null => None,
            Data::List(items) if !items.is_empty() => None,
            Data::Map(entries) if !entries.is_empty() => None,
            Data::Text(text) if text.chars().count() > LONGEST => {
                let start: String = text.chars().take(LONGEST).collect();
                Some(Value::String(format!("{start}…")).to_string())
            }
            _ => Some(self.to_json().to_string()),
        }
    }

    /// What kind of thing it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::Text(_) => "text",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }
}

impl From<Data> for Node {
    fn from(data: Data) -> Self {
        Self { line: 0, data, written: None }
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        Self::from(match value {
            Value::Null => Data::Null,
            Value::Bool(b) => Data::Bool(*b),
            Value::Number(n) => Data::Number(n.clone()),
            Value::String(text) => Data::Text(text.clone()),
            Value::Array(items) => Data::List(items.iter().map(Node::from).collect()),
            Value::Object(fields) => Data::Map(
                fields
                    .iter()
                    .map(|(key, value)| Entry { key: key.clone(), line: 0, value: Node::from(value) })
                    .collect(),
            ),
        })
    }
}
