//! Values of expressions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::Value;

use super::quantity::Quantity;
use super::semver::Semver;
use super::typed::{Array, Object};
use super::url::Url;

/// What an expression comes to, or why it comes to nothing.
pub(super) type Result<T> = std::result::Result<T, String>;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Rc<[u8]>),
    /// A list of JSON, read as far as it is looked at.
    Array(Array<'a>),
    List(Rc<Vec<Val<'a>>>),
    /// A map of JSON, read as far as it is looked at.
    Object(Object<'a>),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    Timestamp(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    Type(Cow<'static, str>),
    Optional(Option<Rc<Val<'a>>>),
    Quantity(Quantity),
    Url(Rc<Url>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Semver(Rc<Semver>),
    /// A format of texts, by name.
    Format(&'static str),
    /// JSON of which nothing is known; it can be compared and no more.
    Unknown(&'a Value),
}

pub(super) fn no_overload<T>() -> Result<T> {
    Err("no such overload".to_owned())
}

impl<'a> Val<'a> {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    pub(super) fn size(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// The name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Array(_) | Self::List(_) => "list",
            Self::Object(_) | Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The name of the type in Go, which some messages show.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::Text(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Timestamp(_) => "types.Timestamp",
            Self::Duration(_) => "types.Duration",
            Self::Optional(_) => "*types.Optional",
            _ => "ref.Val",
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Option<Result<Vec<Self>>> {
        match self {
            Self::Array(array) => Some(array.items()),
            Self::List(items) => Some(Ok(items.to_vec())),
            _ => None,
        }
    }

    /// The keys and values of a map.
    pub(super) fn pairs(&self) -> Option<Result<Vec<(Self, Self)>>> {
        match self {
            Self::Object(object) => Some(object.pairs()),
            Self::Map(pairs) => Some(Ok(pairs.to_vec())),
            _ => None,
        }
    }

    /// How many elements a list, a map or a text has.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Array(array) => Some(array.len()),
            Self::List(items) => Some(items.len()),
            Self::Object(object) => Some(object.len()),
            Self::Map(pairs) => Some(pairs.len()),
            _ => None,
        }
    }

    /// What a map holds under a key.
    pub(super) fn find(&self, key: &Self) -> Result<Option<Self>> {
        match self {
            Self::Object(object) => match key {
                Self::Text(name) => object.find(name),
                _ => no_overload(),
            },
            Self::Map(pairs) => {
                for (other, value) in pairs.iter() {
                    if other.equals(key)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
            _ => no_overload(),
        }
    }

    /// Equality. Numbers are equal across types; values of other types are simply not equal.
    pub(super) fn equals(&self, other: &Self) -> Result<bool> {
        use Val::{
            Array, Bool, Bytes, Cidr, Duration, Ip, Null, Object, Optional, Quantity, Text, Type, Unknown,
            Url,
        };
        Ok(match (self, other) {
            (Null, Null) => true,
            (Bool(a), Bool(b)) => a == b,
            (Text(a), Text(b)) => a == b,
            (Bytes(a), Bytes(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Duration(a), Duration(b)) => a == b,
            (Type(a), Type(b)) => a == b,
            (Quantity(a), Quantity(b)) => a == b,
            (Url(a), Url(b)) => a == b,
            (Ip(a), Ip(b)) => a == b,
            (Cidr(a, x), Cidr(b, y)) => (a, x) == (b, y),
            (Val::Semver(a), Val::Semver(b)) => a == b,
            (Val::Format(a), Val::Format(b)) => a == b,
            (Unknown(a), Unknown(b)) => a == b,
            (Optional(None), Optional(None)) => true,
            (Optional(Some(a)), Optional(Some(b))) => a.equals(b)?,
            (Array(array), _) if other.items().is_some() => array.equals(other)?,
            (_, Array(_)) | (Val::List(_), Val::List(_)) => match (self.items(), other.items()) {
                (Some(a), Some(b)) => lists_equal(&a?, &b?)?,
                _ => false,
            },
            (Object(object), _) if other.pairs().is_some() => object.equals(other)?,
            (Val::Map(pairs), _) if other.pairs().is_some() => maps_equal(pairs, other)?,
            _ => numbers(self, other) == Some(Ordering::Equal),
        })
    }

    /// Order, of values that have one.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering> {
        use Val::{Bool, Bytes, Duration, Quantity, Text};
        let order = match (self, other) {
            (Bool(a), Bool(b)) => Some(a.cmp(b)),
            (Text(a), Text(b)) => Some(a.cmp(b)),
            (Bytes(a), Bytes(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            (Duration(a), Duration(b)) => Some(a.cmp(b)),
            (Quantity(a), Quantity(b)) => Some(a.cmp(b)),
            _ => match numbers(self, other) {
                // Nothing is less or more than what is no number.
                None if self.is_number() && other.is_number() => {
                    return Err("NaN values cannot be ordered".to_owned());
                }
                order => order,
            },
        };
        order.map_or_else(no_overload, Ok)
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Double(_))
    }
}

fn lists_equal(one: &[Val<'_>], other: &[Val<'_>]) -> Result<bool> {
    if one.len() != other.len() {
        return Ok(false);
    }
    for (a, b) in one.iter().zip(other) {
        if !a.equals(b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal(pairs: &[(Val<'_>, Val<'_>)], other: &Val<'_>) -> Result<bool> {
    if other.length() != Some(pairs.len()) {
        return Ok(false);
    }
    for (key, value) in pairs {
        match other.find(key)? {
            Some(found) if value.equals(&found)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The order of two numbers, whatever their types.
fn numbers(one: &Val<'_>, other: &Val<'_>) -> Option<Ordering> {
    match (one, other) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => mixed(*a, i128::from(*b)),
        (Val::Double(a), Val::Uint(b)) => mixed(*a, i128::from(*b)),
        (Val::Int(a), Val::Double(b)) => mixed(*b, i128::from(*a)).map(Ordering::reverse),
        (Val::Uint(a), Val::Double(b)) => mixed(*b, i128::from(*a)).map(Ordering::reverse),
        _ => None,
    }
}

fn mixed(float: f64, integer: i128) -> Option<Ordering> {
    // Floats beyond the range of integers saturate, which keeps their order.
    match float {
        _ if float.is_nan() => None,
        _ => match (float.floor() as i128).cmp(&integer) {
            Ordering::Equal if float.fract() != 0.0 => Some(Ordering::Greater),
            order => Some(order),
        },
    }
}
