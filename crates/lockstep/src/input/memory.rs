//! The memory in a state file: times as people write them, and `new` for the revisions wished for.

use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::snapshot::Memory;
use lockstep_core::time::Time;
use serde_json::{Map, Value};

use super::moment;
use super::reader::{Place, Reader};

/// Reads the memory, field by field, so that every error is found.
pub fn read(reader: &mut Reader<'_>, at: &Place<'_>, spec: &Spec, now: Time) -> Memory {
    if !at.value.is_object() {
        reader.refuse(at, "must be a map");
    }
    let mut sound = Map::new();
    for (key, place) in at.entries() {
        let mut value = place.value.clone();
        plain(&mut value, &mut vec![key.to_owned()], spec, now);
        let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
        if reader.whole::<Memory>(at, alone).is_some() {
            sound.insert(key.to_owned(), value);
        }
    }
    serde_json::from_value(Value::Object(sound)).unwrap_or_default()
}

/// Turns times and words into what the engine reads.
fn plain(value: &mut Value, path: &mut Vec<String>, spec: &Spec, now: Time) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push(key.clone());
                plain(value, path, spec, now);
                path.pop();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, path, spec, now)),
        Value::String(text) if is_time(path) => {
            if let Some(time) = moment::moment(&Value::from(text.as_str()), now) {
                *value = Value::from(time.0);
            }
        }
        Value::String(text) if text == "new" || text == "target" => {
            *value = Value::from(target(path, spec));
        }
        _ => {}
    }
}

fn is_time(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        path[..],
        ["since"]
            | ["blocked", _]
            | ["best", "since" | "started"]
            | ["restarts", _, "last"]
            | ["groups", _, "unavailableSince" | "renewBefore"]
            | ["groups", _, "pauses", _]
    )
}

/// The role's revision where a role is meant, the set's everywhere else.
fn target(path: &[String], spec: &Spec) -> String {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let role = match path[..] {
        ["roles", role, "stable"] | ["groups", _, "reached", role, "target"] => {
            spec.role(&RoleName::new(role))
        }
        _ => None,
    };
    role.map_or_else(|| spec.revision().to_string(), |role| role.revision.to_string())
}
