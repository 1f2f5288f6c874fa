//! How many: the same question to every kind that can be scaled.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::apply::Managers;
use crate::fields::{Element, Fields};
use crate::patch;
use crate::refusal::{Cause, Refusal};
use crate::request::Writes;
use crate::server::create::text;
use crate::server::modify::owners;
use crate::server::render::{Body, Response};
use crate::server::routes::Target;
use crate::server::{Step, Turn, decode};

impl Turn<'_> {
    pub(super) fn scale(&mut self, target: &Target, verb: &str) -> Step<Response> {
        let paths = self.scale_paths(target);
        let options = if verb == "update" { "UpdateOptions" } else { "PatchOptions" };
        let writes = match verb {
            "get" => None,
            _ => Some(Writes::read(&self.request.query, options)?),
        };
        let live = self.live(target)?;
        let now = shown(&live, &paths);
        let Some(writes) = writes else { return Ok(Response::new(200, Body::Made(now))) };
        let wished = match verb {
            "update" => decode::value(self.request, "Scale")?,
            _ => self.patched_scale(&now)?,
        };
        self.check_scale(target, &now, &wished)?;
        let mut object = Value::clone(&live);
        let replicas = wished["spec"]["replicas"].as_i64().unwrap_or(0);
        put(&mut object, &paths.wished, Value::from(replicas));
        let managers = owners::of_update(&live, &object);
        // Who scales is not kept unless somebody was known to own the number.
        let owned = managers.entries().iter().any(|entry| owns(&entry.fields, &paths.wished));
        let object = match (owned, replicas) {
            (false, _) => object,
            // None is written as nothing, and nobody owns nothing.
            (true, 0) => {
                remove(&mut object, &paths.wished);
                let mut bare = self.owned(target, &live, object, &managers)?;
                put(&mut bare, &paths.wished, Value::from(0));
                bare
            }
            _ => timeless(self.owned(target, &live, object, &managers)?),
        };
        let whole = target.whole();
        let stored: Arc<Value> = self.update(&whole, &live, object, writes, options)?;
        Ok(Response::new(200, Body::Made(shown(&stored, &paths))))
    }

    fn scale_paths(&self, target: &Target) -> ScalePaths {
        let path = |text: &str| text.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let scale = self.server.catalogue.custom(&target.kind).and_then(|version| version.scale.as_ref());
        match scale {
            Some(scale) => ScalePaths {
                wished: path(&scale.spec_replicas),
                found: path(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(path),
            },
            None => {
                ScalePaths { wished: path("spec.replicas"), found: path("status.replicas"), selector: None }
            }
        }
    }

    fn patched_scale(&self, now: &Value) -> Result<Value, Refusal> {
        let body: Value = serde_json::from_slice(&self.request.body)
            .map_err(|_| Refusal::bad_request("invalid JSON patch"))?;
        match self.request.media_type() {
            "application/json-patch+json" => {
                patch::json(now, &body).map_err(|_| Refusal::unprocessable_patch())
            }
            "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                Ok(patch::merge(now, &body))
            }
            "application/apply-patch+yaml" => Ok(patch::merge(now, &body)),
            _ => Err(Refusal::no_such_patch()),
        }
    }

    fn check_scale(&self, target: &Target, now: &Value, wished: &Value) -> Result<(), Refusal> {
        let name = target.name.as_deref().unwrap_or_default();
        let replicas = wished["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            let cause = Cause::new("FieldValueInvalid", "spec.replicas", &message);
            let about = crate::refusal::About { group: "autoscaling", what: "Scale", name };
            return Err(Refusal::invalid(about, vec![cause]));
        }
        let (was, is) = (&now["metadata"], &wished["metadata"]);
        let version = text(&is["resourceVersion"]);
        if !version.is_empty() && was["resourceVersion"] != version.as_str() {
            return Err(Refusal::modified(target.about(name)));
        }
        Ok(())
    }
}

/// Where the numbers of a scale lie.
struct ScalePaths {
    wished: Vec<String>,
    found: Vec<String>,
    /// The selector, as a text; nothing where it is a structure in the spec.
    selector: Option<Vec<String>>,
}

/// When somebody scaled is never kept.
fn timeless(mut object: Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array_mut().into_iter().flatten();
    for entry in entries.filter(|entry| entry["subresource"] == "scale").filter_map(Value::as_object_mut) {
        entry.remove("time");
    }
    // Who never wrote comes first.
    if let Ok(managers) = Managers::read(&object["metadata"]["managedFields"]) {
        object["metadata"]["managedFields"] = managers.write();
    }
    object
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, before)) = path.split_last() else { return };
    let holder = before.iter().try_fold(object, |place, part| place.get_mut(part.as_str()));
    if let Some(map) = holder.and_then(Value::as_object_mut) {
        map.remove(last);
    }
}

fn owns(fields: &Fields, path: &[String]) -> bool {
    let below = path.iter().try_fold(fields, |fields, part| fields.child(&Element::field(part)));
    below.is_some_and(|fields| !fields.is_empty())
}

fn find<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(object, |value, part| &value[part.as_str()])
}

fn put(object: &mut Value, path: &[String], value: Value) {
    let place = path.iter().fold(object, |place, part| {
        if !place.is_object() {
            *place = json!({});
        }
        &mut place[part.as_str()]
    });
    *place = value;
}

/// The scale of an object.
fn shown(object: &Value, paths: &ScalePaths) -> Value {
    let metadata = &object["metadata"];
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Value = kept
        .into_iter()
        .filter_map(|key| metadata.get(key).map(|value| (key.to_owned(), value.clone())))
        .collect();
    let selector = match &paths.selector {
        Some(path) => find(object, path).as_str().unwrap_or_default().to_owned(),
        None => selector_text(&object["spec"]["selector"]),
    };
    let mut status = json!({"replicas": find(object, &paths.found).as_i64().unwrap_or(0)});
    if !selector.is_empty() {
        status["selector"] = Value::from(selector);
    }
    let mut spec = json!({});
    if let Some(replicas) = find(object, &paths.wished).as_i64().filter(|replicas| *replicas != 0) {
        spec["replicas"] = Value::from(replicas);
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status,
    })
}

/// A selector as a text.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut values: Vec<&str> = values.collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        });
    }
    parts.sort();
    parts.join(",")
}
