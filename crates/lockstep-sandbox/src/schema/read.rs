//! Reading schemas as they are written in a CustomResourceDefinition.

use serde_json::Value;

use super::{Bounds, Combined, ListType, Rule, Schema, Values, pattern};

impl Schema {
    /// Reads an `openAPIV3Schema`. What it cannot mean is passed over; the definition was checked before.
    pub fn read(written: &Value) -> Self {
        let mut schema = Self::read_without_rules(written);
        schema.compile_rules(true);
        schema
    }

    pub(crate) fn read_without_rules(written: &Value) -> Self {
        let text = |key: &str| written.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let says = |key: &str| written.get(key).and_then(Value::as_bool).unwrap_or(false);
        let each = |key: &str| written.get(key).and_then(Value::as_array).into_iter().flatten();
        let texts = |key: &str| each(key).filter_map(Value::as_str).map(str::to_owned).collect();
        let properties = written.get("properties").and_then(Value::as_object);
        let pattern = written.get("pattern").and_then(Value::as_str).filter(|text| !text.is_empty());
        let list = match text("x-kubernetes-list-type").as_str() {
            "set" => ListType::Set,
            "map" => ListType::Map(texts("x-kubernetes-list-map-keys")),
            _ => ListType::Atomic,
        };
        Self {
            type_name: text("type"),
            int_or_string: says("x-kubernetes-int-or-string"),
            nullable: says("nullable"),
            default: written.get("default").filter(|default| !default.is_null()).cloned(),
            preserve_unknown: says("x-kubernetes-preserve-unknown-fields"),
            embedded: says("x-kubernetes-embedded-resource"),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read_without_rules(schema)))
                .collect(),
            values: match written.get("additionalProperties") {
                None | Some(Value::Null) => Values::Unsaid,
                Some(Value::Bool(true)) => Values::Any,
                Some(Value::Bool(false)) => Values::None,
                Some(schema) => Values::Of(Box::new(Self::read_without_rules(schema))),
            },
            items: written
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(Self::read_without_rules(items))),
            list,
            required: texts("required"),
            one_of_values: each("enum").cloned().collect(),
            format: text("format"),
            bounds: Bounds::read(written),
            pattern: pattern.map(|text| (text.to_owned(), pattern::compile(text).ok())),
            combined: Box::new(Combined::read(written)),
            rules: each("x-kubernetes-validations").map(Rule::read).collect(),
        }
    }
}

impl Bounds {
    fn read(written: &Value) -> Self {
        let number = |key: &str| written.get(key).and_then(Value::as_f64);
        let count = |key: &str| written.get(key).and_then(Value::as_u64);
        let says = |key: &str| written.get(key).and_then(Value::as_bool).unwrap_or(false);
        Self {
            minimum: number("minimum"),
            above_minimum: says("exclusiveMinimum"),
            maximum: number("maximum"),
            below_maximum: says("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            unique_items: says("uniqueItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
        }
    }
}

impl Combined {
    fn read(written: &Value) -> Self {
        let each = |key: &str| {
            let schemas = written.get(key).and_then(Value::as_array).into_iter().flatten();
            schemas.map(Schema::read_without_rules).collect()
        };
        Self {
            all: each("allOf"),
            any: each("anyOf"),
            one: each("oneOf"),
            not: written.get("not").filter(|not| not.is_object()).map(Schema::read_without_rules),
        }
    }
}
