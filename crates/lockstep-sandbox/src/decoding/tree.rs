//! JSON as it was written: fields in their order, also those that are there twice, and numbers to the letter.

use serde_json::Value;

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool,
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Deeper than this nothing is read; bodies are read by others first, who give up no later.
const DEEPEST: usize = 128;

impl Node {
    /// Reads a text. Nothing if it is no JSON.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader { body, at: 0 };
        let node = reader.value(0)?;
        reader.skip();
        (reader.at == body.len()).then_some(node)
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(map) => {
                Self::Map(map.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn skip(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at = self.at.saturating_add(1);
        }
    }

    /// Takes a byte, and whatever space is before it.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip();
        (self.peek()? == byte).then(|| self.at = self.at.saturating_add(1))
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        self.skip();
        match self.peek()? {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'"' => self.text().map(Node::Text),
            b't' => self.word("true").map(|()| Node::Bool),
            b'f' => self.word("false").map(|()| Node::Bool),
            b'n' => self.word("null").map(|()| Node::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let end = self.at.checked_add(word.len())?;
        (self.body.get(self.at..end)? == word.as_bytes()).then(|| self.at = end)
    }

    fn number(&mut self) -> Option<Node> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at = self.at.saturating_add(1);
        }
        let text = std::str::from_utf8(self.body.get(start..self.at)?).ok()?;
        serde_json::from_str::<serde_json::Number>(text).ok()?;
        Some(Node::Number(text.to_owned()))
    }

    fn text(&mut self) -> Option<String> {
        let start = self.at;
        self.take(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at = self.at.saturating_add(if byte == b'\\' { 2 } else { 1 });
            if byte == b'"' {
                break;
            }
        }
        serde_json::from_slice(self.body.get(start..self.at)?).ok()
    }

    fn list(&mut self, depth: usize) -> Option<Node> {
        self.take(b'[')?;
        let mut items = Vec::new();
        if self.take(b']').is_some() {
            return Some(Node::List(items));
        }
        loop {
            items.push(self.value(depth.saturating_add(1))?);
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(Node::List(items));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Node> {
        self.take(b'{')?;
        let mut fields = Vec::new();
        if self.take(b'}').is_some() {
            return Some(Node::Map(fields));
        }
        loop {
            self.skip();
            let key = self.text()?;
            self.take(b':')?;
            fields.push((key, self.value(depth.saturating_add(1))?));
            if self.take(b',').is_none() {
                self.take(b'}')?;
                return Some(Node::Map(fields));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let number = |text: &str| Node::Number(text.to_owned());
        let read = Node::read(br#" { "a" : [1.50, "x\"\u00e4", null, true], "a": {} } "#).expect("JSON");
        let items = vec![number("1.50"), Node::Text("x\"ä".to_owned()), Node::Null, Node::Bool];
        let fields = vec![("a".to_owned(), Node::List(items)), ("a".to_owned(), Node::Map(Vec::new()))];
        assert_eq!(read, Node::Map(fields));
        for wrong in ["", "{", "[1,]", "{\"a\"}", "nul", "1 2", "\"a", "{a:1}", "--1"] {
            assert_eq!(Node::read(wrong.as_bytes()), None, "{wrong}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Node::read(deep.as_bytes()), None);
    }
}
