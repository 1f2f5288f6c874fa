//! Functions and operators.

use regex::Regex;

use super::ast::Op;
use super::value::{Result, Val, no_overload};
use super::{convert, formats, lists, net, semver, strings, time};

/// Calls a function, or a method of a target.
pub(super) fn call<'a>(
    name: &str,
    target: Option<Val<'a>>,
    args: Vec<Val<'a>>,
    regex: Option<&Regex>,
) -> Result<Val<'a>> {
    // A method is a function whose first argument stands in front.
    let args: Vec<Val<'a>> = target.into_iter().chain(args).collect();
    let found = general(name, &args)
        .or_else(|| convert::call(name, &args))
        .or_else(|| strings::call(name, &args, regex))
        .or_else(|| lists::call(name, &args))
        .or_else(|| time::call(name, &args))
        .or_else(|| net::call(name, &args))
        .or_else(|| semver::call(name, &args))
        .or_else(|| formats::call(name, &args));
    found.unwrap_or_else(|| match name {
        "size" => Err("no such overload: size".to_owned()),
        _ => no_overload(),
    })
}

fn general<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    Some(Ok(match (name, args) {
        ("size", [of]) => Val::size(of.length()?),
        ("type", [of]) => Val::Type(of.type_name().into()),
        ("dyn", [of]) => of.clone(),
        ("optional.of", [of]) => Val::some(of.clone()),
        ("optional.ofNonZeroValue", [of]) if is_zero(of) => Val::Optional(None),
        ("optional.ofNonZeroValue", [of]) => Val::some(of.clone()),
        ("optional.none", []) => Val::Optional(None),
        ("hasValue", [Val::Optional(inner)]) => Val::Bool(inner.is_some()),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => (**inner).clone(),
            None => return Some(Err("optional.none() dereference".to_owned())),
        },
        ("orValue", [Val::Optional(inner), other]) => match inner {
            Some(inner) => (**inner).clone(),
            None => other.clone(),
        },
        ("or", [Val::Optional(inner), other]) => match inner {
            Some(_) => args.first()?.clone(),
            None => other.clone(),
        },
        _ => return None,
    }))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) | Val::Duration(0) => true,
        Val::Double(number) => *number == 0.0,
        other => other.length() == Some(0),
    }
}

/// A value in a message.
pub(super) fn shown(value: &Val<'_>) -> String {
    match convert::to_text(value) {
        Some(text) => text,
        None => value.type_name().to_owned(),
    }
}

pub(super) fn negate<'a>(value: &Val<'a>) -> Result<Val<'a>> {
    match value {
        Val::Int(number) => number.checked_neg().map(Val::Int).ok_or_else(overflow),
        Val::Double(number) => Ok(Val::Double(-number)),
        Val::Duration(span) => span.checked_neg().map(Val::Duration).ok_or_else(overflow),
        _ => no_overload(),
    }
}

fn overflow() -> String {
    "integer overflow".to_owned()
}

pub(super) fn binary<'a>(op: Op, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    let ordered =
        |fits: fn(std::cmp::Ordering) -> bool| left.compare(&right).map(|order| Val::Bool(fits(order)));
    match op {
        Op::Equal => left.equals(&right).map(Val::Bool),
        Op::Unequal => left.equals(&right).map(|equal| Val::Bool(!equal)),
        Op::Less => ordered(std::cmp::Ordering::is_lt),
        Op::LessOrEqual => ordered(std::cmp::Ordering::is_le),
        Op::Greater => ordered(std::cmp::Ordering::is_gt),
        Op::GreaterOrEqual => ordered(std::cmp::Ordering::is_ge),
        Op::In => contains(&left, &right),
        Op::And | Op::Or => no_overload(),
        Op::Add => add(left, right),
        Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => arithmetic(op, &left, &right),
    }
}

fn contains<'a>(item: &Val<'a>, among: &Val<'a>) -> Result<Val<'a>> {
    if let Some(items) = among.items() {
        for other in items? {
            if item.equals(&other)? {
                return Ok(Val::Bool(true));
            }
        }
        return Ok(Val::Bool(false));
    }
    match among {
        Val::Object(_) | Val::Map(_) => Ok(Val::Bool(among.find(item)?.is_some())),
        _ => no_overload(),
    }
}

fn add<'a>(left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
    match (&left, &right) {
        (Val::Text(a), Val::Text(b)) => Ok(Val::text(format!("{a}{b}"))),
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect())),
        (Val::Timestamp(at), Val::Duration(span)) | (Val::Duration(span), Val::Timestamp(at)) => {
            time::later(*at, *span)
        }
        (Val::Array(array), _) => match right.items() {
            Some(items) => Ok(Val::list(array.add(items?)?)),
            None => no_overload(),
        },
        (Val::List(items), _) => match right.items() {
            Some(more) => Ok(Val::list(items.iter().cloned().chain(more?).collect())),
            None => no_overload(),
        },
        _ => arithmetic(Op::Add, &left, &right),
    }
}

fn arithmetic<'a>(op: Op, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => integers(op, *a, *b).map(Val::Int),
        (Val::Uint(a), Val::Uint(b)) => naturals(op, *a, *b).map(Val::Uint),
        (Val::Double(a), Val::Double(b)) => match op {
            Op::Add => Ok(Val::Double(a + b)),
            Op::Subtract => Ok(Val::Double(a - b)),
            Op::Multiply => Ok(Val::Double(a * b)),
            Op::Divide => Ok(Val::Double(a / b)),
            _ => no_overload(),
        },
        (Val::Duration(a), Val::Duration(b)) => match op {
            Op::Add => a.checked_add(*b).map(Val::Duration).ok_or_else(overflow),
            Op::Subtract => a.checked_sub(*b).map(Val::Duration).ok_or_else(overflow),
            _ => no_overload(),
        },
        (Val::Timestamp(at), Val::Duration(span)) if op == Op::Subtract => {
            time::later(*at, span.saturating_neg())
        }
        (Val::Timestamp(a), Val::Timestamp(b)) if op == Op::Subtract => time::between(*b, *a),
        _ => no_overload(),
    }
}

fn integers(op: Op, a: i64, b: i64) -> Result<i64> {
    let result = match op {
        Op::Divide if b == 0 => return Err("division by zero".to_owned()),
        Op::Remainder if b == 0 => return Err("modulus by zero".to_owned()),
        Op::Add => a.checked_add(b),
        Op::Subtract => a.checked_sub(b),
        Op::Multiply => a.checked_mul(b),
        Op::Divide => a.checked_div(b),
        Op::Remainder => a.checked_rem(b),
        _ => return no_overload(),
    };
    result.ok_or_else(overflow)
}

fn naturals(op: Op, a: u64, b: u64) -> Result<u64> {
    let result = match op {
        Op::Divide if b == 0 => return Err("division by zero".to_owned()),
        Op::Remainder if b == 0 => return Err("modulus by zero".to_owned()),
        Op::Add => a.checked_add(b),
        Op::Subtract => a.checked_sub(b),
        Op::Multiply => a.checked_mul(b),
        Op::Divide => a.checked_div(b),
        Op::Remainder => a.checked_rem(b),
        _ => return no_overload(),
    };
    result.ok_or_else(|| "unsigned integer overflow".to_owned())
}
