//! A number, or a share of one: `3`, `"25%"`.

use serde_json::Value;

/// So many of `total`. None if it is neither number nor percentage.
pub(super) fn of(value: &Value, total: i64, round_up: bool) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let percent: i64 = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    let product = percent.checked_mul(total)?;
    Some(product.div_euclid(100) + i64::from(round_up && product.rem_euclid(100) != 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_shares() {
        for (value, total, up, expected) in [
            (json!(3), 10, true, Some(3)),
            (json!("25%"), 10, true, Some(3)),
            (json!("25%"), 10, false, Some(2)),
            (json!("0%"), 10, true, Some(0)),
            (json!("100%"), 7, false, Some(7)),
            (json!("x"), 7, false, None),
            (Value::Null, 7, false, None),
        ] {
            assert_eq!(of(&value, total, up), expected, "{value} of {total}");
        }
    }
}
