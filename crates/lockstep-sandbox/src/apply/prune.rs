//! What goes when somebody applies an object without fields they applied before.

use serde_json::{Map, Value};

use crate::fields::{Element, Fields};
use crate::shape::{ListKind, ListShape, Shape, Shapes};

/// The object without what its applier dropped: fields they owned the last time and nobody owns now.
///
/// A map or an item of which somebody else owns something stays, with what they do not own gone.
pub fn prune(value: &Value, last: &Fields, owned: &Fields, shape: &Shape, shapes: &Shapes) -> Value {
    match (value, shapes.resolve(shape)) {
        (Value::Object(map), Shape::Map(of)) if !of.atomic => {
            maps(map, last, owned, |name| of.field(name), shapes)
        }
        (Value::Object(map), Shape::Any) => maps(map, last, owned, |_| &Shape::Any, shapes),
        (Value::Array(items), Shape::List(of)) if of.kind != ListKind::Atomic => {
            lists(items, last, owned, of, shapes)
        }
        _ => value.clone(),
    }
}

fn maps<'a>(
    map: &Map<String, Value>,
    last: &Fields,
    owned: &Fields,
    shape_of: impl Fn(&str) -> &'a Shape,
    shapes: &Shapes,
) -> Value {
    let mut left = Map::new();
    for (name, value) in map {
        if let Some(value) = child(value, &Element::field(name), last, owned, shape_of(name), shapes) {
            left.insert(name.clone(), value);
        }
    }
    Value::Object(left)
}

fn lists(items: &[Value], last: &Fields, owned: &Fields, of: &ListShape, shapes: &Shapes) -> Value {
    let keep = |item: &Value| match of.element(item) {
        None => Some(item.clone()),
        Some(element) => {
            child(item, &element, last, owned, &of.items, shapes).map(|left| with_keys(left, item, of))
        }
    };
    Value::Array(items.iter().filter_map(keep).collect())
}

/// An item that stays keeps what it is known by.
fn with_keys(mut left: Value, item: &Value, of: &ListShape) -> Value {
    if let (ListKind::Map(keys), Some(left)) = (&of.kind, left.as_object_mut()) {
        for (key, _) in keys {
            if let Some(value) = item.get(key) {
                left.insert(key.clone(), value.clone());
            }
        }
    }
    left
}

/// What is left of a field or an item, if anything.
fn child(
    value: &Value,
    element: &Element,
    last: &Fields,
    owned: &Fields,
    shape: &Shape,
    shapes: &Shapes,
) -> Option<Value> {
    let Some(last) = last.child(element) else { return Some(value.clone()) };
    let nobody = Fields::default();
    let owned = owned.child(element).unwrap_or(&nobody);
    // What they named goes with all that is in it, defaults too, unless somebody owns some of it.
    if owned.is_empty() && (last.is_member() || element.name().is_some()) {
        return None;
    }
    Some(prune(value, last, owned, shape, shapes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apply::fields_of;

    fn shape() -> Shape {
        Shape::read(&json!({"type": "object", "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                     "items": {"type": "object", "properties": {"name": {"type": "string"},
                                                                "image": {"type": "string"},
                                                                "policy": {"type": "string"}}}},
        }}))
    }

    fn pruned(merged: Value, last: Value, owned: &[Value]) -> Value {
        let (shape, shapes) = (shape(), Shapes::default());
        let of = |value: &Value| fields_of(value, &shape, &shapes);
        let owned = owned.iter().fold(Fields::default(), |all, value| all.union(&of(value)));
        prune(&merged, &of(&last), &owned, &shape, &shapes)
    }

    #[test]
    fn what_is_dropped_goes_unless_somebody_else_owns_it() {
        let merged = json!({"labels": {"a": "1", "b": "2", "c": "3"}});
        let last = json!({"labels": {"a": "1", "b": "2"}});
        let other = json!({"labels": {"b": "2"}});
        assert_eq!(pruned(merged.clone(), last.clone(), &[other]), json!({"labels": {"b": "2", "c": "3"}}));
        let alone = json!({"labels": {"a": "1", "b": "2"}});
        assert_eq!(pruned(alone, last, &[]), json!({}));
    }

    #[test]
    fn an_item_that_is_dropped_stays_with_what_others_own() {
        let merged = json!({"list": [{"name": "web", "image": "v1", "policy": "Always"}, {"name": "side"}]});
        let last = json!({"list": [{"name": "web", "image": "v1"}, {"name": "side"}]});
        let other = json!({"list": [{"name": "web", "policy": "Always"}]});
        assert_eq!(pruned(merged.clone(), last.clone(), &[other.clone()]), other);
        // What nobody owns, a default for instance, keeps nothing alive.
        assert_eq!(pruned(merged, last, &[]), json!({}));
    }
}
