//! Whether values are what a schema says.

use serde_json::{Map, Value};

use super::correlate::Pair;
use super::outcome::Outcome;
use super::words::{self, Path, quoted};
use super::{Schema, Values, formats};
use crate::refusal::Cause;

impl Schema {
    pub(super) fn validate_values(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.validate_values_at(&Path::default(), new, old)
    }

    /// The same for a part of an object. Messages speak of the part, only their field tells where it is.
    pub(crate) fn validate_values_at(&self, below: &Path, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let pair = old.map(|old| Pair::new(new, old, self));
        let outcome = self.check(&Path::default(), new, pair);
        let place = |field: &str| if field == "<nil>" { below.clone() } else { below.child(field) };
        let causes = outcome.wrong.into_iter().map(|wrong| wrong.cause);
        causes.map(|cause| Cause { field: place(&cause.field).to_string(), ..cause }).collect()
    }

    /// Checks a value; what is wrong and was so before is let pass.
    fn check(&self, at: &Path, value: &Value, pair: Option<Pair<'_>>) -> Outcome {
        let mut outcome = self.check_anew(at, value, pair);
        if !outcome.is_fine() && pair.is_some_and(|pair| pair.unchanged()) {
            outcome.wrong.clear();
        }
        outcome
    }

    fn check_anew(&self, at: &Path, value: &Value, pair: Option<Pair<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(self.check_type(at, value));
            outcome.merge(self.check_enum(at, value));
            return outcome;
        }
        let mut done = |part: Outcome| {
            outcome.merge(part);
            outcome.count();
        };
        if !self.types().is_empty() || !self.format().is_empty() {
            done(self.check_type(at, value));
        }
        done(self.check_combined(at, value, pair));
        match value {
            Value::String(text) => {
                done(self.check_text(at, text));
                if formats::is_known(self.format()) {
                    done(self.check_format(at, text));
                }
            }
            Value::Number(number) => done(self.check_number(at, number)),
            Value::Array(items) => done(self.check_items(at, items, pair)),
            _ => {}
        }
        done(self.check_enum(at, value));
        if let Value::Object(map) = value {
            done(self.check_fields(at, map, pair));
        }
        outcome.count();
        outcome
    }

    /// The types a value may have; none if it may have any.
    fn types(&self) -> Vec<&str> {
        match self.type_name.as_str() {
            _ if self.int_or_string => vec!["integer", "string"],
            "" => Vec::new(),
            one => vec![one],
        }
    }

    /// The format, if it is one that is looked at.
    fn format(&self) -> &str {
        let format = self.format.as_str();
        let looked_at = match self.types().as_slice() {
            ["integer"] => matches!(format, "int32" | "int64"),
            ["number"] => matches!(format, "float" | "double"),
            ["string"] | [] | [_, _] => formats::is_known(format),
            _ => false,
        };
        if looked_at { format } else { "" }
    }

    fn check_type(&self, at: &Path, value: &Value) -> Outcome {
        let mut outcome = Outcome { right: 1, ..Outcome::default() };
        let (types, format) = (self.types(), self.format());
        let (is, its_format) = type_of(value);
        if value.is_null() {
            if !types.is_empty() && !self.nullable {
                outcome = wrong_type(at, &types.join(","), is);
            }
            return outcome;
        }
        let whole = value.as_f64().is_some_and(is_whole);
        let fits = types.contains(&is)
            || (is == "number" && whole && types.contains(&"integer"))
            || (is == "integer" && types.contains(&"number"));
        let is_text = matches!(is, "string" | "array");
        let numeric = types.contains(&"number") || types.contains(&"integer");
        if !is_text && !format.is_empty() && !fits && its_format != format {
            return wrong_type(at, format, its_format);
        }
        if !numeric && !format.is_empty() && is_text {
            return outcome;
        }
        if !fits {
            return wrong_type(at, &types.join(","), is);
        }
        outcome
    }

    fn check_combined(&self, at: &Path, value: &Value, pair: Option<Pair<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        let combined = &self.combined;
        let check = |schema: &Self| schema.check_anew(at, value, pair);
        let name = quoted(at.as_str());
        if !combined.any.is_empty() {
            let (best, fitting) = best(combined.any.iter().map(check), true);
            if fitting == 0 {
                outcome.add_general(format!("{name} must validate at least one schema (anyOf)"));
            }
            outcome.merge(best);
        }
        if !combined.one.is_empty() {
            let (best, fitting) = best(combined.one.iter().map(check), false);
            if fitting != 1 {
                let found = match fitting {
                    0 => "Found none valid".to_owned(),
                    number => format!("Found {number} valid alternatives"),
                };
                outcome.add_general(format!("{name} must validate one and only one schema (oneOf). {found}"));
            }
            outcome.merge(best);
        }
        if !combined.all.is_empty() {
            let outcomes: Vec<Outcome> = combined.all.iter().map(check).collect();
            let fitting = outcomes.iter().filter(|one| one.is_fine()).count();
            outcomes.into_iter().for_each(|one| outcome.merge(one));
            if fitting != combined.all.len() {
                let none = if fitting == 0 { ". None validated" } else { "" };
                outcome.add_general(format!("{name} must validate all the schemas (allOf){none}"));
            }
        }
        if combined.not.as_ref().is_some_and(|not| check(not).is_fine()) {
            outcome.add_general(format!("{name} must not validate the schema (not)"));
        }
        outcome.count();
        outcome
    }

    /// The first thing that is wrong with a text.
    fn check_text(&self, at: &Path, text: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        let bounds = &self.bounds;
        if let Some(most) = bounds.max_length.filter(|most| length > *most) {
            let said = format!("{} in body should be at most {most} chars long", at.as_str());
            outcome.add(said, words::too_long(at, most));
        } else if let Some(least) = bounds.min_length.filter(|least| length < *least) {
            let said = format!("{} in body should be at least {least} chars long", at.as_str());
            outcome.add(said.clone(), words::invalid(at, &text.into(), &said));
        } else if let Some((pattern, regex)) = &self.pattern
            && !regex.as_ref().is_some_and(|regex| regex.is_match(text))
        {
            let said = format!("{} in body should match '{pattern}'", at.as_str());
            outcome.add(said.clone(), words::invalid(at, &text.into(), &said));
        }
        outcome
    }

    fn check_format(&self, at: &Path, text: &str) -> Outcome {
        if formats::is_valid(self.format(), text) {
            return Outcome::default();
        }
        wrong_type(at, self.format(), text)
    }

    fn check_items(&self, at: &Path, items: &[Value], pair: Option<Pair<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(schema) = &self.items {
            for (index, item) in items.iter().enumerate() {
                let pair = pair.and_then(|pair| pair.index(index));
                outcome.merge(schema.check(&at.index(index), item, pair));
            }
        }
        let number = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if let Some(least) = self.bounds.min_items.filter(|least| number < *least) {
            let said = format!("{} in body should have at least {least} items", at.as_str());
            outcome.add(said.clone(), words::invalid(at, &number.into(), &said));
        }
        if let Some(most) = self.bounds.max_items.filter(|most| number > *most) {
            let said = format!("{} in body should have at most {most} items", at.as_str());
            outcome.add(said, words::too_many(at, number, most));
        }
        let twice = |(index, item): (usize, &Value)| items.iter().take(index).any(|other| other == item);
        if self.bounds.unique_items && items.iter().enumerate().any(twice) {
            let said = format!("{} in body shouldn't contain duplicates", at.as_str());
            outcome.add(said.clone(), words::invalid(at, &"".into(), &said));
        }
        outcome.count();
        outcome
    }

    fn check_enum(&self, at: &Path, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        if self.one_of_values.is_empty() || self.one_of_values.iter().any(|one| same(value, one)) {
            return outcome;
        }
        let text = |one: &Value| one.as_str().map_or_else(|| words::json(one), str::to_owned);
        let supported: Vec<String> = self.one_of_values.iter().map(text).collect();
        let said = format!("{} in body should be one of {supported:?}", at.as_str());
        outcome.add(said, words::not_supported(at, value, &supported));
        outcome
    }

    fn check_fields(&self, at: &Path, map: &Map<String, Value>, pair: Option<Pair<'_>>) -> Outcome {
        let mut outcome = self.check_number_of_fields(at, map);
        for (key, value) in map.iter().filter(|(key, _)| !self.properties.contains_key(*key)) {
            match &self.values {
                Values::Of(schema) => {
                    outcome.merge(schema.check(&at.child(key), value, pair.and_then(|pair| pair.key(key))));
                }
                Values::None => {
                    let said = format!("{}.{key} in body is a forbidden property", at.as_str());
                    outcome.add(said.clone(), words::invalid(at, &key.as_str().into(), &said));
                }
                Values::Unsaid | Values::Any => {}
            }
        }
        for (name, schema) in &self.properties {
            let Some(value) = map.get(name) else { continue };
            // The version an object is in changes without its doing.
            let typed = at.as_str().is_empty() && matches!(name.as_str(), "kind" | "apiVersion");
            let pair = pair.filter(|_| !typed).and_then(|pair| pair.key(name));
            outcome.merge(schema.check(&at.child(name), value, pair));
        }
        for name in self.required.iter().filter(|name| !map.contains_key(*name)) {
            let at = at.child(name);
            outcome.add(format!("{} in body is required", at.as_str()), words::required(&at, ""));
        }
        outcome
    }

    fn check_number_of_fields(&self, at: &Path, map: &Map<String, Value>) -> Outcome {
        let mut outcome = Outcome::default();
        let number = u64::try_from(map.len()).unwrap_or(u64::MAX);
        if let Some(least) = self.bounds.min_properties.filter(|least| number < *least) {
            let said = format!("{} in body should have at least {least} properties", at.as_str());
            outcome.add(said.clone(), words::invalid(at, &number.into(), &said));
        }
        if let Some(most) = self.bounds.max_properties.filter(|most| number > *most) {
            let said = format!("{} in body should have at most {most} properties", at.as_str());
            outcome.add(said, words::too_many(at, number, most));
        }
        outcome
    }
}

/// Of several outcomes the one to speak of, and how many are fine: the first fine one, or the one most right.
fn best(outcomes: impl Iterator<Item = Outcome>, first_is_enough: bool) -> (Outcome, usize) {
    let mut best: Option<Outcome> = None;
    let mut fitting: usize = 0;
    for outcome in outcomes {
        if outcome.is_fine() {
            fitting = fitting.saturating_add(1);
            if fitting == 1 {
                best = Some(outcome);
            }
            if first_is_enough {
                break;
            }
        } else if fitting == 0 && best.as_ref().is_none_or(|best| outcome.right > best.right) {
            best = Some(outcome);
        }
    }
    (best.unwrap_or_default(), fitting)
}

fn wrong_type(at: &Path, wanted: &str, is: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let said = format!("{} in body must be of type {wanted}: {}", at.as_str(), quoted(is));
    outcome.add(said.clone(), words::type_invalid(at, &is.into(), &said));
    outcome
}

/// The type of a value, and the format that Go's type for it stands for.
pub(super) fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
    }
}

/// A float that stands for an integer.
pub(super) fn is_whole(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    float.abs() <= LARGEST && float.fract() == 0.0
}

/// Numbers are compared as if they were of the type of the one that is allowed.
fn same(value: &Value, allowed: &Value) -> bool {
    match (value.as_f64(), allowed.as_i64(), allowed.as_f64()) {
        (Some(number), Some(integer), _) if !value.is_i64() => number.trunc() == integer as f64,
        (Some(number), None, Some(float)) => number == float,
        _ => value == allowed,
    }
}
