//! Functions of lists and sets.

use std::cmp::Ordering;

use super::ast::Op;
use super::functions;
use super::value::{Result, Val, no_overload};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let list = |at: usize| args.get(at).and_then(Val::items);
    match (name, args.len()) {
        ("isSorted", 1) => Some(list(0)?.and_then(|items| is_sorted(&items))),
        ("sum", 1) => Some(list(0)?.and_then(sum)),
        ("min", 1) => Some(list(0)?.and_then(|items| extreme(items, "min", Ordering::Less))),
        ("max", 1) => Some(list(0)?.and_then(|items| extreme(items, "max", Ordering::Greater))),
        ("indexOf" | "lastIndexOf", 2) => {
            let wanted = args.get(1)?;
            Some(list(0)?.and_then(|items| place(&items, wanted, name == "lastIndexOf")))
        }
        ("flatten", 1) => Some(list(0)?.and_then(|items| flatten(items, 1))),
        ("flatten", 2) => match args.get(1) {
            Some(Val::Int(depth)) => Some(list(0)?.and_then(|items| flatten(items, *depth))),
            _ => None,
        },
        ("distinct", 1) => Some(list(0)?.and_then(distinct)),
        ("reverse", 1) => Some(list(0)?.map(|items| Val::list(items.into_iter().rev().collect()))),
        ("sort", 1) => Some(list(0)?.and_then(sort)),
        ("first", 1) => Some(list(0)?.map(|items| optional(items.first()))),
        ("last", 1) => Some(list(0)?.map(|items| optional(items.last()))),
        ("slice", 3) => Some(list(0)?.and_then(|items| slice(&items, args.get(1), args.get(2)))),
        ("lists.range", 1) => match args {
            [Val::Int(end)] if *end < 0 => {
                Some(Err(format!("lists.range: size must be non-negative, got {end}")))
            }
            [Val::Int(end)] => Some(Ok(Val::list((0..*end).map(Val::Int).collect()))),
            _ => None,
        },
        ("sets.contains" | "sets.intersects" | "sets.equivalent", 2) => Some(sets(name, list(0)?, list(1)?)),
        _ => None,
    }
}

fn optional<'a>(item: Option<&Val<'a>>) -> Val<'a> {
    item.map_or(Val::Optional(None), |item| Val::some(item.clone()))
}

fn is_sorted<'a>(items: &[Val<'a>]) -> Result<Val<'a>> {
    for pair in items.windows(2) {
        if let [one, next] = pair
            && one.compare(next)? == Ordering::Greater
        {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn sum(items: Vec<Val<'_>>) -> Result<Val<'_>> {
    let mut items = items.into_iter();
    let Some(first) = items.next() else { return Ok(Val::Int(0)) };
    items.try_fold(first, |total, item| functions::binary(Op::Add, total, item))
}

fn extreme<'a>(items: Vec<Val<'a>>, name: &str, better: Ordering) -> Result<Val<'a>> {
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else { return Err(format!("{name} called on empty list")) };
    for item in items {
        if item.compare(&best)? == better {
            best = item;
        }
    }
    Ok(best)
}

fn place<'a>(items: &[Val<'a>], wanted: &Val<'a>, last: bool) -> Result<Val<'a>> {
    let mut found = Val::Int(-1);
    for (at, item) in items.iter().enumerate() {
        if item.equals(wanted)? {
            found = Val::size(at);
            if !last {
                break;
            }
        }
    }
    Ok(found)
}

fn flatten(items: Vec<Val<'_>>, depth: i64) -> Result<Val<'_>> {
    if depth < 0 {
        return Err("level must be non-negative".to_owned());
    }
    let mut flat = Vec::new();
    for item in items {
        match item.items().filter(|_| depth > 0) {
            Some(inner) => match flatten(inner?, depth.saturating_sub(1))? {
                Val::List(inner) => flat.extend(inner.iter().cloned()),
                other => flat.push(other),
            },
            None => flat.push(item),
        }
    }
    Ok(Val::list(flat))
}

fn distinct(items: Vec<Val<'_>>) -> Result<Val<'_>> {
    let mut kept: Vec<Val<'_>> = Vec::new();
    for item in items {
        let mut known = false;
        for other in &kept {
            known |= item.equals(other)?;
        }
        if !known {
            kept.push(item);
        }
    }
    Ok(Val::list(kept))
}

fn sort(mut items: Vec<Val<'_>>) -> Result<Val<'_>> {
    let mut failed = Ok(());
    items.sort_by(|a, b| {
        a.compare(b).unwrap_or_else(|error| {
            failed = Err(error);
            Ordering::Equal
        })
    });
    failed.map(|()| Val::list(items))
}

fn slice<'a>(items: &[Val<'a>], from: Option<&Val<'a>>, to: Option<&Val<'a>>) -> Result<Val<'a>> {
    let (Some(Val::Int(from)), Some(Val::Int(to))) = (from, to) else { return no_overload() };
    let range = usize::try_from(*from).ok().zip(usize::try_from(*to).ok());
    let part = range.and_then(|(from, to)| items.get(from..to));
    let length = items.len();
    part.map(|part| Val::list(part.to_vec()))
        .ok_or_else(|| format!("cannot slice({from}, {to}), list is length {length}"))
}

fn sets<'a>(name: &str, one: Result<Vec<Val<'a>>>, other: Result<Vec<Val<'a>>>) -> Result<Val<'a>> {
    let (one, other) = (one?, other?);
    let within = |item: &Val<'a>, among: &[Val<'a>]| -> Result<bool> {
        for known in among {
            if item.equals(known)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let count = |these: &[Val<'a>], among: &[Val<'a>]| -> Result<usize> {
        let mut number: usize = 0;
        for item in these {
            number = number.saturating_add(usize::from(within(item, among)?));
        }
        Ok(number)
    };
    let found = count(&other, &one)?;
    Ok(Val::Bool(match name {
        "sets.contains" => found == other.len(),
        "sets.intersects" => found > 0,
        _ => found == other.len() && count(&one, &other)? == one.len(),
    }))
}
