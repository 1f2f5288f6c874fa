//! Functions of texts.

use regex::Regex;

use super::format;
use super::value::{Result, Val, no_overload};
use crate::schema::{pattern, words};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>], regex: Option<&Regex>) -> Option<Result<Val<'a>>> {
    let [Val::Text(text), rest @ ..] = args else { return joined(name, args) };
    let made = match (name, rest) {
        ("startsWith", [Val::Text(other)]) => Val::Bool(text.starts_with(other.as_ref())),
        ("endsWith", [Val::Text(other)]) => Val::Bool(text.ends_with(other.as_ref())),
        ("contains", [Val::Text(other)]) => Val::Bool(text.contains(other.as_ref())),
        ("matches" | "find" | "findAll", [Val::Text(written), more @ ..]) => {
            return Some(by_pattern(name, text, written, more, regex));
        }
        ("lowerAscii", []) => Val::text(text.to_ascii_lowercase()),
        ("upperAscii", []) => Val::text(text.to_ascii_uppercase()),
        ("trim", []) => Val::text(text.trim()),
        ("charAt", [Val::Int(at)]) => return Some(char_at(text, *at)),
        ("indexOf", [Val::Text(other)]) => place(text, other, false),
        ("indexOf", [Val::Text(other), Val::Int(from)]) => return Some(place_from(text, other, *from)),
        ("lastIndexOf", [Val::Text(other)]) => place(text, other, true),
        ("lastIndexOf", [Val::Text(other), Val::Int(to)]) => {
            let length = usize::try_from(*to).ok()?.saturating_add(other.chars().count());
            place(&text.chars().take(length).collect::<String>(), other, true)
        }
        ("replace", [Val::Text(old), Val::Text(new)]) => Val::text(text.replace(old.as_ref(), new)),
        ("replace", [Val::Text(old), Val::Text(new), Val::Int(times)]) => match usize::try_from(*times) {
            Ok(times) => Val::text(text.replacen(old.as_ref(), new, times)),
            Err(_) => Val::text(text.replace(old.as_ref(), new)),
        },
        ("split", [Val::Text(by)]) => split(text, by, -1),
        ("split", [Val::Text(by), Val::Int(most)]) => split(text, by, *most),
        ("substring", [Val::Int(from)]) => return Some(substring(text, *from, None)),
        ("substring", [Val::Int(from), Val::Int(to)]) => return Some(substring(text, *from, Some(*to))),
        ("strings.quote", []) => Val::text(words::quoted(text)),
        ("format", [values]) => {
            return Some(values.items()?.and_then(|values| format::format(text, &values)));
        }
        _ => return None,
    };
    Some(Ok(made))
}

fn joined<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let by = match (name, args) {
        ("join", [_]) => "",
        ("join", [_, Val::Text(by)]) => by.as_ref(),
        _ => return None,
    };
    let items = args.first()?.items()?;
    let text = |item: Val<'a>| match item {
        Val::Text(text) => Ok(text.into_owned()),
        _ => Err("no such overload".to_owned()),
    };
    let joined = items.and_then(|items| items.into_iter().map(text).collect::<Result<Vec<_>>>());
    Some(joined.map(|items| Val::text(items.join(by))))
}

fn by_pattern<'a>(
    name: &str,
    text: &str,
    written: &str,
    more: &[Val<'a>],
    regex: Option<&Regex>,
) -> Result<Val<'a>> {
    let read;
    let regex = match regex {
        Some(regex) => regex,
        None => {
            read = pattern::compile(written).map_err(|_| format!("error parsing regexp: `{written}`"))?;
            &read
        }
    };
    let found = || regex.find_iter(text).map(|found| Val::text(found.as_str()));
    match (name, more) {
        ("matches", []) => Ok(Val::Bool(regex.is_match(text))),
        ("find", []) => Ok(found().next().unwrap_or(Val::text(""))),
        ("findAll", []) => Ok(Val::list(found().collect())),
        ("findAll", [Val::Int(most)]) => match usize::try_from(*most) {
            Ok(most) => Ok(Val::list(found().take(most).collect())),
            Err(_) => Ok(Val::list(found().collect())),
        },
        _ => no_overload(),
    }
}

fn char_at<'a>(text: &str, at: i64) -> Result<Val<'a>> {
    let length = text.chars().count();
    let found = usize::try_from(at).ok().filter(|at| *at <= length);
    let Some(at) = found else { return Err(format!("index out of range: {at}")) };
    Ok(Val::text(text.chars().nth(at).map(String::from).unwrap_or_default()))
}

/// Where a text is, counted in letters.
fn place<'a>(text: &str, wanted: &str, last: bool) -> Val<'a> {
    let found = if last { text.rfind(wanted) } else { text.find(wanted) };
    match found.and_then(|at| text.get(..at)) {
        Some(before) => Val::size(before.chars().count()),
        None => Val::Int(-1),
    }
}

fn place_from<'a>(text: &str, wanted: &str, from: i64) -> Result<Val<'a>> {
    let length = text.chars().count();
    let Ok(from) = usize::try_from(from) else { return Err(format!("index out of range: {from}")) };
    if from > length {
        return Ok(Val::Int(-1));
    }
    let rest: String = text.chars().skip(from).collect();
    match place(&rest, wanted, false) {
        Val::Int(at) if at >= 0 => Ok(Val::Int(at.saturating_add(i64::try_from(from).unwrap_or(i64::MAX)))),
        none => Ok(none),
    }
}

fn split<'a>(text: &str, by: &str, most: i64) -> Val<'a> {
    let owned = |parts: Vec<&str>| Val::list(parts.into_iter().map(Val::text).collect());
    if by.is_empty() {
        let letters: Vec<String> = text.chars().map(String::from).collect();
        return match usize::try_from(most) {
            Ok(most) if most < letters.len() && most > 0 => {
                let mut parts: Vec<String> = letters.iter().take(most.saturating_sub(1)).cloned().collect();
                parts.push(letters.iter().skip(most.saturating_sub(1)).map(String::as_str).collect());
                Val::list(parts.into_iter().map(Val::text).collect())
            }
            Ok(0) => Val::list(Vec::new()),
            _ => Val::list(letters.into_iter().map(Val::text).collect()),
        };
    }
    match usize::try_from(most) {
        Ok(0) => Val::list(Vec::new()),
        Ok(most) => owned(text.splitn(most, by).collect()),
        Err(_) => owned(text.split(by).collect()),
    }
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Result<Val<'a>> {
    let length = text.chars().count();
    let within = |at: i64| usize::try_from(at).ok().filter(|at| *at <= length);
    let to_place = match to {
        None => Some(length),
        Some(to) => within(to),
    };
    let Some(end) = to_place else { return Err(format!("index out of range: {}", to.unwrap_or_default())) };
    let Some(start) = within(from) else { return Err(format!("index out of range: {from}")) };
    if start > end {
        return Err(format!("invalid substring range. start: {start}, end: {end}"));
    }
    Ok(Val::text(text.chars().skip(start).take(end.saturating_sub(start)).collect::<String>()))
}
