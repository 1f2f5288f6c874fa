//! Facts about Kubernetes, taken from a real API server: which kinds there are and what their objects are made of.
//!
//! `cargo xtask facts` writes them anew.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::{Map, Value};

const SCHEMAS: &[u8] = include_bytes!("../facts/schemas.json.gz");
const DISCOVERY: &[u8] = include_bytes!("../facts/discovery.json.gz");
const COLUMNS: &[u8] = include_bytes!("../facts/columns.json.gz");
const MESSAGES: &[u8] = include_bytes!("../facts/messages.json.gz");

/// The OpenAPI v3 schemas of all built-in kinds, by name (`io.k8s.api.core.v1.Pod`).
pub fn schemas() -> &'static Map<String, Value> {
    static READ: OnceLock<Map<String, Value>> = OnceLock::new();
    READ.get_or_init(|| read(SCHEMAS))
}

/// Aggregated discovery as it was served: `core` and `groups`, each an `APIGroupDiscoveryList`.
pub fn discovery() -> &'static Map<String, Value> {
    static READ: OnceLock<Map<String, Value>> = OnceLock::new();
    READ.get_or_init(|| read(DISCOVERY))
}

/// The heads of the tables in which built-in kinds are shown (`TableColumnDefinition`s), by resource (`pods`,
/// `deployments.apps`).
pub fn columns() -> &'static Map<String, Value> {
    static READ: OnceLock<Map<String, Value>> = OnceLock::new();
    READ.get_or_init(|| read(COLUMNS))
}

/// How objects look in protobuf. `packages`: where the messages of a version are (`apps/v1`); `messages`: their fields,
/// by number, with their names in JSON and what Go leaves out there. A message that is only a list tells its `items`.
pub fn messages() -> &'static Map<String, Value> {
    static READ: OnceLock<Map<String, Value>> = OnceLock::new();
    READ.get_or_init(|| read(MESSAGES))
}

/// What is built in is checked by a test; it cannot be unreadable elsewhere.
fn read(packed: &[u8]) -> Map<String, Value> {
    let mut text = String::new();
    let unpacked = GzDecoder::new(packed).read_to_string(&mut text);
    unpacked.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_can_be_read() {
        let pod = &schemas()["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"][0];
        assert_eq!(pod["kind"], "Pod");
        assert_eq!(discovery()["core"]["kind"], "APIGroupDiscoveryList");
        assert_eq!(columns()["pods"][1]["name"], "Ready");
        assert_eq!(messages()["packages"]["v1"], "k8s.io.api.core.v1");
        assert!(discovery()["groups"]["items"].as_array().is_some_and(|groups| groups.len() > 10));
    }
}
