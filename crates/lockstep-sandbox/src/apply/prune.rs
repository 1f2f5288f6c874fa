//! What goes when somebody applies an object without fields they applied before.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::versions::{Versioned, Versions};
use super::walk::fields_of;
use crate::fields::{Element, Fields};
use crate::shape::{ListKind, Shape, Shapes};

/// The object without what its applier dropped: fields they owned the last time and nobody owns now.
///
/// What they owned goes with all that lies below it, unless somebody owns something there; then it stays with that, and
/// with what nobody ever owned. Everybody's fields are looked for in the version they wrote in: `last` is what was
/// applied the last time and in which version, `owned` is what is owned in each version, and `version` is the one the
/// object is in.
pub fn prune<V: Versions>(
    merged: Value,
    last: (&Fields, &str),
    mut owned: BTreeMap<String, Fields>,
    version: &str,
    versions: &V,
) -> Result<Value, V::Error> {
    let (last, last_version) = last;
    if last.is_empty() {
        return Ok(merged);
    }
    let Some(all) = versions.convert(
        &merged,
        last_version,
        &why("failed to convert merged object to last applied version: "),
    )?
    else {
        return Ok(merged);
    };
    let last = named(last, all.shape, all.shapes);
    let mut merged_there = all.object.clone();
    let mut kept = without(&all.object, &last, all.shape, all.shapes);
    // Those of the same version first: what they own may be needed to get to the others.
    let same = owned.remove(last_version).map(|owned| (last_version.to_owned(), owned));
    for (version, owned) in same.into_iter().chain(owned) {
        let Some(whole) = versions.convert(&merged_there, &version, &back("merged", &version))? else {
            continue;
        };
        let Some(bare) = versions.convert(&kept, &version, &back("pruned", &version))? else { continue };
        let stays = of(&bare).union(&named(&owned, whole.shape, whole.shapes));
        kept = without(&whole.object, &of(&whole).difference(&stays), whole.shape, whole.shapes);
        merged_there = whole.object;
    }
    let Some(kept) = versions.convert(&kept, last_version, &why(DANGLING))? else { return Ok(merged) };
    let gone = of(&all).difference(&of(&kept)).intersection(&last);
    let pruned = without(&all.object, &gone, all.shape, all.shapes);
    Ok(versions.convert(&pruned, version, &why(""))?.map_or(pruned, |pruned| pruned.object))
}

const DANGLING: &str =
    "failed add back dangling items: failed to convert pruned object to last applied version: ";

/// What is said if an object cannot be had in one of the versions.
fn why(words: &str) -> String {
    format!("failed to prune fields: {words}")
}

fn back(what: &str, version: &str) -> String {
    why(&format!("failed add back owned items: failed to convert {what} object at version {version}: "))
}

/// All fields of an object.
fn of(versioned: &Versioned<'_>) -> Fields {
    let Versioned { object, shape, shapes, .. } = versioned;
    named(&fields_of(object, shape, shapes), shape, shapes)
}

/// The set with every field of a structure below which something belongs to it.
fn named(fields: &Fields, shape: &Shape, shapes: &Shapes) -> Fields {
    let mut all = Fields::default();
    if fields.is_member() {
        all.set_member();
    }
    for (element, child) in fields.children() {
        let shape = below(element, shape, shapes);
        let mut child = named(child, shape.0, shapes);
        if shape.1 && !child.is_empty() {
            child.set_member();
        }
        all.hang(element.clone(), child);
    }
    all
}

/// The shape of a part, and whether it is a field of a structure.
fn below<'a>(element: &Element, shape: &'a Shape, shapes: &'a Shapes) -> (&'a Shape, bool) {
    match (shapes.resolve(shape), element.name()) {
        (Shape::Map(of), Some(name)) => (of.field(name), of.fields.contains_key(name)),
        (Shape::List(of), None) => (&of.items, false),
        _ => (&Shape::Any, false),
    }
}

/// A value without some of its fields. A map or a list of which nothing is left is null.
fn without(value: &Value, gone: &Fields, shape: &Shape, shapes: &Shapes) -> Value {
    match (value, shapes.resolve(shape)) {
        (Value::Object(map), Shape::Map(of)) if !of.atomic => {
            entries_without(map, gone, |name| of.field(name), shapes)
        }
        (Value::Object(map), Shape::Any) => entries_without(map, gone, |_| &Shape::Any, shapes),
        (Value::Array(items), Shape::List(of)) if of.kind != ListKind::Atomic => {
            let kept = items.iter().filter_map(|item| {
                let element = of.element(item)?;
                part_without(item, gone.child(&element), &of.items, shapes)
            });
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        _ => value.clone(),
    }
}

fn entries_without<'a>(
    map: &Map<String, Value>,
    gone: &Fields,
    shape_of: impl Fn(&str) -> &'a Shape,
    shapes: &Shapes,
) -> Value {
    let mut kept = Map::new();
    for (name, value) in map {
        if let Some(value) = part_without(value, gone.child(&Element::field(name)), shape_of(name), shapes) {
            kept.insert(name.clone(), value);
        }
    }
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}

/// What is left of a part; nothing if all of it goes.
fn part_without(value: &Value, gone: Option<&Fields>, shape: &Shape, shapes: &Shapes) -> Option<Value> {
    match gone {
        Some(gone) if gone.is_member() => None,
        Some(gone) if !gone.is_empty() => Some(without(value, gone, shape, shapes)),
        _ => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apply::versions::testing::OneShape;

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
        let owned = BTreeMap::from([("v1".to_owned(), owned)]);
        let Ok(pruned) = prune(merged, (&of(&last), "v1"), owned, "v1", &OneShape(&shape));
        pruned
    }

    #[test]
    fn what_is_dropped_goes_unless_somebody_else_owns_it() {
        let merged = json!({"labels": {"a": "1", "b": "2", "c": "3"}});
        let last = json!({"labels": {"a": "1", "b": "2"}});
        let other = json!({"labels": {"b": "2"}});
        assert_eq!(pruned(merged.clone(), last.clone(), &[other]), json!({"labels": {"b": "2", "c": "3"}}));
        let alone = json!({"labels": {"a": "1", "b": "2"}});
        assert_eq!(pruned(alone, last, &[]), Value::Null);
    }

    #[test]
    fn an_item_that_is_dropped_goes_with_its_defaults_unless_somebody_owns_one() {
        let merged = json!({"list": [{"name": "web", "image": "v1", "policy": "Always"}, {"name": "side"}]});
        let last = json!({"list": [{"name": "web", "image": "v1"}, {"name": "side"}]});
        let side = json!({"list": [{"name": "side"}]});
        assert_eq!(pruned(merged.clone(), last.clone(), std::slice::from_ref(&side)), side);
        let policy = json!({"list": [{"name": "web", "policy": "Always"}]});
        assert_eq!(pruned(merged, last, std::slice::from_ref(&policy)), policy);
    }
}
