//! Points in time, and spans of it.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::value::{Result, Val};
use crate::schema::words::float_shown;

/// A point in time as RFC 3339 writes it.
pub(super) fn read(text: &str) -> Option<Timestamp> {
    let shaped = text.len() >= 20 && text.as_bytes().get(10) == Some(&b'T');
    shaped.then(|| text.parse().ok()).flatten()
}

pub(super) fn later<'a>(at: Timestamp, span: i64) -> Result<Val<'a>> {
    let moved = at.checked_add(SignedDuration::from_nanos(span));
    moved.map(Val::Timestamp).map_err(|_| "timestamp overflow".to_owned())
}

pub(super) fn between<'a>(from: Timestamp, to: Timestamp) -> Result<Val<'a>> {
    let span = to.as_nanosecond().saturating_sub(from.as_nanosecond());
    i64::try_from(span).map(Val::Duration).map_err(|_| "duration overflow".to_owned())
}

/// A span in seconds: `5400s`, `0.5s`.
pub(super) fn seconds(span: i64) -> String {
    format!("{}s", float_shown(span as f64 / 1e9))
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Result<Val<'a>>> {
    match args {
        [Val::Timestamp(at)] => part(name, &at.to_zoned(TimeZone::UTC)).map(|part| Ok(Val::Int(part))),
        [Val::Timestamp(at), Val::Text(zone)] => {
            let Some(zone) = zone_of(zone) else {
                return Some(Err(format!("unknown time zone {zone}")));
            };
            part(name, &at.to_zoned(zone)).map(|part| Ok(Val::Int(part)))
        }
        [Val::Duration(span)] => {
            let size = match name {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return None,
            };
            Some(span.checked_div(size).map(Val::Int).ok_or_else(String::new))
        }
        _ => None,
    }
}

/// `UTC`, or hours and minutes from it. Names of places are not known here.
fn zone_of(text: &str) -> Option<TimeZone> {
    if matches!(text, "UTC" | "") {
        return Some(TimeZone::UTC);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let hours: i32 = hours.parse().ok()?;
    let minutes: i32 = minutes.parse().ok()?;
    let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_mul(sign)?;
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

fn part(name: &str, at: &Zoned) -> Option<i64> {
    Some(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()).saturating_sub(1),
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()).saturating_sub(1),
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(at.day_of_year()).saturating_sub(1),
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.millisecond()),
        _ => return None,
    })
}
