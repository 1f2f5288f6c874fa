//! What the API server adds to objects of built-in kinds, and what it refuses of them.
//!
//! A create goes through [`decode`], [`set_defaults`], [`admit`], for services [`allocate`], [`prepare_create`] and
//! [`validate_create`]; an update likewise.

mod access;
mod admit;
mod base64;
mod causes;
mod defaults;
mod event;
mod features;
pub(crate) mod formats;
mod levels;
mod metadata;
mod prepare;
mod quantity;
mod select;
mod service;
mod validate;
mod wire;

use jiff::Timestamp;
use serde_json::Value;

pub use admit::{Context, Forbidden, STAY, admit, topology_labels};
pub use causes::{At, Causes, quoted};
pub use event::{as_core_event, as_new_event};
pub use formats::NameRule;
pub use metadata::{validate_common_update, validate_marks, validate_metadata, validate_metadata_update};
pub use prepare::keep_metadata;
pub use quantity::{Quantity, QuantityError};
pub use select::{UnknownField, check_field, selectable};
pub use service::{Taken, allocate, is_read_otherwise};
pub use wire::Misread;

use crate::refusal::Cause;

/// A group (empty for the core) and a kind.
pub type GroupKind<'a> = (&'a str, &'a str);

/// Reads an object as the Go type of its kind: fields that the type does not know are dropped, as is what is empty;
/// quantities and times are written anew. Fails where something is of another sort than it should be; the words are
/// what follows `… cannot be handled as a Pod: `.
pub fn decode((group, kind): GroupKind<'_>, object: &mut Value) -> Result<(), Misread> {
    match wire::type_of(group, kind) {
        Some(name) => {
            let read = object.clone();
            wire::settle(&name, object).inspect_err(|_| *object = read)
        }
        None => Ok(()),
    }
}

/// Reads metadata alone, as [`decode`] does: custom kinds have nothing else that is known beforehand.
pub fn decode_metadata(metadata: &mut Value) -> Result<(), Misread> {
    if metadata.is_null() {
        return Ok(());
    }
    let read = metadata.clone();
    wire::settle("meta/v1.ObjectMeta", metadata).inspect_err(|_| *metadata = read)
}

/// Fills in what an object does not say.
pub fn set_defaults(of: GroupKind<'_>, object: &mut Value) {
    settled(of, object, |object| defaults::fill(of.0, of.1, object));
}

/// Prepares an object that is created: nobody creates a status.
pub fn prepare_create(of: GroupKind<'_>, object: &mut Value, now: Timestamp) {
    settled(of, object, |object| prepare::create(of, object, now));
}

/// Prepares an object that is updated: the status stays as it was, and the generation tells whether anything changed.
pub fn prepare_update(of: GroupKind<'_>, new: &mut Value, old: &Value) {
    settled(of, new, |new| prepare::update(of, new, old));
}

/// Prepares an object whose status is updated: the rest stays as it was.
pub fn prepare_status_update(of: GroupKind<'_>, new: &mut Value, old: &Value) {
    settled(of, new, |new| prepare::update_status(of, new, old));
}

/// Prepares a namespace whose finalizers are updated: the status stays as it was.
pub fn prepare_finalize(new: &mut Value, old: &Value) {
    settled(("", "Namespace"), new, |new| prepare::finalize(new, old));
}

/// What is wrong with an object that is created.
pub fn validate_create(of: GroupKind<'_>, object: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    validate::create(of, object, &mut causes);
    causes.once()
}

/// What is wrong with an object that is updated.
pub fn validate_update(of: GroupKind<'_>, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    validate::update(of, new, old, &mut causes);
    causes.once()
}

/// What is wrong with an object whose status is updated.
pub fn validate_status_update(of: GroupKind<'_>, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    validate::update_status(of, new, old, &mut causes);
    causes.once()
}

/// What is wrong with the binding of a pod to a node.
pub fn validate_binding(binding: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    validate::binding(binding, &mut causes);
    causes.into()
}

/// What is wrong with a namespace whose finalizers are updated.
pub fn validate_finalize(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    validate::finalize(new, old, &mut causes);
    causes.once()
}

/// Changes an object, which is written as Go writes it before and after. What cannot be read is left as it is.
fn settled(of: GroupKind<'_>, object: &mut Value, change: impl FnOnce(&mut Value)) {
    if decode(of, object).is_ok() {
        change(object);
        // It was readable before the change, and no change makes it less so.
        let _ = decode(of, object);
    }
}
