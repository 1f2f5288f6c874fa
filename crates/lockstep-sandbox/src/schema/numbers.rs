//! Whether numbers are within bounds, in the order and the words of a real API server.

use serde_json::{Number, Value};

use super::Schema;
use super::outcome::Outcome;
use super::validate::is_whole;
use super::words::{self, Path, float_shown};

impl Schema {
    pub(super) fn check_number(&self, at: &Path, number: &Number) -> Outcome {
        let mut outcome = Outcome::default();
        self.check_range(at, "Checked", number, &mut outcome);
        if let Some(factor) = self.bounds.multiple_of {
            let native = self.check_range(at, "MultipleOf", &as_number(factor), &mut outcome);
            check_multiple(at, number, factor, native, &mut outcome);
        }
        if let Some(least) = self.bounds.minimum {
            let native = self.check_range(at, "Minimum boundary", &as_number(least), &mut outcome);
            let bound = Bound { limit: least, excluded: self.bounds.above_minimum, above: true };
            check_bound(at, number, bound, native, &mut outcome);
        }
        if let Some(most) = self.bounds.maximum {
            let native = self.check_range(at, "Maximum boundary", &as_number(most), &mut outcome);
            let bound = Bound { limit: most, excluded: self.bounds.below_maximum, above: false };
            check_bound(at, number, bound, native, &mut outcome);
        }
        outcome.count();
        outcome
    }

    /// Whether a number can be held by the type and format.
    fn check_range(&self, at: &Path, what: &str, number: &Number, outcome: &mut Outcome) -> bool {
        let format = self.format.as_str();
        let (type_name, format, fits) = match (self.int_or_string, self.type_name.as_str()) {
            (false, "integer") => {
                let integer = as_integer(number);
                let fits = match format {
                    "int32" => integer.is_some_and(|integer| i32::try_from(integer).is_ok()),
                    _ => integer.is_some(),
                };
                ("integer", if matches!(format, "int32" | "int64") { format } else { "" }, fits)
            }
            (false, "number") if format == "float" => {
                let fits = number.as_f64().is_some_and(|float| float.abs() <= f64::from(f32::MAX));
                ("number", format, fits)
            }
            _ => return true,
        };
        if !fits {
            let format = if format.is_empty() {
                "(default format)".to_owned()
            } else {
                format!("with format {format}")
            };
            let at = at.as_str();
            outcome.add_general(format!("{what} value must be of type {type_name} {format} in {at}"));
        }
        fits
    }
}

/// A bound of a number.
#[derive(Clone, Copy)]
struct Bound {
    limit: f64,
    excluded: bool,
    above: bool,
}

/// Integers are compared with the integer part of a bound.
fn check_bound(at: &Path, number: &Number, bound: Bound, native: bool, outcome: &mut Outcome) {
    let (value, limit) = match number.as_i64().filter(|_| native) {
        Some(_) => (number.as_f64(), bound.limit.trunc()),
        None => (number.as_f64(), bound.limit),
    };
    let value = value.unwrap_or_default();
    let beyond = if bound.above { value < limit } else { value > limit };
    let at_limit = bound.excluded && value == limit;
    if !beyond && !at_limit {
        return;
    }
    let must = match (bound.above, bound.excluded) {
        (true, false) => "greater than or equal to",
        (true, true) => "greater than",
        (false, false) => "less than or equal to",
        (false, true) => "less than",
    };
    let said = format!("{} in body should be {must} {}", at.as_str(), float_shown(limit));
    outcome.add(said.clone(), words::invalid(at, &Value::Number(number.clone()), &said));
}

fn check_multiple(at: &Path, number: &Number, factor: f64, native: bool, outcome: &mut Outcome) {
    let integer = number.as_i64().filter(|_| native);
    let factor = if integer.is_some() { factor.trunc() } else { factor };
    let (value, said) = if factor <= 0.0 {
        let said = format!(
            "factor MultipleOf declared for {} must be positive: {}",
            at.as_str(),
            float_shown(factor)
        );
        (Value::Number(as_number(factor)), said)
    } else {
        let value = number.as_f64().unwrap_or_default();
        let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
        if is_whole(times) {
            return;
        }
        let said = format!("{} in body should be a multiple of {}", at.as_str(), float_shown(factor));
        (Value::Number(number.clone()), said)
    };
    outcome.add(said.clone(), words::invalid(at, &value, &said));
}

fn as_number(float: f64) -> Number {
    Number::from_f64(float).unwrap_or_else(|| Number::from(0))
}

fn as_integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        let text = format!("{float:.0}");
        text.parse().ok()
    })
}

/// Numbers as they are stored: one without a fraction is an integer, however it was written.
pub fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(integer) = as_integer(number) {
                *value = Value::from(integer);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
