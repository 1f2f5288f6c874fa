//! Metadata of built-in kinds: as of all others, and their finalizers have known names.

use serde_json::Value;

use crate::builtin::access::{at, texts};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::NameRule;
use crate::builtin::metadata::{validate_metadata, validate_metadata_update};

/// Of an object that is created.
pub(super) fn create(object: &Value, namespaced: bool, rule: NameRule, causes: &mut Causes) {
    let metadata = at(object, &["metadata"]);
    validate_metadata(metadata, namespaced, rule, causes);
    finalizers(metadata, causes);
}

/// Of an object that is updated.
pub(super) fn update(new: &Value, old: &Value, causes: &mut Causes) {
    let metadata = at(new, &["metadata"]);
    validate_metadata_update(metadata, at(old, &["metadata"]), causes);
    finalizers(metadata, causes);
}

fn finalizers(metadata: &Value, causes: &mut Causes) {
    for (place, finalizer) in texts(metadata, "finalizers").into_iter().enumerate() {
        known_finalizer(finalizer, &At::new("metadata").child("finalizers").index(place), causes);
    }
}

/// A finalizer has a domain, unless it is one of a few.
pub(super) fn known_finalizer(finalizer: &str, here: &At, causes: &mut Causes) {
    if !finalizer.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&finalizer) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        causes.invalid(here, &Value::from(finalizer), why);
    }
}
