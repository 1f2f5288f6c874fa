//! Amounts with units: `100m`, `1.5Gi`, `2e3`.

use std::cmp::Ordering;

/// An amount, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// Reads an amount. What is smaller than a billionth is rounded up.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, unit) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let (factor, mut exponent) = scale(unit)?;
        exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(9)?;
        let scaled = digits.checked_mul(factor)?;
        let amount = match u32::try_from(exponent) {
            Ok(up) => scaled.checked_mul(10_i128.checked_pow(up)?)?,
            Err(_) => {
                let down = 10_i128.checked_pow(exponent.unsigned_abs())?;
                let rounded = scaled.checked_add(down)?.checked_sub(1)?;
                rounded.checked_div(down)?
            }
        };
        Some(Self(if negative { amount.checked_neg()? } else { amount }))
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(super) fn subtract(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(super) fn from_integer(integer: i64) -> Self {
        Self(i128::from(integer).saturating_mul(NANO))
    }

    pub(super) fn sign(self) -> i64 {
        match self.0.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    pub(super) fn as_integer(self) -> Option<i64> {
        if self.0.checked_rem(NANO)? != 0 {
            return None;
        }
        i64::try_from(self.0.checked_div(NANO)?).ok()
    }

    pub(super) fn as_float(self) -> f64 {
        self.0 as f64 / NANO as f64
    }
}

/// What a unit multiplies by: a factor, and a power of ten.
fn scale(unit: &str) -> Option<(i128, i32)> {
    let binary = |power: u32| 1024_i128.checked_pow(power).map(|factor| (factor, 0));
    match unit {
        "" => Some((1, 0)),
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?;
            let exponent: i32 = exponent.parse().ok()?;
            (exponent.abs() <= 27).then_some((1, exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        let read = |text: &str| Quantity::read(text).expect(text);
        for (one, other) in
            [("1", "1000m"), ("1Ki", "1024"), ("1.5G", "1500M"), ("2e3", "2k"), ("0.5", "500m")]
        {
            assert_eq!(read(one), read(other), "{one} {other}");
        }
        assert!(read("1Gi") > read("1G") && read("-1") < read("0"));
        for wrong in ["", "x", "1x", "1.2.3", "Ki", "--1", "1 k"] {
            assert_eq!(Quantity::read(wrong), None, "{wrong}");
        }
        assert_eq!(read("3").as_integer(), Some(3));
        assert_eq!(read("1m").as_integer(), None);
    }
}
