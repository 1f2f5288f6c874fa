//! The set: its metadata, its strategy and what applies to all of it.

use std::collections::BTreeMap;

use serde_json::Map;

use super::reader::{Choice, Object, Place};
use super::{role, rules};
use crate::bounds::{A_YEAR, MOST, MOST_HISTORY};
use crate::findings::Findings;
use crate::identity::Identity;
use crate::lockstep_set::{
    API_VERSION, Gang, GangScheduler, KIND, LockstepSet, LockstepSetSpec, Metadata, OnFailure, Order,
    UpdateStrategy, UpdateType,
};
use crate::path::Path;
use crate::yaml::Node;

/// Fields of an object's metadata that Kubernetes keeps for itself.
const FOREIGN_METADATA: [&str; 11] = [
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "selfLink",
];

impl Choice for UpdateType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("RollingUpdate", Self::RollingUpdate),
        ("GroupRecreate", Self::GroupRecreate),
        ("OnDelete", Self::OnDelete),
    ];
}

impl Choice for Order {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("Descending", Self::Descending),
        ("Ascending", Self::Ascending),
        ("OldestFirst", Self::OldestFirst),
    ];
}

impl Choice for GangScheduler {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("None", Self::None),
        ("PodGroup", Self::PodGroup),
        ("PodGang", Self::PodGang),
        ("Volcano", Self::Volcano),
    ];
}

impl Choice for OnFailure {
    const WORDS: &'static [(&'static str, Self)] = &[("Hold", Self::Hold), ("Rollback", Self::Rollback)];
}

/// A set, as far as it can be read.
pub(crate) fn set(node: &Node, found: &mut Findings) -> Option<LockstepSet> {
    let mut fields = Place { node, path: Path::root() }.object(found)?;
    exactly(&mut fields, "apiVersion", API_VERSION, found);
    if !exactly(&mut fields, "kind", KIND, found) {
        // Of another kind nothing below is ours to judge.
        return None;
    }
    let metadata = fields.need("metadata", found).map(|place| metadata(&place, found));
    let spec = fields.need("spec", found).and_then(|place| spec(&place, found));
    let status = fields.take("status").map(|place| place.node.to_json());
    fields.finish(found);
    Some(LockstepSet {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: metadata.unwrap_or_default(),
        spec: spec?,
        status,
    })
}

/// Whether the field is there and right, or at least missing.
pub(super) fn exactly(fields: &mut Object, name: &'static str, only: &str, found: &mut Findings) -> bool {
    let Some(place) = fields.need(name, found) else { return true };
    let right = place.node.as_text() == Some(only);
    if !right {
        found.error(&place.path, format!("must be {only}"));
    }
    right
}

pub(super) fn metadata(place: &Place, found: &mut Findings) -> Metadata {
    let Some(mut fields) = place.object(found) else { return Metadata::default() };
    let name = fields.need_text("name", found);
    let namespace = fields.take("namespace").and_then(|place| place.text(found));
    let labels = strings(fields.take("labels"), found);
    let annotations = strings(fields.take("annotations"), found);
    let mut rest = Map::new();
    for name in FOREIGN_METADATA {
        if let Some(place) = fields.take(name) {
            rest.insert(name.to_owned(), place.node.to_json());
        }
    }
    fields.finish(found);
    Metadata { name, namespace, labels, annotations, rest }
}

pub(super) fn strings(place: Option<Place>, found: &mut Findings) -> BTreeMap<String, String> {
    place.map(|place| place.map(found, |value, found| value.text(found))).unwrap_or_default()
}

fn spec(place: &Place, found: &mut Findings) -> Option<LockstepSetSpec> {
    let mut fields = place.object(found)?;
    let replicas = fields.take("replicas").and_then(|p| p.int(found, 0..=MOST)).unwrap_or(1);
    let update_strategy = fields.take("updateStrategy").map(|p| strategy(&p, found)).unwrap_or_default();
    let coordination = rules::rules(fields.take("coordination"), found);
    let roles = role::roles(fields.need("roles", found), found);
    let gang = fields.take("gang").map(|p| gang(&p, found)).unwrap_or_default();
    let on_failure = fields.take("onFailure").and_then(|p| p.choice(found)).unwrap_or_default();
    let deadline = fields.take("progressDeadlineSeconds").and_then(|p| p.int(found, 1..=A_YEAR));
    let history = fields.take("revisionHistoryLimit").and_then(|p| p.int(found, 0..=MOST_HISTORY));
    let paused = fields.take("paused").and_then(|p| p.boolean(found)).unwrap_or_default();
    let identity = fields.take("identity").map(|p| identity(&p, found));
    fields.finish(found);
    Some(LockstepSetSpec {
        replicas,
        update_strategy,
        coordination,
        roles,
        gang,
        on_failure,
        progress_deadline_seconds: deadline.unwrap_or(600),
        revision_history_limit: history.unwrap_or(10),
        paused,
        identity,
    })
}

fn strategy(place: &Place, found: &mut Findings) -> UpdateStrategy {
    let Some(mut fields) = place.object(found) else { return UpdateStrategy::default() };
    let kind = fields.take("type").and_then(|p| p.choice(found)).unwrap_or_default();
    UpdateStrategy { kind, ..limits(fields, found) }
}

/// What the strategies of groups and of roles have in common; the rest of the fields is unknown.
pub(super) fn limits(mut fields: Object, found: &mut Findings) -> UpdateStrategy {
    let mut limits = UpdateStrategy::default();
    if let Some(n) = fields.take("maxUnavailable").and_then(|p| p.int_or_percent(found, Some(100))) {
        limits.max_unavailable = n;
    }
    if let Some(n) = fields.take("maxSurge").and_then(|p| p.int_or_percent(found, None)) {
        limits.max_surge = n;
    }
    if let Some(n) = fields.take("partition").and_then(|p| p.int_or_percent(found, Some(100))) {
        limits.partition = n;
    }
    if let Some(order) = fields.take("order").and_then(|p| p.choice(found)) {
        limits.order = order;
    }
    fields.finish(found);
    limits
}

fn gang(place: &Place, found: &mut Findings) -> Gang {
    let Some(mut fields) = place.object(found) else { return Gang::default() };
    let scheduler = fields.take("scheduler").and_then(|p| p.choice(found)).unwrap_or_default();
    let termination_delay = fields.take("terminationDelay").and_then(|p| p.duration(found));
    fields.finish(found);
    Gang { scheduler, termination_delay }
}

pub(super) fn identity(place: &Place, found: &mut Findings) -> Identity {
    let Some(mut fields) = place.object(found) else { return Identity::default() };
    let identity = Identity {
        pod_name: fields.take("podName").and_then(|p| p.text(found)),
        hostname: fields.take("hostname").and_then(|p| p.text(found)),
        subdomain: fields.take("subdomain").and_then(|p| p.text(found)),
        labels: strings(fields.take("labels"), found),
        annotations: strings(fields.take("annotations"), found),
        env: strings(fields.take("env"), found),
        resource_claims: strings(fields.take("resourceClaims"), found),
        template_wins: fields.take("templateWins").and_then(|p| p.boolean(found)).unwrap_or_default(),
    };
    fields.finish(found);
    identity
}
