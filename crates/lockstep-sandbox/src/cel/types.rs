//! Types.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::Arc;

use super::typed::escape;
use crate::schema::{Schema, Values};

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Anything; what it is shows when it is evaluated.
    Dyn,
    /// A truth value.
    Bool,
    /// A whole number.
    Int,
    /// A whole number that is not negative.
    Uint,
    /// A number.
    Double,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// Nothing.
    Null,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// A type.
    Type,
    /// A list.
    List(Box<Type>),
    /// A map.
    Map(Box<Type>, Box<Type>),
    /// An object with fields of these names, as expressions write them.
    Object(Arc<BTreeMap<String, Type>>),
    /// A value that may be missing.
    Optional(Box<Type>),
    /// A type Kubernetes adds.
    Named(&'static str),
}

impl Type {
    /// The type of values of a schema; nothing if expressions cannot speak of them. The root of an object has a kind
    /// and a name even if its schema is silent.
    pub fn of_schema(schema: &Schema, root: bool) -> Option<Self> {
        if schema.int_or_string {
            return Some(Self::Dyn);
        }
        match schema.type_name.as_str() {
            "array" => {
                let items = schema.items.as_deref()?;
                Some(Self::List(Box::new(Self::of_schema(items, items.embedded)?)))
            }
            "object" => match &schema.values {
                Values::Of(values) => {
                    let values = Self::of_schema(values, values.embedded)?;
                    Some(Self::Map(Box::new(Self::Text), Box::new(values)))
                }
                _ => Some(Self::Object(Arc::new(fields(schema, root)))),
            },
            "string" => Some(match schema.format.as_str() {
                "byte" => Self::Bytes,
                "duration" => Self::Duration,
                "date" | "date-time" => Self::Timestamp,
                _ => Self::Text,
            }),
            "boolean" => Some(Self::Bool),
            "number" => Some(Self::Double),
            "integer" => Some(Self::Int),
            _ => None,
        }
    }

    /// A value of this type can stand where the other is wanted.
    pub(super) fn fits(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Map(a, x), Self::Map(b, y)) => a.fits(b) && x.fits(y),
            (Self::Null, other) | (other, Self::Null) => other.may_be_null(),
            (a, b) => a == b,
        }
    }

    fn may_be_null(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Object(_)
                | Self::Timestamp
                | Self::Duration
                | Self::Optional(_)
                | Self::Named(_)
        )
    }

    /// What both are.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Null, other) => other.clone(),
            (one, Self::Null) => one.clone(),
            (Self::Dyn, _) | (_, Self::Dyn) => Self::Dyn,
            (one, other) if one == other => one.clone(),
            // A list of nothing yet is a list of anything.
            (Self::List(a), Self::List(b)) => {
                Self::List(Box::new(if **a == Self::Dyn { b.as_ref().clone() } else { a.as_ref().clone() }))
            }
            (one, _) => one.clone(),
        }
    }
}

fn fields(schema: &Schema, root: bool) -> BTreeMap<String, Type> {
    let known = schema
        .properties
        .iter()
        .filter_map(|(name, schema)| Some((escape(name)?, Type::of_schema(schema, schema.embedded)?)));
    let mut fields: BTreeMap<String, Type> = known.collect();
    if root {
        let named = ["name", "generateName"].map(|name| (name.to_owned(), Type::Text));
        fields.insert("kind".to_owned(), Type::Text);
        fields.insert("apiVersion".to_owned(), Type::Text);
        fields.insert("metadata".to_owned(), Type::Object(Arc::new(BTreeMap::from(named))));
    }
    fields
}

impl Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => out.write_str("dyn"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::Uint => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::Text => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Null => out.write_str("null"),
            Self::Timestamp => out.write_str("timestamp"),
            Self::Duration => out.write_str("duration"),
            Self::Type => out.write_str("type(dyn)"),
            Self::List(items) => write!(out, "list({items})"),
            Self::Map(keys, values) => write!(out, "map({keys}, {values})"),
            Self::Object(_) => out.write_str("object"),
            Self::Optional(inner) => write!(out, "optional_type({inner})"),
            Self::Named(name) => out.write_str(name),
        }
    }
}
