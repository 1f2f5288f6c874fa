//! An object and what somebody applies to it, together.

use serde_json::{Map, Value};

use crate::shape::{ListKind, ListShape, Shape, Shapes};

/// What stands, with all that is applied laid over it.
pub fn merge(live: &Value, applied: &Value, shape: &Shape, shapes: &Shapes) -> Value {
    match (live, applied, shapes.resolve(shape)) {
        (Value::Object(live), Value::Object(applied), Shape::Map(of)) if !of.atomic => {
            maps(live, applied, |name| of.field(name), shapes)
        }
        (Value::Object(live), Value::Object(applied), Shape::Any) => {
            maps(live, applied, |_| &Shape::Any, shapes)
        }
        (Value::Array(live), Value::Array(applied), Shape::List(of)) if of.kind != ListKind::Atomic => {
            lists(live, applied, of, shapes)
        }
        // Nothing laid over a map or a list changes nothing of it.
        (Value::Object(_), Value::Null, Shape::Map(of)) if !of.atomic => live.clone(),
        (Value::Array(_), Value::Null, Shape::List(of)) if of.kind != ListKind::Atomic => live.clone(),
        _ => applied.clone(),
    }
}

fn maps<'a>(
    live: &Map<String, Value>,
    applied: &Map<String, Value>,
    shape_of: impl Fn(&str) -> &'a Shape,
    shapes: &Shapes,
) -> Value {
    let mut both = live.clone();
    for (name, value) in applied {
        let merged = match live.get(name) {
            Some(stands) => merge(stands, value, shape_of(name), shapes),
            None => value.clone(),
        };
        both.insert(name.clone(), merged);
    }
    Value::Object(both)
}

/// Items that are applied come in the order they are applied in; the others keep their places between them.
fn lists(live: &[Value], applied: &[Value], of: &ListShape, shapes: &Shapes) -> Value {
    let key = |item: &Value| of.element(item);
    let names_it = |item: &Value| {
        let wanted = key(item);
        wanted.is_some().then(|| applied.iter().position(|other| key(other) == wanted)).flatten()
    };
    let mut both: Vec<Value> = Vec::with_capacity(live.len() + applied.len());
    let mut next = 0;
    for item in live {
        let Some(place) = names_it(item) else {
            both.push(item.clone());
            continue;
        };
        // All that is applied before this one comes before it.
        while next <= place {
            push(&mut both, live, &applied[next], of, shapes);
            next += 1;
        }
    }
    for item in &applied[next..] {
        push(&mut both, live, item, of, shapes);
    }
    Value::Array(both)
}

fn push(both: &mut Vec<Value>, live: &[Value], item: &Value, of: &ListShape, shapes: &Shapes) {
    let wanted = of.element(item);
    let stands = live.iter().find(|other| wanted.is_some() && of.element(other) == wanted);
    both.push(stands.map_or_else(|| item.clone(), |stands| merge(stands, item, &of.items, shapes)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape() -> Shape {
        Shape::read(&json!({"type": "object", "properties": {
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                     "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "plain": {"type": "array", "items": {"type": "string"}},
        }}))
    }

    #[test]
    fn lists_are_merged_by_keys_or_replaced() {
        let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        let rows: [(&[&str], &[&str], &[&str]); 4] = [
            (&["a", "b"], &["b", "c"], &["a", "b", "c"]),
            (&["a", "b"], &["c", "a"], &["c", "a", "b"]),
            (&["a", "b", "c"], &["c", "a"], &["c", "a", "b"]),
            (&[], &["a"], &["a"]),
        ];
        for (live, applied, both) in rows {
            let merged = merge(
                &json!({"list": named(live), "plain": ["x"]}),
                &json!({"list": named(applied), "plain": ["y"]}),
                &shape(),
                &Shapes::default(),
            );
            assert_eq!(merged, json!({"list": named(both), "plain": ["y"]}), "{live:?} and {applied:?}");
        }
    }
}
