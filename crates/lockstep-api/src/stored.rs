//! A set's revision as it is stored: everything a pod of it is built from, immutable from then on.

use std::collections::BTreeMap;

use lockstep_core::model;
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity::Identity;
use crate::valid::Valid;
use crate::{lower, revision};

/// What is stored of a set's revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSet {
    /// The roles by name.
    pub roles: BTreeMap<RoleName, StoredRole>,
}

/// What is stored of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRole {
    /// Its revision.
    pub revision: Revision,
    /// What the revision is the hash of, as the user gave it.
    pub content: Value,
    /// What an instance is made of.
    pub layout: Vec<model::Member>,
}

/// The content of a role's revision, to build pods from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The members of an instance.
    pub members: Vec<ContentMember>,
    /// Templates for names, labels and environment.
    #[serde(default)]
    pub identity: Option<Identity>,
}

/// A member of an instance, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentMember {
    /// Its name.
    pub name: String,
    /// How many pods.
    pub count: u32,
    /// The pod template.
    pub template: Value,
    /// What differs from the identity of the role.
    #[serde(default)]
    pub identity: Option<Identity>,
}

impl StoredSet {
    /// What is to be stored of a set as it is wished for now.
    pub fn of(set: &Valid) -> Self {
        let lowered = lower(set);
        let roles = set.spec.roles.iter().zip(lowered.roles).map(|(role, lowered)| {
            let content = revision::content(set, role);
            (lowered.name, StoredRole { revision: lowered.revision, content, layout: lowered.members })
        });
        Self { roles: roles.collect() }
    }

    /// The revision of the set.
    pub fn revision(&self) -> Revision {
        Revision::of_roles(self.roles.iter().map(|(name, role)| (name, role.revision)))
    }
}

impl StoredRole {
    /// What pods are built from.
    pub fn content(&self) -> Result<Content, serde_json::Error> {
        Content::deserialize(&self.content)
    }
}

impl Content {
    /// How many pods an instance has.
    pub fn size(&self) -> u64 {
        self.members.iter().map(|member| u64::from(member.count)).sum()
    }

    /// Templates for the pods of a member.
    pub fn identity_of(&self, member: &str) -> Identity {
        let own = self.members.iter().find(|it| it.name == member).and_then(|it| it.identity.as_ref());
        Identity::joined(self.identity.as_ref(), own).unwrap_or_default()
    }

    /// The place of a pod among all pods of its instance, member by member.
    pub fn index(&self, member: &str, pod: u32) -> u32 {
        let before = self.members.iter().take_while(|it| it.name != member).map(|it| it.count);
        before.fold(pod, u32::saturating_add)
    }
}
