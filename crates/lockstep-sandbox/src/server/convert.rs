//! Objects in the version that was asked for, and in the one that is stored.

use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::definition::Definition;
use crate::kinds::Kind;
use crate::refusal::Refusal;
use crate::schema::whole_numbers;

use super::routes::Target;
use super::told::Told;
use super::{Server, Step, Stop, Turn, conversion, custom, events};

impl Server {
    /// A stored object as a version of its kind shows it.
    pub(super) fn shown_as(&self, stored: &Arc<Value>, kind: &Kind, told: &Told) -> Step<Arc<Value>> {
        if &*kind.resource == "events" {
            return Ok(events::converted(stored, &kind.api_version()));
        }
        match self.catalogue.custom_kind(kind) {
            Some(definition) if !definition.is_shown_as_stored(stored) => {
                let mut object = read(definition, stored);
                let version = object["metadata"]["resourceVersion"].take();
                object = self.in_version(definition, without_version(object), &kind.api_version(), told)?;
                tidy(definition, &mut object);
                object["metadata"]["resourceVersion"] = version;
                Ok(Arc::new(object))
            }
            _ => Ok(Arc::clone(stored)),
        }
    }

    /// Asks for all of these objects at once, if some have to be asked for.
    pub(super) fn ask_for(&self, stored: &[&Arc<Value>], kind: &Kind, told: &Told) -> Step<()> {
        let Some(definition) = self.catalogue.custom_kind(kind) else { return Ok(()) };
        let Some(webhook) = &definition.webhook else { return Ok(()) };
        let to = kind.api_version();
        let others = stored.iter().filter(|object| object["apiVersion"] != to.as_str());
        let objects = others.map(|object| without_version(read(definition, object)));
        let unknown = |object: &Value| told.of(&conversion::key(object, &to)).is_none();
        let unknown: Vec<Value> = objects.filter(unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(asked(definition, webhook, unknown, &to))
    }

    /// An object of a custom kind in another version. Without a webhook only the version itself is another.
    pub(super) fn in_version(
        &self,
        definition: &Definition,
        mut object: Value,
        to: &str,
        told: &Told,
    ) -> Step<Value> {
        let from = object["apiVersion"].as_str().unwrap_or_default();
        if from == to {
            return Ok(object);
        }
        for (version, word) in [(to, "to"), (from, "from")] {
            if definition.of_api_version(version).is_none() {
                let why = format!("request to convert CR {word} an invalid group/version: {version}");
                return Err(Refusal::failure(why).into());
            }
        }
        let Some(webhook) = &definition.webhook else {
            object["apiVersion"] = Value::from(to);
            return Ok(object);
        };
        match told.of(&conversion::key(&object, to)) {
            Some(Ok(found)) => Ok(found.clone()),
            Some(Err(why)) => Err(Refusal::failure(why).into()),
            None => Err(asked(definition, webhook, vec![object], to)),
        }
    }
}

fn asked(definition: &Definition, webhook: &Value, objects: Vec<Value>, to: &str) -> Stop {
    match conversion::question(definition, webhook, objects, to) {
        Some(call) => Stop::Ask(Box::new(call)),
        None => Stop::No(Refusal::failure("no supported conversion review versions")),
    }
}

/// A stored object as the definition reads it now, in the version it is stored in.
fn read(definition: &Definition, stored: &Value) -> Value {
    let mut object = stored.clone();
    tidy(definition, &mut object);
    if let Some(version) = definition.version_of(&object) {
        version.schema.set_defaults(&mut object);
    }
    object
}

/// Drops what the version of an object does not know.
fn tidy(definition: &Definition, object: &mut Value) {
    if let Some(version) = definition.version_of(object) {
        custom::prune(version, object);
    }
    // What cannot be read was refused before.
    let _ = builtin::decode_metadata(&mut object["metadata"]);
}

/// Which state of an object it is, is not part of the object.
pub(super) fn without_version(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    object
}

impl Turn<'_> {
    /// A stored object in the version that was asked for.
    pub(super) fn converted(&self, stored: &Arc<Value>, to: &Kind) -> Step<Arc<Value>> {
        self.server.shown_as(stored, to, self.told)
    }

    /// The object of a path, in the version that was asked for.
    pub(super) fn live(&self, target: &Target) -> Step<Arc<Value>> {
        self.converted(&self.stored(target)?, &target.kind)
    }

    /// The same for whoever is about to write it: a real server writes down what it knows of it first, so it must be
    /// possible to store it as it is, unless it is a dry run.
    pub(super) fn live_to_write(&self, target: &Target, dry_run: bool) -> Step<Arc<Value>> {
        let live = self.live(target)?;
        if !dry_run {
            self.check_storable(target, &live)?;
        }
        Ok(live)
    }

    pub(super) fn check_storable(&self, target: &Target, live: &Value) -> Step<()> {
        match self.server.catalogue.custom_kind(&target.kind) {
            Some(definition) if definition.webhook.is_some() => {
                self.in_storage_version(live.clone(), &target.kind).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// An object as it is stored.
    pub(super) fn in_storage_version(&self, mut object: Value, kind: &Kind) -> Step<Value> {
        let Some(definition) = self.server.catalogue.custom_kind(kind) else { return Ok(object) };
        whole_numbers(&mut object);
        let Some(storage) = definition.storage() else { return Ok(object) };
        let storage = format!("{}/{}", definition.group, storage.name);
        if object["apiVersion"] == storage.as_str() {
            return Ok(object);
        }
        let mut object = self.server.in_version(definition, without_version(object), &storage, self.told)?;
        tidy(definition, &mut object);
        Ok(object)
    }
}
