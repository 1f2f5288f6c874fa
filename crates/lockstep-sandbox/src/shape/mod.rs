//! The shape of objects: which lists are merged by keys, which maps move as one. Read from OpenAPI schemas, those of
//! built-in kinds and those of CustomResourceDefinitions alike.

mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::fields::Element;

/// The shape of a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Shape {
    /// Nothing is known: maps are merged field by field, lists move as one.
    #[default]
    Any,
    /// A text, a number or a truth value.
    Scalar,
    /// A number.
    Number,
    /// A truth value.
    Truth,
    /// A text.
    Text,
    /// A map.
    Map(MapShape),
    /// A list.
    List(ListShape),
    /// The shape of this name.
    Named(Arc<str>),
}

/// The shape of a map.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MapShape {
    /// Its fields.
    pub fields: BTreeMap<String, Shape>,
    /// What other keys hold; nothing if there may be none.
    pub values: Option<Box<Shape>>,
    /// It moves as one.
    pub atomic: bool,
    /// Fields nobody described may be there.
    pub open: bool,
    /// A strategic patch that names one of its fields drops the others.
    pub retain_keys: bool,
}

/// The shape of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListShape {
    /// Its items.
    pub items: Box<Shape>,
    /// How items are known again.
    pub kind: ListKind,
    /// The field by which a strategic patch merges items; the empty name for scalars that are merged.
    pub merge_key: Option<String>,
}

/// How items of a list are known again.
#[derive(Debug, Clone, PartialEq)]
pub enum ListKind {
    /// They are not: the list moves as one.
    Atomic,
    /// By their value.
    Set,
    /// By these fields, some of which have defaults.
    Map(Vec<(String, Option<Value>)>),
}

/// Shapes by name.
#[derive(Debug, Clone, Default)]
pub struct Shapes(BTreeMap<Arc<str>, Shape>);

impl Shapes {
    /// Reads the schemas of an OpenAPI document, by name.
    pub fn read(schemas: &Map<String, Value>) -> Self {
        Self(
            schemas
                .iter()
                .map(|(name, schema)| (Arc::from(name.as_str()), Shape::read_among(schema, schemas)))
                .collect(),
        )
    }

    /// The shape itself, where one is only named.
    pub fn resolve<'a>(&'a self, mut shape: &'a Shape) -> &'a Shape {
        // A name may stand for a name; one that stands for itself is nothing.
        for _ in 0..self.0.len().saturating_add(1) {
            match shape {
                Shape::Named(name) => shape = self.0.get(name).unwrap_or(&Shape::Any),
                other => return other,
            }
        }
        &Shape::Any
    }
}

impl MapShape {
    /// The shape of a field.
    pub fn field(&self, name: &str) -> &Shape {
        self.fields.get(name).or(self.values.as_deref()).unwrap_or(&Shape::Any)
    }
}

impl ListShape {
    /// By what an item is known; nothing where the list moves as one, or the item lacks what it is known by.
    pub fn element(&self, item: &Value) -> Option<Element> {
        match &self.kind {
            ListKind::Atomic => None,
            ListKind::Set => (!item.is_object() && !item.is_array()).then(|| Element::value(item)),
            ListKind::Map(keys) => {
                let item = item.as_object()?;
                let mut found = Map::new();
                for (key, default) in keys {
                    let value = item.get(key).filter(|value| !value.is_null()).or(default.as_ref());
                    if let Some(value) = value {
                        found.insert(key.clone(), value.clone());
                    }
                }
                (!found.is_empty()).then(|| Element::keys(&found))
            }
        }
    }
}
