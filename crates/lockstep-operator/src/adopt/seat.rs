//! The place of a pod in a set, read from its name, its host name or its labels.

use std::fmt;

use lockstep_api::Identity;
use lockstep_api::identity::{Ordinals, default_pod_name, read};
use lockstep_api::stored::Content;
use lockstep_core::names::{MemberName, RoleName};
use serde::Serialize;
use serde_json::Value;

/// The place of one pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Seat {
    /// The group.
    pub group: u32,
    /// The role.
    pub role: RoleName,
    /// The instance.
    pub instance: u32,
    /// The member.
    pub member: MemberName,
    /// The pod within its member.
    pub pod: u32,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {}, {}-{}", self.group, self.role, self.instance)?;
        if self.member.as_str() == self.role.as_str() {
            Ok(())
        } else {
            write!(f, ", {}-{}", self.member, self.pod)
        }
    }
}

/// What is known of a pod's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it.
    Seat(Seat),
    /// Only the group and the role, all pods of which are alike.
    Role(u32, RoleName),
}

/// Looks for the place of a pod in one role of a set.
pub(super) fn find(set: &str, role: &RoleName, content: &Content, pod: &Value) -> Option<Found> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let host = pod["spec"]["hostname"].as_str().unwrap_or_default();
    let members = || content.members.iter().map(|it| Looking { set, role, content, member: &it.name });
    members()
        .find_map(|looking| looking.by_name(name))
        .or_else(|| members().find_map(|looking| looking.by_host_name(host)))
        .map(Found::Seat)
        .or_else(|| members().find_map(|looking| looking.by_labels(&pod["metadata"]["labels"])))
}

struct Looking<'a> {
    set: &'a str,
    role: &'a RoleName,
    content: &'a Content,
    member: &'a str,
}

impl Looking<'_> {
    fn identity(&self) -> Identity {
        self.content.identity_of(self.member)
    }

    fn read(&self, template: &str, text: &str) -> Option<Ordinals> {
        read(template, text, self.set, self.role.as_str(), self.member)
    }

    fn pod_name(&self) -> String {
        self.identity().pod_name.unwrap_or_else(|| default_pod_name(self.content.size()).to_owned())
    }

    fn by_name(&self, name: &str) -> Option<Seat> {
        self.seat(self.read(&self.pod_name(), name)?)
    }

    fn by_host_name(&self, name: &str) -> Option<Seat> {
        let template =
            self.identity().hostname.filter(|it| !it.is_empty()).unwrap_or_else(|| self.pod_name());
        self.seat(self.read(&template, name)?)
    }

    /// Labels that name the role must say this one. What else of them has ordinals in it is read, too.
    fn by_labels(&self, labels: &Value) -> Option<Found> {
        let (mut known, mut of_role, mut of_member) =
            (Ordinals::default(), false, self.content.members.len() == 1);
        for (key, template) in &self.identity().labels {
            let Some(text) = labels[key].as_str() else { continue };
            let read = self.read(template, text);
            let tells = |placeholder: &str| template.contains(placeholder);
            if read.is_none() && (tells("{role}") || (tells("{member}") && !of_member)) {
                return None;
            }
            let Some(read) = read else { continue };
            of_role |= tells("{role}");
            of_member |= tells("{member}");
            known = Ordinals {
                group: known.group.or(read.group),
                instance: known.instance.or(read.instance),
                pod: known.pod.or(read.pod),
                index: known.index.or(read.index),
            };
        }
        if !of_role {
            return None;
        }
        let numbered =
            known.instance.is_some() && (self.content.size() == 1 || known.index.or(known.pod).is_some());
        if numbered && of_member {
            return self.seat(known).map(Found::Seat);
        }
        (self.content.size() == 1).then(|| Found::Role(known.group.unwrap_or(0), self.role.clone()))
    }

    fn seat(&self, ordinals: Ordinals) -> Option<Seat> {
        let last = self.content.members.last().is_some_and(|last| last.name == self.member);
        let count = self.content.members.iter().find(|it| it.name == self.member).map_or(0, |it| it.count);
        let pod = match (ordinals.pod, ordinals.index) {
            (Some(pod), _) => pod,
            (None, Some(index)) => index.checked_sub(self.content.index(self.member, 0))?,
            (None, None) => 0,
        };
        // An older instance may have had more of them, but then only at the end.
        (pod < count || last).then(|| Seat {
            group: ordinals.group.unwrap_or(0),
            role: self.role.clone(),
            instance: ordinals.instance.unwrap_or(0),
            member: self.member.into(),
            pod,
        })
    }
}
