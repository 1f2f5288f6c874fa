//! Schemas of the values that no Rust type describes to an API server's liking.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::bounds::{LONGEST_LIST, LONGEST_NAME, MOST};
use crate::duration::Duration;

/// A name that may be part of a pod's name.
pub(crate) const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A label's key: a name, or a domain, a slash and a name.
const QUALIFIED: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?\
                         [A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// A number, or a percentage up to 100%.
pub fn up_to_all(_: &mut SchemaGenerator) -> Schema {
    int_or_percent("^(0*(100|[0-9]{1,2})%|[0-9]+)$")
}

/// A number, or any percentage.
pub fn any_number(_: &mut SchemaGenerator) -> Schema {
    int_or_percent("^[0-9]+%?$")
}

fn int_or_percent(pattern: &str) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": 0,
        "maximum": MOST,
        "maxLength": 11,
        "pattern": pattern,
    })
}

/// A pod template is stored exactly as it was given: it is what a role's revision is the hash of. What is in
/// it is checked at admission; Kubernetes' own schema of it would be thirty times the size of ours.
pub fn pod_template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The engine's memory is replaced as a whole: two halves of different moments would be no memory at all.
pub(crate) fn memory(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-map-type": "atomic",
    })
}

/// Moments by name.
pub(crate) fn times(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}})
}

/// Pods by their labels, as everywhere in Kubernetes.
pub fn label_selector(_: &mut SchemaGenerator) -> Schema {
    let words =
        json_schema!({"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}});
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Labels that a pod must have, each with its value.",
            },
            "matchExpressions": {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "description": "What must hold for a pod's labels, all of it.",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"type": "string", "description": "The label."},
                        "operator": {
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "How the label's value is compared.",
                        },
                        "values": words,
                    },
                },
            },
        },
    })
}

/// A node label.
pub fn topology_key(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": 317, "pattern": QUALIFIED})
}

/// Instances of each role, by the role's name.
pub(crate) fn ratios(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": LONGEST_LIST,
        "additionalProperties": {"type": "integer", "format": "int32", "minimum": 1, "maximum": MOST},
    })
}

/// Conditions as everywhere in Kubernetes, one of each type.
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {"type": "string", "maxLength": 316, "description": "What is said about."},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it is so."},
                "reason": {"type": "string", "maxLength": 1024, "description": "Why, in one word."},
                "message": {"type": "string", "maxLength": 32768, "description": "Why, in a sentence."},
                "lastTransitionTime": {"type": "string", "format": "date-time", "description": "Since when."},
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The generation of the spec it speaks of.",
                },
            },
        },
    })
}

/// The name of something of the set.
pub fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "pattern": LABEL})
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 2,
            "maxLength": 64,
            "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
        })
    }
}
