//! `format.dns1123Label().validate(…)` and its like.

use super::value::{Result, Val};
use crate::schema::{has_format, names};

const NAMES: [&str; 11] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    let known = |name: &str| NAMES.iter().find(|known| **known == name).map(|known| Val::Format(known));
    Some(Ok(match (name.strip_prefix("format."), args) {
        (Some("named"), [Val::Text(name)]) => known(name).map_or(Val::Optional(None), Val::some),
        (Some(name), []) => known(name)?,
        (None, [Val::Format(format), Val::Text(text)]) if name == "validate" => {
            let problems = problems(format, text);
            match problems.is_empty() {
                true => Val::Optional(None),
                false => Val::some(Val::list(problems.into_iter().map(Val::text).collect())),
            }
        }
        _ => return None,
    }))
}

/// What is wrong with a text. A prefix may end in a dash.
fn problems(format: &str, text: &str) -> Vec<String> {
    let (format, text) = match format.strip_suffix("Prefix") {
        Some(whole) if text.len() > 1 && text.ends_with('-') => {
            (whole, format!("{}a", text.trim_end_matches('-')))
        }
        Some(whole) => (whole, text.to_owned()),
        None => (format, text.to_owned()),
    };
    let unless = |fine: bool, what: &str| if fine { Vec::new() } else { vec![what.to_owned()] };
    match format {
        "dns1123Label" => names::label_1123(&text),
        "dns1123Subdomain" => names::subdomain(&text),
        "dns1035Label" => names::label_1035(&text),
        "uuid" => unless(has_format("uuid", &text), "does not match the UUID format"),
        "byte" => unless(has_format("byte", &text), "invalid base64"),
        "date" => unless(has_format("date", &text), "invalid date"),
        "datetime" => unless(has_format("datetime", &text), "invalid datetime"),
        _ => unless(has_format("uri", &text), &format!("parse {text:?}: invalid URI for request")),
    }
}
