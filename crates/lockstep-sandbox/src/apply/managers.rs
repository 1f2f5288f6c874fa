//! Who owns which fields: `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use thiserror::Error;

use super::versions::{Changes, Versions};
use super::{compare, fields_of, merge, prune};
use crate::fields::{Fields, FieldsError};
use crate::shape::{Shape, Shapes};

/// How somebody writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply: their fields are what they applied last.
    Apply,
    /// By any other write: their fields are what they ever set.
    Update,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Whose fields an entry holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// The name they gave.
    pub manager: String,
    /// How they write.
    pub operation: Operation,
    /// The subresource they write to; empty for the object itself.
    pub subresource: String,
    /// The version they speak.
    pub api_version: String,
}

impl Who {
    /// It is the same writer. Whoever applies is, in whatever version; whoever writes otherwise is somebody else in
    /// another one.
    fn is(&self, other: &Self) -> bool {
        let same = self.manager == other.manager && self.subresource == other.subresource;
        let versions = self.operation == Operation::Apply || self.api_version == other.api_version;
        same && self.operation == other.operation && versions
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whose.
    pub who: Who,
    /// When it changed last, as it is written.
    pub time: String,
    /// The fields.
    pub fields: Fields,
}

/// A field that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub who: Who,
    /// When they wrote it last.
    pub time: String,
    /// The field, as it stands in messages.
    pub field: String,
}

/// Managed fields that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManagersError {
    /// A set that cannot be read.
    #[error("managedFields[{index}].fieldsV1: {source}")]
    Fields {
        /// Which entry.
        index: usize,
        /// What is wrong with it.
        source: FieldsError,
    },
    /// An operation nobody knows.
    #[error("managedFields[{index}].operation: {found:?} is neither \"Apply\" nor \"Update\"")]
    Operation {
        /// Which entry.
        index: usize,
        /// What stands there.
        found: String,
    },
}

/// All entries of an object, in the order of their first write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managers(pub(super) Vec<Entry>);

/// What becomes of an object that somebody writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The object, without managed fields.
    pub object: Value,
    /// Who owns what.
    pub managers: Managers,
}

/// Why nothing can be applied.
#[derive(Debug, Clone, PartialEq)]
pub enum NotApplied<E> {
    /// Others own what would change.
    Conflicts(Vec<Conflict>),
    /// The object cannot be had in the version of somebody who owns fields of it.
    Unconverted(E),
}

impl<E> From<E> for NotApplied<E> {
    fn from(error: E) -> Self {
        Self::Unconverted(error)
    }
}

/// The fields that nobody owns: the API server keeps them.
fn nobodys() -> Fields {
    let kept = json!({
        "f:apiVersion": {}, "f:kind": {},
        "f:metadata": {
            ".": {}, "f:name": {}, "f:namespace": {}, "f:creationTimestamp": {}, "f:selfLink": {}, "f:uid": {},
            "f:generation": {}, "f:managedFields": {}, "f:resourceVersion": {},
        },
    });
    Fields::read(&kept).unwrap_or_default()
}

impl From<Vec<Entry>> for Managers {
    fn from(entries: Vec<Entry>) -> Self {
        Self(entries)
    }
}

impl Managers {
    /// Reads `metadata.managedFields`.
    pub fn read(value: &Value) -> Result<Self, ManagersError> {
        let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut all: Vec<Entry> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let entry = read(index, entry)?;
            // Of two who are the same the last one counts.
            all.retain(|before| !before.who.is(&entry.who));
            all.push(entry);
        }
        Ok(Self(all))
    }

    /// Writes `metadata.managedFields`.
    pub fn write(&self) -> Value {
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by_key(|entry| {
            let Who { manager, operation, subresource, api_version } = &entry.who;
            (*operation, &entry.time, manager, api_version, subresource)
        });
        entries.into_iter().map(write).collect()
    }

    /// Nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn of(&self, who: &Who) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.who.is(who))
    }

    /// Replaces what somebody owns. Nothing at all is no entry.
    fn set(&mut self, who: &Who, fields: Fields, time: &str) {
        match self.0.iter().position(|entry| entry.who.is(who)) {
            Some(index) if fields.is_empty() => drop(self.0.remove(index)),
            Some(index) if self.0[index].fields == fields && self.0[index].who == *who => {}
            Some(index) => self.0[index] = Entry { who: who.clone(), time: time.to_owned(), fields },
            None if fields.is_empty() => {}
            None => self.0.push(Entry { who: who.clone(), time: time.to_owned(), fields }),
        }
    }

    /// Takes what changed away from everybody but one. Whoever spoke a version that is gone is forgotten.
    fn take_from_others<V: Versions>(
        &mut self,
        who: &Who,
        changes: &mut Changes<'_, V>,
    ) -> Result<(), V::Error> {
        let mut kept = Vec::with_capacity(self.0.len());
        for mut entry in std::mem::take(&mut self.0) {
            if !entry.who.is(who) {
                let Some(changed) = changes.seen_in(&entry.who.api_version)? else { continue };
                entry.fields = entry.fields.difference(&changed.set()).difference(&changed.removed);
            }
            kept.push(entry);
        }
        kept.retain(|entry| !entry.fields.is_empty());
        self.0 = kept;
        Ok(())
    }

    /// Which of the fields that changed others own.
    fn conflicts<V: Versions>(
        &self,
        who: &Who,
        changes: &mut Changes<'_, V>,
    ) -> Result<Vec<Conflict>, V::Error> {
        let mut conflicts = Vec::new();
        for entry in self.0.iter().filter(|entry| !entry.who.is(who)) {
            let Some(changed) = changes.seen_in(&entry.who.api_version)? else { continue };
            let common = entry.fields.intersection(&changed.set());
            conflicts.extend(common.paths().iter().map(|path| Conflict {
                who: entry.who.clone(),
                time: entry.time.clone(),
                field: path.iter().map(|element| element.shown()).collect(),
            }));
        }
        Ok(conflicts)
    }

    /// Somebody applies. The conflicts, if others own what they would change and they do not insist.
    pub fn apply<V: Versions>(
        &self,
        live: &Value,
        applied: &Value,
        write: &Writing<'_>,
        versions: &V,
        force: bool,
    ) -> Result<Written, NotApplied<V::Error>> {
        let Writing { who, time, shape, shapes, reset } = write;
        for entry in &self.0 {
            versions.convert(live, &entry.who.api_version, "")?;
        }
        let last = self.of(who).map(|entry| (entry.fields.clone(), entry.who.api_version.clone()));
        let all = fields_of(applied, shape, shapes).without_all_below(reset);
        let named = all.difference(&nobodys());
        let mut managers = self.clone();
        let before = self.of(who).map(|entry| entry.time.clone());
        managers.set(who, named, &before.unwrap_or_default());
        // What nobody owns in the end still belongs to whoever names it while the object is put together.
        let mut owned = managers.by_version();
        owned.entry(who.api_version.clone()).or_default().add(&all);
        let merged = merge(live, applied, shape, shapes);
        let object = match last {
            Some((last, version)) => prune(merged, (&last, &version), owned, &who.api_version, versions)?,
            None => merged,
        };
        let compared = compare(live, &object, shape, shapes);
        let mut changes =
            Changes::new(versions, live, &object, &who.api_version, compared.without_all_below(reset));
        let conflicts = managers.conflicts(who, &mut changes)?;
        if !conflicts.is_empty() && !force {
            return Err(NotApplied::Conflicts(conflicts));
        }
        managers.take_from_others(who, &mut changes)?;
        // Whoever changes nothing is not said to have written at any time.
        if !compared.is_same()
            && let Some(entry) = managers.0.iter_mut().find(|entry| entry.who.is(who))
        {
            entry.time = (*time).to_owned();
        }
        Ok(Written { object, managers })
    }

    /// What is owned, by the version it is owned in.
    fn by_version(&self) -> BTreeMap<String, Fields> {
        let mut owned: BTreeMap<String, Fields> = BTreeMap::new();
        for entry in &self.0 {
            owned.entry(entry.who.api_version.clone()).or_default().add(&entry.fields);
        }
        owned
    }

    /// Somebody writes in any other way: what they change is theirs.
    pub fn update<V: Versions>(
        &self,
        live: &Value,
        object: Value,
        write: &Writing<'_>,
        versions: &V,
    ) -> Result<Written, V::Error> {
        let Writing { who, time, shape, shapes, reset } = write;
        let changed = compare(live, &object, shape, shapes).without_all_below(reset);
        let mut managers = self.clone();
        let mut changes = Changes::new(versions, live, &object, &who.api_version, changed.clone());
        managers.take_from_others(who, &mut changes)?;
        let before = managers.of(who).map(|entry| entry.fields.clone()).unwrap_or_default();
        // What was there several times and is there once is both gone and new.
        let theirs = before.difference(&changed.removed).union(&changed.set()).difference(&nobodys());
        managers.set(who, theirs, time);
        managers.cap();
        Ok(Written { object, managers })
    }
}

/// Who writes, when, and what the object is made of.
#[derive(Debug, Clone, Copy)]
pub struct Writing<'a> {
    /// Who.
    pub who: &'a Who,
    /// When, as it is written.
    pub time: &'a str,
    /// The shape of the object.
    pub shape: &'a Shape,
    /// The shapes it names.
    pub shapes: &'a Shapes,
    /// What this writer cannot write, with all below it: whoever writes the object cannot write its status.
    pub reset: &'a Fields,
}

fn read(index: usize, entry: &Value) -> Result<Entry, ManagersError> {
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let operation = match entry["operation"].as_str() {
        Some("Apply") => Operation::Apply,
        Some("Update") => Operation::Update,
        other => {
            let found = other.unwrap_or_default().to_owned();
            return Err(ManagersError::Operation { index, found });
        }
    };
    let fields = entry.get("fieldsV1").map_or_else(|| Ok(Fields::default()), Fields::read);
    Ok(Entry {
        who: Who {
            manager: text("manager"),
            operation,
            subresource: text("subresource"),
            api_version: text("apiVersion"),
        },
        time: text("time"),
        fields: fields.map_err(|source| ManagersError::Fields { index, source })?,
    })
}

fn write(entry: &Entry) -> Value {
    let Entry { who, time, fields } = entry;
    let mut written = json!({
        "manager": who.manager, "operation": who.operation.word(), "apiVersion": who.api_version,
        "fieldsType": "FieldsV1", "fieldsV1": fields.write(),
    });
    if !time.is_empty() {
        written["time"] = Value::from(time.as_str());
    }
    if !who.subresource.is_empty() {
        written["subresource"] = Value::from(who.subresource.as_str());
    }
    written
}

#[cfg(test)]
mod tests;
