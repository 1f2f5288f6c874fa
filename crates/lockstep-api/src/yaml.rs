//! YAML text to a tree that remembers its lines and keeps every key, also those written twice.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};

use crate::problem::{Path, Problem, Segment};

/// The most a manifest may hold. An API server takes no more either.
const LONGEST_FILE: usize = 3 * 1024 * 1024;
const DEEPEST: usize = 64;
const MOST_NODES: usize = 100_000;

/// A value and the line it starts at; 0 when it did not come from text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub line: usize,
    pub data: Data,
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

/// The documents of a file; those that are empty are left out.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, Problem> {
    if text.len() > LONGEST_FILE {
        let message = format!("{} bytes: a manifest may have up to {LONGEST_FILE}", text.len());
        return Err(Problem::of_file(message, None));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            max_nodes: MOST_NODES,
            max_events: 4 * MOST_NODES,
            max_documents: 256,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options::<Spanned<Node>>(text, options)
        .map(|documents| documents.into_iter().map(Node::from).collect())
        .map_err(|error| not_yaml(&error))
}

fn not_yaml(error: &serde_saphyr::Error) -> Problem {
    let line = error.location().as_ref().and_then(line_of);
    // The parser closes its message with the place, which a problem carries on its own.
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).replace('\n', " ");
    Problem::of_file(format!("not YAML that can be read: {message}"), line)
}

fn line_of(location: &Location) -> Option<usize> {
    usize::try_from(location.line()).ok().filter(|line| *line > 0)
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
        Self { line: 0, data }
    }
}

impl From<Spanned<Node>> for Node {
    fn from(spanned: Spanned<Node>) -> Self {
        Self { line: line_of(&spanned.referenced).unwrap_or(0), data: spanned.value.data }
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

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor).map(Node::from)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Data, E> {
        Ok(Data::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Data, E> {
        Ok(Number::from_f64(value).map_or(Data::Null, Data::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Data, E> {
        Ok(Data::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Data, E> {
        Ok(Data::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Node>>()? {
            list.push(Node::from(item));
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Data, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = fields.next_key::<Spanned<String>>()? {
            let value = Node::from(fields.next_value::<Spanned<Node>>()?);
            let line = line_of(&key.referenced).unwrap_or(value.line);
            entries.push(Entry { key: key.value, line, value });
        }
        Ok(Data::Map(entries))
    }
}
