//! `fieldsV1`: sets of fields as JSON.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Element, Fields};

/// The mark of a place that belongs to the set itself.
const ITSELF: &str = ".";

/// A set of fields that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldsError {
    /// Something else than a map.
    #[error("{0} is no map of fields")]
    NoMap(String),
    /// An element that is written wrongly.
    #[error("{0:?} is no path element")]
    Element(String),
}

impl Fields {
    /// Reads a set.
    pub fn read(value: &Value) -> Result<Self, FieldsError> {
        let map = value.as_object().ok_or_else(|| FieldsError::NoMap(value.to_string()))?;
        let mut fields = Self::default();
        for (key, below) in map {
            if key == ITSELF {
                fields.member = true;
                continue;
            }
            let element = Element::read(key).ok_or_else(|| FieldsError::Element(key.clone()))?;
            let below = match below.as_object() {
                Some(map) if map.is_empty() => Self::leaf(),
                _ => Self::read(below)?,
            };
            fields.children.insert(element, below);
        }
        Ok(fields)
    }

    /// Writes a set.
    pub fn write(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(ITSELF.to_owned(), Value::Object(Map::new()));
        }
        for (element, child) in self.children.iter().filter(|(_, child)| !child.is_empty()) {
            map.insert(element.as_str().to_owned(), child.write());
        }
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_is_written_the_same() {
        let written = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {"f:containers": {r#"k:{"name":"web"}"#: {".": {}, "f:image": {}, "f:name": {}}}},
        });
        assert_eq!(Fields::read(&written).map(|fields| fields.write()), Ok(written));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(Fields::read(&json!(3)), Err(FieldsError::NoMap("3".to_owned())));
        assert_eq!(Fields::read(&json!({"spec": {}})), Err(FieldsError::Element("spec".to_owned())));
    }
}
