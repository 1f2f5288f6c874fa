//! Fields that are unknown, or there twice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::tree::Node;
use super::{Below, below, named, resolve};
use crate::schema::words::quoted;

/// What is wrong, in the order it is written. Without a schema, every field is known.
pub(super) fn problems(node: &Node, schema: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    walk(node, schema.map(named), "", &mut found);
    found
}

fn walk(node: &Node, schema: Option<&'static Value>, at: &str, found: &mut Vec<String>) {
    let schema = schema.map(resolve);
    match node {
        Node::Map(fields) => {
            let mut times: BTreeMap<&str, u32> = BTreeMap::new();
            for (key, node) in fields {
                let dot = if at.is_empty() { "" } else { "." };
                let at = format!("{at}{dot}{key}");
                let inner = match schema.map(|schema| below(schema, key)) {
                    None => None,
                    Some(Below::Of(schema)) => Some(schema),
                    // What is not known has no fields that could be wrong.
                    Some(Below::Anything) => continue,
                    Some(Below::Unknown) => {
                        found.push(format!("unknown field {}", quoted(&at)));
                        continue;
                    }
                };
                let times = times.entry(key).or_default();
                *times = times.saturating_add(1);
                if *times == 2 {
                    found.push(format!("duplicate field {}", quoted(&at)));
                }
                walk(node, inner, &at, found);
            }
        }
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, schema.map(|schema| &schema["items"]), &format!("{at}[{index}]"), found);
            }
        }
        _ => {}
    }
}
