//! Bodies in protobuf, read by the field numbers of the real kinds.
//!
//! Clients written in Go send them where they know the kind, `kubectl create` among them. What comes out is the JSON
//! such a client would have sent instead: fields that Go leaves out are left out, and those it writes though they are
//! empty are written.

mod fields;
#[cfg(test)]
mod recorded;
mod special;
mod value;
mod wire;

use serde_json::Value;
use thiserror::Error;

use self::fields::Messages;
use self::wire::{Datum, Wire};

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// A body that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProtobufError {
    /// It does not begin as such bodies do.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoMagic,
    /// Nobody knows the kind.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// Of this version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// It ends in the middle of something.
    #[error("unexpected EOF")]
    Truncated,
    /// It breaks the rules of protobuf.
    #[error("proto: {0}")]
    Malformed(&'static str),
    /// A field is of another type than it should be.
    #[error("proto: wrong wireType for field {0}")]
    WrongType(u32),
    /// A text is no text.
    #[error("proto: field {0} is not valid UTF-8")]
    NotText(u32),
    /// JSON inside it cannot be read.
    #[error("invalid JSON in a field: {0}")]
    Json(String),
}

/// Reads a body into the JSON object it stands for.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = Envelope::read(body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?)?;
    let Envelope { api_version, kind, raw } = envelope;
    let messages = Messages::known();
    let Some(message) = messages.of_kind(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut object = value::message(messages, &message, raw)?;
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), kind.into());
    }
    Ok(object)
}

/// What an object travels in (`runtime.Unknown`): its kind, and its bytes.
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ProtobufError> {
        let mut envelope = Self { api_version: String::new(), kind: String::new(), raw: &[] };
        for field in Wire::of(bytes) {
            match field? {
                (1, Datum::Bytes(type_meta)) => envelope.read_type(type_meta)?,
                (2, Datum::Bytes(raw)) => envelope.raw = raw,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), ProtobufError> {
        for field in Wire::of(bytes) {
            match field? {
                (1, datum) => self.api_version = datum.text(1)?.to_owned(),
                (2, datum) => self.kind = datum.text(2)?.to_owned(),
                _ => {}
            }
        }
        Ok(())
    }
}
