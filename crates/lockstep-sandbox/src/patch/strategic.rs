//! Strategic merge patches: merge patches that know which lists are merged, and by what.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::server::go_map;
use crate::shape::{ListShape, Shape, Shapes};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// A patch that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StrategicError {
    /// `$patch` with another word than merge, replace or delete.
    #[error("unknown patch type: {word}")]
    Directive {
        /// The word.
        word: String,
        /// The map it stands in.
        map: Map<String, Value>,
    },
    /// A list in another order than the one that is asked for.
    #[error("The order in patch list:\n{0}\n doesn't match $setElementOrder list:\n{1}\n")]
    Order(String, String),
    /// An item of a merged list without the field it is known by.
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoKey {
        /// The item.
        item: String,
        /// The field.
        key: String,
    },
    /// Something else than a list where one is merged.
    #[error("{0} is no list")]
    NoList(String),
}

type Patched<T> = Result<T, StrategicError>;

/// Carries a patch out.
pub fn strategic(value: &Value, patch: &Value, shape: &Shape, shapes: &Shapes) -> Patched<Value> {
    match (value, patch) {
        (Value::Object(map), Value::Object(patch)) => {
            Ok(maps(map, patch, shape, shapes)?.map_or(Value::Null, Value::Object))
        }
        (_, Value::Object(patch)) => {
            Ok(maps(&Map::new(), patch, shape, shapes)?.map_or(Value::Null, Value::Object))
        }
        _ => Ok(patch.clone()),
    }
}

/// What a map becomes; nothing if the patch says that it goes.
fn maps(
    map: &Map<String, Value>,
    patch: &Map<String, Value>,
    shape: &Shape,
    shapes: &Shapes,
) -> Patched<Option<Map<String, Value>>> {
    let mut left = match directive(patch)? {
        Some("delete") => return Ok(None),
        Some("replace") => return Ok(Some(plain(patch))),
        _ => map.clone(),
    };
    if let Some(kept) = patch.get(RETAIN).and_then(Value::as_array) {
        left.retain(|name, _| kept.iter().any(|kept| kept == name));
    }
    for (name, change) in patch {
        let field = field(shape, name, shapes);
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            delete_from(&mut left, list, change)?;
        } else if name.starts_with('$') {
            continue;
        } else if change.is_null() {
            left.remove(name);
        } else if change.get(DIRECTIVE).is_some_and(|word| word == "replace") && !left.contains_key(name) {
            // Nothing is there to be replaced.
            continue;
        } else {
            match patched(left.get(name), change, field, shapes)? {
                Some(value) => drop(left.insert(name.clone(), value)),
                None => drop(left.remove(name)),
            }
        }
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix(ORDER) {
            check_order(patch.get(list), order, field(shape, list, shapes), shapes)?;
            put_in_order(&mut left, map.get(list), list, order, shape, shapes);
        }
    }
    Ok(Some(left))
}

/// What a field becomes; nothing if it goes.
fn patched(now: Option<&Value>, change: &Value, shape: &Shape, shapes: &Shapes) -> Patched<Option<Value>> {
    match (now, change, shapes.resolve(shape)) {
        (_, Value::Object(change), shape) => {
            let nothing = Map::new();
            let map = now.and_then(Value::as_object).unwrap_or(&nothing);
            Ok(maps(map, change, shape, shapes)?.map(Value::Object))
        }
        (None, Value::Array(change), Shape::List(of)) if of.merge_key.is_some() => {
            // Where nothing is, nothing is merged, and nobody asks by what items are known.
            let nothing = Value::Object(Map::new());
            let added = change.iter().filter(|item| item.get(DIRECTIVE).is_none());
            let added = added.map(|item| strategic(&nothing, item, &of.items, shapes));
            added.collect::<Patched<Vec<Value>>>().map(|added| Some(Value::Array(added)))
        }
        (now, Value::Array(change), Shape::List(of)) if of.merge_key.is_some() => {
            let now = now.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            lists(now, change, of, shapes).map(Some)
        }
        _ => Ok(Some(change.clone())),
    }
}

fn lists(now: &[Value], change: &[Value], of: &ListShape, shapes: &Shapes) -> Patched<Value> {
    let key = of.merge_key.as_deref().unwrap_or_default();
    if key.is_empty() {
        let mut all = now.to_vec();
        all.extend(change.iter().filter(|item| !now.contains(item)).cloned());
        return Ok(Value::Array(in_order(all, change, now, key)));
    }
    let replaces = |item: &Value| item.get(DIRECTIVE).and_then(Value::as_str) == Some("replace");
    let mut all = if change.iter().any(replaces) { Vec::new() } else { now.to_vec() };
    for item in change {
        let Some(fields) = item.as_object() else {
            return Err(StrategicError::NoKey { item: go_map(item), key: key.to_owned() });
        };
        let word = directive(fields)?;
        if word == Some("replace") && fields.len() == 1 {
            continue;
        }
        let Some(value) = fields.get(key) else {
            return Err(StrategicError::NoKey { item: go_map(item), key: key.to_owned() });
        };
        let place = all.iter().position(|other| other.get(key) == Some(value));
        match (word, place) {
            (Some("delete"), Some(place)) => drop(all.remove(place)),
            (Some("delete"), None) => {}
            (_, Some(place)) => all[place] = strategic(&all[place], item, &of.items, shapes)?,
            (_, None) => all.push(strategic(&Value::Object(Map::new()), item, &of.items, shapes)?),
        }
    }
    Ok(Value::Array(in_order(all, change, now, key)))
}

/// Items that are named come in the order they are named in, the others in the order they had. Where one of each could
/// come next, the other comes first only if both were there before and it stood before the named one.
fn in_order(all: Vec<Value>, named: &[Value], before: &[Value], key: &str) -> Vec<Value> {
    let same = |item: &Value, other: &Value| match key {
        "" => item == other,
        key => item.get(key).is_some() && item.get(key) == other.get(key),
    };
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(item, other));
    let (mut first, mut others): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|item| place(named, item).is_some());
    first.sort_by_key(|item| place(named, item));
    others.sort_by_key(|item| place(before, item));
    let (mut first, mut others) = (first.into_iter().peekable(), others.into_iter().peekable());
    let mut sorted = Vec::new();
    while let Some(item) = first.peek() {
        let earlier = |other: &Value| match (place(before, other), place(before, item)) {
            (Some(other), Some(item)) => other < item,
            _ => false,
        };
        match others.next_if(|other| earlier(other)) {
            Some(other) => sorted.push(other),
            None => sorted.extend(first.next()),
        }
    }
    sorted.extend(others);
    sorted
}

fn directive(patch: &Map<String, Value>) -> Patched<Option<&str>> {
    match patch.get(DIRECTIVE) {
        None => Ok(None),
        Some(Value::String(word)) if matches!(word.as_str(), "merge" | "replace" | "delete") => {
            Ok(Some(word.as_str()))
        }
        Some(other) => {
            let word = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            Err(StrategicError::Directive { word, map: patch.clone() })
        }
    }
}

/// A patch without what only tells how to patch.
fn plain(patch: &Map<String, Value>) -> Map<String, Value> {
    patch
        .iter()
        .filter(|(name, _)| !name.starts_with('$'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn field<'a>(shape: &'a Shape, name: &str, shapes: &'a Shapes) -> &'a Shape {
    match shapes.resolve(shape) {
        Shape::Map(of) => of.field(name),
        _ => &Shape::Any,
    }
}

fn delete_from(map: &mut Map<String, Value>, list: &str, gone: &Value) -> Patched<()> {
    let gone = gone.as_array().ok_or_else(|| StrategicError::NoList(gone.to_string()))?;
    if let Some(Value::Array(items)) = map.get_mut(list) {
        items.retain(|item| !gone.contains(item));
    }
    Ok(())
}

/// A list that is patched names its items in the order that is asked for.
fn check_order(change: Option<&Value>, order: &Value, shape: &Shape, shapes: &Shapes) -> Patched<()> {
    let (Some(Value::Array(change)), Value::Array(wanted)) = (change, order) else { return Ok(()) };
    let key = match shapes.resolve(shape) {
        Shape::List(of) => of.merge_key.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let same = |item: &Value, other: &Value| match key.as_str() {
        "" => item == other,
        key => item.get(key) == other.get(key),
    };
    let mut left = wanted.iter();
    let stays = |item: &&Value| item.get(DIRECTIVE).is_none_or(|word| word != "delete");
    for item in change.iter().filter(stays) {
        if !left.any(|other| same(item, other)) {
            let shown = |items: &[Value]| go_map(&Value::from(items));
            return Err(StrategicError::Order(shown(change), shown(wanted)));
        }
    }
    Ok(())
}

/// Brings what the order names into this order.
fn put_in_order(
    map: &mut Map<String, Value>,
    before: Option<&Value>,
    list: &str,
    order: &Value,
    shape: &Shape,
    shapes: &Shapes,
) {
    let key = match shapes.resolve(field(shape, list, shapes)) {
        Shape::List(of) => of.merge_key.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let (Some(Value::Array(items)), Some(order)) = (map.get_mut(list), order.as_array()) else { return };
    let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    *items = in_order(std::mem::take(items), order, before, &key);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(value: Value, patch: Value) -> Result<Value, String> {
        let shape = Shape::read(&json!({"type": "object", "properties": {
            "containers": {"type": "array", "x-kubernetes-patch-strategy": "merge",
                           "x-kubernetes-patch-merge-key": "name",
                           "items": {"type": "object", "properties": {"args": {"type": "array",
                                                                              "items": {"type": "string"}}}}},
            "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "plain": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }}));
        strategic(&value, &patch, &shape, &Shapes::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_merged_by_key_by_value_or_not() {
        let pod = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}], "finalizers": ["x"], "plain": ["x"]});
        let patch = json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}], "finalizers": ["y"], "plain": ["y"]});
        let after = json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}, {"name": "b"}],
                           "finalizers": ["y", "x"], "plain": ["y"]});
        assert_eq!(patched(pod, patch), Ok(after));
    }

    #[test]
    fn directives() {
        let pod = || json!({"containers": [{"name": "a"}, {"name": "b"}], "finalizers": ["x", "y"], "map": {"k": "v"}});
        let rows = [
            (
                json!({"containers": [{"name": "a", "$patch": "delete"}]}),
                "containers",
                json!([{"name": "b"}]),
            ),
            (
                json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
                "containers",
                json!([{"name": "c"}]),
            ),
            (json!({"$deleteFromPrimitiveList/finalizers": ["x"]}), "finalizers", json!(["y"])),
            (json!({"map": {"$patch": "replace", "n": "w"}}), "map", json!({"n": "w"})),
            (json!({"map": {"$patch": "delete"}}), "map", Value::Null),
            (json!({"map": {"k": null}}), "map", json!({})),
            (
                json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "c"}]}),
                "containers",
                json!([{"name": "c"}, {"name": "a"}, {"name": "b"}]),
            ),
        ];
        for (patch, field, wanted) in rows {
            let after = patched(pod(), patch.clone()).expect("it can be patched");
            assert_eq!(after[field], wanted, "{patch}");
        }
    }

    #[test]
    fn what_cannot_be_patched_is_named() {
        let wrong = patched(json!({"containers": []}), json!({"containers": [{"image": "x"}]}));
        assert_eq!(wrong, Err(r#"map: map[image:x] does not contain declared merge key: name"#.to_owned()));
        let wrong = patched(json!({}), json!({"$patch": "paint"}));
        assert_eq!(wrong, Err("unknown patch type: paint".to_owned()));
    }
}
