//! Texts that stand for something else, and what Go says of those that do not.

use crate::schema::words::quoted;

/// Parts of a point in time: how they are written in Go's layouts, and how many digits they have.
const PARTS: [(&str, usize); 11] = [
    ("2006", 4),
    ("-", 0),
    ("01", 2),
    ("-", 0),
    ("02", 2),
    ("T", 0),
    ("15", 2),
    (":", 0),
    ("04", 2),
    (":", 0),
    ("05", 2),
];

/// What is wrong with a point in time; `micro` if it has a fraction of six digits.
pub(super) fn problem(text: &str, micro: bool) -> Option<String> {
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let wrong = |rest: &str, part: &str| {
        let (text, layout, rest, part) = (quoted(text), quoted(layout), quoted(rest), quoted(part));
        Some(format!("parsing time {text} as {layout}: cannot parse {rest} as {part}"))
    };
    let mut rest = text;
    for (part, digits) in PARTS {
        let taken = match digits {
            0 => rest.strip_prefix(part),
            number => rest.get(..number).filter(|text| is_digits(text)).and_then(|_| rest.get(number..)),
        };
        match taken {
            Some(after) => rest = after,
            None => return wrong(rest, part),
        }
    }
    let fraction = rest
        .strip_prefix('.')
        .map(|after| after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    match fraction {
        Some(digits) if !micro || digits == 6 => {
            rest = rest.get(digits.saturating_add(1)..).unwrap_or_default()
        }
        _ if micro => return wrong(rest, ".000000"),
        _ => {}
    }
    let zone = match rest.as_bytes() {
        [b'Z', after @ ..] => Some(after),
        [b'+' | b'-', _, _, b':', _, _, after @ ..] => Some(after),
        _ => None,
    };
    match zone {
        None => wrong(rest, "Z07:00"),
        Some([]) => out_of_range(text),
        Some(after) => {
            let extra = quoted(&String::from_utf8_lossy(after));
            Some(format!("parsing time {}: extra text: {extra}", quoted(text)))
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_digit())
}

/// A point in time that is well written and never was.
fn out_of_range(text: &str) -> Option<String> {
    let number =
        |from: usize| text.get(from..from.saturating_add(2)).and_then(|digits| digits.parse::<u32>().ok());
    let beyond = |from: usize, most: u32| number(from).is_none_or(|number| number > most);
    let zero = |from: usize| number(from) == Some(0);
    let what = if beyond(5, 12) || zero(5) {
        "month"
    } else if beyond(11, 23) {
        "hour"
    } else if beyond(14, 59) {
        "minute"
    } else if beyond(17, 59) {
        "second"
    } else if text.get(..10).is_none_or(|day| day.parse::<jiff::civil::Date>().is_err()) {
        "day"
    } else {
        return None;
    };
    Some(format!("parsing time {}: {what} out of range", quoted(text)))
}

/// What is wrong with base64.
pub(super) fn base64_problem(text: &str) -> Option<String> {
    let plain = text.trim_end_matches('=');
    let letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/' | b'\n' | b'\r');
    let place = match plain.bytes().position(|byte| !letter(byte)) {
        Some(place) => place,
        None if text.len().is_multiple_of(4) && text.len() - plain.len() <= 2 => return None,
        None => text.len() - text.len() % 4,
    };
    Some(format!("illegal base64 data at input byte {place}"))
}
