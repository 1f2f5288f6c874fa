//! Quantities: `500m`, `1Gi`, `2e3`.

use std::fmt;

use thiserror::Error;

/// One, in the smallest part that is counted.
const ONE: i128 = 1_000_000_000;
const MILLI: i128 = ONE / 1000;
/// Quantities with binary suffixes are cut at this.
const MOST: i128 = (i64::MAX as i128) * ONE;

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A quantity of something.
#[derive(Debug, Clone)]
pub struct Quantity {
    nanos: i128,
    form: Form,
    /// As it was written, where that is kept.
    written: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// What is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// It is not written like one.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The number is too large.
    #[error("unable to parse numeric part of quantity")]
    Number,
}

impl Quantity {
    /// Reads a quantity.
    pub fn read(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(QuantityError::Format),
        };
        let whole = leading_digits(rest);
        let after = &rest[whole.len()..];
        // No digits at all are a zero, too.
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        };
        let (fraction, suffix) = match after.strip_prefix('.') {
            Some(after) => after.split_at(leading_digits(after).len()),
            None => ("", after),
        };
        check_suffix(suffix)?;
        let (form, base, exponent) = meaning(suffix).ok_or(QuantityError::Suffix)?;
        let mut nanos = in_nanos(whole, fraction, base, exponent).ok_or(QuantityError::Number)?;
        let mut form = form;
        if form == Form::Binary {
            nanos = nanos.min(MOST);
            if nanos > 0 && nanos < ONE {
                form = Form::Decimal;
            }
        }
        let written = kept_as_written(whole, fraction, form, exponent).then(|| text.to_owned());
        Ok(Self { nanos: if negative { -nanos } else { nanos }, form, written })
    }

    /// Rounded up to thousandths, as resources of pods and nodes are.
    pub fn in_thousandths(mut self) -> Self {
        let over = self.nanos % MILLI;
        if over != 0 {
            let away = if over > 0 { MILLI - over } else { -MILLI - over };
            self.nanos += away;
            self.written = None;
        }
        self
    }

    /// Whether it is less than nothing.
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Whether it is a whole number.
    pub fn is_whole(&self) -> bool {
        self.nanos % ONE == 0
    }

    /// How many billionths, the finest part there is.
    pub fn billionths(&self) -> i128 {
        self.nanos
    }

    /// How many thousandths, rounded up.
    pub fn thousandths(&self) -> i128 {
        self.nanos.div_euclid(MILLI) + i128::from(self.nanos.rem_euclid(MILLI) != 0)
    }

    /// The sum of two.
    pub fn plus(&self, other: &Self) -> Self {
        let form = if self.is_zero() { other.form } else { self.form };
        Self { nanos: self.nanos.saturating_add(other.nanos), form, written: None }
    }

    fn decimal(&self, write: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = self.nanos;
        let mut exponent = -9;
        while number % 1000 == 0 && exponent < 18 {
            number /= 1000;
            exponent += 3;
        }
        match self.form {
            Form::Exponent if exponent == 0 => write!(write, "{number}"),
            Form::Exponent => write!(write, "{number}e{exponent}"),
            _ => {
                let suffix = DECIMAL.iter().find(|(_, of)| *of == exponent).map_or("", |(suffix, _)| suffix);
                write!(write, "{number}{suffix}")
            }
        }
    }

    fn binary(&self, write: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = self.nanos / ONE;
        let mut suffix = "";
        for next in BINARY {
            if number % 1024 != 0 {
                break;
            }
            number /= 1024;
            suffix = next;
        }
        write!(write, "{number}{suffix}")
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, write: &mut fmt::Formatter<'_>) -> fmt::Result {
        let small = self.nanos.abs() < 1024 * ONE;
        match &self.written {
            Some(written) => write.write_str(written),
            None if self.is_zero() => write.write_str("0"),
            None if self.form == Form::Binary && !small && self.is_whole() => self.binary(write),
            None => self.decimal(write),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// Letters, a sign, digits: anything else is not written like a quantity.
fn check_suffix(suffix: &str) -> Result<(), QuantityError> {
    let rest = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if leading_digits(rest).len() == rest.len() { Ok(()) } else { Err(QuantityError::Format) }
}

/// The form, the base and the exponent of a suffix.
fn meaning(suffix: &str) -> Option<(Form, u32, i32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(of, _)| *of == suffix) {
        return Some((Form::Decimal, 10, *exponent));
    }
    if let Some(place) = BINARY.iter().position(|of| *of == suffix) {
        return Some((Form::Binary, 2, 10 * (i32::try_from(place).ok()? + 1)));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    exponent.parse().ok().map(|exponent| (Form::Exponent, 10, exponent))
}

/// The number in nanos, rounded up.
fn in_nanos(whole: &str, fraction: &str, base: u32, exponent: i32) -> Option<i128> {
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    let scaled = if base == 2 {
        digits.checked_mul(1_i128.checked_shl(u32::try_from(exponent).ok()?)?)?
    } else {
        digits
    };
    let shift = 9 - places + if base == 10 { exponent } else { 0 };
    if shift >= 0 {
        return scaled.checked_mul(10_i128.checked_pow(u32::try_from(shift).ok()?)?);
    }
    let by = 10_i128.checked_pow(u32::try_from(-shift).ok()?);
    Some(by.map_or(i128::from(scaled != 0), |by| scaled / by + i128::from(scaled % by != 0)))
}

/// A real API server hands some quantities back as they were written, although it would write them otherwise.
fn kept_as_written(whole: &str, fraction: &str, form: Form, exponent: i32) -> bool {
    let digits = format!("{whole}{fraction}");
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    match form {
        Form::Binary => {
            let room = 15 - i32::try_from(whole.len()).unwrap_or(i32::MAX) - exponent * 3 / 10 - 1;
            let odd = digits.parse::<i64>().is_ok_and(|number| number & 7 != 0);
            fraction.is_empty() && room >= 0 && odd
        }
        Form::Decimal | Form::Exponent => {
            let scale = exponent.saturating_sub(places);
            let short = digits.len() <= 18 && scale >= -9;
            short && scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_real_one_writes_them() {
        for (written, shown) in [
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("1.5", "1500m"),
            ("1.500", "1.500"),
            ("0.500", "500m"),
            ("1024Ki", "1Mi"),
            ("1Gi", "1Gi"),
            ("0.5Gi", "512Mi"),
            ("1.5Ki", "1536"),
            ("100Ki", "100Ki"),
            ("2e3", "2e3"),
            ("1e2", "100"),
            ("12E", "12E"),
            ("-5", "-5"),
            ("+5", "+5"),
            ("012", "012"),
            ("1.", "1."),
            (".", "0"),
            ("Gi", "0"),
            ("1n", "1n"),
        ] {
            assert_eq!(
                Quantity::read(written).map(|read| read.to_string()),
                Ok(shown.to_owned()),
                "{written}"
            );
        }
    }

    #[test]
    fn rounded_up_to_thousandths() {
        for (written, shown) in
            [("1n", "1m"), ("0.0005", "1m"), ("1.0005", "1001m"), ("250m", "250m"), ("-1n", "-1m")]
        {
            let rounded = Quantity::read(written).map(|read| read.in_thousandths().to_string());
            assert_eq!(rounded, Ok(shown.to_owned()), "{written}");
        }
    }

    #[test]
    fn what_is_none() {
        for (written, error) in [
            ("", QuantityError::Format),
            ("1 ", QuantityError::Format),
            ("a", QuantityError::Format),
            ("1ki", QuantityError::Suffix),
            ("1.2.3", QuantityError::Format),
            ("1e40", QuantityError::Number),
        ] {
            assert_eq!(Quantity::read(written).map(|read| read.to_string()), Err(error), "{written}");
        }
    }

    #[test]
    fn in_order() {
        let read = |text: &str| Quantity::read(text).expect("a quantity");
        assert!(read("1Gi") > read("1G"));
        assert!(read("0.1") == read("100m"));
        assert_eq!(read("500m").plus(&read("0.5")).to_string(), "1");
        assert_eq!(read("1500u").thousandths(), 2);
    }
}
