//! What is wrong with an object, cause by cause, in the words of a real API server.

use std::fmt;

use serde_json::Value;

use crate::refusal::Cause;

/// Where in an object something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At(String);

impl At {
    /// A field of the object itself.
    pub fn new(field: &str) -> Self {
        Self(field.to_owned())
    }

    /// A field within.
    pub fn child(&self, field: &str) -> Self {
        if self.0.is_empty() { Self::new(field) } else { Self(format!("{}.{field}", self.0)) }
    }

    /// An item of the list.
    pub fn index(&self, place: usize) -> Self {
        Self(format!("{}[{place}]", self.0))
    }

    /// An entry of the map.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for At {
    fn fmt(&self, write: &mut fmt::Formatter<'_>) -> fmt::Result {
        write.write_str(&self.0)
    }
}

/// Everything that is wrong, in the order in which it is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Causes(Vec<Cause>);

impl Causes {
    fn add(&mut self, reason: &'static str, at: &At, words: String, detail: &str) {
        let message = if detail.is_empty() { words } else { format!("{words}: {detail}") };
        self.0.push(Cause { reason, message, field: at.to_string() });
    }

    /// Something is missing.
    pub fn required(&mut self, at: &At, detail: &str) {
        self.add("FieldValueRequired", at, "Required value".to_owned(), detail);
    }

    /// A value is wrong.
    pub fn invalid(&mut self, at: &At, value: &Value, detail: &str) {
        self.add("FieldValueInvalid", at, format!("Invalid value: {}", shown(value)), detail);
    }

    /// A value that is shown like this is wrong.
    pub fn invalid_shown(&mut self, at: &At, shown: &str, detail: &str) {
        self.add("FieldValueInvalid", at, format!("Invalid value: {shown}"), detail);
    }

    /// A value is wrong for each of these reasons.
    pub fn invalid_each(&mut self, at: &At, value: &str, details: Vec<String>) {
        for detail in details {
            self.invalid(at, &Value::from(value), &detail);
        }
    }

    /// Not one of the values there are.
    pub fn unsupported(&mut self, at: &At, value: &Value, supported: &[&str]) {
        self.unsupported_shown(at, &shown(value), supported);
    }

    /// A value that is shown like this is not one of those there are.
    pub fn unsupported_shown(&mut self, at: &At, shown: &str, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|value| quoted(value)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.add("FieldValueNotSupported", at, format!("Unsupported value: {shown}"), &detail);
    }

    /// Not allowed here.
    pub fn forbidden(&mut self, at: &At, detail: &str) {
        self.add("FieldValueForbidden", at, "Forbidden".to_owned(), detail);
    }

    /// There already, shown like this, for this reason.
    pub fn duplicate_shown(&mut self, at: &At, shown: &str, detail: &str) {
        self.add("FieldValueDuplicate", at, format!("Duplicate value: {shown}"), detail);
    }

    /// There already.
    pub fn duplicate(&mut self, at: &At, value: &Value) {
        self.add("FieldValueDuplicate", at, format!("Duplicate value: {}", shown(value)), "");
    }

    /// Named, but not there.
    pub fn not_found(&mut self, at: &At, value: &Value) {
        self.add("FieldValueNotFound", at, format!("Not found: {}", shown(value)), "");
    }

    /// Named, but not there, for this reason.
    pub fn not_found_because(&mut self, at: &At, value: &Value, detail: &str) {
        self.add("FieldValueNotFound", at, format!("Not found: {}", shown(value)), detail);
    }

    /// More bytes than there may be.
    pub fn too_long(&mut self, at: &At, most: usize) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        self.add("FieldValueTooLong", at, "Too long".to_owned(), &detail);
    }

    /// One of the values there are; empty ones are missing.
    pub fn one_of(&mut self, at: &At, value: &str, supported: &[&str]) {
        if value.is_empty() {
            self.required(at, "");
        } else if !supported.contains(&value) {
            self.unsupported(at, &Value::from(value), supported);
        }
    }

    /// Zero or more.
    pub fn not_negative(&mut self, at: &At, number: Option<i64>) {
        if let Some(number) = number.filter(|number| *number < 0) {
            self.invalid(at, &Value::from(number), "must be greater than or equal to 0");
        }
    }

    /// As before.
    pub fn immutable(&mut self, at: &At, new: &Value, old: &Value) {
        if !super::access::same(new, old) {
            self.invalid(at, new, "field is immutable");
        }
    }

    /// Something could not be checked.
    pub fn internal(&mut self, at: &At, detail: &str) {
        self.add("InternalError", at, "Internal error".to_owned(), detail);
    }

    /// Nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much is wrong so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Each cause once, as those of built-in kinds are told.
    pub fn once(self) -> Vec<Cause> {
        let mut told: Vec<Cause> = Vec::new();
        for cause in self.0 {
            if !told.iter().any(|known| known.field == cause.field && known.message == cause.message) {
                told.push(cause);
            }
        }
        told
    }

    /// Whether anything is wrong.
    pub fn result(self) -> Result<(), Vec<Cause>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.into()) }
    }
}

impl From<Causes> for Vec<Cause> {
    fn from(causes: Causes) -> Self {
        causes.0
    }
}

impl Extend<Cause> for Causes {
    fn extend<T: IntoIterator<Item = Cause>>(&mut self, causes: T) {
        self.0.extend(causes);
    }
}

/// A value as it is quoted in messages.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        // As Go writes JSON: fit to stand in HTML.
        other => {
            let json = other.to_string();
            json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
        }
    }
}

/// A text in quotes, as Go writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => match u32::from(control) {
                code @ 0..=0xff => quoted.push_str(&format!("\\x{code:02x}")),
                code => quoted.push_str(&format!("\\u{code:04x}")),
            },
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
