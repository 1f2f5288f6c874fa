//! One step on the way to a field.

use serde_json::{Map, Value};

/// One step: a field of a map, an item of a list by its keys or by its value, or by its place.
///
/// It is held as it is written in `fieldsV1`: `f:name`, `k:{"name":"web"}`, `v:"web"`, `i:0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element(String);

impl Element {
    /// A field of a map.
    pub fn field(name: &str) -> Self {
        Self(format!("f:{name}"))
    }

    /// An item of a list, known by some of its fields.
    pub fn keys(keys: &Map<String, Value>) -> Self {
        // Keys in order and no spaces: the same item is always written the same.
        let mut sorted: Vec<_> = keys.iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let parts: Vec<String> =
            sorted.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
        Self(format!("k:{{{}}}", parts.join(",")))
    }

    /// An item of a list, known by its value.
    pub fn value(value: &Value) -> Self {
        Self(format!("v:{value}"))
    }

    /// An item of a list, known by its place.
    pub fn index(index: usize) -> Self {
        Self(format!("i:{index}"))
    }

    /// Reads one as it is written. Nothing if it is written wrongly.
    pub fn read(text: &str) -> Option<Self> {
        let (form, rest) = text.split_once(':')?;
        match form {
            "f" => Some(Self::field(rest)),
            "k" => match serde_json::from_str(rest).ok()? {
                Value::Object(keys) => Some(Self::keys(&keys)),
                _ => None,
            },
            "v" => serde_json::from_str(rest).ok().map(|value: Value| Self::value(&value)),
            "i" => rest.parse().ok().map(Self::index),
            _ => None,
        }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, if it is a field of a map.
    pub fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// As it stands in a message: `.spec`, `[name="web"]`, `[="web"]`, `[0]`.
    pub fn shown(&self) -> String {
        if let Some(name) = self.name() {
            return format!(".{name}");
        }
        if let Some(keys) = self.0.strip_prefix("k:") {
            let Ok(Value::Object(keys)) = serde_json::from_str(keys) else { return self.0.clone() };
            let parts: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            return format!("[{}]", parts.join(","));
        }
        match self.0.split_once(':') {
            Some(("v", value)) => format!("[={value}]"),
            Some((_, index)) => format!("[{index}]"),
            None => self.0.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_read_and_shown() {
        let rows = [
            ("f:spec", ".spec"),
            (r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#),
            (r#"v:"a""#, r#"[="a"]"#),
            ("i:3", "[3]"),
        ];
        for (written, shown) in rows {
            let element = Element::read(written).expect(written);
            assert_eq!((element.as_str(), element.shown().as_str()), (written, shown));
        }
        let one = Element::read(r#"k:{"b": 1, "a": 2}"#);
        assert_eq!(one, Element::read(r#"k:{"a":2,"b":1}"#));
        for wrong in ["", "spec", "x:spec", "k:3", "i:x", "v:"] {
            assert_eq!(Element::read(wrong), None, "{wrong}");
        }
    }
}
