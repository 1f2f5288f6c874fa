//! Knowing parts of an object again in the object it replaces.

use serde_json::Value;

use super::{ListType, Schema};

/// A part of an object, and the same part of the object before.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    schema: &'a Schema,
}

impl<'a> Pair<'a> {
    pub(super) fn new(new: &'a Value, old: &'a Value, schema: &'a Schema) -> Self {
        Self { new, old, schema }
    }

    /// A field, if it was there before and is described.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.get(name)?, self.old.as_object()?.get(name)?);
        Some(Self { new, old, schema: self.schema.field(name)? })
    }

    /// An item, if it is known again by its keys.
    pub(super) fn index(&self, index: usize) -> Option<Self> {
        let ListType::Map(keys) = &self.schema.list else { return None };
        let new = self.new.get(index)?;
        let old = find(keys, self.old.as_array()?, new)?;
        Some(Self { new, old, schema: self.schema.items.as_deref()? })
    }

    /// Nothing has changed. What is not described counts as changed.
    pub(super) fn unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                match self.schema.list {
                    ListType::Map(_) => {
                        (0..new.len()).all(|index| self.index(index).is_some_and(|item| item.unchanged()))
                    }
                    _ => new == old,
                }
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|key| self.key(key).is_some_and(|field| field.unchanged()))
            }
            (new, old) => new == old,
        }
    }
}

/// The item with the same keys.
pub(super) fn find<'a>(keys: &[String], items: &'a [Value], like: &Value) -> Option<&'a Value> {
    like.as_object()?;
    items.iter().find(|item| item.is_object() && keys.iter().all(|key| item.get(key) == like.get(key)))
}
