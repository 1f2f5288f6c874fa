//! Quantities in the units that are counted here.

use crate::builtin::Quantity;

/// One unit, in the smallest part a quantity can have.
const ONE: i128 = 1_000_000_000;

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
    let value = Quantity::read(text).map_or(0, |quantity| quantity.billionths());
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
