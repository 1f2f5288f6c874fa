//! Lengths of time as people write them: `30s`, `5m`, `1h30m`.

use std::fmt;
use std::str::FromStr;

use lockstep_core::time::Millis;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
const LONGEST: u64 = 8760 * 3_600_000;

/// A length of time: whole hours (`h`), minutes (`m`), seconds (`s`) and milliseconds (`ms`), largest first,
/// up to a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub Millis);

/// What was written is no length of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotADuration;

impl fmt::Display for NotADuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a length of time above zero and up to 8760h, such as 30s, 5m or 1h30m")
    }
}

impl FromStr for Duration {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, NotADuration> {
        let mut rest = text;
        let mut total: u64 = 0;
        let mut largest = u64::MAX;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = rest.split_at(digits);
            let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, tail) = tail.split_at(letters);
            let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(NotADuration)?;
            if size >= largest {
                return Err(NotADuration);
            }
            let number: u64 = number.parse().map_err(|_| NotADuration)?;
            total = number.checked_mul(size).and_then(|n| n.checked_add(total)).ok_or(NotADuration)?;
            (rest, largest) = (tail, size);
        }
        if total == 0 || total > LONGEST { Err(NotADuration) } else { Ok(Self(Millis(total))) }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.0;
        for (unit, size) in UNITS {
            if left >= size {
                write!(f, "{}{unit}", left / size)?;
                left %= size;
            }
        }
        Ok(())
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form() {
        for (text, millis) in
            [("5m", 300_000), ("4h", 14_400_000), ("1h30m5s", 5_405_000), ("250ms", 250), ("8760h", LONGEST)]
        {
            let parsed: Duration = text.parse().unwrap();
            assert_eq!(parsed.0, Millis(millis));
            assert_eq!(parsed.to_string(), text);
        }
        assert_eq!("90s".parse::<Duration>().unwrap().to_string(), "1m30s");
        for bad in
            ["", "5", "m", "5 m", "-5m", "1.5h", "5d", "0s", "8761h", "5m4h", "5m5m", "99999999999999999999h"]
        {
            assert_eq!(bad.parse::<Duration>(), Err(NotADuration), "{bad}");
        }
    }
}
