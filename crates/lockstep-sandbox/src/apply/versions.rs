//! Kinds with several versions: whoever wrote in one of them owns fields as that version names them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Comparison, compare};
use crate::fields::Fields;
use crate::shape::{Shape, Shapes};

/// The versions of a kind.
pub trait Versions {
    /// Why an object cannot be had in another version.
    type Error;

    /// An object in a version (`apps/v1`), with its shape there; nothing if there is no such version any more. If it
    /// cannot be had, `why` is said first.
    fn convert<'a>(
        &'a self,
        object: &Value,
        to: &str,
        why: &str,
    ) -> Result<Option<Versioned<'a>>, Self::Error>;
}

/// An object in one of its versions.
#[derive(Debug)]
pub struct Versioned<'a> {
    /// The object.
    pub object: Value,
    /// Its shape there.
    pub shape: &'a Shape,
    /// The shapes that one names.
    pub shapes: &'a Shapes,
    /// What the writer cannot write of it there, with all below.
    pub reset: Fields,
}

/// What changed, as each version sees it.
pub(super) struct Changes<'a, V> {
    versions: &'a V,
    old: &'a Value,
    new: &'a Value,
    /// Nothing for versions that are gone.
    seen: BTreeMap<String, Option<Comparison>>,
}

impl<'a, V: Versions> Changes<'a, V> {
    /// What changed, of which the version of the writer is known.
    pub fn new(versions: &'a V, old: &'a Value, new: &'a Value, version: &str, known: Comparison) -> Self {
        Self { versions, old, new, seen: BTreeMap::from([(version.to_owned(), Some(known))]) }
    }

    /// What changed in a version; nothing if that is gone.
    pub fn seen_in(&mut self, version: &str) -> Result<Option<&Comparison>, V::Error> {
        if !self.seen.contains_key(version) {
            let compared = self.compared(version)?;
            self.seen.insert(version.to_owned(), compared);
        }
        Ok(self.seen.get(version).and_then(Option::as_ref))
    }

    fn compared(&self, version: &str) -> Result<Option<Comparison>, V::Error> {
        let Some(old) = self.versions.convert(self.old, version, "failed to convert old object: ")? else {
            return Ok(None);
        };
        let Some(new) = self.versions.convert(self.new, version, "failed to convert new object: ")? else {
            return Ok(None);
        };
        let compared = compare(&old.object, &new.object, new.shape, new.shapes);
        Ok(Some(compared.without_all_below(&new.reset)))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use std::convert::Infallible;
    use std::sync::LazyLock;

    use super::*;

    /// A kind that is the same in all its versions.
    pub struct OneShape<'a>(pub &'a Shape);

    impl Versions for OneShape<'_> {
        type Error = Infallible;

        fn convert<'a>(
            &'a self,
            object: &Value,
            _: &str,
            _: &str,
        ) -> Result<Option<Versioned<'a>>, Infallible> {
            static NONE: LazyLock<Shapes> = LazyLock::new(Shapes::default);
            let reset = Fields::default();
            Ok(Some(Versioned { object: object.clone(), shape: self.0, shapes: &NONE, reset }))
        }
    }
}
