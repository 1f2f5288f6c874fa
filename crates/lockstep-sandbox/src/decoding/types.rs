//! Values that are not of the type of their field.
//!
//! A real server decodes into structures of Go and tells their types. Most follow from the schemas; where one does
//! not, because it has a name of its own or lies in a structure within, it is listed among the facts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::tree::Node;
use super::{Below, below, named, reference, resolve, time};
use crate::cel::is_quantity;

/// Structure, field, the structures within that it lies in, and its type if it does not follow from the schema.
const GO_TYPES: &str = include_str!("../../facts/go_types.txt");

/// What is known of a field beyond its schema.
#[derive(Clone, Copy, Default)]
struct Known {
    within: &'static str,
    type_name: Option<&'static str>,
}

fn known(structure: &str, field: &str) -> Known {
    static READ: OnceLock<BTreeMap<(&'static str, &'static str), Known>> = OnceLock::new();
    let all = READ.get_or_init(|| GO_TYPES.lines().filter_map(line).collect());
    all.get(&(structure, field)).copied().unwrap_or_default()
}

fn line(line: &'static str) -> Option<((&'static str, &'static str), Known)> {
    let mut words = line.splitn(4, ' ');
    let (structure, field, within, kind) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let within = if within == "-" { "" } else { within };
    Some(((structure, field), Known { within, type_name: (kind != "-").then_some(kind) }))
}

/// The first thing that is wrong.
pub(super) fn problem(node: &Node, schema: &str) -> Option<String> {
    let place = Place { structure: schema, path: String::new() };
    structure(node, schema, &place)
}

/// The structure a value is a field of, and the way to it.
struct Place<'a> {
    structure: &'a str,
    path: String,
}

impl Place<'_> {
    /// The last part of the structure's name, and the path.
    fn shown(&self) -> String {
        let name = self.structure.rsplit('.').next().unwrap_or_default();
        format!("{name}.{}", self.path)
    }

    fn wrong(&self, is: &str, wanted: &str) -> Option<String> {
        Some(format!("json: cannot unmarshal {is} into Go struct field {} of type {wanted}", self.shown()))
    }
}

fn structure(node: &Node, name: &str, place: &Place<'_>) -> Option<String> {
    let Node::Map(fields) = node else { return None };
    let schema = named(name);
    fields.iter().find_map(|(key, node)| {
        let Below::Of(field) = below(schema, key) else { return None };
        let known = known(name, key);
        let dot = if place.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{}{key}", place.path, known.within);
        value(node, field, known.type_name, &Place { structure: name, path })
    })
}

/// A value of a schema, whose type may have a name of its own.
fn value(node: &Node, schema: &'static Value, type_name: Option<&str>, place: &Place<'_>) -> Option<String> {
    if matches!(node, Node::Null) {
        return None;
    }
    let wanted = || type_name.map_or_else(|| go_type(schema), str::to_owned);
    if let Some(name) = reference(schema) {
        return referred(node, name, &wanted(), place);
    }
    let wrong = || place.wrong(node.kind(), &wanted());
    match (schema.get("type").and_then(Value::as_str).unwrap_or_default(), node) {
        ("string", Node::Text(text)) if schema["format"] == "byte" => time::base64_problem(text),
        ("string", Node::Text(_)) | ("boolean", Node::Bool) | ("number", Node::Number(_)) => None,
        ("integer", Node::Number(text)) => integer(text, &wanted(), place),
        ("array", Node::List(items)) => {
            let inner = type_name.and_then(|name| name.strip_prefix("[]"));
            items.iter().find_map(|item| value(item, &schema["items"], inner, place))
        }
        ("object", Node::Map(fields)) => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => {
                fields.iter().find_map(|(_, node)| value(node, values, None, place))
            }
            _ => None,
        },
        ("", _) => None,
        ("object", _) if schema.get("additionalProperties").is_none() => None,
        _ => wrong(),
    }
}

/// A value of a type that has a schema of its own. Some read themselves.
fn referred(node: &Node, name: &'static str, wanted: &str, place: &Place<'_>) -> Option<String> {
    let schema = resolve(named(name));
    let own = name.rsplit('.').next().unwrap_or_default();
    match (own, node) {
        ("Quantity", Node::Text(text) | Node::Number(text)) if is_quantity(text) => None,
        ("Quantity", _) => Some(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned(),
        ),
        ("IntOrString", Node::Text(_)) => None,
        ("IntOrString", Node::Number(text)) => integer(text, "int32", place),
        ("IntOrString", other) => place.wrong(other.kind(), "int32"),
        ("Time", Node::Text(text)) => time::problem(text, false),
        ("MicroTime", Node::Text(text)) => time::problem(text, true),
        ("Time" | "MicroTime", other) => place.wrong(other.kind(), "string"),
        ("JSONSchemaPropsOrBool", Node::Number(_) | Node::Text(_) | Node::List(_)) => {
            Some("boolean or JSON schema expected".to_owned())
        }
        (_, Node::Map(_)) => structure(node, name, place),
        _ if schema.get("properties").is_some() => place.wrong(node.kind(), wanted),
        _ => None,
    }
}

fn integer(text: &str, wanted: &str, place: &Place<'_>) -> Option<String> {
    let fits = match wanted {
        "int32" => text.parse::<i32>().is_ok(),
        _ => text.parse::<i64>().is_ok(),
    };
    if fits { None } else { place.wrong(&format!("number {text}"), wanted) }
}

/// The type Go has for a schema.
fn go_type(schema: &'static Value) -> String {
    if let Some(name) = reference(schema) {
        let mut parts = name.rsplit('.');
        let (own, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        return format!("{package}.{own}");
    }
    let format = schema["format"].as_str().unwrap_or_default();
    match schema["type"].as_str().unwrap_or_default() {
        "string" if format == "byte" => "[]uint8".to_owned(),
        "integer" => if format.is_empty() { "int64" } else { format }.to_owned(),
        "number" => "float64".to_owned(),
        "boolean" => "bool".to_owned(),
        "array" => format!("[]{}", go_type(&schema["items"])),
        "object" => format!("map[string]{}", go_type(&schema["additionalProperties"])),
        other => other.to_owned(),
    }
}
