//! Values of one type from values of another.

use std::rc::Rc;

use super::quantity::Quantity;
use super::value::{Result, Val};
use super::{time, url};
use crate::schema::go_duration;
use crate::schema::words::float_shown;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let [of] = args else { return quantities(name, args) };
    let made = match name {
        "string" => to_text(of).map(Val::text),
        "int" => to_int(of),
        "uint" => to_uint(of),
        "double" => to_double(of),
        "bool" => to_bool(of),
        "bytes" => match of {
            Val::Text(text) => Some(Val::Bytes(Rc::from(text.as_bytes()))),
            Val::Bytes(_) => Some(of.clone()),
            _ => None,
        },
        "duration" => match of {
            Val::Text(text) => go_duration(text).map(Val::Duration),
            Val::Duration(_) => Some(of.clone()),
            _ => None,
        },
        "timestamp" => match of {
            Val::Text(text) => time::read(text).map(Val::Timestamp),
            Val::Int(seconds) => jiff::Timestamp::from_second(*seconds).ok().map(Val::Timestamp),
            Val::Timestamp(_) => Some(of.clone()),
            _ => None,
        },
        _ => return quantities(name, args),
    };
    let to = match name {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        other => other,
    };
    let overflow = match (name, of) {
        ("int", Val::Double(_) | Val::Uint(_)) => Some("integer overflow"),
        ("uint", Val::Double(_) | Val::Int(_)) => Some("unsigned integer overflow"),
        _ => None,
    };
    Some(made.ok_or_else(|| match overflow {
        Some(overflow) => overflow.to_owned(),
        None => format!("type conversion error from '{}' to '{to}'", of.type_name()),
    }))
}

/// A value as a text; nothing if it has none.
pub(super) fn to_text(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::Text(text) => text.to_string(),
        Val::Bool(truth) => truth.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => float_shown(*number),
        Val::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok()?,
        Val::Timestamp(at) => at.to_string(),
        Val::Duration(span) => time::seconds(*span),
        Val::Ip(address) => address.to_string(),
        Val::Cidr(address, bits) => format!("{address}/{bits}"),
        Val::Type(name) => name.to_string(),
        _ => return None,
    })
}

fn to_int<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    Some(Val::Int(match value {
        Val::Int(number) => *number,
        Val::Uint(number) => i64::try_from(*number).ok()?,
        Val::Double(number) if number.abs() < 9.223_372_036_854_775e18 => *number as i64,
        Val::Text(text) => text.parse().ok()?,
        Val::Timestamp(at) => at.as_second(),
        Val::Duration(span) => *span,
        _ => return None,
    }))
}

fn to_uint<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    Some(Val::Uint(match value {
        Val::Uint(number) => *number,
        Val::Int(number) => u64::try_from(*number).ok()?,
        Val::Double(number) if (0.0..1.844_674_407_370_955e19).contains(number) => *number as u64,
        Val::Text(text) => text.parse().ok()?,
        _ => return None,
    }))
}

fn to_double<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    Some(Val::Double(match value {
        Val::Double(number) => *number,
        Val::Int(number) => *number as f64,
        Val::Uint(number) => *number as f64,
        Val::Text(text) => text.parse().ok()?,
        _ => return None,
    }))
}

fn to_bool<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    Some(Val::Bool(match value {
        Val::Bool(truth) => *truth,
        Val::Text(text) => match text.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => return None,
        },
        _ => return None,
    }))
}

/// Amounts and addresses, which Kubernetes adds.
fn quantities<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let amount = |value: &Val<'a>| match value {
        Val::Quantity(amount) => Some(*amount),
        Val::Int(number) => Some(Quantity::from_integer(*number)),
        _ => None,
    };
    Some(Ok(match (name, args) {
        ("isQuantity", [Val::Text(text)]) => Val::Bool(Quantity::read(text).is_some()),
        ("quantity", [Val::Text(text)]) => match Quantity::read(text) {
            Some(amount) => Val::Quantity(amount),
            None => return Some(Err(QUANTITY.to_owned())),
        },
        ("isURL", [Val::Text(text)]) => Val::Bool(url::Url::read(text).is_some()),
        ("url", [Val::Text(text)]) => match url::Url::read(text) {
            Some(url) => Val::Url(Rc::new(url)),
            None => {
                let error = format!(
                    "URL parse error during conversion from string: parse {text:?}: invalid URI for request"
                );
                return Some(Err(error));
            }
        },
        ("isInteger", [Val::Quantity(one)]) => Val::Bool(one.as_integer().is_some()),
        ("asInteger", [Val::Quantity(one)]) => match one.as_integer() {
            Some(integer) => Val::Int(integer),
            None => return Some(Err("cannot convert value to integer".to_owned())),
        },
        ("asApproximateFloat", [Val::Quantity(one)]) => Val::Double(one.as_float()),
        ("sign", [Val::Quantity(one)]) => Val::Int(one.sign()),
        ("isLessThan", [Val::Quantity(one), Val::Quantity(other)]) => Val::Bool(one < other),
        ("isGreaterThan", [Val::Quantity(one), Val::Quantity(other)]) => Val::Bool(one > other),
        ("compareTo", [Val::Quantity(one), Val::Quantity(other)]) => Val::Int(match one.cmp(other) {
            std::cmp::Ordering::Less => -1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        }),
        ("add", [Val::Quantity(one), other]) => Val::Quantity(one.add(amount(other)?)),
        ("sub", [Val::Quantity(one), other]) => Val::Quantity(one.subtract(amount(other)?)),
        _ => return None,
    }))
}

const QUANTITY: &str = "quantities must match the regular expression \
                        '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
