//! Lengths of time as Go writes them: `4h0m0s`, `1.5h`, `90s`.

use lockstep_api::Duration;
use lockstep_core::time::Millis;

const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];
const LONGEST: u64 = 8760 * 3_600_000;

/// What is said when it is none.
pub(super) const EXPECTED: &str =
    "must be a length of time above zero and up to 8760h, such as 30s, 5m or 1h30m";

/// A length of time, in whole milliseconds, if it is one that we can wait for.
pub(super) fn read(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let number = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, tail) = rest.split_at(number);
        let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(scaled(number, size)?)?;
        rest = tail;
    }
    let millis = u64::try_from(total / 1_000_000).ok()?;
    (millis > 0 && millis <= LONGEST).then_some(Duration(Millis(millis)))
}

/// A decimal number of units, in nanoseconds.
fn scaled(number: &str, size: u64) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') || part.len() > 18 || whole.len() > 18 {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let places = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let fraction = digits(part)? * u128::from(size) / places;
    digits(whole)?.checked_mul(u128::from(size))?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_writes_them() {
        for (text, millis) in
            [("4h0m0s", 14_400_000), ("1.5h", 5_400_000), ("90s", 90_000), ("1m500ms", 60_500), (".5s", 500)]
        {
            assert_eq!(read(text), Some(Duration(Millis(millis))), "{text}");
        }
        for text in [
            "",
            "5",
            "h",
            "-5m",
            "1.2.3s",
            "0s",
            "10us",
            "8761h",
            "5d",
            ".s",
            "1e3s",
            "99999999999999999999h",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
