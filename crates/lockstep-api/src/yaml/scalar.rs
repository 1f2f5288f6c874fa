//! What a scalar means: the same as to kubectl, so that `0644` is a file mode and `yes` is true.

use granit_parser::{ScalarStyle, Tag};
use serde_json::Number;

use super::Data;

const NULLS: [&str; 5] = ["", "~", "null", "Null", "NULL"];
const TRUE: [&str; 11] = ["true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON"];
const FALSE: [&str; 11] = ["false", "False", "FALSE", "no", "No", "NO", "n", "N", "off", "Off", "OFF"];

/// The value of a scalar, and its text where that says something else.
pub(super) fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> (Data, Option<String>) {
    let asked = tag.map(|tag| tag.core_suffix().unwrap_or(""));
    let is_text = match asked {
        Some("str") => true,
        Some("null" | "bool" | "int" | "float") => false,
        _ => style != ScalarStyle::Plain,
    };
    if is_text {
        return (Data::Text(text.to_owned()), None);
    }
    let data = plain(text);
    let differs = match &data {
        Data::Bool(value) => text != if *value { "true" } else { "false" },
        Data::Number(number) => text != number.to_string(),
        _ => false,
    };
    (data, differs.then(|| text.to_owned()))
}

pub(super) fn plain(text: &str) -> Data {
    if NULLS.contains(&text) {
        Data::Null
    } else if TRUE.contains(&text) {
        Data::Bool(true)
    } else if FALSE.contains(&text) {
        Data::Bool(false)
    } else if let Some(number) = integer(text).or_else(|| float(text)) {
        Data::Number(number)
    } else {
        Data::Text(text.to_owned())
    }
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (digits, radix) = if let Some(hex) = digits.strip_prefix("0x") {
        (hex, 16)
    } else if let Some(octal) = digits.strip_prefix("0o") {
        (octal, 8)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        (binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (&digits[1..], 8)
    } else {
        (digits, 10)
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    if negative { 0i64.checked_sub_unsigned(value).map(Number::from) } else { Some(value.into()) }
}

/// A decimal fraction. One without a fraction becomes an integer, as it does on its way through Go's JSON.
fn float(text: &str) -> Option<Number> {
    let starts_well =
        text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let looks_well = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if !starts_well || !looks_well {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let whole = format!("{value:.0}");
    match whole.parse::<i64>() {
        Ok(n) if value.fract() == 0.0 && value.abs() < 1e15 => Some(n.into()),
        _ => Number::from_f64(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        super::super::Node::from(plain(text)).to_json().to_string()
    }

    #[test]
    fn plain_scalars_mean_what_they_mean_to_kubectl() {
        for (text, means) in [
            ("", "null"),
            ("~", "null"),
            ("yes", "true"),
            ("n", "false"),
            ("0", "0"),
            ("-0", "0"),
            ("42", "42"),
            ("-42", "-42"),
            ("+7", "7"),
            ("0644", "420"),
            ("0o644", "420"),
            ("0x1F", "31"),
            ("08", "8"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("1.5", "1.5"),
            (".5", "0.5"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1e400", "\"1e400\""),
            (".nan", "\".nan\""),
            ("-", "\"-\""),
            (".", "\".\""),
            ("e", "\"e\""),
            ("1.2.3", "\"1.2.3\""),
            ("12-3", "\"12-3\""),
            ("10%", "\"10%\""),
            ("v1", "\"v1\""),
            ("infinity", "\"infinity\""),
            ("2026-01-01", "\"2026-01-01\""),
        ] {
            assert_eq!(json(text), means, "{text}");
        }
    }
}
