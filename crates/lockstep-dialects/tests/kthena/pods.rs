//! Pods as routers and start scripts know them.

use std::collections::BTreeMap;

use lockstep_api::identity::{Identity, Values, expand};
use lockstep_api::{LockstepSet, Member, Role};

use crate::common::*;

/// A pod as far as its identity makes it.
#[derive(Debug, PartialEq)]
struct Pod {
    name: String,
    subdomain: String,
    labels: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
}

/// All pods of a set, in the order of their ordinals.
fn pods(set: &LockstepSet) -> Vec<Pod> {
    let mut pods = Vec::new();
    for group in 0..set.spec.replicas {
        for role in &set.spec.roles {
            for instance in 0..role.replicas {
                let places =
                    role.members.iter().flat_map(|member| (0..member.count).map(move |k| (member, k)));
                let numbered = (0..).zip(places);
                pods.extend(
                    numbered.map(|(index, (member, k))| pod(set, role, member, (group, instance, k, index))),
                );
            }
        }
    }
    pods
}

fn pod(set: &LockstepSet, role: &Role, member: &Member, place: (u32, u32, u32, u32)) -> Pod {
    let (group, instance, pod, index) = place;
    let of_role = Identity::joined(set.spec.identity.as_ref(), role.identity.as_ref()).unwrap_or_default();
    let identity = of_role.narrowed(&member.identity.clone().unwrap_or_default());
    let values = |leader| Values {
        set: &set.metadata.name,
        group,
        role: &role.name,
        instance,
        member: &member.name,
        pod,
        index,
        revision: "1a2b",
        set_revision: "9f8e",
        leader,
        size: role.pods(),
        namespace: set.metadata.namespace.as_deref().unwrap_or("default"),
        uid: "u",
        gang: "g",
    };
    let name = identity.pod_name.unwrap_or_default();
    let leader = expand(&name, &Values { index: 0, ..values("") });
    let all = |templates: &BTreeMap<String, String>| {
        templates.iter().map(|(key, it)| (key.clone(), expand(it, &values(&leader)))).collect()
    };
    Pod {
        name: expand(&name, &values(&leader)),
        subdomain: expand(&identity.subdomain.unwrap_or_default(), &values(&leader)),
        labels: all(&identity.labels),
        env: all(&identity.env),
    }
}

#[test]
fn a_replica_with_workers_pod_by_pod() {
    let pods = pods(&lowered(SEVERAL_NODES, &with_volcano()).set);
    let rows: Vec<String> = pods
        .iter()
        .map(|pod| {
            let env = |name: &str| pod.env[name].clone();
            let label = |name: &str| pod.labels.get(&format!("modelserving.volcano.sh/{name}")).cloned();
            let label = |name: &str| label(name).unwrap_or_else(|| "-".to_owned());
            [
                pod.name.clone(),
                pod.subdomain.clone(),
                label("group-name"),
                label("role-id"),
                label("entry"),
                env("ENTRY_ADDRESS"),
                env("WORKER_INDEX"),
                env("GROUP_SIZE"),
            ]
            .join(" ")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "big-0-405b-0-0 big-0-405b-0-0 big-0 405b-0 true big-0-405b-0-0.models 0 2",
            "big-0-405b-0-1 big-0-405b-0-0 big-0 405b-0 - big-0-405b-0-0.models 1 2",
            "big-0-405b-1-0 big-0-405b-1-0 big-0 405b-1 true big-0-405b-1-0.models 0 2",
            "big-0-405b-1-1 big-0-405b-1-0 big-0 405b-1 - big-0-405b-1-0.models 1 2",
            "big-1-405b-0-0 big-1-405b-0-0 big-1 405b-0 true big-1-405b-0-0.models 0 2",
            "big-1-405b-0-1 big-1-405b-0-0 big-1 405b-0 - big-1-405b-0-0.models 1 2",
            "big-1-405b-1-0 big-1-405b-1-0 big-1 405b-1 true big-1-405b-1-0.models 0 2",
            "big-1-405b-1-1 big-1-405b-1-0 big-1 405b-1 - big-1-405b-1-0.models 1 2",
        ]
    );
}

#[test]
fn a_replica_without_workers_has_no_service() {
    let pods = pods(&lowered(MINIMAL, &with_volcano()).set);
    let labels = [
        ("modelserving.volcano.sh/entry", "true"),
        ("modelserving.volcano.sh/group-name", "small-0"),
        ("modelserving.volcano.sh/name", "small"),
        ("modelserving.volcano.sh/revision", "9f8e"),
        ("modelserving.volcano.sh/role", "server"),
        ("modelserving.volcano.sh/role-id", "server-0"),
        ("modelserving.volcano.sh/role-template-hash", "1a2b"),
    ];
    let env = [("ENTRY_ADDRESS", "small-0-server-0-0.default"), ("GROUP_SIZE", "1"), ("WORKER_INDEX", "0")];
    let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let only = Pod {
        name: "small-0-server-0-0".to_owned(),
        subdomain: String::new(),
        labels: map(&labels),
        env: map(&env),
    };
    assert_eq!(pods, [only]);
}

#[test]
fn labels_of_a_template_win_and_variables_do_not() {
    let lowered = lowered(SEVERAL_NODES, &with_volcano());
    let entry = &lowered.set.spec.roles[0].members[0];
    let whole = lowered.set.spec.identity.as_ref().expect("there is one");
    assert!(whole.template_wins && entry.identity.as_ref().is_some_and(|it| it.template_wins));
    assert_eq!(entry.template["metadata"]["labels"]["modelserving.volcano.sh/role"], "mine");
    let env = &entry.template["spec"]["containers"][0]["env"];
    assert_eq!(env, &serde_json::json!([{"name": "MODEL", "value": "big"}]));
    assert!(lines(&lowered.warnings).contains(
        "spec.template.roles[0].entryTemplate.spec.containers[0].env[1]: has no effect: GROUP_SIZE is given to \
         every container"
    ));
}
