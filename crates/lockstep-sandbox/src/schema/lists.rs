//! Sets have no element twice, and lists that are maps no key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::words::{self, Path};
use super::{ListType, Schema, Values};
use crate::refusal::Cause;

impl Schema {
    /// What is there twice. An object that had something twice before may keep it so.
    pub(super) fn validate_lists(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.lists_at(&Path::default(), new, &mut causes);
        if !causes.is_empty()
            && let Some(old) = old
        {
            let mut before = Vec::new();
            self.lists_at(&Path::default(), old, &mut before);
            if !before.is_empty() {
                return Vec::new();
            }
        }
        causes
    }

    fn lists_at(&self, at: &Path, value: &Value, causes: &mut Vec<Cause>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match (self.properties.get(key), &self.values) {
                        (Some(schema), _) => schema.lists_at(&at.child(key), value, causes),
                        (None, Values::Of(schema)) => schema.lists_at(&at.key(key), value, causes),
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                match &self.list {
                    ListType::Atomic => {}
                    ListType::Set => causes.extend(twice(at, items)),
                    ListType::Map(keys) => causes.extend(keys_twice(at, keys, items)),
                }
                if let Some(schema) = &self.items {
                    for (index, item) in items.iter().enumerate() {
                        schema.lists_at(&at.index(index), item, causes);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Each value that is there more than once is told once, where it is there the second time.
fn twice(at: &Path, items: &[Value]) -> Vec<Cause> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut causes = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let times = seen.entry(words::json(item)).or_default();
        *times = times.saturating_add(1);
        if *times == 2 {
            causes.push(words::duplicate(&at.index(index), item));
        }
    }
    causes
}

fn keys_twice(at: &Path, keys: &[String], items: &[Value]) -> Vec<Cause> {
    if let Some((index, odd)) =
        items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let why = "must be an object for an array of list-type map";
        return vec![words::invalid(&at.index(index), odd, why)];
    }
    let known_by: Vec<Value> = items
        .iter()
        .map(|item| {
            let found = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
            Value::Object(found.collect::<Map<String, Value>>())
        })
        .collect();
    twice(at, &known_by)
}
