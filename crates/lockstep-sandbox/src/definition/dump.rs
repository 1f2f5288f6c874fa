//! Parts of a definition as a real server shows them in messages: the structures of its own, in its own order.

use serde_json::Value;

use super::{list, says, text, there};
use crate::schema::words::json;

/// Fields of a structure, as JSON in the order they are given.
fn structure(fields: &[(&str, String)]) -> String {
    let parts: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", parts.join(","))
}

fn quoted(of: &Value, key: &str) -> String {
    json(&text(of, key).into())
}

fn truth(of: &Value, key: &str) -> String {
    says(of, key).to_string()
}

fn or_null(value: Option<&Value>, shown: impl Fn(&Value) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), shown)
}

fn all(items: &[Value], shown: impl Fn(&Value) -> String) -> String {
    if items.is_empty() {
        return "null".to_owned();
    }
    let parts: Vec<String> = items.iter().map(shown).collect();
    format!("[{}]", parts.join(","))
}

/// The versions of a definition. What is the same in all of them is not shown.
pub(super) fn versions(versions: &[Value], shared: impl Fn(&str) -> bool) -> String {
    let own = |key: &str, version: &Value, shown: &dyn Fn(&Value) -> String| {
        or_null(there(version, key).filter(|_| !shared(key)), shown)
    };
    let parts: Vec<String> = versions
        .iter()
        .map(|version| {
            structure(&[
                ("Name", quoted(version, "name")),
                ("Served", truth(version, "served")),
                ("Storage", truth(version, "storage")),
                ("Deprecated", truth(version, "deprecated")),
                ("DeprecationWarning", or_null(there(version, "deprecationWarning"), json)),
                (
                    "Schema",
                    own("schema", version, &|written| {
                        structure(&[("OpenAPIV3Schema", or_null(there(written, "openAPIV3Schema"), schema))])
                    }),
                ),
                ("Subresources", own("subresources", version, &subresources)),
                (
                    "AdditionalPrinterColumns",
                    own("additionalPrinterColumns", version, &|columns| {
                        all(columns.as_array().map(Vec::as_slice).unwrap_or_default(), column)
                    }),
                ),
                (
                    "SelectableFields",
                    own("selectableFields", version, &|fields| {
                        let field = |field: &Value| structure(&[("JSONPath", quoted(field, "jsonPath"))]);
                        all(fields.as_array().map(Vec::as_slice).unwrap_or_default(), field)
                    }),
                ),
            ])
        })
        .collect();
    format!("[{}]", parts.join(","))
}

fn subresources(written: &Value) -> String {
    let scale = |scale: &Value| {
        structure(&[
            ("SpecReplicasPath", quoted(scale, "specReplicasPath")),
            ("StatusReplicasPath", quoted(scale, "statusReplicasPath")),
            ("LabelSelectorPath", or_null(there(scale, "labelSelectorPath"), json)),
        ])
    };
    let status = or_null(there(written, "status"), |_| "{}".to_owned());
    structure(&[("Status", status), ("Scale", or_null(there(written, "scale"), scale))])
}

fn column(column: &Value) -> String {
    structure(&[
        ("Name", quoted(column, "name")),
        ("Type", quoted(column, "type")),
        ("Format", quoted(column, "format")),
        ("Description", quoted(column, "description")),
        ("Priority", or_zero(column, "priority")),
        ("JSONPath", quoted(column, "jsonPath")),
    ])
}

fn or_zero(of: &Value, key: &str) -> String {
    of.get(key).and_then(Value::as_i64).unwrap_or(0).to_string()
}

/// A rule.
pub(super) fn rule(rule: &Value) -> String {
    structure(&[
        ("Rule", quoted(rule, "rule")),
        ("Message", quoted(rule, "message")),
        ("MessageExpression", quoted(rule, "messageExpression")),
        ("Reason", or_null(there(rule, "reason"), json)),
        ("FieldPath", quoted(rule, "fieldPath")),
        ("OptionalOldSelf", or_null(there(rule, "optionalOldSelf"), json)),
    ])
}

/// A schema.
pub(super) fn schema(written: &Value) -> String {
    let plain = |key: &str| or_null(there(written, key), json);
    let text = |key: &str| quoted(written, key);
    let truth = |key: &str| truth(written, key);
    let schemas = |key: &str| all(list(written, key), schema);
    let map = |key: &str| or_null(there(written, key), by_name);
    structure(&[
        ("ID", text("id")),
        ("Schema", text("$schema")),
        ("Ref", plain("$ref")),
        ("Description", text("description")),
        ("Type", text("type")),
        ("Nullable", truth("nullable")),
        ("Format", text("format")),
        ("Title", text("title")),
        ("Default", plain("default")),
        ("Maximum", plain("maximum")),
        ("ExclusiveMaximum", truth("exclusiveMaximum")),
        ("Minimum", plain("minimum")),
        ("ExclusiveMinimum", truth("exclusiveMinimum")),
        ("MaxLength", plain("maxLength")),
        ("MinLength", plain("minLength")),
        ("Pattern", text("pattern")),
        ("MaxItems", plain("maxItems")),
        ("MinItems", plain("minItems")),
        ("UniqueItems", truth("uniqueItems")),
        ("MultipleOf", plain("multipleOf")),
        ("Enum", plain("enum")),
        ("MaxProperties", plain("maxProperties")),
        ("MinProperties", plain("minProperties")),
        ("Required", plain("required")),
        (
            "Items",
            or_null(there(written, "items"), |items| {
                structure(&[("Schema", schema(items)), ("JSONSchemas", "null".to_owned())])
            }),
        ),
        ("AllOf", schemas("allOf")),
        ("OneOf", schemas("oneOf")),
        ("AnyOf", schemas("anyOf")),
        ("Not", or_null(there(written, "not"), schema)),
        ("Properties", map("properties")),
        (
            "AdditionalProperties",
            or_null(there(written, "additionalProperties"), |values| {
                let (allows, of) = match values {
                    Value::Bool(allows) => (*allows, "null".to_owned()),
                    of => (true, schema(of)),
                };
                structure(&[("Allows", allows.to_string()), ("Schema", of)])
            }),
        ),
        ("PatternProperties", map("patternProperties")),
        ("Dependencies", plain("dependencies")),
        ("AdditionalItems", plain("additionalItems")),
        ("Definitions", map("definitions")),
        ("ExternalDocs", plain("externalDocs")),
        ("Example", plain("example")),
        ("XPreserveUnknownFields", plain("x-kubernetes-preserve-unknown-fields")),
        ("XEmbeddedResource", truth("x-kubernetes-embedded-resource")),
        ("XIntOrString", truth("x-kubernetes-int-or-string")),
        ("XListMapKeys", plain("x-kubernetes-list-map-keys")),
        ("XListType", plain("x-kubernetes-list-type")),
        ("XMapType", plain("x-kubernetes-map-type")),
        ("XValidations", all(list(written, "x-kubernetes-validations"), rule)),
    ])
}

fn by_name(schemas: &Value) -> String {
    let mut pairs: Vec<_> = schemas.as_object().into_iter().flatten().collect();
    pairs.sort_by(|a, b| a.0.cmp(b.0));
    let parts: Vec<String> = pairs
        .iter()
        .map(|(name, written)| format!("{}:{}", json(&name.as_str().into()), schema(written)))
        .collect();
    format!("{{{}}}", parts.join(","))
}
