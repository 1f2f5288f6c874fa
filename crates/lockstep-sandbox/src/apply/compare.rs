//! What changed between two states of an object, field by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::{Element, Fields};
use crate::shape::{ListKind, ListShape, Shape, Shapes};

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that are there now and were not before.
    pub added: Fields,
    /// Fields with another value.
    pub modified: Fields,
    /// Fields that are gone.
    pub removed: Fields,
}

impl Comparison {
    /// Nothing changed.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// What was set: added or given another value.
    pub fn set(&self) -> Fields {
        self.added.union(&self.modified)
    }

    /// The same without some fields and all below them.
    pub fn without_all_below(&self, fields: &Fields) -> Self {
        Self {
            added: self.added.without_all_below(fields),
            modified: self.modified.without_all_below(fields),
            removed: self.removed.without_all_below(fields),
        }
    }

    fn hang(&mut self, element: &Element, below: Self) {
        self.added.hang(element.clone(), below.added);
        self.modified.hang(element.clone(), below.modified);
        self.removed.hang(element.clone(), below.removed);
    }
}

/// Compares two states. Where one of them holds nothing, the other's fields came or went one by one.
pub fn compare(old: &Value, new: &Value, shape: &Shape, shapes: &Shapes) -> Comparison {
    let modified = || Comparison { modified: Fields::leaf(), ..Comparison::default() };
    if old == new {
        return Comparison::default();
    }
    if is_empty(old) && is_empty(new) {
        return modified();
    }
    match shapes.resolve(shape) {
        Shape::Map(of) if !of.atomic => match (entries(old), entries(new)) {
            (Some(old), Some(new)) => maps(old, new, |name| of.field(name), shapes),
            _ => modified(),
        },
        Shape::Any => match (entries(old), entries(new)) {
            (Some(old), Some(new)) => maps(old, new, |_| &Shape::Any, shapes),
            _ => modified(),
        },
        Shape::List(of) if of.kind != ListKind::Atomic => match (items(old), items(new)) {
            (Some(old), Some(new)) => lists(old, new, of, shapes),
            _ => modified(),
        },
        _ => modified(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn entries(value: &Value) -> Option<&Map<String, Value>> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    if value.is_null() { Some(&NONE) } else { value.as_object() }
}

fn items(value: &Value) -> Option<&[Value]> {
    if value.is_null() { Some(&[]) } else { value.as_array().map(Vec::as_slice) }
}

fn maps<'a>(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    shape_of: impl Fn(&str) -> &'a Shape,
    shapes: &Shapes,
) -> Comparison {
    let mut all = Comparison::default();
    for (name, value) in old {
        let element = Element::field(name);
        match new.get(name) {
            Some(now) => all.hang(&element, compare(value, now, shape_of(name), shapes)),
            None => all.removed.hang(element, whole(value, shape_of(name), shapes)),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        all.added.hang(Element::field(name), whole(value, shape_of(name), shapes));
    }
    all
}

fn lists(old: &[Value], new: &[Value], of: &ListShape, shapes: &Shapes) -> Comparison {
    let (old, new) = (by_element(old, of), by_element(new, of));
    let none = Vec::new();
    let mut all = Comparison::default();
    for element in old.keys().chain(new.keys().filter(|element| !old.contains_key(*element))) {
        let was = old.get(element).unwrap_or(&none);
        let is = new.get(element).unwrap_or(&none);
        match (was.as_slice(), is.as_slice()) {
            ([was], [is]) => all.hang(element, compare(was, is, &of.items, shapes)),
            ([was], []) => all.removed.hang(element.clone(), whole(was, &of.items, shapes)),
            ([], [is]) => all.added.hang(element.clone(), whole(is, &of.items, shapes)),
            // What is there several times is one thing.
            ([_, _, ..], [_, _, ..]) if was == is => {}
            ([_, _, ..], [_, _, ..]) => all.modified.hang(element.clone(), Fields::leaf()),
            ([_, _, ..], is) => {
                for item in is {
                    all.added.hang(element.clone(), whole(item, &of.items, shapes));
                }
                all.removed.hang(element.clone(), Fields::leaf());
            }
            (was, _) => {
                for item in was {
                    all.removed.hang(element.clone(), whole(item, &of.items, shapes));
                }
                all.added.hang(element.clone(), Fields::leaf());
            }
        }
    }
    all
}

/// The items of a list, by what they are known by.
fn by_element<'a>(items: &'a [Value], of: &ListShape) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut known: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        known.entry(of.element(item).unwrap_or_else(|| Element::index(index))).or_default().push(item);
    }
    known
}

/// A value that came or went as a whole: the place itself, and every place below.
fn whole(value: &Value, shape: &Shape, shapes: &Shapes) -> Fields {
    let mut fields = Fields::leaf();
    match (value, shapes.resolve(shape)) {
        (Value::Object(map), Shape::Map(of)) if !of.atomic => {
            for (name, value) in map {
                fields.hang(Element::field(name), whole(value, of.field(name), shapes));
            }
        }
        (Value::Object(map), Shape::Any) => {
            for (name, value) in map {
                fields.hang(Element::field(name), whole(value, &Shape::Any, shapes));
            }
        }
        (Value::Array(items), Shape::List(of)) if of.kind != ListKind::Atomic => {
            for (index, item) in items.iter().enumerate() {
                let element = of.element(item).unwrap_or_else(|| Element::index(index));
                fields.hang(element, whole(item, &of.items, shapes));
            }
        }
        _ => {}
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels() -> Shape {
        Shape::read(&json!({"type": "object", "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                      "items": {"type": "object", "properties": {"name": {"type": "string"},
                                                                 "value": {"type": "string"}}}},
        }}))
    }

    fn written(old: Value, new: Value) -> [Value; 3] {
        let compared = compare(&old, &new, &labels(), &Shapes::default());
        [compared.added, compared.modified, compared.removed].map(|fields| fields.write())
    }

    #[test]
    fn a_map_that_came_counts_itself() {
        let [added, modified, removed] = written(json!({}), json!({"labels": {"a": "1"}}));
        assert_eq!(added, json!({"f:labels": {".": {}, "f:a": {}}}));
        assert_eq!((modified, removed), (json!({}), json!({})));
    }

    #[test]
    fn items_are_known_by_their_keys_whatever_their_order() {
        let old = json!({"items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]});
        let new = json!({"items": [{"name": "c"}, {"name": "b", "value": "3"}]});
        let [added, modified, removed] = written(old, new);
        assert_eq!(added, json!({"f:items": {r#"k:{"name":"c"}"#: {".": {}, "f:name": {}}}}));
        assert_eq!(modified, json!({"f:items": {r#"k:{"name":"b"}"#: {"f:value": {}}}}));
        let gone = json!({".": {}, "f:name": {}, "f:value": {}});
        assert_eq!(removed, json!({"f:items": {r#"k:{"name":"a"}"#: gone}}));
    }
}
