//! Which kinds are served now: the built-in ones and those that were defined.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::definition::{Definition, Version};
use crate::kinds::{self, Kind};
use crate::path::GroupVersion;
use crate::store::Key;

use super::custom;

/// Where definitions lie.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// A definition, and its kind in each of its versions, served or not.
#[derive(Debug, Clone)]
struct Defined {
    definition: Arc<Definition>,
    versions: Vec<Arc<Kind>>,
}

/// All kinds.
#[derive(Debug, Clone)]
pub struct Catalogue {
    kinds: BTreeMap<(GroupVersion, Arc<str>), Arc<Kind>>,
    /// By the name of the definition.
    defined: BTreeMap<String, Defined>,
    /// How often kinds have come or gone.
    generation: u64,
}

impl Catalogue {
    /// The built-in kinds. They are the same in every cluster, so they are read once.
    pub(crate) fn built_in() -> Self {
        static READ: std::sync::OnceLock<Catalogue> = std::sync::OnceLock::new();
        let read = || {
            let kinds = kinds::built_in().into_iter();
            let kinds = kinds.map(|kind| ((kind.of.clone(), Arc::clone(&kind.plural)), Arc::new(kind)));
            Self { kinds: kinds.collect(), defined: BTreeMap::new(), generation: 1 }
        };
        READ.get_or_init(read).clone()
    }

    /// The kind behind a path.
    pub fn find(&self, of: &GroupVersion, plural: &str) -> Option<Arc<Kind>> {
        self.kinds.get(&(of.clone(), Arc::from(plural))).cloned()
    }

    /// The kind of an object.
    pub fn of(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of = GroupVersion { group: group.to_owned(), version: version.to_owned() };
        self.of_version(&of).find(|found| *found.kind == *kind).cloned()
    }

    /// A group that is served without anybody defining it.
    pub fn is_built_in(&self, group: &str) -> bool {
        group.is_empty()
            || self.kinds.iter().any(|((of, _), kind)| of.group == group && kind.schema.is_some())
            || crate::facts::discovery()["groups"]["items"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|known| known["metadata"]["name"] == group)
    }

    /// The kinds of a version of a group.
    pub fn of_version<'a>(&'a self, of: &'a GroupVersion) -> impl Iterator<Item = &'a Arc<Kind>> {
        let first = (of.clone(), Arc::from(""));
        self.kinds.range(first..).take_while(move |((found, _), _)| found == of).map(|(_, kind)| kind)
    }

    /// All kinds, by group, version and resource.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// The resource the objects of a kind lie under, whatever version is named.
    pub fn resource_of(&self, api_version: &str, kind: &str) -> Option<(Arc<str>, bool)> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let named = self.of(api_version, kind);
        let other = || {
            self.all()
                .find(|found| found.of.group == group && *found.kind == *kind && found.allows("get"))
                .cloned()
        };
        named.or_else(other).map(|found| (Arc::clone(&found.resource), found.namespaced))
    }

    /// The kind behind a resource, in the version it is stored in, or in any if that is not served.
    pub fn by_resource(&self, resource: &str) -> Option<Arc<Kind>> {
        let found = self.all().filter(|kind| *kind.resource == *resource);
        found.max_by_key(|kind| kind.of.version == kind.stored).cloned()
    }

    /// A kind in all its versions, be they served or not.
    pub fn versions<'a>(&'a self, kind: &Kind) -> impl Iterator<Item = &'a Arc<Kind>> {
        let defined = self.defined.get(&*kind.resource).filter(|_| kind.schema.is_none());
        defined.into_iter().flat_map(|defined| &defined.versions)
    }

    /// The same kind in another version (`apps/v1`), be it served or not.
    pub fn in_version(&self, kind: &Kind, api_version: &str) -> Option<&Arc<Kind>> {
        if kind.schema.is_none() {
            let mut versions = self.defined.get(&*kind.resource)?.versions.iter();
            return versions.find(|version| version.api_version() == api_version);
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of = GroupVersion { group: group.to_owned(), version: version.to_owned() };
        let found = self.kinds.get(&(of, Arc::clone(&kind.plural)));
        found.filter(|found| found.resource == kind.resource)
    }

    /// Where an object lies.
    pub fn key_of(&self, object: &Value) -> Option<Key> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (resource, namespaced) =
            self.resource_of(&text(&object["apiVersion"])?, &text(&object["kind"])?)?;
        let metadata = &object["metadata"];
        let namespace =
            if namespaced { text(&metadata["namespace"]).unwrap_or_default() } else { String::new() };
        Some(Key { resource, namespace: Arc::from(namespace), name: Arc::from(text(&metadata["name"])?) })
    }

    /// The version of a custom kind.
    pub fn custom(&self, kind: &Kind) -> Option<&Version> {
        self.custom_kind(kind)?.version(&kind.of.version)
    }

    /// A custom kind, in all its versions.
    pub fn custom_kind(&self, kind: &Kind) -> Option<&Arc<Definition>> {
        if kind.schema.is_some() {
            return None;
        }
        self.defined.get(&*kind.resource).map(|defined| &defined.definition)
    }

    /// What whoever uses a version is warned of.
    pub(crate) fn deprecation(&self, kind: &Kind) -> Option<String> {
        self.custom_kind(kind)?.deprecation(&kind.of.version)
    }

    /// How often kinds have come or gone.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Serves what is defined. What cannot be read is not served; it was refused when it was written.
    pub(crate) fn define(&mut self, crd: &Value) {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.forget(&name);
        if !is_established(crd) {
            return;
        }
        let definition = Definition::read_sound(crd);
        let versions: Vec<Arc<Kind>> =
            definition.versions.iter().map(|version| Arc::new(custom::kind(&definition, version))).collect();
        for (kind, version) in versions.iter().zip(&definition.versions) {
            if version.served {
                self.kinds.insert((kind.of.clone(), Arc::clone(&kind.plural)), Arc::clone(kind));
            }
        }
        self.defined.insert(name, Defined { definition: Arc::new(definition), versions });
    }

    /// Serves it no longer.
    pub(crate) fn forget(&mut self, name: &str) {
        self.generation += 1;
        self.defined.remove(name);
        self.kinds
            .retain(|(of, plural), kind| kind.schema.is_some() || format!("{plural}.{}", of.group) != name);
    }
}

/// Its names were accepted, so its objects are served.
fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|condition| condition["type"] == "Established")
        .any(|condition| condition["status"] == "True")
}
