//! The types that a real API server has within, which show where it complains: all their fields, by their names in Go.
//! `inner.txt` names them: the field, what it is in JSON, what it holds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::tree::Tree;
use super::types::Type;

const TABLE: &str = include_str!("inner.txt");

struct Field {
    go: &'static str,
    json: &'static str,
    of: Type,
}

fn table() -> &'static BTreeMap<&'static str, Vec<Field>> {
    static READ: OnceLock<BTreeMap<&'static str, Vec<Field>>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Field>> = BTreeMap::new();
        let mut current = "";
        for line in TABLE.lines() {
            let mut words = line.split_whitespace();
            match (line.starts_with(' '), words.next(), words.next(), words.next()) {
                (true, Some(go), Some(json), Some(of)) => {
                    table.entry(current).or_default().push(Field { go, json, of: Type::read(of) });
                }
                _ => {
                    current = line;
                    table.insert(current, Vec::new());
                }
            }
        }
        table
    })
}

/// A value of one of the inner types.
pub(super) fn tree(name: &str, value: &Value) -> Tree {
    let Some(fields) = table().get(name) else { return Tree::of_struct(name, value) };
    let shown = fields.iter().map(|field| {
        let held = value.get(field.json).unwrap_or(&Value::Null);
        (field.go.to_owned(), of(&field.of, held))
    });
    Tree::Fields(shown.collect())
}

fn of(kind: &'static Type, value: &Value) -> Tree {
    match (kind, value) {
        (Type::Pointer(_) | Type::List(_) | Type::Map(_) | Type::Time, Value::Null) => {
            Tree::leaf(&Value::Null)
        }
        (Type::Pointer(kind), value) => of(kind, value),
        (Type::List(kind), Value::Array(items)) => {
            Tree::List(items.iter().map(|item| of(kind, item)).collect())
        }
        (Type::Map(kind), Value::Object(map)) => {
            Tree::Fields(map.iter().map(|(key, value)| (key.clone(), of(kind, value))).collect())
        }
        (Type::Struct(name), Value::Null) => tree(name, &Value::Object(Map::new())),
        (Type::Struct(name), value) => tree(name, value),
        (Type::Text, Value::Null) => Tree::leaf(&Value::from("")),
        (Type::Bool, Value::Null) => Tree::leaf(&Value::from(false)),
        (Type::Int(_) | Type::Float | Type::IntOrText, Value::Null) => Tree::leaf(&Value::from(0)),
        (Type::Quantity, Value::Null) => Tree::leaf(&Value::from("0")),
        (_, leaf) => Tree::leaf(leaf),
    }
}
