//! Storing objects, and reading them again as whoever wrote them.

use std::sync::Arc;

use serde_json::Value;

use crate::store::Key;

use super::convert::without_version;
use super::routes::Target;
use super::{Step, Stop, Turn, catalogue};

impl Turn<'_> {
    /// Stores an object, unless it is a dry run. As whoever wrote it reads it again.
    pub(super) fn keep_of(
        &mut self,
        target: &Target,
        key: Key,
        object: Value,
        dry_run: bool,
    ) -> Step<Arc<Value>> {
        let version = object["metadata"]["resourceVersion"].clone();
        let stored = self.in_storage_version(object, &target.kind)?;
        self.keep_stored(target, key, stored, version, dry_run)
    }

    /// The same for an object that stands, if what is stored changes.
    pub(super) fn keep_changed(
        &mut self,
        target: &Target,
        key: Key,
        live: &Arc<Value>,
        object: Value,
        dry_run: bool,
    ) -> Step<Arc<Value>> {
        let version = live["metadata"]["resourceVersion"].clone();
        let mut stored = self.in_storage_version(object, &target.kind)?;
        stored["metadata"]["resourceVersion"] = version.clone();
        if self.server.store.get(&key).is_some_and(|stands| **stands == stored) {
            return Ok(Arc::clone(live));
        }
        self.keep_stored(target, key, stored, version, dry_run)
    }

    /// The same for an object that is in the version it is stored in.
    fn keep_stored(
        &mut self,
        target: &Target,
        key: Key,
        stored: Value,
        version: Value,
        dry_run: bool,
    ) -> Step<Arc<Value>> {
        if self.server.catalogue.custom_kind(&target.kind).is_none() {
            let kept = self.keep(key, stored, dry_run);
            return self.converted(&kept, &target.kind);
        }
        // Whoever has to be asked how it is read is asked before anything is stored.
        let stored = Arc::new(without_version(stored));
        let shown = self.converted(&stored, &target.kind);
        if let (Err(Stop::No(_)), false) = (&shown, dry_run) {
            // It is stored before it is read again, and stays.
            self.keep(key.clone(), Value::clone(&stored), false);
        }
        let mut shown = Value::clone(&*shown?);
        let version = match dry_run {
            true => version,
            false => self.keep(key, Value::clone(&stored), false)["metadata"]["resourceVersion"].clone(),
        };
        if version.is_null() {
            return Ok(Arc::new(without_version(shown)));
        }
        shown["metadata"]["resourceVersion"] = version;
        Ok(Arc::new(shown))
    }

    /// Stores an object as it is, unless it is a dry run.
    pub(super) fn keep(&mut self, key: Key, object: Value, dry_run: bool) -> Arc<Value> {
        if dry_run {
            return Arc::new(object);
        }
        let is_definition = *key.resource == *catalogue::DEFINITIONS;
        let object = self.server.store.put(key, object);
        if is_definition {
            self.server.catalogue.define(&object);
        }
        object
    }
}
