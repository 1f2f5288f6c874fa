//! What became of a row: what its pods did, and what was said of it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Service};
use lockstep_api::proof::stage::Stage;
use lockstep_core::names::RoleName;
use lockstep_core::simulate::trace::{Event, What};
use serde_json::Value;

/// What became of a row.
pub struct Story {
    /// Everything that happened to its instances.
    pub events: Vec<Event>,
    /// Where the last change begins.
    pub changed: usize,
    /// Everything that was ever said of the object.
    pub statuses: Vec<Value>,
    /// The object itself, in the end.
    pub object: Value,
    /// Its pods, in the end.
    pub pods: Vec<Pod>,
    /// Its services, in the end.
    pub services: Vec<Service>,
    /// Events about the object: reason and note.
    pub told: Vec<(String, String)>,
}

/// How things are called in a list of steps.
#[derive(Clone, Copy)]
pub enum Unit {
    /// `frontend-0`, for one group.
    Instance,
    /// `0`: everything of a group with so many instances.
    Group(usize),
}

impl Story {
    /// What happened since the last change, one step after the other.
    pub fn steps(&self, unit: Unit) -> Vec<String> {
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        let mut steps = Vec::new();
        for event in &self.events[self.changed..] {
            let (verb, of) = match &event.what {
                What::Create { of, .. } => ("create", of),
                What::Delete { of, .. } => ("delete", of),
                What::Ready { of, .. } => ("ready", of),
                What::Gone { of, .. } => ("gone", of),
                _ => continue,
            };
            match unit {
                Unit::Instance => steps.push(format!("{verb} {}-{}", of.role, of.instance)),
                Unit::Group(size) => {
                    let step = format!("{verb} {}", of.group);
                    let count = counted.entry(step.clone()).or_default();
                    *count += 1;
                    // The first of a group that is created or deleted, and the last that is ready or gone.
                    let at = if ["create", "delete"].contains(&verb) { 1 % size } else { 0 };
                    if *count % size == at {
                        steps.push(step);
                    }
                }
            }
        }
        steps
    }

    /// Instances created since the last change, in order: `2/decode-1`.
    pub fn created(&self) -> Vec<String> {
        let of = |event: &Event| match &event.what {
            What::Create { of, .. } => Some(of.to_string()),
            _ => None,
        };
        self.events[self.changed..].iter().filter_map(of).collect()
    }

    /// Instances deleted since the last change, in order.
    pub fn deleted(&self) -> Vec<String> {
        let of = |event: &Event| match &event.what {
            What::Delete { of, .. } => Some(of.to_string()),
            _ => None,
        };
        self.events[self.changed..].iter().filter_map(of).collect()
    }

    /// Ordinals of a role that were replaced.
    pub fn replaced(&self, role: &str) -> BTreeSet<u32> {
        let of = |event: &Event| match &event.what {
            What::Delete { of, .. } if of.role.as_str() == role => Some(of.instance),
            _ => None,
        };
        self.events[self.changed..].iter().filter_map(of).collect()
    }

    /// Every moment since the last change.
    pub fn moments(&self, mut look: impl FnMut(&Stage)) {
        let mut stage = Stage::default();
        for (i, event) in self.events.iter().enumerate() {
            stage.see(event);
            if i >= self.changed {
                look(&stage);
            }
        }
    }

    /// The fewest instances of a role that were available at any moment, over all groups, surge included.
    pub fn fewest(&self, role: &str) -> usize {
        let mut fewest = usize::MAX;
        self.moments(|stage| {
            let ready =
                stage.units.iter().filter(|(of, it)| of.role.as_str() == role && it.ready_since.is_some());
            fewest = fewest.min(ready.count());
        });
        fewest
    }

    /// The most instances that were missing at any moment.
    pub fn most_down(&self) -> usize {
        let mut most = 0;
        let all = {
            let mut before = Stage::default();
            self.events[..self.changed].iter().for_each(|event| before.see(event));
            before.units.len()
        };
        self.moments(|stage| {
            let ready = stage.units.values().filter(|it| it.ready_since.is_some()).count();
            most = most.max(all.saturating_sub(ready));
        });
        most
    }

    /// The largest distance between the updated shares of two roles at any moment, in thousandths.
    pub fn widest(&self, [a, b]: [&str; 2]) -> u32 {
        let mut widest = 0;
        self.moments(|stage| {
            let share = |name: &str| {
                let role = stage.spec()?.role(&RoleName::new(name))?;
                Some(stage.updated(0, role) * 1000 / role.replicas)
            };
            if let (Some(a), Some(b)) = (share(a), share(b)) {
                widest = widest.max(a.abs_diff(b));
            }
        });
        widest
    }

    /// Whether two revisions ever stood in one group at the same time.
    pub fn ever_mixed(&self) -> bool {
        let mut standing = BTreeMap::new();
        let mut mixed = false;
        for event in &self.events {
            match &event.what {
                What::Create { of, set_revision, .. } => drop(standing.insert(of.clone(), *set_revision)),
                What::Gone { of, .. } => drop(standing.remove(of)),
                _ => {}
            }
            let pairs: BTreeSet<_> = standing.iter().map(|(of, revision)| (of.group, revision)).collect();
            let groups: BTreeSet<u32> = pairs.iter().map(|(group, _)| *group).collect();
            mixed |= pairs.len() > groups.len();
        }
        mixed
    }

    /// Whether it was ever said so.
    pub fn ever_said(&self, so: impl Fn(&Value) -> bool) -> bool {
        self.statuses.iter().any(so)
    }
}

/// The message of a condition that has this status.
pub fn condition<'a>(status: &'a Value, kind: &str, holds: &str) -> Option<&'a str> {
    let all = status["conditions"].as_array()?;
    let found = all.iter().find(|it| it["type"] == kind && it["status"] == holds)?;
    found["message"].as_str()
}
