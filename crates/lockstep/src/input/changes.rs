//! What a user changes in the middle of a simulated rollout.

use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::time::Millis;

use super::fault_profile::{About, role};
use super::manifest::Manifest;
use super::reader::{Place, Reader};

/// The most groups or instances a change may ask for.
const MOST: u32 = 10_000;
const KINDS: &[&str] = &["revert", "scale", "groups", "paused", "partition", "apply"];
const FIELDS: &[&str] = &["at", "revert", "scale", "groups", "paused", "partition", "apply"];

/// The list under `changes`, each applied to what the ones before left.
pub fn read(reader: &mut Reader<'_>, at: &Place<'_>, about: &About<'_>) -> Vec<(Millis, Spec)> {
    let mut found: Vec<(Millis, Spec)> = Vec::new();
    for item in reader.list(at) {
        let before = found.last().map_or(about.to, |(_, spec)| spec).clone();
        let earlier = found.last().map(|(time, _)| *time);
        if let Some((time, spec)) = change(reader, &item, about, before) {
            if earlier.is_some_and(|earlier| time < earlier) {
                reader.refuse(&item, "must not come before the change above it");
            }
            found.push((time, spec));
        }
    }
    found
}

fn change(
    reader: &mut Reader<'_>,
    item: &Place<'_>,
    about: &About<'_>,
    mut spec: Spec,
) -> Option<(Millis, Spec)> {
    if !reader.map(item, FIELDS) {
        return None;
    }
    let Some(at) = item.get("at") else {
        reader.refuse(item, "at is required: how long after the first change, such as 10m");
        return None;
    };
    let time = reader.duration(&at);
    let given: Vec<&str> = KINDS.iter().copied().filter(|kind| item.get(kind).is_some()).collect();
    if given.is_empty() {
        reader.refuse(item, format!("one of {} is required", KINDS.join(", ")));
    }
    for kind in given {
        if let Some(at) = item.get(kind) {
            apply(reader, &at, kind, about, &mut spec);
        }
    }
    Some((time?, spec))
}

fn apply(reader: &mut Reader<'_>, at: &Place<'_>, kind: &str, about: &About<'_>, spec: &mut Spec) {
    match kind {
        "revert" => match (reader.flag(at), about.from) {
            (Some(true), Some(from)) => *spec = from.clone(),
            (Some(true), None) => {
                reader.refuse(at, "there is nothing to go back to at a first start: give -f")
            }
            _ => {}
        },
        "apply" => {
            if let Some(next) = reader.text(at).and_then(|file| apply_file(reader, at, file, about)) {
                *spec = next;
            }
        }
        "paused" => spec.paused = reader.flag(at).unwrap_or(spec.paused),
        "groups" => {
            if let Some(groups) = size(reader, at) {
                spec.replicas = groups;
            }
        }
        "scale" => each_role(reader, at, about, |reader, at, name| {
            if let Some((role, size)) = find(spec, &name).zip(size(reader, at)) {
                role.replicas = size;
            }
        }),
        _ if at.value.is_object() => each_role(reader, at, about, |reader, at, name| {
            if let Some((role, kept)) = find(spec, &name).zip(reader.int_or_percent(at)) {
                role.strategy.partition = kept;
            }
        }),
        _ => {
            if let Some(kept) = reader.int_or_percent(at) {
                spec.strategy.partition = kept;
            }
        }
    }
}

fn find<'s>(spec: &'s mut Spec, name: &RoleName) -> Option<&'s mut lockstep_core::model::Role> {
    spec.roles.iter_mut().find(|role| role.name == *name)
}

fn each_role(
    reader: &mut Reader<'_>,
    at: &Place<'_>,
    about: &About<'_>,
    mut act: impl FnMut(&mut Reader<'_>, &Place<'_>, RoleName),
) {
    if !at.value.is_object() {
        reader.refuse(at, "must be a map from roles to numbers, such as {prefill: 6}");
    }
    for (key, at) in at.entries() {
        if let Some(name) = role(reader, &at, key, about) {
            act(reader, &at, name);
        }
    }
}

fn size(reader: &mut Reader<'_>, at: &Place<'_>) -> Option<u32> {
    let size = reader.number(at)?;
    if size > MOST {
        reader.refuse(at, format!("must be at most {MOST}"));
        return None;
    }
    Some(size)
}

fn apply_file(reader: &mut Reader<'_>, at: &Place<'_>, file: &str, about: &About<'_>) -> Option<Spec> {
    match Manifest::read(&about.folder.join(file)) {
        Ok(manifest) if manifest.spec.name == about.to.name => Some(manifest.spec),
        Ok(manifest) => {
            reader.refuse(at, format!("is set {:?}, not {:?}", manifest.spec.name, about.to.name));
            None
        }
        Err(bad) => {
            for complaint in bad.0 {
                reader.refuse(at, complaint.to_string());
            }
            None
        }
    }
}
