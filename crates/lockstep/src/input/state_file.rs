//! Observed states: a snapshot as the engine reads it, or in a short form that a person can write by hand.

use std::collections::BTreeMap;
use std::path::Path;

use lockstep_api::Document;
use lockstep_core::model::{Member, Spec};
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::{CompleteSet, Group, Instance, Pod, RoleInstances, Snapshot};
use lockstep_core::time::Time;
use serde_json::Value;

use super::complaint::{BadInput, Complaint};
use super::manifest::read_text;
use super::memory;
use super::moment::{self, ACCEPTED};
use super::reader::{Place, Reader};
use super::units::{self, Home};

/// The time of a state that does not say: late enough for anything to have happened before.
const SOME_DAY: Time = Time(365 * 24 * 3_600_000);
const FIELDS: &[&str] = &["now", "stable", "groups", "roles", "layouts", "memory", "budgets"];
const TIMES: &[&str] = &["created", "bound", "ready", "unready"];

/// Reads a file for a set: the snapshot and what time it is.
pub fn read(path: &Path, spec: &Spec) -> Result<(Snapshot, Time), BadInput> {
    let (file, text) = read_text(path)?;
    parse(&file, &text, spec)
}

/// Reads a text.
pub fn parse(file: &str, text: &str, spec: &Spec) -> Result<(Snapshot, Time), BadInput> {
    let document = Document::parse(text)
        .map_err(|problems| BadInput(problems.into_iter().map(|p| Complaint::error(file, p)).collect()))?;
    let value = document.to_json();
    let mut reader = Reader::new(file, &document);
    let root = Place::root(&value);
    let read = reader.map(&root, FIELDS).then(|| State::new(spec).read(&mut reader, &root));
    reader.close(read)
}

/// A state that is being put together.
struct State<'a> {
    spec: &'a Spec,
    now: Time,
    stable: BTreeMap<RoleName, Revision>,
    snapshot: Snapshot,
}

impl<'a> State<'a> {
    fn new(spec: &'a Spec) -> Self {
        Self { spec, now: SOME_DAY, stable: BTreeMap::new(), snapshot: Snapshot::default() }
    }

    fn read(mut self, reader: &mut Reader<'_>, root: &Place<'_>) -> (Snapshot, Time) {
        if let Some(at) = root.get("now") {
            match moment::moment(at.value, SOME_DAY) {
                Some(now) => self.now = now,
                None => reader.refuse(&at, ACCEPTED),
            }
        }
        if let Some(at) = root.get("layouts") {
            self.snapshot.layouts = reader.whole(&at, at.value.clone()).unwrap_or_default();
        }
        if let Some(at) = root.get("budgets") {
            self.snapshot.budgets = reader.whole(&at, at.value.clone()).unwrap_or_default();
        }
        if let Some(at) = root.get("memory") {
            self.snapshot.memory = memory::read(reader, &at, self.spec, self.now);
            let known = self.snapshot.memory.roles.iter();
            self.stable = known.filter_map(|(role, of)| Some((role.clone(), of.stable?))).collect();
        }
        if let Some(at) = root.get("stable") {
            self.read_stable(reader, &at);
        }
        if let Some(at) = root.get("groups") {
            for item in reader.list(&at) {
                self.read_group(reader, &item);
            }
        }
        if let Some(at) = root.get("roles") {
            let roles = self.read_roles(reader, &at, 0);
            self.snapshot.groups.push(Group { group: 0, base_scheduled: false, roles });
        }
        self.remember();
        (self.snapshot, self.now)
    }

    /// `stable: a1`, or by role.
    fn read_stable(&mut self, reader: &mut Reader<'_>, at: &Place<'_>) {
        if at.value.is_object() {
            for (key, at) in at.entries() {
                let name = RoleName::new(key);
                if self.spec.role(&name).is_none() {
                    let known = super::roles::known(&[self.spec]);
                    reader.refuse(&at, format!("no role {key:?}; {known}"));
                } else if let Some(revision) = self.revision(reader, &at, &name) {
                    self.stable.insert(name, revision);
                }
            }
            return;
        }
        for role in &self.spec.roles {
            if let Some(revision) = self.revision(reader, at, &role.name) {
                self.stable.insert(role.name.clone(), revision);
            }
        }
    }

    fn read_group(&mut self, reader: &mut Reader<'_>, at: &Place<'_>) {
        if !reader.map(at, &["group", "baseScheduled", "roles"]) {
            return;
        }
        let Some(group) = at.get("group") else {
            return reader.refuse(at, "group is required: its ordinal");
        };
        let Some(group) = reader.number(&group) else { return };
        let base_scheduled = at.get("baseScheduled").and_then(|at| reader.flag(&at)).unwrap_or_default();
        let roles = at.get("roles").map(|at| self.read_roles(reader, &at, group)).unwrap_or_default();
        self.snapshot.groups.push(Group { group, base_scheduled, roles });
    }

    fn read_roles(&mut self, reader: &mut Reader<'_>, at: &Place<'_>, group: u32) -> Vec<RoleInstances> {
        let mut roles = Vec::new();
        for item in reader.list(at) {
            if !reader.map(&item, &["role", "units", "instances"]) {
                continue;
            }
            let Some(named) = item.get("role") else {
                reader.refuse(&item, "role is required: its name");
                continue;
            };
            let Some(name) = reader.text(&named).map(RoleName::new) else { continue };
            let mut instances = self.read_units(reader, &item, group, &named, &name);
            if let Some(at) = item.get("instances") {
                for item in reader.list(&at) {
                    instances.extend(self.read_instance(reader, &item, &name));
                }
            }
            instances.sort_by_key(|instance| instance.instance);
            if let Some(pair) = instances.windows(2).find(|pair| pair[0].instance == pair[1].instance) {
                reader.refuse(&item, format!("instance {} is there twice", pair[0].instance));
            }
            roles.push(RoleInstances { role: name, instances });
        }
        roles
    }

    fn read_units(
        &mut self,
        reader: &mut Reader<'_>,
        item: &Place<'_>,
        group: u32,
        named: &Place<'_>,
        name: &RoleName,
    ) -> Vec<Instance> {
        let Some(at) = item.get("units") else { return Vec::new() };
        let Some(role) = self.spec.role(name) else {
            let known = super::roles::known(&[self.spec]);
            reader.refuse(named, format!("units need a role of the set; {known}"));
            return Vec::new();
        };
        let layouts = self.snapshot.layouts.get(name).cloned().unwrap_or_default();
        let layout = |revision: Revision| -> Vec<Member> {
            layouts.get(&revision).cloned().unwrap_or_else(|| role.members.clone())
        };
        let home = Home { group, role, now: self.now };
        let mut found = Vec::new();
        for item in reader.list(&at) {
            let mut resolve = |reader: &mut Reader<'_>, at: &Place<'_>| self.revision(reader, at, name);
            found.extend(units::read(reader, &item, &home, &mut resolve, &layout));
        }
        found
    }

    /// An instance with its pods, as the engine reads it.
    fn read_instance(
        &mut self,
        reader: &mut Reader<'_>,
        at: &Place<'_>,
        role: &RoleName,
    ) -> Option<Instance> {
        if !reader.map(at, &["instance", "pods"]) {
            return None;
        }
        let Some(ordinal) = at.get("instance") else {
            reader.refuse(at, "instance is required: its ordinal");
            return None;
        };
        let mut instance = Instance { instance: reader.number(&ordinal)?, pods: Vec::new() };
        for item in at.get("pods").map(|at| reader.list(&at)).unwrap_or_default() {
            instance.pods.extend(self.read_pod(reader, &item, role));
        }
        Some(instance)
    }

    fn read_pod(&mut self, reader: &mut Reader<'_>, at: &Place<'_>, role: &RoleName) -> Option<Pod> {
        let mut value = at.value.clone();
        for key in TIMES {
            if let Some(place) = at.get(key) {
                match moment::moment(place.value, self.now) {
                    Some(time) => value[*key] = Value::from(time.0),
                    None => {
                        reader.refuse(&place, ACCEPTED);
                        return None;
                    }
                }
            }
        }
        if let Some(place) = at.get("revision") {
            value["revision"] = Value::from(self.revision(reader, &place, role)?.as_str());
        }
        reader.whole(at, value)
    }

    /// A revision by its name, or one of the words `new`, `target`, `old` and `stable`.
    fn revision(&mut self, reader: &mut Reader<'_>, at: &Place<'_>, role: &RoleName) -> Option<Revision> {
        let text = reader.text(at)?;
        match text {
            "new" | "target" => {
                let found = self.spec.role(role).map(|role| role.revision);
                if found.is_none() {
                    reader.refuse(at, format!("the set has no role {role}, so it has no new revision"));
                }
                found
            }
            "old" | "stable" => {
                let unnamed: Revision = "old".parse().unwrap_or_default();
                Some(*self.stable.entry(role.clone()).or_insert(unnamed))
            }
            name => match name.parse() {
                Ok(revision) => Some(revision),
                Err(error) => {
                    let error: lockstep_core::revision::NotARevision = error;
                    reader.refuse(at, error.to_string());
                    None
                }
            },
        }
    }

    /// Puts the stable revisions into the memory, and the set's revisions onto the pods.
    fn remember(&mut self) {
        let memory = &mut self.snapshot.memory;
        // A memory that says it all is left as it is: a state that was dumped is planned as it was.
        let told = memory.roles.iter().filter_map(|(role, of)| Some((role.clone(), of.stable?))).collect();
        if self.stable != told {
            let strange = |role: &RoleName| {
                let of_role = self.snapshot.groups.iter().flat_map(|g| &g.roles).filter(|r| r.role == *role);
                let pods = of_role.flat_map(|r| &r.instances).flat_map(|i| &i.pods);
                let target = self.spec.role(role).map(|role| role.revision);
                pods.map(|pod| pod.revision).any(|revision| Some(revision) != target)
            };
            for role in &self.spec.roles {
                if !self.stable.contains_key(&role.name) && !strange(&role.name) {
                    self.stable.insert(role.name.clone(), role.revision);
                }
            }
            for (role, revision) in &self.stable {
                memory.roles.entry(role.clone()).or_default().stable = Some(*revision);
            }
            let roles = self.stable.clone();
            let revision = Revision::of_roles(roles.iter().map(|(role, revision)| (role, *revision)));
            memory.complete.get_or_insert(CompleteSet { revision, roles });
        }
        let new = self.spec.revision();
        let old = memory.complete.as_ref().map_or(new, |set| set.revision);
        for role in self.snapshot.groups.iter_mut().flat_map(|group| &mut group.roles) {
            let target = self.spec.role(&role.role).map(|role| role.revision);
            let pods = role.instances.iter_mut().flat_map(|instance| &mut instance.pods);
            for pod in pods.filter(|pod| pod.set_revision.is_empty()) {
                pod.set_revision = if Some(pod.revision) == target { new } else { old };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A role that came later has no stable revision, and nothing makes one up for it.
    #[test]
    fn a_dump_is_read_as_it_was_written() {
        let manifest = include_str!("../../../../examples/prefill-decode.yaml");
        let spec = lockstep_api::lower(&lockstep_api::parse(manifest).unwrap().set);
        let target = spec.roles[0].revision;
        let value = json!({
            "groups": [{"group": 1, "baseScheduled": true, "roles": [{"role": "decode", "instances": [
                {"instance": 0, "pods": [{
                    "member": "decode", "index": 0, "uid": "u", "revision": target, "setRevision": "s1",
                    "incarnation": 2, "created": 1, "bound": 2, "ready": 3, "restarts": 1,
                }]},
            ]}]}],
            "layouts": {"decode": {"b1": [{"name": "decode", "count": 1, "minAvailable": 1}]}},
            "memory": {
                "since": 1, "roles": {"decode": {"stable": "b1", "maxUnavailable": 1}, "prefill": {}},
                "groups": {"1": {"incarnation": 2, "pauses": {"s1/canary-first/1": 7}}},
                "blocked": {"1/decode/NotReadyYet": 5},
            },
        });
        let written: Snapshot = serde_json::from_value(value).unwrap();
        let mut dump = serde_json::to_value(&written).unwrap();
        dump["now"] = json!(9);
        let (read, now) = parse("dump", &dump.to_string(), &spec).unwrap();
        assert_eq!((read, now), (written, Time(9)));
    }
}
