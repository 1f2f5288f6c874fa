//! CustomResourceDefinitions: what they say about objects, and what becomes of objects by it.

mod check;
mod conversion;
mod dump;
mod names;
mod openapi;
mod rules;
mod schemas;
mod standing;
mod structural;
mod version;

use serde_json::{Value, json};

pub use self::names::Names;
pub use self::openapi::{model_name, openapi, shape};
pub use self::standing::status;
pub use self::version::{Column, Scale, Version};
use crate::rank::Rank;
use crate::refusal::Cause;

/// What a CustomResourceDefinition says.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The group.
    pub group: String,
    /// The names of the kind and its resource.
    pub names: Names,
    /// Its objects lie in namespaces.
    pub namespaced: bool,
    /// Its versions, as they are listed.
    pub versions: Vec<Version>,
    /// How objects get from one version to another; nothing if only the version itself changes.
    pub webhook: Option<Value>,
    /// The revision it was written at.
    pub revision: u64,
}

impl Definition {
    /// Reads a new definition whose defaults are set, or tells what is wrong with it.
    pub fn read(crd: &Value) -> Result<Self, Vec<Cause>> {
        Self::accepted(crd, check::new(crd))
    }

    /// Reads a definition that replaces another.
    pub fn read_update(crd: &Value, old: &Value) -> Result<Self, Vec<Cause>> {
        Self::accepted(crd, check::update(crd, old))
    }

    fn accepted(crd: &Value, causes: Vec<Cause>) -> Result<Self, Vec<Cause>> {
        if causes.is_empty() { Ok(Self::read_sound(crd)) } else { Err(causes) }
    }

    /// Reads a definition that was accepted before.
    pub fn read_sound(crd: &Value) -> Self {
        let spec = &crd["spec"];
        let webhook = spec["conversion"]["strategy"] == "Webhook";
        Self {
            group: text(spec, "group").to_owned(),
            names: Names::read(&spec["names"]),
            namespaced: spec["scope"] == "Namespaced",
            versions: list(spec, "versions").iter().map(Version::read).collect(),
            revision: revision(crd),
            webhook: webhook.then(|| spec["conversion"]["webhook"].clone()),
        }
    }

    /// The resource with its group, which is the name of the definition: `things.example.io`.
    pub fn resource(&self) -> String {
        format!("{}.{}", self.names.plural, self.group)
    }

    /// A version by its name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// A version by its name with the group: `example.io/v1`.
    pub fn of_api_version(&self, api_version: &str) -> Option<&Version> {
        let (group, version) = api_version.split_once('/')?;
        self.version(version).filter(|_| group == self.group)
    }

    /// The version an object is in.
    pub fn version_of(&self, object: &Value) -> Option<&Version> {
        self.of_api_version(text(object, "apiVersion"))
    }

    /// A stored object is shown as it is: there is no other version, and it was written under this definition.
    pub fn is_shown_as_stored(&self, stored: &Value) -> bool {
        self.versions.len() == 1 && revision(stored) > self.revision
    }

    /// What whoever uses a version is warned of: its own words, or which other version is better.
    pub fn deprecation(&self, name: &str) -> Option<String> {
        let version = self.version(name).filter(|version| version.deprecated)?;
        if let Some(words) = &version.deprecation_warning {
            return Some(words.clone());
        }
        let (group, kind) = (&self.group, &self.names.kind);
        let better = self.versions.iter().filter(|other| other.served && !other.deprecated);
        let better = better.map(|other| &*other.name).max_by_key(|other| Rank::of(other));
        let better = better.filter(|better| Rank::of(better) > Rank::of(name));
        let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
        Some(format!("{group}/{name} {kind} is deprecated{instead}"))
    }

    /// The version objects are stored in.
    pub fn storage(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

/// Fills in what a definition leaves out: the names of one and of many, how versions are converted, and a status.
pub fn set_defaults(crd: &mut Value) {
    let kind = text(&crd["spec"]["names"], "kind").to_owned();
    if let Some(spec) = crd.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
        // That unknown fields go is no news.
        if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
            spec.remove("preserveUnknownFields");
        }
    }
    if let Some(names) = crd.pointer_mut("/spec/names").and_then(Value::as_object_mut) {
        let missing = |name: Option<&Value>| name.and_then(Value::as_str).unwrap_or_default().is_empty();
        if missing(names.get("singular")) && !kind.is_empty() {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if missing(names.get("listKind")) && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if let Some(service) = crd.pointer_mut("/spec/conversion/webhook/clientConfig/service")
        && let Some(service) = service.as_object_mut()
    {
        service.entry("port").or_insert_with(|| 443.into());
    }
    standing::prepare(crd);
}

/// The revision something was written at; the last of all for what is not written yet.
fn revision(object: &Value) -> u64 {
    text(&object["metadata"], "resourceVersion").parse().unwrap_or(u64::MAX)
}

/// A text; empty if there is none.
fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list; empty if there is none.
fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A truth value; false if there is none.
fn says(of: &Value, key: &str) -> bool {
    of.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Something that is there, and not null.
fn there<'a>(of: &'a Value, key: &str) -> Option<&'a Value> {
    of.get(key).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests;
