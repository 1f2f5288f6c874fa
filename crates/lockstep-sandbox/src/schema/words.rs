//! What is wrong with a field, in the words of a real API server.

use std::fmt::{self, Display};

use serde_json::Value;

use crate::refusal::Cause;

/// Where in an object something is. The object itself is nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// The path of these words.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// A field of what is here.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let dot = if self.0.is_empty() { "" } else { "." };
        Self(format!("{}{dot}{name}", self.0))
    }

    /// An item of the list that is here.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// What the map that is here holds under a key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// As it is written; empty for the object itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Path {
    /// A real server is written in Go, and has no path where there is no field.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

fn cause(reason: &'static str, at: &Path, what: String, detail: &str) -> Cause {
    let colon = if detail.is_empty() { "" } else { ": " };
    Cause { reason, message: format!("{what}{colon}{detail}"), field: at.to_string() }
}

/// The value is wrong.
pub fn invalid(at: &Path, value: &Value, detail: &str) -> Cause {
    cause("FieldValueInvalid", at, format!("Invalid value: {}", shown(value)), detail)
}

/// The value is wrong, and not worth showing.
pub fn invalid_unseen(at: &Path, detail: &str) -> Cause {
    cause("FieldValueInvalid", at, "Invalid value".to_owned(), detail)
}

/// The value is of the wrong type.
pub fn type_invalid(at: &Path, value: &Value, detail: &str) -> Cause {
    cause("FieldValueTypeInvalid", at, format!("Invalid value: {}", shown(value)), detail)
}

/// There is no value.
pub fn required(at: &Path, detail: &str) -> Cause {
    cause("FieldValueRequired", at, "Required value".to_owned(), detail)
}

/// There must be no value.
pub fn forbidden(at: &Path, detail: &str) -> Cause {
    cause("FieldValueForbidden", at, "Forbidden".to_owned(), detail)
}

/// The value is there already.
pub fn duplicate(at: &Path, value: &Value) -> Cause {
    cause("FieldValueDuplicate", at, format!("Duplicate value: {}", shown(value)), "")
}

/// The value is there already, and not worth showing.
pub fn duplicate_unseen(at: &Path) -> Cause {
    cause("FieldValueDuplicate", at, "Duplicate value".to_owned(), "")
}

/// The value is none of those that may be.
pub fn not_supported(at: &Path, value: &Value, supported: &[String]) -> Cause {
    let quoted: Vec<String> = supported.iter().map(|one| quoted(one)).collect();
    let detail =
        if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
    cause("FieldValueNotSupported", at, format!("Unsupported value: {}", shown(value)), &detail)
}

/// The text is too long.
pub fn too_long(at: &Path, most: u64) -> Cause {
    let bytes = if most == 1 { "byte" } else { "bytes" };
    cause("FieldValueTooLong", at, "Too long".to_owned(), &format!("may not be more than {most} {bytes}"))
}

/// There are too many.
pub fn too_many(at: &Path, number: u64, most: u64) -> Cause {
    let items = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {items}");
    cause("FieldValueTooMany", at, format!("Too many: {number}"), &detail)
}

/// A value in a message: texts quoted, numbers plain, all else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float_shown(float),
            None => number.to_string(),
        },
        other => json(other),
    }
}

/// A text quoted as Go quotes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            control if control.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(control))),
            control if control.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

/// A number as Go writes it: plain, or with an exponent if it is very large or very small.
pub fn float_shown(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) && float.is_finite() {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(negative) => ('-', negative),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    match float {
        float if float.is_nan() => "NaN".to_owned(),
        float if float.is_infinite() => if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        float => float.to_string(),
    }
}

/// JSON as Go writes it: keys in order, and nothing that a browser could take for HTML.
pub fn json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by(|a, b| a.0.cmp(b.0));
            let parts: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{}:{}", json_text(key), json(value))).collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", parts.join(","))
        }
        Value::String(text) => json_text(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float_shown(float),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn json_text(text: &str) -> String {
    let plain = Value::from(text).to_string();
    plain.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_as_they_are_shown() {
        for (value, text) in [
            (json!("a\"b\n\u{1}ä"), r#""a\"b\n\x01ä""#),
            (json!(3), "3"),
            (json!(1.25), "1.25"),
            (json!(1e21), "1e+21"),
            (json!(2.5e-7), "2.5e-07"),
            (json!(true), "true"),
            (json!(null), "null"),
            (json!({"b": "<", "a": [1, 2.0]}), r#"{"a":[1,2],"b":"\u003c"}"#),
        ] {
            assert_eq!(shown(&value), text);
        }
    }

    #[test]
    fn paths_as_they_are_written() {
        let path = Path::default().child("spec").child("list").index(2).key("a.b").child("c");
        assert_eq!(path.to_string(), "spec.list[2][a.b].c");
        assert_eq!(Path::default().to_string(), "<nil>");
    }
}
