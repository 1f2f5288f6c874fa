//! Quantities, exactly: `1500m`, `2Gi`, `1e3`.

/// One unit, in the smallest part a quantity can have.
const ONE: i128 = 1_000_000_000;

/// A quantity in billionths; what finer parts there are is rounded up, as a real server does it. None if it is no
/// quantity.
fn billionths(text: &str) -> Option<i128> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let (base, power) = scale(suffix)?;
    let number: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = power - if base == 10 { i32::try_from(fraction.len()).ok()? } else { 0 };
    let mut value = number.checked_mul(ONE)?;
    let factor = i128::checked_pow(base, power.unsigned_abs());
    // What does not fit is larger, or smaller, than anything there is.
    value = if power >= 0 { value.checked_mul(factor?)? } else { factor.map_or(1, |by| up(value, by)) };
    if base == 2 {
        let tens = i128::checked_pow(10, u32::try_from(fraction.len()).ok()?)?;
        value = up(value, tens);
    }
    Some(if negative { -value } else { value })
}

/// The base and the power a suffix stands for.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "" => (10, 0),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        _ => (10, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

/// Divided, and rounded away from zero.
fn up(value: i128, by: i128) -> i128 {
    value / by + i128::from(value % by != 0)
}

/// In thousandths, rounded up; 0 if it is no quantity.
pub(super) fn thousandths(text: &str) -> i64 {
    rounded(text, ONE / 1000)
}

/// In whole units, rounded up; 0 if it is no quantity.
pub(super) fn units(text: &str) -> i64 {
    rounded(text, ONE)
}

fn rounded(text: &str, unit: i128) -> i64 {
    let value = billionths(text).unwrap_or_default();
    let rounded = if value < 0 { -up(-value, unit) } else { up(value, unit) };
    i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly() {
        for (text, thousandth, unit) in [
            ("1", 1000, 1),
            ("1500m", 1500, 2),
            ("0.1", 100, 1),
            (".5", 500, 1),
            ("1.", 1000, 1),
            ("1e3", 1_000_000, 1000),
            ("1E3", 1_000_000, 1000),
            ("1e-3", 1, 1),
            ("2Ki", 2_048_000, 2048),
            ("1.5Ki", 1_536_000, 1536),
            (
                "1E",
                1_000_000_000_000_000_000_000_i128.try_into().unwrap_or(i64::MAX),
                1_000_000_000_000_000_000,
            ),
            ("100n", 1, 1),
            ("1u", 1, 1),
            ("-1500m", -1500, -2),
            ("0", 0, 0),
            ("", 0, 0),
            ("x", 0, 0),
            ("1.2.3", 0, 0),
            ("0.1Gi", 107_374_182_400, 107_374_183),
            ("256Gi", 274_877_906_944_000, 274_877_906_944),
        ] {
            assert_eq!((thousandths(text), units(text)), (thousandth, unit), "{text}");
        }
    }
}
