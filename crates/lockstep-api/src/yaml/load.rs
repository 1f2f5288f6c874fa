//! From text to trees. It walks with a stack of its own, so that no depth of nesting can exhaust the thread's.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, Span};

use super::scalar::resolve;
use super::{Data, Entry, Node};
use crate::problem::Problem;

/// The most a manifest may hold. An API server takes no more either.
const LONGEST_FILE: usize = 3 * 1024 * 1024;
/// How deep values may lie in each other, aliases followed.
const DEEPEST: usize = 64;
/// How many values there may be, aliases followed.
const MOST_NODES: usize = 100_000;

/// The documents of a file; those that are empty are left out.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, Problem> {
    if text.len() > LONGEST_FILE {
        let message = format!("{} bytes: a manifest may have up to {LONGEST_FILE}", text.len());
        return Err(Problem::of_file(message, None));
    }
    let mut loader = Loader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| not_yaml(&error.info(), error.marker().line()))?;
        loader.take(event, &span).map_err(|message| not_yaml(&message, span.start.line()))?;
    }
    Ok(loader.documents.into_iter().filter(|document| !document.is_null()).collect())
}

fn not_yaml(message: &str, line: usize) -> Problem {
    let message = format!("not YAML that can be read: {}", message.replace('\n', " "));
    Problem::of_file(message, Some(line).filter(|line| *line > 0))
}

#[derive(Default)]
struct Loader {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
}

/// A list or map that is not closed yet.
struct Open {
    line: usize,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map(Fields),
}

/// The fields of a map so far.
#[derive(Default)]
struct Fields {
    entries: Vec<Entry>,
    merged: Vec<Entry>,
    key: Option<Key>,
}

/// A key whose value is still to come.
struct Key {
    text: String,
    line: usize,
    merges: bool,
}

/// A value that may be repeated, and what repeating it costs.
struct Anchored {
    node: Node,
    nodes: usize,
    depth: usize,
}

impl Loader {
    fn take(&mut self, event: Event, span: &Span) -> Result<(), String> {
        let line = span.start.line();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1)?;
                let is_plain = style == granit_parser::ScalarStyle::Plain;
                if self.wants_key() {
                    let node = Node { line, data: Data::Text(text.to_string()), written: None };
                    self.remember(anchor, &node);
                    self.key(Key { merges: is_plain && text == "<<", text: text.into_owned(), line });
                    return Ok(());
                }
                let (data, written) = resolve(&text, style, tag.as_deref());
                self.put(Node { line, data, written }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.start(line, anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(line, anchor, Content::Map(Fields::default())),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.repeat(anchor, line),
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, more: usize) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MOST_NODES { Err(format!("more than {MOST_NODES} values")) } else { Ok(()) }
    }

    fn start(&mut self, line: usize, anchor: usize, content: Content) -> Result<(), String> {
        self.count(1)?;
        if self.wants_key() {
            return Err("a key must be text".to_owned());
        }
        if self.open.len() >= DEEPEST {
            return Err(too_deep());
        }
        self.open.push(Open { line, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(Open { line, anchor, content }) = self.open.pop() else { return Ok(()) };
        let data = match content {
            Content::List(items) => Data::List(items),
            Content::Map(fields) => Data::Map(fields.close()),
        };
        self.put(Node { line, data, written: None }, anchor)
    }

    fn repeat(&mut self, anchor: usize, line: usize) -> Result<(), String> {
        let Some(found) = self.anchors.get(&anchor) else {
            return Err("an anchor that holds itself".to_owned());
        };
        let (nodes, depth) = (found.nodes, found.depth);
        if self.open.len() + depth > DEEPEST {
            return Err(too_deep());
        }
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES {
            return Err(format!("more than {MOST_NODES} values, aliases followed"));
        }
        let node = Node { line, ..found.node.clone() };
        if !self.wants_key() {
            return self.put(node, 0);
        }
        let Data::Text(text) = node.data else { return Err("a key must be text".to_owned()) };
        self.key(Key { text, line, merges: false });
        Ok(())
    }

    /// Whether the next value is a key.
    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Map(Fields { key: None, .. }), .. }))
    }

    fn key(&mut self, new: Key) {
        if let Some(Open { content: Content::Map(fields), .. }) = self.open.last_mut() {
            fields.key = Some(new);
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            let (nodes, depth) = node.size();
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, depth });
        }
    }

    /// Puts a complete value where it belongs.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        if anchor > 0 {
            // What an anchor keeps is a copy, and counts as one.
            let (nodes, _) = node.size();
            self.count(nodes)?;
        }
        self.remember(anchor, &node);
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.documents.push(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map(fields)) => fields.put(node)?,
        }
        Ok(())
    }
}

fn too_deep() -> String {
    format!("values lie more than {DEEPEST} deep in each other")
}

impl Fields {
    /// The value of the key before it.
    fn put(&mut self, value: Node) -> Result<(), String> {
        match self.key.take() {
            Some(key) if key.merges => self.merged.extend(fields_of(value)?),
            Some(Key { text, line, .. }) => self.entries.push(Entry { key: text, line, value }),
            None => {}
        }
        Ok(())
    }

    /// Own fields, then those of `<<: *base` that are not among them; of several, the first.
    fn close(mut self) -> Vec<Entry> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        if !self.merged.is_empty() {
            known.extend(self.entries.iter().map(|entry| entry.key.clone()));
        }
        self.entries.extend(self.merged.into_iter().filter(|entry| known.insert(entry.key.clone())));
        self.entries
    }
}

/// The fields of a map, or of all maps of a list.
fn fields_of(node: Node) -> Result<Vec<Entry>, String> {
    match node.data {
        Data::Map(entries) => Ok(entries),
        Data::List(items) => {
            let mut all = Vec::new();
            for item in items {
                let Data::Map(entries) = item.data else { return Err(not_a_map()) };
                all.extend(entries);
            }
            Ok(all)
        }
        _ => Err(not_a_map()),
    }
}

fn not_a_map() -> String {
    "<< must be followed by a map or a list of maps".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        match documents(text) {
            Ok(documents) => documents.iter().map(|d| d.to_json().to_string()).collect::<Vec<_>>().join(" "),
            Err(problem) => format!("{}: {}", problem.line.unwrap_or(0), problem.message),
        }
    }

    #[test]
    fn documents_aliases_and_merges() {
        for (text, means) in [
            ("a: 1\n---\n# none\n---\n- x\n", r#"{"a":1} ["x"]"#),
            ("a: &a [1, '2']\nb: *a\n", r#"{"a":[1,"2"],"b":[1,"2"]}"#),
            ("- &k key\n- *k : v\n", r#"["key",{"key":"v"}]"#),
            ("b: &b {x: 1, y: 2}\nc: {<<: *b, x: 3}\n", r#"{"b":{"x":1,"y":2},"c":{"x":3,"y":2}}"#),
            (
                "b: &b {x: 1, y: 2}\nc: {x: 3, <<: [*b, {z: 4, y: 5}]}\n",
                r#"{"b":{"x":1,"y":2},"c":{"x":3,"y":2,"z":4}}"#,
            ),
            ("'<<': x", r#"{"<<":"x"}"#),
            ("1: a\ntrue: b\n", r#"{"1":"a","true":"b"}"#),
            ("a: |\n  one\n  two\nb: !!str 5\nc: !!int '5'\n", r#"{"a":"one\ntwo\n","b":"5","c":5}"#),
        ] {
            assert_eq!(json(text), means, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read() {
        for (text, line, message) in [
            ("a: &a [*a]", 1, "an anchor that holds itself"),
            ("\n{[1]: a}", 2, "a key must be text"),
            ("<<: 5", 1, "<< must be followed by a map or a list of maps"),
            ("b: *b", 1, "unknown anchor"),
        ] {
            let said = json(text);
            assert!(said.starts_with(&format!("{line}: not YAML that can be read: ")), "{said}");
            assert!(said.contains(message), "{said}");
        }
    }
}
