//! Manifests, and what they become.

use lockstep_api::identity::{Values, expand};
use lockstep_api::stored::StoredSet;
use lockstep_api::{Problem, yaml_to_json};
use lockstep_core::names::RoleName;
use lockstep_dialects::{Dialect, Lowered, Served, World, rbg::Rbg};
use serde_json::Value;

/// The documents of a file.
pub fn documents(text: &str) -> Vec<Value> {
    text.split("\n---\n").map(|text| yaml_to_json(text).expect("YAML")).collect()
}

/// The objects of a file that become sets, lowered beside all the others.
pub fn lowered(text: &str) -> Vec<Result<Lowered, Vec<Problem>>> {
    let objects = documents(text);
    let becomes = |object: &&Value| lockstep_dialects::of(object).is_some();
    objects.iter().filter(becomes).map(|object| Rbg.lower(object, &world(&objects))).collect()
}

/// The first of them.
pub fn first(text: &str) -> Lowered {
    lowered(text).remove(0).unwrap_or_else(|problems| panic!("{}", said(&problems).join("\n")))
}

/// A cluster that knows Kubernetes' own gangs and Volcano's.
pub fn world(objects: &[Value]) -> World {
    World {
        objects: objects.to_vec(),
        served: Served { pod_groups: true, volcano: true, pod_gangs: false },
        partial: false,
    }
}

pub fn said(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// A group with these roles (name, replicas) and what stands beside them in its spec.
pub fn group(beside: &str, roles: &[(&str, u32)], image: &str) -> String {
    let template = format!("{{spec: {{containers: [{{name: c, image: '{image}'}}]}}}}");
    let roles: Vec<String> = roles
        .iter()
        .map(|(name, n)| format!("  - {{name: {name}, replicas: {n}, template: {template}}}\n"))
        .collect();
    format!(
        "apiVersion: workloads.x-k8s.io/v1alpha1\nkind: RoleBasedGroup\nmetadata: {{name: pd}}\nspec:\n  {beside}\n  roles:\n{}",
        roles.concat()
    )
}

/// A pod as identity templates make it.
pub struct Pod {
    pub name: String,
    pub subdomain: String,
    pub labels: Vec<String>,
    pub env: Vec<String>,
}

/// The pods of an instance.
pub fn pods(lowered: &Lowered, role: &str, group: u32, instance: u32) -> Vec<Pod> {
    let stored = StoredSet::of(&lowered.set);
    let content = stored.roles[&RoleName::new(role)].content().expect("content");
    let mut pods = Vec::new();
    for member in &content.members {
        for pod in 0..member.count {
            let identity = content.identity_of(&member.name);
            let values = Values {
                set: &lowered.set.metadata.name,
                group,
                role,
                instance,
                member: &member.name,
                pod,
                index: content.index(&member.name, pod),
                revision: "rev",
                set_revision: "set",
                leader: "",
                size: content.size(),
                namespace: "default",
                uid: "uid",
                gang: "",
            };
            let pairs = |map: &std::collections::BTreeMap<String, String>| {
                map.iter().map(|(key, value)| format!("{key}={}", expand(value, &values))).collect()
            };
            pods.push(Pod {
                name: expand(identity.pod_name.as_deref().expect("a name"), &values),
                subdomain: expand(identity.subdomain.as_deref().unwrap_or("-"), &values),
                labels: pairs(&identity.labels),
                env: pairs(&identity.env),
            });
        }
    }
    pods
}
