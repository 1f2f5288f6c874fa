//! What is there if nobody said anything.

use serde_json::Value;

use super::{Schema, Values};

impl Schema {
    /// Fills in defaults.
    pub fn set_defaults(&self, object: &mut Value) {
        self.fill(object);
    }

    /// A null that may not be and has no default is taken for a field that was left out. Not so in a list, where
    /// dropping one would move the others.
    pub fn drop_nulls(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, value| match self.field(key) {
                    Some(schema) if value.is_null() => schema.nullable || schema.default.is_some(),
                    Some(schema) => {
                        schema.drop_nulls(value);
                        true
                    }
                    None => true,
                });
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    items.iter_mut().for_each(|item| schema.drop_nulls(item));
                }
            }
            _ => {}
        }
    }

    fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (name, schema) in &self.properties {
                    let Some(default) = &schema.default else { continue };
                    let there = map.get(name).is_some_and(|value| !value.is_null() || schema.nullable);
                    if !there {
                        map.insert(name.clone(), default.clone());
                    }
                }
                for (key, value) in map {
                    match (self.properties.get(key), &self.values) {
                        (Some(schema), _) => schema.fill(value),
                        (None, Values::Of(schema)) => schema.fill_element(value),
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    items.iter_mut().for_each(|item| schema.fill_element(item));
                }
            }
            _ => {}
        }
    }

    fn fill_element(&self, value: &mut Value) {
        if value.is_null() && !self.nullable {
            *value = self.default.clone().unwrap_or_default();
        }
        self.fill(value);
    }
}
