//! Objects in the version that was asked for, and in the one that is stored.

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::Kind;

use super::routes::Target;
use super::{Server, Step, Turn, events};

impl Server {
    /// An object of a custom kind in another of its versions. Without a webhook only the version itself is another.
    pub(super) fn converted(&self, object: &Arc<Value>, to: &Kind) -> Step<Arc<Value>> {
        Ok(renamed(object, &to.api_version()))
    }

    /// An object as a kind shows it.
    pub(super) fn shown_as(&self, object: &Arc<Value>, kind: &Kind) -> Arc<Value> {
        if &*kind.resource == "events" {
            return events::converted(object, &kind.api_version());
        }
        renamed(object, &kind.api_version())
    }
}

impl Turn<'_> {
    /// An object as it is stored.
    pub(super) fn in_storage_version(&self, object: Value, target: &Target) -> Step<Value> {
        let kind = &target.kind;
        if &*kind.resource == "events" || object["apiVersion"] == stored_as(kind).as_str() {
            return Ok(object);
        }
        let mut object = object;
        object["apiVersion"] = Value::from(stored_as(kind));
        Ok(object)
    }
}

fn stored_as(kind: &Kind) -> String {
    crate::path::GroupVersion { group: kind.of.group.clone(), version: kind.stored.clone() }.to_string()
}

fn renamed(object: &Arc<Value>, api_version: &str) -> Arc<Value> {
    if object["apiVersion"] == api_version {
        return Arc::clone(object);
    }
    let mut object = Value::clone(object);
    object["apiVersion"] = Value::from(api_version);
    Arc::new(object)
}
