//! Stored revisions: what pods are built from, and what can be gone back to.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::ControllerRevision;
use lockstep_api::label;
use lockstep_api::stored::{StoredRole, StoredSet};
use lockstep_core::model::Member;
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use serde::Deserialize;

/// The stored revisions of one set.
#[derive(Debug, Clone, Default)]
pub struct History(BTreeMap<Revision, Stored>);

/// One of them.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The object's name.
    pub name: String,
    /// Its place in history; the highest was wished for last.
    pub number: i64,
    /// It says that the whole set stood complete at it once.
    pub stood_complete: bool,
    /// What it holds.
    pub set: StoredSet,
}

/// The name of the object that stores a revision.
pub fn revision_name(set: &str, revision: Revision) -> String {
    format!("{set}-{revision}")
}

impl History {
    /// Reads the stored revisions of a set; objects that are not ours are passed over.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a ControllerRevision>) -> Self {
        let read = |object: &ControllerRevision| {
            let set = StoredSet::deserialize(&object.data.0).ok()?;
            let name = object.metadata.name.clone()?;
            let said = object.metadata.annotations.as_ref().and_then(|said| said.get(label::STOOD_COMPLETE));
            let stood_complete = said.is_some_and(|said| said == "true");
            let number = object.revision.unwrap_or_default();
            Some((set.revision(), Stored { name, number, stood_complete, set }))
        };
        Self(objects.into_iter().filter_map(read).collect())
    }

    /// A revision of the set.
    pub fn get(&self, revision: Revision) -> Option<&Stored> {
        self.0.get(&revision)
    }

    /// Notes a revision that was stored.
    pub fn insert(&mut self, revision: Revision, stored: Stored) {
        self.0.insert(revision, stored);
    }

    /// Notes revisions that were read.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Forgets what does not hold.
    pub fn retain(&mut self, mut keep: impl FnMut(&Stored) -> bool) {
        self.0.retain(|_, stored| keep(stored));
    }

    /// Notes that a revision was removed.
    pub fn remove(&mut self, revision: Revision) {
        self.0.remove(&revision);
    }

    /// The number the next revision gets.
    pub fn next_number(&self) -> i64 {
        self.0.values().map(|stored| stored.number).max().unwrap_or(0) + 1
    }

    /// A role at a revision of its own, from whichever of the set's revisions has it.
    pub fn role(&self, name: &RoleName, revision: Revision) -> Option<&StoredRole> {
        let roles = self.0.values().filter_map(|stored| stored.set.roles.get(name));
        roles.into_iter().find(|role| role.revision == revision)
    }

    /// What an instance of each stored revision is made of.
    pub fn layouts(&self) -> BTreeMap<RoleName, BTreeMap<Revision, Vec<Member>>> {
        let mut layouts: BTreeMap<RoleName, BTreeMap<Revision, Vec<Member>>> = BTreeMap::new();
        for (name, role) in self.0.values().flat_map(|stored| &stored.set.roles) {
            layouts.entry(name.clone()).or_default().insert(role.revision, role.layout.clone());
        }
        layouts
    }

    /// What can be forgotten: the oldest beyond the limit, except for those something still needs.
    pub fn forgettable(
        &self,
        limit: u32,
        sets: &BTreeSet<Revision>,
        roles: &BTreeSet<(RoleName, Revision)>,
    ) -> Vec<(Revision, String)> {
        let mut by_age: Vec<(&Revision, &Stored)> = self.0.iter().collect();
        by_age.sort_by_key(|(_, stored)| std::cmp::Reverse(stored.number));
        // The one wished for now does not count as old.
        let old = by_age.into_iter().skip(1 + limit as usize);
        let is_needed = |(revision, stored): &(&Revision, &Stored)| {
            let has = |(name, role): (&RoleName, &StoredRole)| roles.contains(&(name.clone(), role.revision));
            sets.contains(*revision) || stored.set.roles.iter().any(has)
        };
        old.filter(|entry| !is_needed(entry)).map(|(r, stored)| (*r, stored.name.clone())).collect()
    }
}
