//! Points in time as people write them.

use lockstep_api::Duration;
use lockstep_core::time::Time;
use serde_json::Value;

/// What is accepted for a point in time.
pub const ACCEPTED: &str =
    "must be a time: milliseconds, RFC 3339 such as 2026-01-31T12:00:00Z, or how long ago such as 5m";

/// A point in time: whole milliseconds, RFC 3339, or a length of time before `now`.
pub fn moment(value: &Value, now: Time) -> Option<Time> {
    match value {
        Value::Number(n) => n.as_u64().map(Time),
        Value::String(text) => match text.parse::<Duration>() {
            Ok(ago) => Some(Time(now.0.saturating_sub(ago.0.0))),
            Err(_) if text == "0s" => Some(now),
            Err(_) => rfc3339(text),
        },
        _ => None,
    }
}

/// `2026-01-31T12:00:00.5+01:00`, in milliseconds since 1970.
fn rfc3339(text: &str) -> Option<Time> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let (millis, zone) = fraction(rest)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
    u64::try_from(seconds * 1000 + millis).ok().map(Time)
}

fn numbers(text: &str, between: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut next = |length: usize| {
        let part = parts.next().filter(|part| part.len() == length)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let found = [next(lengths[0])?, next(lengths[1])?, next(lengths[2])?];
    parts.next().is_none().then_some(found)
}

/// The milliseconds after the dot, and the rest.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = rest.split_at(length);
    let three: String = digits.chars().chain("000".chars()).take(3).collect();
    if digits.is_empty() { None } else { Some((three.parse().ok()?, zone)) }
}

fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, zone.strip_prefix('-')?),
    };
    let [hours, minutes, _] = numbers(&format!("{rest}:00"), ':', [2, 2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_way_to_write_a_time() {
        let now = Time(10_000_000);
        for (value, millis) in [
            (json!(5), 5),
            (json!("5m"), 9_700_000),
            (json!("0s"), 10_000_000),
            (json!("1970-01-01T00:00:00Z"), 0),
            (json!("2026-01-31T12:00:00.25Z"), 1_769_860_800_250),
            (json!("2024-02-29T23:59:59+01:00"), 1_709_247_599_000),
        ] {
            assert_eq!(moment(&value, now), Some(Time(millis)), "{value}");
        }
        for bad in
            ["", "soon", "2023-02-29T00:00:00Z", "2024-01-01", "2024-01-01T25:00:00Z", "1969-01-01T00:00:00Z"]
        {
            assert_eq!(moment(&json!(bad), now), None, "{bad}");
        }
        assert_eq!(moment(&json!(-1), now), None);
        assert_eq!(moment(&json!("2024-01-01T00:00:00é"), now), None);
    }
}
