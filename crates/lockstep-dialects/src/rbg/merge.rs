//! Strategic merge of pod templates: lists whose items have a key are joined item by item, all others are replaced.

use serde_json::{Map, Value};

/// Lists of a pod template that are joined, and the key of their items.
const KEYED: [(&str, &str); 13] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("ephemeralContainers", "name"),
    ("env", "name"),
    ("ports", "containerPort"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("hostAliases", "ip"),
    ("topologySpreadConstraints", "topologyKey"),
    ("resourceClaims", "name"),
    ("schedulingGates", "name"),
];

/// What an item or object says of itself instead of what is in it.
const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// A template with a patch over it.
pub(crate) fn merged(base: &Value, patch: &Value) -> Value {
    match (base, patch) {
        (_, Value::Null) => base.clone(),
        (Value::Object(base), Value::Object(patch)) => Value::Object(objects(base, patch)),
        (_, patch) => without_directives(patch),
    }
}

fn objects(base: &Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => return Map::new(),
        Some("replace") => return plain(patch),
        _ => {}
    }
    let mut out = base.clone();
    if let Some(Value::Array(kept)) = patch.get(RETAIN) {
        out.retain(|key, _| kept.iter().any(|name| name == key));
    }
    for (key, change) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            let gone = change.as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(Value::Array(items)) = out.get_mut(list) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if key.starts_with('$') {
            continue;
        }
        let value = match (out.get(key), change) {
            (_, Value::Null) => {
                out.remove(key);
                continue;
            }
            (Some(Value::Object(below)), Value::Object(change)) => Value::Object(objects(below, change)),
            (Some(Value::Array(items)), Value::Array(changes)) => lists(key, items, changes),
            (_, change) => without_directives(change),
        };
        out.insert(key.clone(), value);
    }
    out
}

/// A list with a patch over it.
fn lists(name: &str, base: &[Value], patch: &[Value]) -> Value {
    let key = KEYED.iter().find(|(list, _)| *list == name).map(|(_, key)| *key);
    let all_keyed =
        |key: &str| patch.iter().all(|item| item.get(key).is_some() || item.get(DIRECTIVE).is_some());
    let Some(key) = key.filter(|key| all_keyed(key)) else {
        return Value::Array(patch.iter().map(without_directives).collect());
    };
    if patch.iter().any(|item| item[DIRECTIVE] == "replace" && item.get(key).is_none()) {
        let kept = patch.iter().filter(|item| item.get(key).is_some());
        return Value::Array(kept.map(without_directives).collect());
    }
    let place = |item: &Value| base.iter().position(|old| old.get(key) == item.get(key));
    let mut left: Vec<&Value> = base.iter().collect();
    let mut out = Vec::new();
    for item in patch.iter().filter(|item| item.get(key).is_some()) {
        // Untouched items stand before the changed ones they stood before; new ones come where the patch has them.
        if let Some(at) = place(item) {
            let before = |old: &&Value| place(old).is_some_and(|i| i < at) && !in_patch(old, patch, key);
            out.extend(left.iter().filter(|old| before(old)).map(|old| (*old).clone()));
            left.retain(|old| !before(old));
        }
        let old = place(item).map(|at| &base[at]);
        left.retain(|other| other.get(key) != item.get(key));
        if item[DIRECTIVE] != "delete" {
            out.push(old.map_or_else(|| without_directives(item), |old| merged(old, item)));
        }
    }
    out.extend(left.into_iter().cloned());
    Value::Array(out)
}

fn in_patch(item: &Value, patch: &[Value], key: &str) -> bool {
    patch.iter().any(|other| other.get(key) == item.get(key))
}

/// What a patch adds, as it will stand there.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(plain(fields)),
        Value::Array(items) => Value::Array(items.iter().map(without_directives).collect()),
        other => other.clone(),
    }
}

fn plain(fields: &Map<String, Value>) -> Map<String, Value> {
    let directive = |key: &str| {
        key == DIRECTIVE || key == RETAIN || key.starts_with(DELETE_FROM) || key.starts_with(ORDER)
    };
    let kept = fields.iter().filter(|(key, value)| !directive(key) && !value.is_null());
    kept.map(|(key, value)| (key.clone(), without_directives(value))).collect()
}

#[cfg(test)]
mod tests {
    use lockstep_api::yaml_to_json;

    use super::*;

    #[test]
    fn patches() {
        let cases = [
            ("{a: 1, b: {c: 2}}", "{b: {d: 3}, a: null}", "{b: {c: 2, d: 3}}"),
            ("{args: [a, b]}", "{args: [c]}", "{args: [c]}"),
            (
                "{containers: [{name: a, image: x, env: [{name: E, value: '1'}]}, {name: b}]}",
                "{containers: [{name: a, env: [{name: F, value: '2'}, {name: E, value: '3'}]}]}",
                "{containers: [{name: a, image: x, env: [{name: F, value: '2'}, {name: E, value: '3'}]}, {name: b}]}",
            ),
            (
                "{containers: [{name: a}, {name: b}]}",
                "{containers: [{name: c}]}",
                "{containers: [{name: c}, {name: a}, {name: b}]}",
            ),
            (
                "{containers: [{name: a}, {name: b}]}",
                "{containers: [{name: b, image: y}, {name: c}]}",
                "{containers: [{name: a}, {name: b, image: y}, {name: c}]}",
            ),
            (
                "{volumes: [{name: a}, {name: b}]}",
                "{volumes: [{name: a, $patch: delete}]}",
                "{volumes: [{name: b}]}",
            ),
            ("{env: [{name: a}]}", "{env: [{$patch: replace}, {name: b}]}", "{env: [{name: b}]}"),
            ("{tolerations: [{key: a}]}", "{tolerations: [{key: b}]}", "{tolerations: [{key: b}]}"),
            ("{s: {x: 1, y: 2}}", "{s: {$patch: replace, z: 3}}", "{s: {z: 3}}"),
            ("{s: {x: 1, y: 2}}", "{s: {$retainKeys: [x], x: 5}}", "{s: {x: 5}}"),
            ("{l: [a, b, c]}", "{$deleteFromPrimitiveList/l: [b]}", "{l: [a, c]}"),
        ];
        for (base, patch, wanted) in cases {
            let read = |text| yaml_to_json(text).unwrap();
            assert_eq!(merged(&read(base), &read(patch)), read(wanted), "{base} with {patch}");
        }
    }
}
