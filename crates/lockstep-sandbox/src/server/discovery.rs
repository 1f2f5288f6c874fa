//! What is served, for clients that ask before they do anything: the old documents and the one for all.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::path::GroupVersion;
use crate::rank::Rank;
use crate::refusal::Refusal;

use super::render::{Body, Response};
use super::{Step, Turn};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Turn<'_> {
    pub(super) fn core_versions(&self) -> Response {
        if self.wants_all() {
            return self.aggregated(|group| group.is_empty());
        }
        let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}]);
        let versions = json!({
            "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses,
        });
        Response::new(200, Body::Made(versions))
    }

    pub(super) fn groups(&self) -> Response {
        if self.wants_all() {
            return self.aggregated(|group| !group.is_empty());
        }
        let groups: Vec<Value> =
            self.by_group().iter().map(|(name, versions)| group(name, versions)).collect();
        Response::new(200, Body::Made(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
    }

    pub(super) fn group(&self, name: &str) -> Response {
        match self.by_group().get(name) {
            Some(versions) => {
                let mut found = group(name, versions);
                found["kind"] = Value::from("APIGroup");
                found["apiVersion"] = Value::from("v1");
                Response::new(200, Body::Made(found))
            }
            None => Response::no_page(),
        }
    }

    pub(super) fn version(&self, of: &GroupVersion) -> Step<Response> {
        let kinds: Vec<&Kind> = self.server.catalogue.of_version(of).map(|kind| &**kind).collect();
        if kinds.is_empty() {
            return Err(Refusal::no_such_path().into());
        }
        let resources: Vec<Value> = kinds.into_iter().flat_map(resources).collect();
        let mut list =
            json!({"kind": "APIResourceList", "groupVersion": of.to_string(), "resources": resources});
        if !of.group.is_empty() {
            list["apiVersion"] = Value::from("v1");
        }
        Ok(Response::new(200, Body::Made(list)))
    }

    fn wants_all(&self) -> bool {
        self.request.accept.split(',').any(|form| {
            let says = |what: &str| form.split(';').any(|part| part.trim() == what);
            says("application/json")
                && says("g=apidiscovery.k8s.io")
                && says("v=v2")
                && says("as=APIGroupDiscoveryList")
        })
    }

    /// Versions by group, those of other groups than the core; the preferred one first.
    fn by_group(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kind in self.server.catalogue.all().filter(|kind| !kind.of.group.is_empty()) {
            let versions = groups.entry(kind.of.group.clone()).or_default();
            if !versions.contains(&kind.of.version) {
                versions.push(kind.of.version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by(|one, other| Rank::of(other).cmp(&Rank::of(one)));
        }
        groups
    }

    fn aggregated(&self, wanted: impl Fn(&str) -> bool) -> Response {
        let mut groups: Vec<(String, Vec<String>)> = self.by_group().into_iter().collect();
        groups.push((String::new(), vec!["v1".to_owned()]));
        let items: Vec<Value> = groups
            .into_iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, versions)| {
                let versions: Vec<Value> =
                    versions.iter().map(|version| self.shown(&name, version)).collect();
                let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
                json!({"metadata": metadata, "versions": versions})
            })
            .collect();
        let list = json!({
            "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
        });
        Response { media_type: Some(AGGREGATED), ..Response::new(200, Body::Made(list)) }
    }

    fn shown(&self, group: &str, version: &str) -> Value {
        let of = GroupVersion { group: group.to_owned(), version: version.to_owned() };
        let resources: Vec<Value> =
            self.server.catalogue.of_version(&of).map(|kind| shown_kind(kind)).collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    }
}

fn group(name: &str, versions: &[String]) -> Value {
    let shown = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(shown).collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// A kind and its parts, as the old documents show them.
fn resources(kind: &Kind) -> Vec<Value> {
    let mut whole = json!({
        "name": &*kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": &*kind.kind,
        "verbs": kind.verbs,
    });
    for (key, listed) in [("shortNames", &kind.short), ("categories", &kind.categories)] {
        if !listed.is_empty() {
            whole[key] = json!(listed);
        }
    }
    let parts = kind.subresources.iter().map(|part| {
        let (group, version, of) = &part.kind;
        let mut shown = json!({
            "name": format!("{}/{}", kind.plural, part.name), "singularName": "", "namespaced": kind.namespaced,
            "kind": of, "verbs": part.verbs,
        });
        if *group != kind.of.group || *version != kind.of.version {
            shown["group"] = Value::from(group.as_str());
            shown["version"] = Value::from(version.as_str());
        }
        shown
    });
    std::iter::once(whole).chain(parts).collect()
}

/// A kind, as the one document for all shows it.
fn shown_kind(kind: &Kind) -> Value {
    let response =
        |group: &str, version: &str, of: &str| json!({"group": group, "version": version, "kind": of});
    let mut shown = json!({
        "resource": &*kind.plural, "singularResource": kind.singular, "verbs": kind.verbs,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "responseKind": response(&kind.of.group, &kind.of.version, &kind.kind),
    });
    for (key, listed) in [("shortNames", &kind.short), ("categories", &kind.categories)] {
        if !listed.is_empty() {
            shown[key] = json!(listed);
        }
    }
    if !kind.subresources.is_empty() {
        let parts: Vec<Value> = kind
            .subresources
            .iter()
            .map(|part| {
                let (group, version, of) = &part.kind;
                json!({"subresource": part.name, "verbs": part.verbs, "responseKind": response(group, version, of)})
            })
            .collect();
        shown["subresources"] = Value::from(parts);
    }
    shown
}
