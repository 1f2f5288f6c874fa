//! The rights that are installed, one by one, and which of them a log shows in use.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::api::PostParams;
use kube::{Api, Client};
use lockstep_testkit::audit::{Audit, Entry};
use lockstep_testkit::proxy::Verb;
use serde_json::json;

use crate::installed::{HOME, ROLE, USER, until};

/// One verb on one resource.
#[derive(Debug, Clone)]
struct Right {
    group: String,
    /// With its subresource: `lockstepsets/status`.
    resource: String,
    verb: String,
    /// In the operator's namespace only.
    at_home: bool,
    /// On these objects only; on all if there is none.
    names: Vec<String>,
}

impl Right {
    /// Everything the operator may do, as it is installed.
    async fn all(client: &Client) -> Vec<Self> {
        let everywhere: Api<ClusterRole> = Api::all(client.clone());
        let at_home: Api<Role> = Api::namespaced(client.clone(), HOME);
        let everywhere = everywhere.get(ROLE).await.expect("a role").rules.unwrap_or_default();
        let at_home = at_home.get(ROLE).await.expect("a role").rules.unwrap_or_default();
        let mut all: Vec<Self> = everywhere.iter().flat_map(|rule| Self::of(rule, false)).collect();
        all.extend(at_home.iter().flat_map(|rule| Self::of(rule, true)));
        all
    }

    fn of(rule: &PolicyRule, at_home: bool) -> Vec<Self> {
        let mut rights = Vec::new();
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| Self {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                    at_home,
                    names: rule.resource_names.clone().unwrap_or_default(),
                }));
            }
        }
        rights
    }

    fn allows(&self, deed: &Deed) -> bool {
        (&self.group, &self.resource, &self.verb) == (&deed.group, &deed.resource, &deed.verb)
            && (!self.at_home || deed.namespace == HOME)
            && (self.names.is_empty() || self.names.contains(&deed.name))
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let core = if self.group.is_empty() { "core" } else { &self.group };
        write!(f, "{core} {} {}", self.resource, self.verb)
    }
}

/// Of what an audit log shows of the account, nothing was refused, and it may nothing that it did not do, but for what is
/// justified: a resource, and verbs.
pub async fn are_enough_and_none_is_idle(client: &Client, audit: &Audit, justified: &[(&str, &str)]) {
    let ours: Vec<_> = audit.entries().iter().filter(|entry| entry.user == USER).collect();
    let refused: Vec<_> = ours.iter().filter(|entry| entry.status == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let rights = Right::all(client).await;
    let idle = idle(&rights, &used(&ours));
    let justified: Vec<String> = justified
        .iter()
        .flat_map(|(what, verbs)| verbs.split(' ').map(move |verb| format!("{what} {verb}")))
        .collect();
    let unjustified: Vec<_> = idle.iter().filter(|right| !justified.contains(right)).collect();
    assert!(unjustified.is_empty(), "rights that are never used: {unjustified:#?}");
    let stale: Vec<_> = justified.iter().filter(|right| !idle.contains(right)).collect();
    assert!(stale.is_empty(), "no longer idle, or no longer given: {stale:#?}");
}

/// Something that was done, in the words of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Deed {
    group: String,
    resource: String,
    verb: String,
    namespace: String,
    name: String,
}

/// What a log shows. A patch that made a new object (201) was allowed as a create as well: the API server asks for both.
fn used(entries: &[&Entry]) -> BTreeSet<Deed> {
    let mut deeds = BTreeSet::new();
    for entry in entries.iter().filter(|entry| !entry.request.resource.is_empty()) {
        let request = &entry.request;
        let deed = Deed {
            group: request.group.clone(),
            resource: request.target(),
            verb: request.verb.to_string(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        };
        if request.verb == Verb::Patch && entry.status == 201 {
            deeds.insert(Deed { verb: "create".to_owned(), ..deed.clone() });
        }
        deeds.insert(deed);
    }
    deeds
}

/// The rights that nothing of this needed.
fn idle(rights: &[Right], deeds: &BTreeSet<Deed>) -> Vec<String> {
    let idle = rights.iter().filter(|right| !deeds.iter().any(|deed| right.allows(deed)));
    idle.map(ToString::to_string).collect()
}

/// What a role said before a right was taken from it.
pub enum Taken {
    Everywhere(ClusterRole),
    AtHome(Role),
}

/// Takes one right away, as `group resource verb`, and waits until it is missing.
pub async fn take_away(client: &Client, right: &str) -> Taken {
    let at_home: Api<Role> = Api::namespaced(client.clone(), HOME);
    let everywhere: Api<ClusterRole> = Api::all(client.clone());
    let mut role = everywhere.get(ROLE).await.expect("a role");
    let before = role.clone();
    let taken = if without(&mut role.rules, right) {
        everywhere.replace(ROLE, &PostParams::default(), &role).await.expect("replaced");
        Taken::Everywhere(before)
    } else {
        let mut role = at_home.get(ROLE).await.expect("a role");
        let before = role.clone();
        assert!(without(&mut role.rules, right), "no such right: {right}");
        at_home.replace(ROLE, &PostParams::default(), &role).await.expect("replaced");
        Taken::AtHome(before)
    };
    until("it is forbidden", async || !may(client, right).await).await;
    taken
}

/// Gives it back, and waits until it is there.
pub async fn give_back(client: &Client, right: &str, taken: Taken) {
    let now = PostParams::default();
    match taken {
        Taken::Everywhere(mut role) => {
            role.metadata.resource_version = None;
            let roles: Api<ClusterRole> = Api::all(client.clone());
            roles.replace(ROLE, &now, &role).await.expect("replaced");
        }
        Taken::AtHome(mut role) => {
            role.metadata.resource_version = None;
            let roles: Api<Role> = Api::namespaced(client.clone(), HOME);
            roles.replace(ROLE, &now, &role).await.expect("replaced");
        }
    }
    until("it is allowed", async || may(client, right).await).await;
}

fn parts(right: &str) -> [&str; 3] {
    let mut parts = right.split(' ');
    std::array::from_fn(|_| parts.next().expect("a group, a resource and a verb"))
}

/// Removes a verb. Returns whether it was there.
fn without(rules: &mut Option<Vec<PolicyRule>>, right: &str) -> bool {
    let [group, resource, verb] = parts(right);
    let has = |list: &Option<Vec<String>>, it: &str| list.iter().flatten().any(|other| other == it);
    let mut found = false;
    for rule in rules.iter_mut().flatten() {
        if has(&rule.api_groups, group) && has(&rule.resources, resource) {
            found |= rule.verbs.iter().any(|it| it == verb);
            rule.verbs.retain(|it| it != verb);
        }
    }
    if let Some(rules) = rules {
        rules.retain(|rule| !rule.verbs.is_empty());
    }
    found
}

async fn may(client: &Client, right: &str) -> bool {
    let [group, resource, verb] = parts(right);
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let asked = json!({
        "group": group, "resource": resource, "subresource": subresource, "verb": verb,
        "namespace": HOME, "name": ROLE,
    });
    let review = json!({"spec": {"user": USER, "resourceAttributes": asked}});
    let review: SubjectAccessReview = serde_json::from_value(review).expect("a review");
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await.expect("an answer");
    answer.status.expect("a status").allowed
}
