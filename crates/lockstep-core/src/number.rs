//! Counts, percentages and exact ratios.
//!
//! Every percentage resolves against its own level's size in integers; there is no rounding that is not
//! written down here.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A count, or a percentage of something counted: `3` or `"25%"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntOrPercent {
    /// An absolute count.
    Int(u32),
    /// A percentage, in whole percent.
    Percent(u32),
}

impl IntOrPercent {
    /// The count it stands for, percentages rounded down.
    pub fn floor_of(self, total: u32) -> u32 {
        match self {
            Self::Int(n) => n,
            Self::Percent(p) => saturate(u64::from(total) * u64::from(p) / 100),
        }
    }

    /// The count it stands for, percentages rounded up.
    pub fn ceil_of(self, total: u32) -> u32 {
        match self {
            Self::Int(n) => n,
            Self::Percent(p) => saturate((u64::from(total) * u64::from(p)).div_ceil(100)),
        }
    }

    /// Whether it is written as a percentage.
    pub fn is_percent(self) -> bool {
        matches!(self, Self::Percent(_))
    }
}

fn saturate(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `maxUnavailable` and `maxSurge` of a level, resolved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// How many of the level's units may be unavailable.
    pub unavailable: u32,
    /// How many units may stand beyond the desired ones.
    pub surge: u32,
}

impl Limits {
    /// Unavailable rounds down, surge rounds up and never exceeds `desired`. Percentages that both come to
    /// nothing would forbid every move, so one unit may then be unavailable.
    pub fn resolve(max_unavailable: IntOrPercent, max_surge: IntOrPercent, desired: u32) -> Self {
        let surge = max_surge.ceil_of(desired).min(desired);
        let unavailable = max_unavailable.floor_of(desired).min(desired);
        let written_as_percent = max_unavailable.is_percent() || max_surge.is_percent();
        if unavailable == 0 && surge == 0 && written_as_percent {
            return Self { unavailable: 1, surge };
        }
        Self { unavailable, surge }
    }
}

/// How many of the level's lowest ordinals stay at the old revision. Rounds up, but a percentage below 100%
/// always lets one move.
pub fn partition(value: IntOrPercent, desired: u32) -> u32 {
    let kept = value.ceil_of(desired).min(desired);
    match value {
        IntOrPercent::Percent(p) if p < 100 && kept == desired => desired.saturating_sub(1),
        _ => kept,
    }
}

/// How many updated and ready instances a step asks for, never more than the `eligible` ones.
pub fn update_to(value: IntOrPercent, desired: u32, eligible: u32) -> u32 {
    value.ceil_of(desired).min(eligible)
}

/// A non-negative exact fraction. Compared by value, never divided.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    /// `num / den`; a zero denominator counts as one, so that the ratio is always a number.
    pub fn new(num: u64, den: u64) -> Self {
        Self { num, den: den.max(1) }
    }

    /// A skew as written: a percentage as it stands, a count as a share of the smallest role it spans.
    pub fn of_skew(value: IntOrPercent, smallest_role: u32) -> Self {
        match value {
            IntOrPercent::Percent(p) => Self::new(u64::from(p), 100),
            IntOrPercent::Int(n) => Self::new(u64::from(n), u64::from(smallest_role)),
        }
    }

    /// `floor(total * (self + other))`, exactly.
    pub fn floor_of_sum(self, other: Self, total: u32) -> u32 {
        let num = u128::from(self.num) * u128::from(other.den) + u128::from(other.num) * u128::from(self.den);
        let den = u128::from(self.den) * u128::from(other.den);
        u32::try_from(u128::from(total) * num / den).unwrap_or(u32::MAX)
    }

    /// Whether `self - other <= bound`, exactly.
    pub fn within(self, other: Self, bound: Self) -> bool {
        // self <= other + bound, over one denominator.
        let left = u128::from(self.num) * u128::from(other.den) * u128::from(bound.den);
        let right = (u128::from(other.num) * u128::from(bound.den)
            + u128::from(bound.num) * u128::from(other.den))
            * u128::from(self.den);
        left <= right
    }

    /// The distance to a smaller ratio in tenths of a percent, rounded down: for screens only.
    pub fn permille_above(self, smaller: Self) -> u32 {
        let left = u128::from(self.num) * u128::from(smaller.den);
        let right = u128::from(smaller.num) * u128::from(self.den);
        let den = u128::from(self.den) * u128::from(smaller.den);
        u32::try_from(left.saturating_sub(right) * 1000 / den).unwrap_or(u32::MAX)
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.num) * u128::from(other.den);
        let right = u128::from(other.num) * u128::from(self.den);
        left.cmp(&right)
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Percent(p) => write!(f, "{p}%"),
        }
    }
}

/// What was written is neither a count nor a percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a whole number from 0 up nor a percentage such as \"25%\"")]
pub struct NotIntOrPercent(pub String);

impl FromStr for IntOrPercent {
    type Err = NotIntOrPercent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_suffix('%');
        let number = digits.unwrap_or(text);
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NotIntOrPercent(text.to_owned()));
        }
        let value: u32 = number.parse().map_err(|_| NotIntOrPercent(text.to_owned()))?;
        Ok(if digits.is_some() { Self::Percent(value) } else { Self::Int(value) })
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => serializer.serialize_u32(*n),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = IntOrPercent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 up or a percentage such as \"25%\"")
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Self::Value, E> {
                u32::try_from(n)
                    .map(IntOrPercent::Int)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(n), &self))
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Self::Value, E> {
                u32::try_from(n)
                    .map(IntOrPercent::Int)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(n), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntOrPercent::{Int, Percent};

    #[test]
    fn unavailable_rounds_down_and_surge_up() {
        assert_eq!(Limits::resolve(Percent(25), Percent(25), 10), Limits { unavailable: 2, surge: 3 });
        assert_eq!(Limits::resolve(Int(2), Percent(300), 4), Limits { unavailable: 2, surge: 4 });
    }

    #[test]
    fn percentages_that_come_to_nothing_let_one_go() {
        assert_eq!(Limits::resolve(Percent(1), Int(0), 10).unavailable, 1);
        assert_eq!(Limits::resolve(Percent(0), Percent(0), 10).unavailable, 1);
        assert_eq!(Limits::resolve(Int(0), Int(0), 10).unavailable, 0, "written as zero, it stays zero");
        assert_eq!(Limits::resolve(Percent(1), Percent(1), 10), Limits { unavailable: 0, surge: 1 });
    }

    #[test]
    fn partition_rounds_up_but_below_a_hundred_percent_one_moves() {
        for (value, desired, kept) in [
            (Percent(80), 200, 160),
            (Percent(80), 100, 80),
            (Percent(99), 10, 9),
            (Percent(100), 10, 10),
            (Percent(50), 1, 0),
            (Int(4), 10, 4),
            (Int(40), 10, 10),
            (Percent(50), 0, 0),
        ] {
            assert_eq!(partition(value, desired), kept, "{value} of {desired}");
        }
    }

    #[test]
    fn a_step_never_asks_for_more_than_may_move() {
        assert_eq!(update_to(Percent(75), 1, 1), 1);
        assert_eq!(update_to(Percent(100), 10, 6), 6);
        assert_eq!(update_to(Percent(1), 200, 200), 2);
    }

    #[test]
    fn skew_arithmetic_is_exact() {
        let skew = Ratio::of_skew(Percent(5), 20);
        assert_eq!(Ratio::new(10, 40).floor_of_sum(skew, 20), 6);
        assert_eq!(Ratio::new(3, 20).floor_of_sum(skew, 40), 8);
        // 285, where a floating point sum yields 286.
        assert_eq!(Ratio::new(19, 20).floor_of_sum(Ratio::new(0, 1), 300), 285);
        assert_eq!(Ratio::of_skew(Int(1), 20), Ratio::new(1, 20));
        assert!(Ratio::new(3, 20).within(Ratio::new(1, 10), Ratio::new(1, 20)));
        assert!(!Ratio::new(4, 20).within(Ratio::new(1, 10), Ratio::new(1, 20)));
    }

    #[test]
    fn text_form() {
        for good in ["0", "7", "0%", "25%", "100%", "300%"] {
            assert_eq!(good.parse::<IntOrPercent>().unwrap().to_string(), good);
        }
        for bad in ["", "%", "-1", "1.5", "5 %", "abc", "99999999999", "+3"] {
            assert!(bad.parse::<IntOrPercent>().is_err(), "{bad}");
        }
        let parsed: Vec<IntOrPercent> = serde_json::from_str(r#"[3, "25%", "4"]"#).unwrap();
        assert_eq!(parsed, [Int(3), Percent(25), Int(4)]);
        assert!(serde_json::from_str::<IntOrPercent>("-3").is_err());
        assert!(serde_json::from_str::<IntOrPercent>("1.5").is_err());
    }
}
