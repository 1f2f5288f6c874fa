//! (stand-ins until the parts are merged)
use serde_json::Value;
pub(crate) fn unknown_fields(_o: &Value, _s: &str) -> Vec<String> { Vec::new() }
pub(crate) fn duplicate_fields(_b: &[u8]) -> Vec<String> { Vec::new() }
pub(crate) fn decode(_b: &[u8]) -> Result<Value, String> { Err("protobuf".to_owned()) }
