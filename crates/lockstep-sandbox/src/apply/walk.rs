//! Which fields a value has.

use serde_json::Value;

use crate::fields::{Element, Fields};
use crate::shape::{ListKind, Shape, Shapes};

/// The fields somebody names who writes this value.
pub fn fields_of(value: &Value, shape: &Shape, shapes: &Shapes) -> Fields {
    match (value, shapes.resolve(shape)) {
        (Value::Object(map), Shape::Map(of)) if !of.atomic => {
            let mut fields = Fields::default();
            for (name, value) in map {
                let mut below = fields_of(value, of.field(name), shapes);
                // A key that anybody may choose is a field of its own; one of a structure is not.
                if is_hollow(value) || !of.fields.contains_key(name) {
                    below.set_member();
                }
                fields.hang(Element::field(name), below);
            }
            fields
        }
        (Value::Object(map), Shape::Any) => {
            let mut fields = Fields::default();
            for (name, value) in map {
                let mut below = fields_of(value, &Shape::Any, shapes);
                below.set_member();
                fields.hang(Element::field(name), below);
            }
            fields
        }
        (Value::Array(items), Shape::List(of)) if of.kind != ListKind::Atomic => {
            let mut fields = Fields::default();
            for (index, item) in items.iter().enumerate() {
                let mut below = fields_of(item, &of.items, shapes);
                below.set_member();
                fields.hang(of.element(item).unwrap_or_else(|| Element::index(index)), below);
            }
            fields
        }
        _ => Fields::leaf(),
    }
}

/// Nothing hangs below it that could belong to anybody.
fn is_hollow(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}
