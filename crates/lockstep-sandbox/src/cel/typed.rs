//! JSON as values of expressions: with a schema that says what it is, or as it comes.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::parser::RESERVED;
use super::value::{Result, Val};
use crate::schema::{ListType, Schema, Values, parse_date, parse_date_time, parse_duration};

/// A list of JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Array<'a> {
    items: &'a [Value],
    schema: Option<&'a Schema>,
}

/// A map of JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    map: &'a Map<String, Value>,
    schema: Option<&'a Schema>,
    /// It is the root of an object, which always has a kind and a name.
    root: bool,
}

/// Plain JSON.
pub(super) fn plain(value: &Value) -> Val<'_> {
    match value {
        Value::Null => Val::Null,
        Value::Bool(truth) => Val::Bool(*truth),
        Value::String(text) => Val::Text(text.into()),
        Value::Array(items) => Val::Array(Array { items, schema: None }),
        Value::Object(map) => Val::Object(Object { map, schema: None, root: false }),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Val::Int(integer),
            (None, Some(unsigned)) => Val::Uint(unsigned),
            _ => Val::Double(number.as_f64().unwrap_or_default()),
        },
    }
}

/// JSON of a schema. At the root of an object, its kind and name are known even if the schema is silent.
pub(super) fn typed<'a>(value: &'a Value, schema: &'a Schema, root: bool) -> Result<Val<'a>> {
    if value.is_null() {
        return match schema.nullable {
            true => Ok(Val::Null),
            false => Err("invalid data, got null for schema with nullable=false".to_owned()),
        };
    }
    let wrong = |what: &str| Err(format!("invalid data, expected {what}"));
    match (schema.type_name.as_str(), value) {
        _ if schema.int_or_string => match value {
            Value::String(text) => Ok(Val::Text(text.into())),
            Value::Number(number) if number.is_i64() => Ok(plain(value)),
            _ => wrong("XIntOrString value to be either a string or integer"),
        },
        ("object", Value::Object(map)) => {
            Ok(Val::Object(Object { map, schema: Some(schema), root: root || schema.embedded }))
        }
        ("object", _) => wrong("a map for the provided schema with type=object"),
        ("array", Value::Array(items)) => Ok(Val::Array(Array { items, schema: Some(schema) })),
        ("array", _) => wrong("an array for the provided schema with type=array"),
        ("string", Value::String(text)) => formatted(text, &schema.format),
        ("string", _) => wrong("string"),
        ("number", Value::Number(number)) => Ok(Val::Double(number.as_f64().unwrap_or_default())),
        ("number", _) => wrong("float"),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(integer) => Ok(Val::Int(integer)),
            None => wrong("int, got float64"),
        },
        ("integer", _) => wrong("int"),
        ("boolean", Value::Bool(truth)) => Ok(Val::Bool(*truth)),
        ("boolean", _) => wrong("bool"),
        _ => Ok(Val::Unknown(value)),
    }
}

/// Texts of some formats are values of their own.
fn formatted<'a>(text: &'a str, format: &str) -> Result<Val<'a>> {
    let wrong = |what: &str| format!("Invalid {what} {text}");
    match format {
        "duration" => parse_duration(text).map(Val::Duration).ok_or_else(|| wrong("duration")),
        "date" => {
            let day = parse_date(text).ok_or_else(|| wrong("date formatted string"))?;
            let midnight = day.to_zoned(jiff::tz::TimeZone::UTC);
            midnight.map(|at| Val::Timestamp(at.timestamp())).map_err(|_| wrong("date formatted string"))
        }
        "date-time" => {
            parse_date_time(text).map(Val::Timestamp).ok_or_else(|| wrong("date-time formatted string"))
        }
        "byte" => {
            super::bytes::decode(text).map(|bytes| Val::Bytes(Rc::from(bytes))).ok_or_else(|| wrong("byte"))
        }
        _ => Ok(Val::Text(text.into())),
    }
}

impl<'a> Array<'a> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    fn read(&self, item: &'a Value) -> Result<Val<'a>> {
        match self.schema {
            None => Ok(plain(item)),
            Some(schema) => match &schema.items {
                Some(items) => typed(item, items, false),
                None => Err("invalid array type, expected Items with a non-empty Schema".to_owned()),
            },
        }
    }

    pub(super) fn get(&self, index: i64) -> Option<Result<Val<'a>>> {
        let item = self.items.get(usize::try_from(index).ok()?)?;
        Some(self.read(item))
    }

    pub(super) fn items(&self) -> Result<Vec<Val<'a>>> {
        self.items.iter().map(|item| self.read(item)).collect()
    }

    fn list_type(&self) -> &ListType {
        self.schema.map_or(&ListType::Atomic, |schema| &schema.list)
    }

    /// By which fields items are known, if they are.
    fn known_by(&self, item: &Val<'a>) -> Result<Option<Vec<Val<'a>>>> {
        match self.list_type() {
            ListType::Atomic => Ok(None),
            ListType::Set => Ok(Some(vec![item.clone()])),
            ListType::Map(keys) => {
                let key = |name: &String| {
                    let name = escape(name).unwrap_or_else(|| name.clone());
                    Ok(item.find(&Val::text(name))?.unwrap_or(Val::Null))
                };
                keys.iter().map(key).collect::<Result<Vec<_>>>().map(Some)
            }
        }
    }

    /// Sets and maps are equal in any order.
    pub(super) fn equals(&self, other: &Val<'a>) -> Result<bool> {
        let theirs = other.items().unwrap_or(Ok(Vec::new()))?;
        let mine = self.items()?;
        if mine.len() != theirs.len() {
            return Ok(false);
        }
        for (place, item) in mine.iter().enumerate() {
            let found = match self.known_by(item)? {
                None => theirs.get(place),
                Some(key) => self.known_again(&key, &theirs)?,
            };
            match found {
                Some(found) if item.equals(found)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn known_again<'b>(&self, key: &[Val<'a>], among: &'b [Val<'a>]) -> Result<Option<&'b Val<'a>>> {
        for item in among {
            let Some(other) = self.known_by(item)? else { continue };
            let mut same = true;
            for (a, b) in key.iter().zip(&other) {
                same &= a.equals(b)?;
            }
            if same {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// This list and another: sets are united, and maps merged.
    pub(super) fn add(&self, other: Vec<Val<'a>>) -> Result<Vec<Val<'a>>> {
        let mut all = self.items()?;
        for item in other {
            let mut place = None;
            if let Some(key) = self.known_by(&item)? {
                for (at, mine) in all.iter().enumerate() {
                    if self.known_again(&key, std::slice::from_ref(mine))?.is_some() {
                        place = Some(at);
                    }
                }
            }
            match place.and_then(|place| all.get_mut(place)) {
                Some(mine) => *mine = item,
                None => all.push(item),
            }
        }
        Ok(all)
    }
}

impl<'a> Object<'a> {
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// The fields have names in the schema, rather than being keys of a map.
    fn has_names(&self) -> bool {
        self.root || self.schema.is_some_and(|schema| !schema.properties.is_empty())
    }

    /// What a field holds. A field that is null is not there.
    pub(super) fn find(&self, name: &str) -> Result<Option<Val<'a>>> {
        let Some(schema) = self.schema else { return Ok(self.map.get(name).map(plain)) };
        if !self.has_names() {
            let Values::Of(values) = &schema.values else { return Ok(None) };
            return self.map.get(name).map(|value| typed(value, values, false)).transpose();
        }
        let Some(name) = unescape(name) else { return Ok(None) };
        let Some(value) = self.map.get(&name).filter(|value| !value.is_null()) else { return Ok(None) };
        self.read(&name, value).transpose()
    }

    fn read(&self, name: &str, value: &'a Value) -> Option<Result<Val<'a>>> {
        let schema = self.schema?;
        match name {
            "kind" | "apiVersion" if self.root => Some(Ok(plain(value))),
            "metadata" if self.root => Some(Ok(plain(value))),
            _ => schema.field(name).map(|schema| typed(value, schema, false)),
        }
    }

    pub(super) fn pairs(&self) -> Result<Vec<(Val<'a>, Val<'a>)>> {
        let Some(_) = self.schema else {
            return Ok(self.map.iter().map(|(key, value)| (Val::Text(key.into()), plain(value))).collect());
        };
        let mut found = Vec::new();
        for (key, value) in self.map {
            let Some(value) = self.read(key, value) else { continue };
            let key = match escape(key).filter(|_| self.has_names()) {
                Some(escaped) => Val::text(escaped),
                None => Val::Text(key.into()),
            };
            found.push((key, value?));
        }
        Ok(found)
    }

    /// Fields that are not described are compared as JSON.
    pub(super) fn equals(&self, other: &Val<'a>) -> Result<bool> {
        if other.length() != Some(self.len()) {
            return Ok(false);
        }
        for (key, value) in self.map {
            let name = match escape(key).filter(|_| self.has_names()) {
                Some(escaped) => Val::text(escaped),
                None => Val::Text(key.into()),
            };
            match (self.find_known(key)?, other) {
                (Some(mine), _) => match other.find(&name)? {
                    Some(theirs) if mine.equals(&theirs)? => {}
                    _ => return Ok(false),
                },
                (None, Val::Object(theirs)) if theirs.map.get(key) == Some(value) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn find_known(&self, key: &str) -> Result<Option<Val<'a>>> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        match self.schema {
            None => Ok(Some(plain(value))),
            Some(_) if value.is_null() => Ok(None),
            Some(_) => self.read(key, value).transpose(),
        }
    }
}

/// Words that are no names: those nobody may use, and those that are values.
fn is_reserved(word: &str) -> bool {
    matches!(word, "true" | "false" | "null") || RESERVED.contains(&word)
}

const ESCAPES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// The name of a field as expressions write it; nothing if they cannot.
pub fn escape(name: &str) -> Option<String> {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(letter)
    {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        match ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain)) {
            Some((plain, escaped)) => {
                out.push_str(escaped);
                rest = rest.get(plain.len()..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    Some(out)
}

/// The field that expressions write so.
pub fn unescape(name: &str) -> Option<String> {
    if !name.contains("__") {
        return Some(name.to_owned());
    }
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| is_reserved(word)) {
        return Some(word.to_owned());
    }
    let mut out = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some((plain, escaped)) = ESCAPES.iter().find(|(_, escaped)| rest.starts_with(escaped)) {
            out.push_str(plain);
            rest = rest.get(escaped.len()..).unwrap_or_default();
        } else {
            // Two underscores that begin no escape and enclose a word are none of ours.
            if let Some(word) = rest.strip_prefix("__")
                && word.find("__").is_some_and(|end| end > 0)
            {
                return None;
            }
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        for (name, escaped) in [
            ("plain", Some("plain")),
            ("namespace", Some("__namespace__")),
            ("a.b", Some("a__dot__b")),
            ("a-b", Some("a__dash__b")),
            ("a/b", Some("a__slash__b")),
            ("a__b", Some("a__underscores__b")),
            ("1a", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(escaped).as_deref(), Some(name));
            }
        }
        assert_eq!(unescape("a__nope__b"), None);
    }
}
