//! Dropping fields nobody described.

use serde_json::Value;

use super::words::{Path, quoted};
use super::{Schema, Values};
use crate::decoding;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Schema {
    /// Drops the fields of an object that the schema does not know, and tells them: `unknown field "spec.foo"`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut found = Vec::new();
        self.prune_at(object, &Path::default(), true, self.preserve_unknown, &mut found);
        found.sort();
        found.into_iter().map(|path| format!("unknown field {}", quoted(&path))).collect()
    }

    /// Drops unknown fields of a value that is not a whole object. Tells whether there were any.
    pub(crate) fn prune_value(&self, value: &mut Value) -> bool {
        let mut found = Vec::new();
        self.prune_below(value, &Path::default(), &mut found);
        !found.is_empty()
    }

    fn prune_below(&self, value: &mut Value, at: &Path, found: &mut Vec<String>) {
        self.prune_at(value, at, self.embedded, self.preserve_unknown, found);
    }

    fn prune_at(&self, value: &mut Value, at: &Path, whole: bool, keep: bool, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.retain(|key, value| {
                let at = at.child(key);
                if whole && META.contains(&key.as_str()) {
                    if key == "metadata" {
                        decoding::prune(value, OBJECT_META, at.as_str(), found);
                    }
                    return true;
                }
                match (self.properties.get(key), &self.values) {
                    (Some(schema), _) => schema.prune_below(value, &at, found),
                    (None, Values::Of(schema)) => schema.prune_below(value, &at, found),
                    (None, Values::Any | Values::None) => strip(value, &at, found),
                    (None, Values::Unsaid) if keep => {}
                    (None, Values::Unsaid) => {
                        found.push(at.as_str().to_owned());
                        return false;
                    }
                }
                true
            }),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let at = at.index(index);
                    match &self.items {
                        // What keeps unknown fields keeps those of its items as well.
                        Some(schema) if keep => schema.prune_at(item, &at, schema.embedded, true, found),
                        Some(schema) => schema.prune_below(item, &at, found),
                        None if keep => {}
                        None => strip(item, &at, found),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Where nothing is described, nothing but scalars stays.
fn strip(value: &mut Value, at: &Path, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.keys().map(|key| at.child(key).as_str().to_owned()));
            map.clear();
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                strip(item, &at.index(index), found);
            }
        }
        _ => {}
    }
}
