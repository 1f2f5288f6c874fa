//! `"%s has %d".format([…])`.

use super::types::Type;
use super::value::{Result, Val};
use super::{convert, time};
use crate::schema::words::quoted;

/// A piece of a text: as it is, or a clause that wants a value.
enum Piece {
    Plain(char),
    Clause { letter: char, places: Option<usize> },
}

fn pieces(text: &str) -> Result<Vec<Piece>> {
    let end = || "unexpected end of string".to_owned();
    let mut found = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            found.push(Piece::Plain(letter));
            continue;
        }
        let mut letter = letters.next().ok_or_else(end)?;
        if letter == '%' {
            found.push(Piece::Plain('%'));
            continue;
        }
        let mut places = None;
        if letter == '.' {
            let mut digits = String::new();
            letter = letters.next().ok_or_else(end)?;
            while letter.is_ascii_digit() {
                digits.push(letter);
                letter = letters.next().ok_or_else(end)?;
            }
            places = digits.parse::<usize>().ok();
        }
        if !"sdfebxXo".contains(letter) {
            return Err(format!(
                "could not parse formatting clause: unrecognized formatting clause \"{letter}\""
            ));
        }
        found.push(Piece::Clause { letter, places });
    }
    Ok(found)
}

/// What a clause wants, unless a value is that.
fn refused(letter: char, kind: &str) -> Option<String> {
    let integer = matches!(kind, "int" | "uint");
    let (fine, wants) = match letter {
        'd' => (integer, "decimal clause can only be used on integers"),
        'f' => (kind == "double", "fixed-point clause can only be used on doubles"),
        'e' => (kind == "double", "scientific clause can only be used on doubles"),
        'b' => (integer || kind == "bool", "only integers and bools can be formatted as binary"),
        'o' => (integer, "octal clause can only be used on integers"),
        'x' | 'X' => {
            let fine = integer || matches!(kind, "string" | "bytes");
            (fine, "only integers, byte buffers, and strings can be formatted as hex")
        }
        _ => (true, ""),
    };
    (!fine).then(|| format!("error during formatting: {wants}, was given {kind}"))
}

/// What cannot be right about a text and the types of its values, and which value is to blame.
pub(super) fn check(text: &str, kinds: &[Type]) -> std::result::Result<(), (Option<usize>, String)> {
    let mut place: usize = 0;
    for piece in pieces(text).map_err(|error| (None, error))? {
        let Piece::Clause { letter, .. } = piece else { continue };
        let kind = kinds.get(place).ok_or_else(|| (None, format!("index {place} out of range")))?;
        if *kind != Type::Dyn
            && let Some(error) = refused(letter, &kind.to_string())
        {
            return Err((Some(place), error));
        }
        place = place.saturating_add(1);
    }
    if place < kinds.len() {
        let given = kinds.len();
        let what = format!("too many arguments supplied to string.format (expected {place}, got {given})");
        return Err((None, what));
    }
    Ok(())
}

/// Puts values into a text.
pub(super) fn format<'a>(text: &str, values: &[Val<'a>]) -> Result<Val<'a>> {
    let mut out = String::new();
    let mut place: usize = 0;
    for piece in pieces(text)? {
        match piece {
            Piece::Plain(letter) => out.push(letter),
            Piece::Clause { letter, places } => {
                let value = values.get(place).ok_or_else(|| format!("index {place} out of range"))?;
                out.push_str(&one(letter, places, value)?);
                place = place.saturating_add(1);
            }
        }
    }
    Ok(Val::text(out))
}

fn one(letter: char, places: Option<usize>, value: &Val<'_>) -> Result<String> {
    if let Some(error) = refused(letter, value.type_name()) {
        return Err(error);
    }
    let places = places.unwrap_or(6);
    Ok(match (letter, value) {
        ('f', Val::Double(number)) => format!("{number:.places$}"),
        ('e', Val::Double(number)) => scientific(*number, places),
        ('b', Val::Bool(truth)) => u8::from(*truth).to_string(),
        ('b', Val::Int(number)) => format!("{number:b}"),
        ('b', Val::Uint(number)) => format!("{number:b}"),
        ('o', Val::Int(number)) => format!("{number:o}"),
        ('o', Val::Uint(number)) => format!("{number:o}"),
        ('x', Val::Int(number)) => format!("{number:x}"),
        ('X', Val::Int(number)) => format!("{number:X}"),
        ('x', Val::Uint(number)) => format!("{number:x}"),
        ('X', Val::Uint(number)) => format!("{number:X}"),
        ('x', Val::Text(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ('X', Val::Text(text)) => text.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ('x', Val::Bytes(bytes)) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ('X', Val::Bytes(bytes)) => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
        (_, value) => plain(value)?,
    })
}

/// `1.234500 × 10⁰³`.
fn scientific(number: f64, places: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{number:.places$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(negative) => ("⁻", negative),
        None => ("", exponent),
    };
    let padded = format!("{exponent:0>2}");
    let raised = padded.chars().filter_map(|digit| RAISED.get(usize::try_from(digit.to_digit(10)?).ok()?));
    format!("{digits} × 10{sign}{}", raised.collect::<String>())
}

/// A value as `%s` shows it.
fn plain(value: &Val<'_>) -> Result<String> {
    if let Some(items) = value.items() {
        let items = items?.iter().map(inner).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[{}]", items.join(", ")));
    }
    if let Some(pairs) = value.pairs() {
        let pair = |(key, value): &(Val<'_>, Val<'_>)| Ok(format!("{}:{}", inner(key)?, inner(value)?));
        let mut pairs = pairs?.iter().map(pair).collect::<Result<Vec<String>>>()?;
        pairs.sort();
        return Ok(format!("{{{}}}", pairs.join(", ")));
    }
    match value {
        Val::Null => Ok("null".to_owned()),
        Val::Duration(span) => Ok(time::seconds(*span)),
        other => {
            let kind = other.type_name();
            let what = || {
                format!(
                    "error during formatting: string clause can only be used on strings, was given {kind}"
                )
            };
            convert::to_text(other).ok_or_else(what)
        }
    }
}

/// Within lists and maps, texts are quoted and numbers have all their places.
fn inner(value: &Val<'_>) -> Result<String> {
    match value {
        Val::Text(text) => Ok(quoted(text)),
        Val::Double(number) => Ok(format!("{number:.6}")),
        other => plain(other),
    }
}
