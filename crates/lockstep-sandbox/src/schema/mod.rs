//! Structural schemas: what the objects of a CustomResourceDefinition are made of, and what becomes of them by it.

mod correlate;
mod defaults;
mod embedded;
mod formats;
mod lists;
pub(crate) mod names;
mod numbers;
mod outcome;
pub mod pattern;
mod prune;
mod read;
mod rules;
mod validate;
pub mod words;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

pub(crate) use self::formats::{
    go_duration, is_valid as has_format, parse_date, parse_date_time, parse_duration,
};
pub use self::numbers::whole_numbers;
pub use self::rules::Rule;
pub(crate) use self::rules::RuleProblem;
use self::words::Path;
use crate::refusal::Cause;

/// The schema of a value.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number` or `boolean`; empty where anything may be.
    pub type_name: String,
    /// An integer or a string.
    pub int_or_string: bool,
    /// May be null.
    pub nullable: bool,
    /// What is there if nobody said anything.
    pub default: Option<Value>,
    /// Fields nobody described are kept.
    pub preserve_unknown: bool,
    /// It is an object of the API itself, with a kind and metadata.
    pub embedded: bool,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// What other keys of an object hold.
    pub values: Values,
    /// The items of an array.
    pub items: Option<Box<Schema>>,
    /// How items of an array are known again.
    pub list: ListType,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// Which values there may be; any if there are none.
    pub one_of_values: Vec<Value>,
    /// `date-time`, `int32` and the like.
    pub format: String,
    /// Bounds.
    pub bounds: Bounds,
    /// The pattern a text must match, and how it was written.
    pub pattern: Option<(String, Option<Regex>)>,
    /// Further schemas that a value must or must not satisfy.
    pub combined: Box<Combined>,
    /// Rules in CEL.
    pub rules: Vec<Rule>,
}

/// What keys hold that are no properties.
#[derive(Debug, Clone, Default)]
pub enum Values {
    /// Nothing was said.
    #[default]
    Unsaid,
    /// Anything.
    Any,
    /// Nothing.
    None,
    /// Values of this schema.
    Of(Box<Schema>),
}

/// How items of an array are known again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// They are not.
    #[default]
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Map(Vec<String>),
}

/// Bounds of numbers, lengths and sizes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// The smallest number.
    pub minimum: Option<f64>,
    /// The smallest number itself is too small.
    pub above_minimum: bool,
    /// The largest number.
    pub maximum: Option<f64>,
    /// The largest number itself is too large.
    pub below_maximum: bool,
    /// What a number must be a multiple of.
    pub multiple_of: Option<f64>,
    /// The shortest text.
    pub min_length: Option<u64>,
    /// The longest text.
    pub max_length: Option<u64>,
    /// The fewest items.
    pub min_items: Option<u64>,
    /// The most items.
    pub max_items: Option<u64>,
    /// No two items are equal.
    pub unique_items: bool,
    /// The fewest fields.
    pub min_properties: Option<u64>,
    /// The most fields.
    pub max_properties: Option<u64>,
}

/// Schemas put together.
#[derive(Debug, Clone, Default)]
pub struct Combined {
    /// Each of these.
    pub all: Vec<Schema>,
    /// At least one of these.
    pub any: Vec<Schema>,
    /// Exactly one of these.
    pub one: Vec<Schema>,
    /// Not this one.
    pub not: Option<Schema>,
}

impl Schema {
    /// The schema of what a field of an object holds.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.values {
            Values::Of(schema) => Some(schema),
            _ => None,
        })
    }

    /// What is wrong with an object, `old` being what it replaces, after what somebody else found about its values.
    ///
    /// What is wrong and was as wrong before is let pass, as long as it is known again. Metadata is not looked at.
    pub(crate) fn validate_with(&self, new: &Value, old: Option<&Value>, found: Vec<Cause>) -> Vec<Cause> {
        let mut causes = self.validate_values(new, old);
        causes.extend(found);
        causes.extend(self.validate_embedded(new));
        causes.extend(self.validate_lists(new, old));
        causes.extend(self.validate_rules_unless(&causes, new, old));
        causes
    }

    /// The same for an object of which only the status changes.
    pub(crate) fn validate_status_with(&self, new: &Value, old: &Value, found: Vec<Cause>) -> Vec<Cause> {
        let mut causes = match (self.properties.get("status"), new.get("status")) {
            (Some(schema), Some(status)) => {
                schema.validate_values_at(&Path::new("status"), status, old.get("status"))
            }
            _ => Vec::new(),
        };
        causes.extend(found);
        causes.extend(self.validate_lists(new, Some(old)));
        causes.extend(self.validate_rules_unless(&causes, new, Some(old)));
        causes
    }

    /// Rules are not asked about objects whose values they might not understand.
    fn validate_rules_unless(&self, wrong: &[Cause], new: &Value, old: Option<&Value>) -> Vec<Cause> {
        const BLOCKING: [&str; 5] = [
            "FieldValueNotSupported",
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
        ];
        if !self.has_rules() {
            return Vec::new();
        }
        if wrong.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
            let why = "some validation rules were not checked because the object was invalid; \
                       correct the existing errors to complete validation";
            return vec![words::invalid(&Path::default(), &Value::Null, why)];
        }
        self.validate_rules(new, old)
    }
}

#[cfg(test)]
pub(crate) mod tests;
