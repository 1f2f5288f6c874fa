//! What differs between two revisions of a set, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lockstep_api::json_to_yaml;
use lockstep_api::stored::{StoredRole, StoredSet};
use lockstep_core::names::RoleName;
use serde::Serialize;
use serde_json::Value;

use crate::screen::Paint;

/// One role that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleDiff {
    /// The role.
    pub role: String,
    /// Its revision before, if it was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its revision after, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The fields that differ.
    pub fields: Vec<FieldDiff>,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDiff {
    /// `members[worker].template.spec.containers[main].image`.
    pub path: String,
    /// What it was; null if it was not there.
    pub from: Value,
    /// What it is; null if it is not there.
    pub to: Value,
}

/// The roles that differ, by name.
pub fn compare(from: &StoredSet, to: &StoredSet) -> Vec<RoleDiff> {
    let names: BTreeSet<_> = from.roles.keys().chain(to.roles.keys()).collect();
    let role = |name: &RoleName| {
        let (a, b): (Option<&StoredRole>, Option<&StoredRole>) = (from.roles.get(name), to.roles.get(name));
        let revision = |role: Option<&StoredRole>| role.map(|role| role.revision.to_string());
        let mut fields = Vec::new();
        if let (Some(a), Some(b)) = (a, b) {
            walk(&a.content, &b.content, String::new(), &mut fields);
        }
        let (from, to) = (revision(a), revision(b));
        (from != to).then(|| RoleDiff { role: name.to_string(), from, to, fields })
    };
    names.into_iter().filter_map(role).collect()
}

fn walk(a: &Value, b: &Value, path: String, found: &mut Vec<FieldDiff>) {
    match (a, b) {
        _ if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                walk(&of(a), &of(b), below, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => walk_lists(a, b, &path, found),
        _ => found.push(FieldDiff { path, from: a.clone(), to: b.clone() }),
    }
}

/// Items are matched by their names if all have one, else by their places.
fn walk_lists(a: &[Value], b: &[Value], path: &str, found: &mut Vec<FieldDiff>) {
    let keyed = |list: &[Value]| -> Option<Vec<(String, Value)>> {
        let named = list.iter().map(|item| Some((item["name"].as_str()?.to_owned(), item.clone())));
        let named: Vec<(String, Value)> = named.collect::<Option<_>>()?;
        let distinct: BTreeSet<&String> = named.iter().map(|(name, _)| name).collect();
        (distinct.len() == named.len()).then_some(named)
    };
    let placed = |list: &[Value]| -> Vec<(String, Value)> {
        list.iter().enumerate().map(|(i, item)| (i.to_string(), item.clone())).collect()
    };
    let (a, b) = match (keyed(a), keyed(b)) {
        (Some(a), Some(b)) => (a, b),
        _ => (placed(a), placed(b)),
    };
    let lookup: BTreeMap<&String, &Value> = b.iter().map(|(key, item)| (key, item)).collect();
    for (key, item) in &a {
        let other = lookup.get(key).copied().unwrap_or(&Value::Null);
        walk(item, other, format!("{path}[{key}]"), found);
    }
    for (key, item) in b.iter().filter(|(key, _)| !a.iter().any(|(known, _)| known == key)) {
        walk(&Value::Null, item, format!("{path}[{key}]"), found);
    }
}

/// The last names of the fields that differ, for one line: `image, args`.
pub fn in_short(diff: &[RoleDiff]) -> String {
    let role = |diff: &RoleDiff| match (&diff.from, &diff.to) {
        (None, _) => format!("{} is new", diff.role),
        (_, None) => format!("{} is gone", diff.role),
        _ => {
            let last = |field: &FieldDiff| {
                let name = field.path.rsplit('.').next().unwrap_or_default();
                name.split('[').next().unwrap_or_default().to_owned()
            };
            let names: BTreeSet<String> = diff.fields.iter().map(last).collect();
            let names: Vec<String> = names.into_iter().collect();
            match &names[..] {
                [] => diff.role.clone(),
                few if few.len() <= 3 => format!("{} ({})", diff.role, few.join(", ")),
                many => format!("{} ({} and {} more)", diff.role, many[..2].join(", "), many.len() - 2),
            }
        }
    };
    diff.iter().map(role).collect::<Vec<_>>().join(", ")
}

/// The difference for people.
pub fn draw(diff: &[RoleDiff], paint: Paint) -> String {
    let mut text = String::new();
    for role in diff {
        let revision = |revision: &Option<String>| revision.clone().unwrap_or_else(|| "nothing".to_owned());
        let line = format!("{}: {} → {}", role.role, revision(&role.from), revision(&role.to));
        let _ = writeln!(text, "{}", paint.bold(&line));
        for field in &role.fields {
            let _ = writeln!(text, "  {}", field.path);
            for (sign, value, colour) in
                [("-", &field.from, Paint::bad as fn(Paint, &str) -> String), ("+", &field.to, Paint::good)]
            {
                for line in lines(value) {
                    let _ = writeln!(text, "{}", colour(paint, &format!("    {sign} {line}")));
                }
            }
        }
    }
    text
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        Value::Array(_) | Value::Object(_) => {
            let text = json_to_yaml(value);
            text.lines().map(str::to_owned).collect()
        }
        scalar => vec![scalar.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(roles: Value) -> StoredSet {
        serde_json::from_value(json!({ "roles": roles })).unwrap()
    }

    fn role(revision: &str, template: Value) -> Value {
        let members = json!([{"name": "decode", "count": 1, "template": template}]);
        json!({"revision": revision, "content": {"members": members, "identity": null}, "layout": []})
    }

    fn pair() -> (StoredSet, StoredSet) {
        let one = json!({"spec": {
            "containers": [{"name": "main", "image": "vllm:1", "args": ["--tp=4"]}], "hostIPC": true,
        }});
        let two = json!({"spec": {"containers": [
            {"name": "proxy", "image": "envoy:1"},
            {"name": "main", "image": "vllm:2", "args": ["--tp=4", "--fast"]},
        ]}});
        let old = stored(json!({"decode": role("b1", one.clone()), "prefill": role("c1", one)}));
        (old, stored(json!({"decode": role("b2", two.clone()), "router": role("r1", two)})))
    }

    #[test]
    fn field_by_field_items_by_their_names() {
        let (old, new) = pair();
        let text = draw(&compare(&old, &new), Paint::PLAIN);
        assert_eq!(
            text,
            "\
decode: b1 → b2
  members[decode].template.spec.containers[main].args[1]
    + --fast
  members[decode].template.spec.containers[main].image
    - vllm:1
    + vllm:2
  members[decode].template.spec.containers[proxy]
    + image: envoy:1
    + name: proxy
  members[decode].template.spec.hostIPC
    - true
prefill: c1 → nothing
router: nothing → r1
"
        );
        assert!(compare(&old, &old).is_empty());
    }

    #[test]
    fn in_one_line() {
        let (old, new) = pair();
        let line = in_short(&compare(&old, &new));
        assert_eq!(line, "decode (args, containers and 2 more), prefill is gone, router is new");
    }
}
