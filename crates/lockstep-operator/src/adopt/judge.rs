//! What becomes of each pod.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::stored::{Content, StoredRole, StoredSet};
use lockstep_api::{Valid, label, lower};
use lockstep_core::model::Spec;
use lockstep_core::names::{MemberName, RoleName};
use lockstep_core::plan::{Create, CreateWhy, InstanceRef, PodSlot};
use lockstep_core::revision::Revision;
use serde::Serialize;
use serde_json::{Map, Value};

use super::compare::compare;
use super::former;
use super::seat::{Found, Seat, find};
use crate::act::{Blueprint, SetRef};

/// What becomes of the pods of one set.
#[derive(Debug, Clone, Default)]
pub struct Adoption {
    /// Each of them, in the order of their places.
    pub pods: Vec<Judged>,
    /// What older pods were made from: to be stored, so that those that are lost return as they were.
    pub former: Vec<StoredSet>,
    /// Places that nobody has: a pod is created there.
    pub missing: Vec<Seat>,
}

/// A pod, and what becomes of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// What becomes of it.
    pub fate: Fate,
    /// Its place in the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<Seat>,
    /// The revision of its role that it counts as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// Why it cannot stay as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// What a pod of ours would have besides, and this one does without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The labels it is to have.
    #[serde(skip)]
    pub labels: Map<String, Value>,
    /// The annotations it is to have.
    #[serde(skip)]
    pub annotations: Map<String, Value>,
}

/// What becomes of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It stays as it is: it is what would be built.
    Stays,
    /// It is of an older template, and is replaced in its turn, within the limits of the set.
    Rolls,
    /// It is more than is wished for, and goes within the limits of the set.
    Goes,
    /// Nobody knows its place. It is not touched.
    Left,
}

/// Judges the pods that stand of a set. `volumes` are those that the other operator puts into pods by itself.
pub fn judge(set: &SetRef, wanted: &Valid, volumes: &[&str], pods: &[&Value]) -> Adoption {
    let stored = StoredSet::of(wanted);
    let read = |(name, role): (&RoleName, &StoredRole)| Some((name.clone(), role.content().ok()?));
    let contents = stored.roles.iter().filter_map(read).collect();
    let bench = Bench { set, spec: lower(wanted), contents, stored, volumes };
    let (seated, left) = bench.seat(pods);
    let former = bench.former_roles(&seated);
    let mut adoption = Adoption { missing: bench.missing(&seated), ..Adoption::default() };
    let mut kept: BTreeMap<Revision, StoredSet> = BTreeMap::new();
    for (seat, pod) in &seated {
        let role = bench.role_of(seat, &former);
        let sets = bench.set_of(seat, role.revision, &former);
        adoption.pods.push(bench.judged(seat, pod, role, sets.revision()));
        if sets.revision() != bench.stored.revision() {
            kept.insert(sets.revision(), sets);
        }
    }
    adoption.former = kept.into_values().collect();
    adoption.pods.extend(left.into_iter().map(|(pod, why)| unplaced(pod, why)));
    adoption
}

/// An instance of a role in a group.
type Unit = (u32, RoleName, u32);

/// What pods are held against.
struct Bench<'a> {
    set: &'a SetRef,
    spec: Spec,
    stored: StoredSet,
    contents: BTreeMap<RoleName, Content>,
    volumes: &'a [&'a str],
}

impl Bench<'_> {
    /// Gives every pod its place. Those that are alike take what is free.
    fn seat<'p>(&self, pods: &[&'p Value]) -> (BTreeMap<Seat, &'p Value>, Vec<(&'p Value, &'static str)>) {
        let mut pods = pods.to_vec();
        pods.sort_by_key(|pod| {
            (is_going(pod), !is_ready(pod), text(&pod["metadata"]["creationTimestamp"]), name(pod))
        });
        let mut seated: BTreeMap<Seat, &Value> = BTreeMap::new();
        let (mut alike, mut left) = (Vec::new(), Vec::new());
        for pod in pods {
            let found = self.own_seat(pod).map(Found::Seat).or_else(|| {
                self.contents.iter().find_map(|(role, content)| find(&self.set.name, role, content, pod))
            });
            match found {
                Some(Found::Seat(seat)) if !seated.contains_key(&seat) => drop(seated.insert(seat, pod)),
                Some(Found::Seat(seat)) if self.contents[&seat.role].size() == 1 => {
                    alike.push((seat.group, seat.role, pod));
                }
                Some(Found::Seat(_)) => left.push((pod, "another pod has its place")),
                Some(Found::Role(group, role)) => alike.push((group, role, pod)),
                None => left.push((pod, "neither its name nor its labels say which place it has")),
            }
        }
        for (group, role, pod) in alike {
            let member = self.contents[&role].members.first().map(|it| it.name.as_str()).unwrap_or_default();
            let seat = |instance| Seat { group, role: role.clone(), instance, member: member.into(), pod: 0 };
            if let Some(free) = (0..).map(seat).find(|seat| !seated.contains_key(seat)) {
                seated.insert(free, pod);
            }
        }
        (seated, left)
    }

    /// The place of a pod that was taken over already.
    fn own_seat(&self, pod: &Value) -> Option<Seat> {
        let labels = &pod["metadata"]["labels"];
        let word = |key: &str| labels[key].as_str();
        let number = |key: &str| word(key)?.parse().ok();
        let role = RoleName::new(word(label::ROLE)?);
        let ours = word(label::SET) == Some(self.set.name.as_str()) && self.contents.contains_key(&role);
        ours.then_some(Seat {
            group: number(label::GROUP)?,
            role,
            instance: number(label::INSTANCE)?,
            member: MemberName::new(word(label::MEMBER)?),
            pod: number(label::POD)?,
        })
    }

    /// The instances that were made from something else, and from what.
    fn former_roles(&self, seated: &BTreeMap<Seat, &Value>) -> BTreeMap<Unit, StoredRole> {
        let mut units: BTreeMap<Unit, former::Pods<'_>> = BTreeMap::new();
        for (seat, pod) in seated {
            let unit = units.entry(unit_of(seat)).or_default();
            unit.entry(&seat.member).or_default().push((seat.pod, pod));
        }
        let made_from = |(unit, pods): (Unit, former::Pods<'_>)| {
            let seats = seated.iter().filter(|(seat, _)| unit_of(seat) == unit);
            // Pods of two revisions in one instance would be of no use to anybody: they go together.
            let outdated = seats.into_iter().any(|(seat, pod)| !self.differences(seat, pod).0.is_empty());
            let (wanted, content) = (&self.stored.roles[&unit.1], &self.contents[&unit.1]);
            outdated.then(|| (unit, former::role(wanted, content, &pods)))
        };
        units.into_iter().filter_map(made_from).collect()
    }

    /// Why a pod is not what would be built; and what it does without.
    fn differences(&self, seat: &Seat, pod: &Value) -> (Vec<String>, Vec<String>) {
        let (role, content) = (&self.stored.roles[&seat.role], &self.contents[&seat.role]);
        let Some(built) = self.build(seat, content, role.revision, self.stored.revision()) else {
            return (vec![format!("there is no {} any more", seat.member)], Vec::new());
        };
        let came = compare(&built, pod, &content.identity_of(seat.member.as_str()), self.volumes);
        let mut because: Vec<String> = came.differs.iter().map(ToString::to_string).collect();
        let count =
            content.members.iter().find(|it| it.name == seat.member.as_str()).map_or(0, |it| it.count);
        if seat.pod >= count {
            because.push(format!("there are only {count} of {} now", seat.member));
        }
        let gates = pod["spec"]["schedulingGates"].as_array().into_iter().flatten();
        let theirs = gates.filter_map(|gate| gate["name"].as_str()).filter(|gate| *gate != label::GATE);
        because.extend(theirs.map(|gate| format!("held by {gate}, which nobody lifts: it never started")));
        (because, came.lacks)
    }

    fn role_of<'r>(&'r self, seat: &Seat, former: &'r BTreeMap<Unit, StoredRole>) -> &'r StoredRole {
        former.get(&unit_of(seat)).unwrap_or_else(|| &self.stored.roles[&seat.role])
    }

    /// The revision of the set that a pod was made under: that of its group, in which each role is as old as the
    /// oldest that stands; or today's, for a pod that is newer than its group.
    fn set_of(&self, seat: &Seat, revision: Revision, former: &BTreeMap<Unit, StoredRole>) -> StoredSet {
        let mut group = self.stored.clone();
        for ((_, role, _), stored) in former.iter().rev().filter(|((group, ..), _)| *group == seat.group) {
            group.roles.insert(role.clone(), stored.clone());
        }
        if group.roles[&seat.role].revision == revision {
            return group;
        }
        if revision != self.stored.roles[&seat.role].revision {
            group.roles.insert(seat.role.clone(), self.role_of(seat, former).clone());
            return group;
        }
        self.stored.clone()
    }

    fn judged(&self, seat: &Seat, pod: &Value, role: &StoredRole, set: Revision) -> Judged {
        let (mut because, lacks) = self.differences(seat, pod);
        let is_former = role.revision != self.stored.roles[&seat.role].revision;
        let wished = self.spec.role(&seat.role).map_or(0, |role| role.replicas);
        let fate = if seat.group >= self.spec.replicas || seat.instance >= wished {
            Fate::Goes
        } else if is_former {
            Fate::Rolls
        } else {
            Fate::Stays
        };
        if is_former && because.is_empty() {
            because.push("another pod of its instance is of an older template".to_owned());
        }
        let content = role.content().ok();
        let built =
            content.and_then(|content| self.build(seat, &content, role.revision, set)).unwrap_or_default();
        let map = |field: &str| built["metadata"][field].as_object().cloned().unwrap_or_default();
        Judged {
            name: name(pod).to_owned(),
            uid: text(&pod["metadata"]["uid"]).to_owned(),
            fate,
            seat: Some(seat.clone()),
            revision: Some(role.revision),
            because,
            lacks,
            labels: map("labels"),
            annotations: map("annotations"),
        }
    }

    /// The pod that would be built. What only matters while a pod looks for a node is left out.
    fn build(&self, seat: &Seat, content: &Content, revision: Revision, set: Revision) -> Option<Value> {
        let create = Create {
            of: InstanceRef { group: seat.group, role: seat.role.clone(), instance: seat.instance },
            revision,
            set_revision: set,
            incarnation: 1,
            pods: Vec::new(),
            refill: false,
            gated: false,
            gang: None,
            batches: Vec::new(),
            why: CreateWhy::Recover,
        };
        let slot = PodSlot { member: seat.member.clone(), index: seat.pod };
        Blueprint { set: self.set, spec: &self.spec, content }.pod(&create, &slot)
    }

    /// Places that are wished for and that nobody has.
    fn missing(&self, seated: &BTreeMap<Seat, &Value>) -> Vec<Seat> {
        let units: BTreeSet<Unit> = seated.keys().map(unit_of).collect();
        let mut missing = Vec::new();
        for group in 0..self.spec.replicas {
            for role in &self.spec.roles {
                for instance in 0..role.replicas {
                    let all = role
                        .members
                        .iter()
                        .flat_map(|member| (0..member.count).map(move |pod| (member, pod)));
                    let seats = all.map(|(member, pod)| Seat {
                        group,
                        role: role.name.clone(),
                        instance,
                        member: member.name.clone(),
                        pod,
                    });
                    let gone = !units.contains(&(group, role.name.clone(), instance));
                    missing.extend(seats.filter(|seat| gone || !seated.contains_key(seat)));
                }
            }
        }
        missing
    }
}

fn unit_of(seat: &Seat) -> Unit {
    (seat.group, seat.role.clone(), seat.instance)
}

fn unplaced(pod: &Value, why: &str) -> Judged {
    Judged {
        name: name(pod).to_owned(),
        uid: text(&pod["metadata"]["uid"]).to_owned(),
        fate: Fate::Left,
        seat: None,
        revision: None,
        because: vec![why.to_owned()],
        lacks: Vec::new(),
        labels: Map::new(),
        annotations: Map::new(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn name(pod: &Value) -> &str {
    text(&pod["metadata"]["name"])
}

fn is_going(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

#[cfg(test)]
mod tests;
