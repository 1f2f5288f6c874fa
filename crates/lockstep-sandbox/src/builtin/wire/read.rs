//! Reading single values as Go does, with Go's words where it fails.

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use super::names::Name;
use super::types::{Struct, Type};
use crate::builtin::quantity::{Quantity, QuantityError};

/// A value that is not of the sort that belongs there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misread {
    /// JSON of another sort.
    #[error("json: cannot unmarshal {found} into Go struct field {holder}.{path} of type {wanted}")]
    Sort {
        /// What there is.
        found: String,
        /// The struct around it.
        holder: String,
        /// The fields that lead there.
        path: String,
        /// What there should be.
        wanted: String,
    },
    /// A quantity that is none.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A time that is none.
    #[error("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}")]
    Time {
        /// The text.
        text: String,
        /// How times are written.
        layout: &'static str,
        /// Where it goes wrong.
        rest: String,
        /// What should stand there.
        element: &'static str,
    },
    /// Bytes that are not in base 64.
    #[error("illegal base64 data at input byte {0}")]
    Bytes(usize),
    /// Neither a schema nor a truth value.
    #[error("boolean or JSON schema expected")]
    NoSchema,
}

/// The fields that lead to a value, and the structs they are of.
pub(super) struct Path {
    fields: Vec<(&'static str, &'static str)>,
}

impl Path {
    /// At the object itself.
    pub fn new() -> Self {
        Self { fields: Vec::new() }
    }

    /// Into a field of a struct.
    pub fn enter(&mut self, field: &'static str, of: &'static str) {
        self.fields.push((field, of));
    }

    /// Out again.
    pub fn leave(&mut self) {
        self.fields.pop();
    }

    /// What is found here is not what is wanted.
    pub fn misread(&self, found: &Value, wanted: &str) -> Misread {
        let found = match found {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if wanted.starts_with("int") => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let holder = self.fields.last().map_or("", |(_, of)| Struct::short_name(of));
        let names: Vec<Name> = self.fields.iter().map(|(field, of)| Name::of(of, field)).collect();
        let wanted = names.last().map_or_else(|| wanted.to_owned(), |name| name.wanted(wanted));
        let fields =
            self.fields.iter().zip(&names).map(|((field, _), name)| format!("{}{field}", name.within));
        let path = fields.collect::<Vec<_>>().join(".");
        Misread::Sort { found, holder: holder.to_owned(), path, wanted }
    }
}

/// A value that is neither a struct nor a list nor a map.
pub(super) fn read(of: &Type, value: Value, path: &Path) -> Result<Value, Misread> {
    match (of, value) {
        (Type::Text, Value::Null) => Ok(Value::from("")),
        (Type::Text, Value::String(text)) => Ok(Value::String(text)),
        (Type::Bool, Value::Null) => Ok(Value::from(false)),
        (Type::Bool, Value::Bool(truth)) => Ok(Value::Bool(truth)),
        (Type::Int(_) | Type::Float, Value::Null) => Ok(Value::from(0)),
        (Type::Int(bits), Value::Number(number)) => match number.as_i64() {
            Some(whole) if fits(whole, *bits) => Ok(Value::from(whole)),
            _ => Err(path.misread(&Value::Number(number), &go(of))),
        },
        (Type::Float, Value::Number(number)) => Ok(Value::Number(number)),
        (Type::Quantity, value) => quantity(value),
        (Type::IntOrText, Value::Null) => Ok(Value::from(0)),
        (Type::IntOrText, Value::Number(number)) => read(&Type::Int(32), Value::Number(number), path),
        (Type::IntOrText, value @ Value::String(_)) => Ok(value),
        (Type::SchemaOrBool, value @ (Value::Bool(_) | Value::Object(_))) => Ok(value),
        (Type::SchemaOrBool, _) => Err(Misread::NoSchema),
        (Type::Time, Value::String(text)) => time(text),
        (Type::MicroTime, Value::String(text)) => micro_time(text),
        (Type::Bytes, Value::String(text)) => bytes(text),
        (of, other) => Err(path.misread(&other, &go(of))),
    }
}

fn fits(number: i64, bits: u32) -> bool {
    match bits {
        32 => i32::try_from(number).is_ok(),
        16 => u16::try_from(number).is_ok(),
        _ => true,
    }
}

fn quantity(value: Value) -> Result<Value, Misread> {
    let text = match value {
        Value::Null => return Ok(Value::from("0")),
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        other => other.to_string(),
    };
    Ok(Value::from(Quantity::read(&text)?.to_string()))
}

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Seconds, in UTC.
fn time(text: String) -> Result<Value, Misread> {
    match text.parse::<Timestamp>() {
        Ok(at) => Ok(Value::from(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        Err(_) => Err(Misread::Time { rest: text.clone(), text, layout: SECONDS, element: "2006" }),
    }
}

/// Microseconds, in UTC. They must all be written, and nothing finer.
fn micro_time(text: String) -> Result<Value, Misread> {
    let wrong =
        |text: String, rest: String, element| Misread::Time { text, layout: MICROSECONDS, rest, element };
    let Ok(at) = text.parse::<Timestamp>() else { return Err(wrong(text.clone(), text, "2006")) };
    let to_seconds = text.len().min("2006-01-02T15:04:05".len());
    let rest = &text[to_seconds..];
    let digits = rest.strip_prefix('.').unwrap_or_default().chars().take_while(char::is_ascii_digit).count();
    match digits {
        6 => Ok(Value::from(at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())),
        0..6 => Err(wrong(text.clone(), rest.to_owned(), ".000000")),
        _ => Err(wrong(text.clone(), rest[7..].to_owned(), "Z07:00")),
    }
}

/// Bytes in base 64, with padding; line breaks do not count.
fn bytes(text: String) -> Result<Value, Misread> {
    let kept: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let body = kept.trim_end_matches('=');
    let wrong = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/'));
    match wrong {
        Some(place) => Err(Misread::Bytes(place)),
        None if !kept.len().is_multiple_of(4) || kept.len() - body.len() > 2 => {
            Err(Misread::Bytes(body.len() / 4 * 4))
        }
        None => Ok(Value::from(kept)),
    }
}

/// The type, as Go calls it.
fn go(of: &Type) -> String {
    match of {
        Type::Text => "string".to_owned(),
        Type::Int(bits) => format!("int{bits}"),
        Type::Bool => "bool".to_owned(),
        Type::Float => "float64".to_owned(),
        Type::Bytes => "[]uint8".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::IntOrText => "int32".to_owned(),
        Type::Time | Type::MicroTime => "string".to_owned(),
        Type::Any | Type::SchemaOrBool => "interface {}".to_owned(),
        Type::Pointer(of) => go(of),
        Type::List(of) => format!("[]{}", go(of)),
        Type::Map(of) => format!("map[string]{}", go(of)),
        Type::Struct(name) => Struct::named(name).map_or(*name, Struct::go_name).to_owned(),
    }
}
