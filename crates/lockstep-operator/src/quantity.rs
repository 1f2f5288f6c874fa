//! Amounts of resources, which the API server writes in its own way: `1000m` comes back as `1`.

use serde_json::Value;

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Whether two values are the same amount.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    matches!((nanos(a), nanos(b)), (Some(a), Some(b)) if a == b)
}

/// An amount in billionths.
pub(crate) fn nanos(value: &Value) -> Option<i128> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
        let factor = 1024i128.checked_pow(u32::try_from(power).ok()? + 1)?;
        return scaled(number, 9)?.checked_mul(factor);
    }
    let exponent = match suffix.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
        Some(Ok(exponent)) => exponent,
        _ => DECIMAL.iter().find(|(known, _)| *known == suffix)?.1,
    };
    scaled(number, exponent + 9)
}

/// An amount as text: whole, or in thousandths. What lies between counts as a thousandth more.
pub(crate) fn written(nanos: i128) -> String {
    const WHOLE: i128 = 1_000_000_000;
    const THOUSANDTH: i128 = 1_000_000;
    match nanos % WHOLE {
        0 => (nanos / WHOLE).to_string(),
        _ => format!("{}m", nanos.saturating_add(THOUSANDTH - 1) / THOUSANDTH),
    }
}

/// A decimal number times a power of ten; what is too small to count is cut off.
fn scaled(number: &str, exponent: i32) -> Option<i128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let exponent = exponent - i32::try_from(part.len()).ok()?;
    match u32::try_from(exponent) {
        Ok(exponent) => digits.checked_mul(10i128.checked_pow(exponent)?),
        Err(_) => Some(digits / 10i128.checked_pow(exponent.unsigned_abs())?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_as_text() {
        for (amount, text) in [("4", "4"), ("1500m", "1500m"), ("2Ki", "2048"), ("3u", "1m"), ("0", "0")] {
            assert_eq!(nanos(&json!(amount)).map(written).as_deref(), Some(text), "{amount}");
        }
    }

    #[test]
    fn the_same_amount_in_other_words() {
        let cases = [
            (json!("1000m"), json!("1"), true),
            (json!(4), json!("4"), true),
            (json!("0.5"), json!("500m"), true),
            (json!("1024Mi"), json!("1Gi"), true),
            (json!("1.5Gi"), json!("1536Mi"), true),
            (json!("2e3"), json!("2k"), true),
            (json!("1G"), json!("1Gi"), false),
            (json!("2"), json!("3"), false),
            (json!("a lot"), json!("a lot"), false),
            (json!({}), json!("1"), false),
        ];
        for (a, b, same) in cases {
            assert_eq!(is_same(&a, &b), same, "{a} {b}");
        }
    }
}
