//! What a change of a manifest is about, in one line.

use std::collections::BTreeSet;

use lockstep_api::{LockstepSet, Role};
use serde_json::Value;

use super::words;
use crate::input::manifest::Manifest;

/// What changes, and whether any of it moves an instance.
#[derive(Debug, PartialEq, Eq)]
pub struct Title {
    /// The line.
    pub text: String,
    /// Instances are replaced, started or removed.
    pub moves: bool,
}

impl Title {
    /// The same in the middle of a rollout, where something may be left to do though nothing changes.
    pub fn midway(self, to: &Manifest, goes_back: bool) -> Self {
        let text = if goes_back {
            format!("{}: goes back to the set that was complete last", to.spec.name)
        } else if self.moves {
            format!("{}, from what stands now", self.text)
        } else {
            let groups = words::count(to.spec.replicas, "group");
            format!("{}: {groups}, what is left of the rollout", to.spec.name)
        };
        Self { text, moves: true }
    }
}

/// Names what changes.
pub fn title(from: Option<&Manifest>, to: &Manifest) -> Title {
    let name = &to.spec.name;
    let groups = words::count(to.spec.replicas, "group");
    let Some(from) = from else {
        let roles: Vec<String> = to.spec.roles.iter().map(|r| format!("{} {}", r.replicas, r.name)).collect();
        return Title {
            text: format!("{name}: first start of {groups}, each {}", words::list(&roles)),
            moves: true,
        };
    };
    let mut parts = Vec::new();
    if from.spec.replicas != to.spec.replicas {
        parts.push(format!("groups {} → {}", from.spec.replicas, to.spec.replicas));
    }
    parts.extend(changed_roles(from, to));
    parts.extend(scaled_roles(from, to));
    let moves = !parts.is_empty();
    if !moves && from.spec == to.spec && from.set.spec == to.set.spec {
        return Title { text: format!("{name}: nothing changes"), moves };
    }
    if !moves {
        parts.push("no instance moves; the rules change for later rollouts".to_owned());
    }
    Title { text: format!("{name}: {groups}, {}", parts.join(", ")), moves }
}

/// `roles decode and prefill change (image)`.
fn changed_roles(from: &Manifest, to: &Manifest) -> Option<String> {
    let mut names = Vec::new();
    let mut fields = BTreeSet::new();
    for role in &to.spec.roles {
        let before = from.spec.role(&role.name);
        if before.is_some_and(|before| before.revision != role.revision) {
            names.push(role.name.as_str());
            fields.extend(changed_fields(&from.set, &to.set, role.name.as_str()));
        }
    }
    if names.is_empty() {
        return None;
    }
    let fields: Vec<String> = fields.into_iter().collect();
    let about = match fields.len() {
        0 => String::new(),
        1..=3 => format!(" ({})", fields.join(", ")),
        more => format!(" ({} and {} more)", fields[..2].join(", "), more - 2),
    };
    let verb = if names.len() == 1 { "role" } else { "roles" };
    let change = if names.len() == 1 { "changes" } else { "change" };
    Some(format!("{verb} {} {change}{about}", words::list(&names)))
}

fn scaled_roles(from: &Manifest, to: &Manifest) -> Vec<String> {
    let mut parts = Vec::new();
    for role in &to.spec.roles {
        match from.spec.role(&role.name) {
            None => parts.push(format!("role {} is new", role.name)),
            Some(before) if before.replicas != role.replicas => {
                parts.push(format!("{} {} → {}", role.name, before.replicas, role.replicas));
            }
            Some(_) => {}
        }
    }
    let gone = from.spec.roles.iter().filter(|role| to.spec.role(&role.name).is_none());
    parts.extend(gone.map(|role| format!("role {} goes", role.name)));
    parts
}

/// The names of the fields of a role's template that differ.
fn changed_fields(from: &LockstepSet, to: &LockstepSet, role: &str) -> BTreeSet<String> {
    let content = |set: &LockstepSet| {
        let role: Option<&Role> = set.spec.roles.iter().find(|r| r.name == role);
        role.map(|role| lockstep_api::revision::content(set, role)).unwrap_or_default()
    };
    let mut fields = BTreeSet::new();
    compare(&content(from), &content(to), "template", &mut fields);
    fields
}

/// The names of the fields that differ.
pub fn compare(one: &Value, other: &Value, name: &str, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare(a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), key, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (x, y) in a.iter().zip(b) {
                compare(x, y, name, found);
            }
        }
        _ if one != other => {
            found.insert(name.to_owned());
        }
        _ => {}
    }
}
