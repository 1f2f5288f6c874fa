//! The `scale` of a kind.

use jiff::Timestamp;
use serde_json::Value;

use super::{Printer, of};
use crate::table::age;
use crate::table::heads::{head, of_metadata};
use crate::table::look::{name, number};

/// How a scale is shown.
pub const SCALE: Printer = of(scale);

fn scale(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        number(object, "/spec/replicas").into(),
        number(object, "/status/replicas").into(),
        age::of(object, now),
    ]
}

/// The heads. They cannot be listed, as there are no lists of scales.
pub fn definitions() -> Vec<Value> {
    let desired = "replicas is the desired number of instances for the scaled object.";
    let available = "replicas is the actual number of observed instances of the scaled object.";
    vec![
        head("Name", "string", of_metadata("name")),
        head("Desired", "integer", desired),
        head("Available", "integer", available),
        head("Age", "string", of_metadata("creationTimestamp")),
    ]
}
