//! Values as Go shows them: fields in the order in which its types have them.

use std::fmt::Write;

use serde_json::Value;

use super::types::{Struct, Type};

/// A value, in order.
pub(crate) enum Tree {
    /// Anything without parts, as JSON.
    Leaf(String),
    /// A list.
    List(Vec<Tree>),
    /// Fields.
    Fields(Vec<(String, Tree)>),
}

impl Tree {
    /// A value of one of the types that are written, or of none.
    pub(super) fn of(of: &'static Type, value: &Value) -> Self {
        match (of, value) {
            (Type::Pointer(of), value) => Self::of(of, value),
            (Type::List(of), Value::Array(items)) => {
                Self::List(items.iter().map(|item| Self::of(of, item)).collect())
            }
            (Type::Map(of), Value::Object(map)) => {
                Self::Fields(map.iter().map(|(key, value)| (key.clone(), Self::of(of, value))).collect())
            }
            (Type::Struct(name), Value::Object(_)) => Self::of_struct(name, value),
            (_, Value::Array(items)) => {
                Self::List(items.iter().map(|item| Self::of(&Type::Any, item)).collect())
            }
            (_, Value::Object(map)) => Self::Fields(
                map.iter().map(|(key, value)| (key.clone(), Self::of(&Type::Any, value))).collect(),
            ),
            (_, leaf) => Self::leaf(leaf),
        }
    }

    /// A value of a struct that is written.
    pub(super) fn of_struct(name: &str, value: &Value) -> Self {
        let Some(of) = Struct::named(name) else { return Self::of(&Type::Any, value) };
        let held = of.fields.iter().filter_map(|field| Some((field, value.get(field.name)?)));
        Self::Fields(held.map(|(field, value)| (field.name.to_owned(), Self::of(&field.of, value))).collect())
    }

    /// As Go writes JSON: fit to stand in HTML.
    pub(super) fn leaf(value: &Value) -> Self {
        let json = value.to_string();
        Self::Leaf(json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"))
    }

    /// In one line.
    pub fn compact(&self) -> String {
        match self {
            Self::Leaf(json) => json.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::compact).collect();
                format!("[{}]", items.join(","))
            }
            Self::Fields(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.compact()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// In many lines, each step indented by one space.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, depth: usize, text: &mut String) {
        let (open, close, parts): (char, char, Vec<(Option<&String>, &Tree)>) = match self {
            Self::Leaf(json) => return text.push_str(json),
            Self::List(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            Self::Fields(fields) => {
                ('{', '}', fields.iter().map(|(name, value)| (Some(name), value)).collect())
            }
        };
        text.push(open);
        let last = parts.len();
        for (place, (name, value)) in parts.into_iter().enumerate() {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', depth + 1));
            if let Some(name) = name {
                let _ = write!(text, "{}: ", Value::from(name.as_str()));
            }
            value.write(depth + 1, text);
            if place + 1 < last {
                text.push(',');
            }
        }
        if last > 0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', depth));
        }
        text.push(close);
    }
}
