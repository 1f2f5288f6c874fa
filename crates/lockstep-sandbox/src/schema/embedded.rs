//! Objects of the API within objects: they have a version and a kind of their own.

use serde_json::{Map, Value};

use super::words::{self, Path};
use super::{Schema, Values, names};
use crate::refusal::Cause;

impl Schema {
    /// What is wrong with objects within the object.
    pub(super) fn validate_embedded(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.embedded_at(&Path::default(), object, &mut causes);
        causes
    }

    pub(crate) fn embedded_at(&self, at: &Path, value: &Value, causes: &mut Vec<Cause>) {
        match value {
            Value::Object(map) => {
                if self.embedded {
                    causes.extend(version_and_kind(at, map));
                }
                for (key, value) in map {
                    match (self.properties.get(key), &self.values) {
                        (Some(schema), _) => schema.embedded_at(&at.child(key), value, causes),
                        (None, Values::Of(schema)) => schema.embedded_at(&at.key(key), value, causes),
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    for (index, item) in items.iter().enumerate() {
                        schema.embedded_at(&at.index(index), item, causes);
                    }
                }
            }
            _ => {}
        }
    }
}

fn version_and_kind(at: &Path, map: &Map<String, Value>) -> Vec<Cause> {
    let of = |key: &str, check: fn(&str) -> Option<String>| {
        let at = at.child(key);
        let value = match map.get(key) {
            None => return Some(words::required(&at, "")),
            Some(value) => value,
        };
        let problem = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) => check(text),
        };
        problem.map(|problem| words::invalid(&at, value, &problem))
    };
    let version = |text: &str| {
        (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
    };
    let kind = |text: &str| {
        let problems = names::label_1035(&text.to_lowercase());
        let problems = (!problems.is_empty()).then(|| problems.join(","))?;
        Some(format!("may have mixed case, but should otherwise match: {problems}"))
    };
    of("apiVersion", version).into_iter().chain(of("kind", kind)).collect()
}
