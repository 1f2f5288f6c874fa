//! Ages, as people read them: `5m3s`, `2d4h`.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// What is said of times that are not there.
const UNKNOWN: &str = "<unknown>";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago the time at this place is.
pub fn since(object: &Value, pointer: &str, now: Timestamp) -> String {
    time(object, pointer).map_or_else(|| UNKNOWN.to_owned(), |then| ago(then, now))
}

/// How long ago an object was created.
pub fn of(object: &Value, now: Timestamp) -> Value {
    since(object, "/metadata/creationTimestamp", now).into()
}

/// How long ago that is.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    human(now.duration_since(then))
}

/// The time at this place; nothing if there is none.
pub fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    object.pointer(pointer)?.as_str()?.parse().ok()
}

/// A text in the form of a time, as a cell of type `date` shows it.
pub fn of_text(text: &str, now: Timestamp) -> String {
    if text.is_empty() || text == "null" || text == "0001-01-01T00:00:00Z" {
        return UNKNOWN.to_owned();
    }
    let then = if is_strict(text) { text.parse().ok() } else { None };
    then.map_or_else(|| "<invalid>".to_owned(), |then| ago(then, now))
}

/// Of the many forms a time can have, only the one of RFC 3339 counts: a `T`, and an offset in hours and minutes.
fn is_strict(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well = matches!(bytes, [.., b'Z'] | [.., b'+' | b'-', _, _, b':', _, _]);
    ends_well && bytes.get(10) == Some(&b'T')
}

/// A length of time in two or three digits. Clocks may differ by a second; what lies further ahead is wrong.
pub fn human(length: SignedDuration) -> String {
    let seconds = length.as_secs();
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds, (MINUTE, "m"), (1, "s")),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds, (HOUR, "h"), (MINUTE, "m")),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds, (DAY, "d"), (HOUR, "h")),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// In two units, the smaller one only if it is not zero.
fn two(seconds: i64, big: (i64, &str), small: (i64, &str)) -> String {
    let (many, few) = (seconds / big.0, seconds % big.0 / small.0);
    match few {
        0 => format!("{many}{}", big.1),
        _ => format!("{many}{}{few}{}", big.1, small.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (seconds, shown) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (303, "5m3s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 60, "3h1m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 4 * HOUR, "2d4h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 5 * DAY, "2y5d"),
            (8 * YEAR, "8y"),
        ] {
            assert_eq!(human(SignedDuration::from_secs(seconds)), shown, "{seconds}");
        }
        assert_eq!(human(SignedDuration::from_millis(-1999)), "0s");
    }

    #[test]
    fn texts_that_are_times_and_others() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().expect("a time");
        for (text, shown) in [
            ("2026-01-02T11:59:00Z", "60s"),
            ("2026-01-02T11:58:59.5Z", "60s"),
            ("2026-01-02T12:59:00+01:00", "60s"),
            ("", "<unknown>"),
            ("null", "<unknown>"),
            ("0001-01-01T00:00:00Z", "<unknown>"),
            ("yesterday", "<invalid>"),
            ("2026-01-02 11:59:00Z", "<invalid>"),
            ("2026-01-02T11:59:00", "<invalid>"),
            ("2026-01-02T12:59:00+01", "<invalid>"),
        ] {
            assert_eq!(of_text(text, now), shown, "{text}");
        }
    }
}
