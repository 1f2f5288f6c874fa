//! Schemas of values that no Rust type describes.

use lockstep_api::crd::shapes;
use schemars::{Schema, SchemaGenerator, json_schema};

/// A number, or a percentage up to 100%.
pub(crate) fn up_to_all(generator: &mut SchemaGenerator) -> Schema {
    shapes::up_to_all(generator)
}

/// A number, or any percentage.
pub(crate) fn any_number(generator: &mut SchemaGenerator) -> Schema {
    shapes::any_number(generator)
}

/// A pod template, or a patch of one.
pub(crate) fn template(generator: &mut SchemaGenerator) -> Schema {
    shapes::pod_template(generator)
}

/// An object that nobody looks into.
pub(crate) fn open(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// A list of objects that nobody looks into: containers, volumes, ports.
pub(crate) fn open_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

/// A word, or an object: what was one in earlier days is the other today.
pub(crate) fn word_or_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}
