//! Lengths of time as annotations write them: `8m`, `500ms`, `1m30s`, `5s..10s`, `never`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::draw;
use crate::time::millis;

/// Why a value cannot be read. Says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct Unreadable {
    /// What was written.
    pub value: String,
    /// What would have been understood.
    pub expected: &'static str,
}

impl Unreadable {
    pub(crate) fn new(value: &str, expected: &'static str) -> Self {
        Self { value: value.to_owned(), expected }
    }
}

/// A length of time, or a range to draw one from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    shortest: Duration,
    longest: Duration,
}

impl Span {
    const EXPECTED: &'static str =
        r#"a length of time such as "500ms", "8m" or "1m30s", or a range "5s..10s""#;

    /// Always `length`, to the millisecond.
    pub fn exactly(length: Duration) -> Self {
        Self::range(length, length)
    }

    /// Anything from `one` to `other`, both included.
    pub fn range(one: Duration, other: Duration) -> Self {
        Self { shortest: one.min(other), longest: one.max(other) }
    }

    /// The shortest length it allows.
    pub fn shortest(self) -> Duration {
        self.shortest
    }

    /// The longest length it allows.
    pub fn longest(self) -> Duration {
        self.longest
    }

    /// The length for one pod, one purpose and one run of its containers; always the same for the same three.
    pub fn draw(self, uid: &str, purpose: &str, run: u32) -> Duration {
        let width = millis(self.longest - self.shortest);
        if width == 0 {
            return self.shortest;
        }
        let drawn = draw::number(&[uid, purpose, &run.to_string()]) % (width + 1);
        self.shortest + Duration::from_millis(drawn)
    }
}

impl FromStr for Span {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let read = |part| length(part).ok_or_else(|| Unreadable::new(text, Self::EXPECTED));
        match text.split_once("..") {
            None => read(text).map(Self::exactly),
            Some((from, to)) => {
                let (from, to) = (read(from)?, read(to)?);
                if from > to {
                    return Err(Unreadable::new(text, "a range from the shorter to the longer length"));
                }
                Ok(Self::range(from, to))
            }
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Length(self.shortest))?;
        if self.shortest == self.longest { Ok(()) } else { write!(f, "..{}", Length(self.longest)) }
    }
}

/// Some time after a beginning, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Not at all.
    Never,
    /// So long after the beginning.
    After(Span),
}

impl When {
    /// So long after the beginning, to the millisecond.
    pub fn after(length: Duration) -> Self {
        Self::After(Span::exactly(length))
    }
}

impl FromStr for When {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        match text.trim() {
            "never" => Ok(Self::Never),
            text => text.parse().map(Self::After),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::After(span) => span.fmt(f),
        }
    }
}

/// Shows a length the way it is read.
pub(crate) struct Length(pub(crate) Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = millis(self.0);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in UNITS {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads `1m30s`: numbers with units, nothing else.
pub(crate) fn length(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let size = UNITS.iter().find(|(unit, _)| *unit == &rest[..letters])?.1;
        rest = &rest[letters..];
        total = total.checked_add(number.checked_mul(size)?)?;
    }
    Some(Duration::from_millis(total))
}

/// Serde through the written form.
macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )+};
}
pub(crate) use as_text;

as_text!(Span, When);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_shown() {
        for (text, millis, shown) in [
            ("500ms", 500, "500ms"),
            ("8m", 480_000, "8m"),
            ("1m30s", 90_000, "1m30s"),
            ("90s", 90_000, "1m30s"),
            (" 2h ", 7_200_000, "2h"),
            ("0s", 0, "0s"),
            ("1s250ms", 1250, "1s250ms"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span, Span::exactly(Duration::from_millis(millis)), "{text}");
            assert_eq!(span.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in
            ["", "5", "s", "1.5s", "-1s", "5 s", "5d", "ten seconds", "5s..", "..5s", "10s..5s", "1s1"]
        {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert!("99999999999999999999s".parse::<Span>().is_err());
        assert!("9999999999999999h".parse::<Span>().is_err());
    }

    #[test]
    fn the_complaint_says_what_was_expected() {
        let complaint = "soon".parse::<Span>().unwrap_err().to_string();
        assert!(complaint.starts_with("\"soon\" is not a length of time such as"), "{complaint}");
    }

    #[test]
    fn draws_stay_within_the_range_reach_both_ends_and_repeat() {
        let span: Span = "5ms..8ms".parse().unwrap();
        let drawn: Vec<_> = (0..200).map(|run| span.draw("uid", "ready", run).as_millis()).collect();
        assert!(drawn.iter().all(|d| (5..=8).contains(d)));
        assert!((5..=8).all(|d| drawn.contains(&d)));
        let again: Vec<_> = (0..200).map(|run| span.draw("uid", "ready", run).as_millis()).collect();
        assert_eq!(drawn, again);
    }

    #[test]
    fn never_is_a_moment_too() {
        assert_eq!("never".parse(), Ok(When::Never));
        assert_eq!("1s".parse(), Ok(When::after(Duration::from_secs(1))));
        let json = serde_json::to_string(&When::Never).unwrap();
        assert_eq!(serde_json::from_str::<When>(&json).unwrap(), When::Never);
    }
}
