//! The pods a workload makes, as far as its own words tell: whether a budget covers all of them.
//!
//! A scale counts all pods of its workload. A budget may select some of them only: one role of a set, the leaders of
//! a LeaderWorkerSet. To expect the others of it as well would hold everything back for ever.

use std::collections::BTreeMap;

use kube_core::{Expression, SelectorExt};
use lockstep_core::budget::Root;
use serde::Deserialize;
use serde_json::Value;

use super::owners::{LWS_NAME, Owner, Workload};
use super::{Coverage, TargetRef};
use crate::identity::{Identity, Values, expand, placeholders};
use crate::lockstep_set::{LockstepSetSpec, Member, Role};
use crate::{json_labels, label};

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

/// What stays the same in every pod of a role.
const SAME: [&str; 4] = ["set", "role", "member", "size"];

/// The labels of the pods a workload makes: for each kind of them those labels that all of the kind share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Made(Vec<Labels>);

impl Made {
    /// What a workload makes. `object` is all of it, templates included; what is to be kept of them is in here.
    pub fn of(owner: &Owner, object: &Value) -> Self {
        let labels = |place: &str| object.pointer(place).map(|it| json_labels(&it["metadata"]["labels"]));
        Self(match owner.workload() {
            Some(Workload::Replicated | Workload::PerNode) => labels("/spec/template").into_iter().collect(),
            Some(Workload::LeaderWorkerSet) => {
                let worker = labels("/spec/leaderWorkerTemplate/workerTemplate");
                let leader = labels("/spec/leaderWorkerTemplate/leaderTemplate").or_else(|| worker.clone());
                let named = |mut labels: Labels| {
                    labels.insert(LWS_NAME.to_owned(), owner.name.clone());
                    labels
                };
                leader.into_iter().chain(worker).map(named).collect()
            }
            Some(Workload::LockstepSet) => LockstepSetSpec::deserialize(&object["spec"])
                .map(|spec| of_set(&owner.name, &spec))
                .unwrap_or_default(),
            None => Vec::new(),
        })
    }

    /// What its root says of itself to a budget of this coverage: its scale counts only if all its pods are covered.
    pub fn counted(&self, root: Root, coverage: &Coverage) -> Root {
        if self.all_covered(coverage) {
            return root;
        }
        Root { counts_units: false, pods_per_replica: None, ..root }
    }

    fn all_covered(&self, coverage: &Coverage) -> bool {
        let Coverage::Labels(_) = coverage else { return true };
        !self.0.is_empty() && self.0.iter().all(|labels| certainly(coverage, labels))
    }
}

fn of_set(name: &str, spec: &LockstepSetSpec) -> Vec<Labels> {
    let members = spec.roles.iter().flat_map(|role| role.parts().into_iter().map(move |it| (role, it)));
    members.map(|(role, member)| of_member(name, spec, role, &member)).collect()
}

/// The labels that all pods of a member share, whichever group and instance they are in.
pub(super) fn of_member(set: &str, spec: &LockstepSetSpec, role: &Role, member: &Member) -> Labels {
    let wide = Identity::joined(spec.identity.as_ref(), role.identity.as_ref());
    let identity = Identity::joined(wide.as_ref(), member.identity.as_ref()).unwrap_or_default();
    let values = Values {
        set,
        role: &role.name,
        member: &member.name,
        size: role.pods(),
        group: 0,
        instance: 0,
        pod: 0,
        index: 0,
        revision: "",
        set_revision: "",
        leader: "",
        namespace: "",
        uid: "",
        gang: "",
    };
    let mut labels = json_labels(&member.template["metadata"]["labels"]);
    for (key, template) in &identity.labels {
        let same = placeholders(template).iter().all(|name| SAME.contains(name));
        match labels.contains_key(key) && identity.template_wins {
            true => {}
            false if same => {
                labels.insert(key.clone(), expand(template, &values));
            }
            false => {
                labels.remove(key);
            }
        }
    }
    for (key, value) in [(label::SET, set), (label::ROLE, &role.name), (label::MEMBER, &member.name)] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    labels
}

/// Whether pods with these labels are covered whatever other labels they have.
pub(super) fn certainly(coverage: &Coverage, labels: &Labels) -> bool {
    let Coverage::Labels(selector) = coverage else { return false };
    selector.clone().into_iter().all(|it| labels.contains_key(key(&it)) && it.matches(labels))
}

fn key(expression: &Expression) -> &str {
    match expression {
        Expression::In(key, _)
        | Expression::NotIn(key, _)
        | Expression::Equal(key, _)
        | Expression::NotEqual(key, _)
        | Expression::Exists(key)
        | Expression::DoesNotExist(key) => key,
    }
}

/// Whether a budget names this very workload.
pub(super) fn is_target(owner: &Owner, target: &TargetRef) -> bool {
    let group = target.api_version.split_once('/').map_or("", |(group, _)| group);
    owner.kind == target.kind && owner.name == target.name && owner.group() == group
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
    use kube_core::Selector;
    use serde_json::json;

    use super::*;

    fn counts(owner: (&str, &str), object: &Value, selector: Value) -> bool {
        let (api_version, kind) = owner;
        let owner =
            Owner { api_version: api_version.into(), kind: kind.into(), name: "llm".into(), uid: "u".into() };
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        let coverage = Coverage::Labels(Selector::try_from(selector).unwrap());
        let root = Root { counts_units: true, replicas: Some(2), ..Root::default() };
        Made::of(&owner, object).counted(root, &coverage).counts_units
    }

    #[test]
    fn a_scale_counts_only_if_everything_is_covered() {
        let set = ("lockstep.dev/v1alpha1", "LockstepSet");
        let lws = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet");
        let template = |labels: Value| json!({"metadata": {"labels": labels}});
        let roles = json!({"spec": {
            "identity": {"labels": {"acme.io/model": "{set}", "acme.io/shard": "{group}"}},
            "roles": [
                {"name": "prefill", "template": template(json!({"app": "llm", "tier": "gpu"}))},
                {"name": "decode", "members": [{"name": "m", "template": template(json!({"app": "llm"}))}]},
            ],
        }});
        let groups = json!({"spec": {"leaderWorkerTemplate": {
            "leaderTemplate": template(json!({"app": "llm", "role": "leader"})),
            "workerTemplate": template(json!({"app": "llm", "role": "worker"})),
        }}});
        let labels = |labels: Value| json!({"matchLabels": labels});
        let expression = |key, operator| json!({"matchExpressions": [{"key": key, "operator": operator}]});
        for (owner, object, selector, want) in [
            (set, &roles, labels(json!({"app": "llm"})), true),
            (set, &roles, labels(json!({"lockstep.dev/set": "llm"})), true),
            (set, &roles, labels(json!({"lockstep.dev/set": "other"})), false),
            (set, &roles, labels(json!({"lockstep.dev/role": "decode"})), false),
            (set, &roles, labels(json!({"tier": "gpu"})), false),
            (set, &roles, labels(json!({"acme.io/model": "llm"})), true),
            (set, &roles, labels(json!({"acme.io/shard": "0"})), false),
            (set, &roles, expression("lockstep.dev/instance", "DoesNotExist"), false),
            (set, &roles, expression("app", "Exists"), true),
            (set, &roles, json!({}), true),
            (lws, &groups, labels(json!({"app": "llm"})), true),
            (lws, &groups, labels(json!({LWS_NAME: "llm"})), true),
            (lws, &groups, labels(json!({"role": "leader"})), false),
            (
                ("apps/v1", "Deployment"),
                &json!({"spec": {"template": template(json!({"app": "llm"}))}}),
                labels(json!({"app": "llm"})),
                true,
            ),
            (("apps/v1", "Deployment"), &json!({"spec": {}}), labels(json!({"app": "llm"})), false),
        ] {
            assert_eq!(counts(owner, object, selector.clone()), want, "{} by {selector}", owner.1);
        }
    }
}
