//! Whether a set can be rolled out under a budget at all.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;

use super::made::{Labels, certainly, is_target, of_member};
use super::owners::Owner;
use super::{Coverage, PodUnavailableBudget};
use crate::lockstep_set::Role;
use crate::path::Path;
use crate::problem::Problem;
use crate::valid::Valid;
use crate::{API_VERSION, KIND, label};

/// So many units are expected of a budget that may cover more than the set. More spare nothing more.
const MANY: u32 = 1_000_000;

/// Why an instance of the set could never be taken away: an instance goes as a whole, and this budget counts its
/// pods one by one and can never spare as many. Nothing if it can, or if nobody can tell from here: what else the
/// budget covers, for one.
///
/// A budget that spares nothing at all is another matter: it holds everything, and is meant to.
pub fn never_fits(set: &Valid, budget: &PodUnavailableBudget) -> Option<Problem> {
    if set.metadata.namespace.as_deref().unwrap_or_default()
        != budget.metadata.namespace.as_deref().unwrap_or_default()
    {
        return None;
    }
    let coverage = Coverage::of(budget).ok()?;
    let spec = budget.lower().ok()?.spec;
    let expected = match &coverage {
        _ if spec.protect_total_replicas.is_some() => spec.protect_total_replicas?,
        Coverage::Below(_) => all_pods(set),
        _ => MANY,
    };
    if set.spec.replicas == 0 || !spec.can_ever_spare(expected, 1) {
        return None;
    }
    let mut roles = set.spec.roles.iter().enumerate().filter(|(_, role)| role.replicas > 0);
    roles.find_map(|(i, role)| {
        let pods = counted_singly(set, role, &coverage, budget.group_label());
        let fits = spec.can_ever_spare(expected, pods);
        (!fits).then(|| problem(i, role, pods, expected.saturating_sub(spec.desired(expected)), budget))
    })
}

/// How many pods of an instance are units by themselves.
fn counted_singly(set: &Valid, role: &Role, coverage: &Coverage, group_label: Option<&str>) -> u32 {
    let members = role.parts();
    let singly = members.iter().filter(|member| {
        let labels = of_member(&set.metadata.name, &set.spec, role, member);
        covered(set, &labels, coverage) && group_label.is_none_or(|key| !may_have(set, role, &labels, key))
    });
    singly.fold(0, |sum, member| sum.saturating_add(member.count))
}

fn covered(set: &Valid, labels: &Labels, coverage: &Coverage) -> bool {
    match coverage {
        Coverage::Labels(_) => certainly(coverage, labels),
        Coverage::Below(target) => owners(set).iter().any(|owner| is_target(owner, target)),
        Coverage::Nothing => false,
    }
}

/// The set, and what it was made from.
fn owners(set: &Valid) -> Vec<Owner> {
    let itself = Owner {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: set.metadata.name.clone(),
        uid: String::new(),
    };
    let references = set.metadata.rest.get("ownerReferences").cloned().unwrap_or(Value::Null);
    let references = serde_json::from_value::<Option<Vec<OwnerReference>>>(references).ok().flatten();
    let above = Owner::controlling(&ObjectMeta { owner_references: references, ..ObjectMeta::default() });
    [Some(itself), above].into_iter().flatten().collect()
}

/// Whether the pods of a role may have a label: one that all of them share, one of ours, or one of the identity.
fn may_have(set: &Valid, role: &Role, labels: &Labels, key: &str) -> bool {
    let ours = [label::GROUP, label::INSTANCE, label::REVISION, label::SET_REVISION, label::INCARNATION];
    let identities = [set.spec.identity.as_ref(), role.identity.as_ref()];
    let members = role.members.iter().map(|member| member.identity.as_ref());
    let mut identities = identities.into_iter().chain(members).flatten();
    labels.contains_key(key)
        || ours.contains(&key)
        || key == label::GANG
        || key.starts_with(label::BATCH_PREFIX)
        || identities.any(|identity| identity.labels.contains_key(key))
}

fn all_pods(set: &Valid) -> u32 {
    let roles = set.spec.roles.iter();
    let group: u64 = roles.map(|role| u64::from(role.replicas).saturating_mul(role.pods())).sum();
    u32::try_from(group.saturating_mul(u64::from(set.spec.replicas))).unwrap_or(u32::MAX)
}

fn problem(i: usize, role: &Role, pods: u32, spare: u32, budget: &PodUnavailableBudget) -> Problem {
    let path = Path::root().field("spec").field("roles").index(i);
    let path = if role.members.is_empty() { path } else { path.field("members") };
    let message = format!(
        "an instance has {pods} pods, which PodUnavailableBudget {} counts one by one, and it never spares more than \
         {spare} at a time, so no instance could ever be replaced; let the budget spare {pods}, or count groups: \
         podGroupPolicy: {{groupLabelKey: {}}}",
        budget.title(),
        label::GROUP,
    );
    Problem { path: path.to_string(), value: None, message, line: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parse_json;

    fn set() -> Valid {
        let template = json!({"metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        let set = json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "llm", "namespace": "ml"},
            "spec": {"replicas": 2, "roles": [
                {"name": "router", "template": template},
                {"name": "decode", "members": [
                    {"name": "leader", "template": template}, {"name": "worker", "count": 2, "template": template},
                ]},
            ]},
        });
        parse_json(&set).unwrap().set
    }

    fn fits(namespace: &str, spec: Value) -> bool {
        let budget = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": "b", "namespace": namespace}, "spec": spec,
        });
        never_fits(&set(), &serde_json::from_value(budget).unwrap()).is_none()
    }

    #[test]
    fn an_instance_fits_or_never_will() {
        let by_label = json!({"matchLabels": {"app": "llm"}});
        let target = |name| json!({"apiVersion": API_VERSION, "kind": KIND, "name": name});
        let policy = |key| json!({"groupLabelKey": key});
        for (spec, want) in [
            (json!({"selector": by_label, "maxUnavailable": 1}), false),
            (json!({"selector": by_label, "maxUnavailable": 3}), true),
            // How many others there are nobody knows, nor what half of them is.
            (json!({"selector": by_label, "maxUnavailable": "1%"}), true),
            (json!({"selector": by_label, "minAvailable": 7}), true),
            (json!({"selector": by_label, "maxUnavailable": 1, "minAvailable": 1}), false),
            // It holds everything, and is meant to.
            (json!({"selector": by_label, "maxUnavailable": 0}), true),
            (json!({"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}), true),
            (
                json!({"selector": {"matchLabels": {"lockstep.dev/role": "router"}}, "maxUnavailable": 1}),
                true,
            ),
            (
                json!({"selector": {"matchLabels": {"lockstep.dev/role": "decode"}}, "maxUnavailable": 1}),
                false,
            ),
            // Eight pods in all.
            (json!({"targetRef": target("llm"), "minAvailable": 6}), false),
            (json!({"targetRef": target("llm"), "minAvailable": 5}), true),
            (json!({"targetRef": target("llm"), "maxUnavailable": "25%"}), false),
            (json!({"targetRef": target("llm"), "maxUnavailable": "26%"}), true),
            (json!({"targetRef": target("other"), "maxUnavailable": 1}), true),
            (
                json!({"selector": by_label, "maxUnavailable": 1, "podGroupPolicy": policy(label::GROUP)}),
                true,
            ),
            (json!({"selector": by_label, "maxUnavailable": 1, "podGroupPolicy": policy("app")}), true),
            (json!({"selector": by_label, "maxUnavailable": 1, "podGroupPolicy": policy("shard")}), false),
        ] {
            assert_eq!(fits("ml", spec.clone()), want, "{spec}");
        }
        assert!(fits("elsewhere", json!({"selector": by_label, "maxUnavailable": 1})));
    }

    #[test]
    fn the_problem_names_both_sides() {
        let budget = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": "b", "namespace": "ml"},
            "spec": {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 1},
        });
        let problem = never_fits(&set(), &serde_json::from_value(budget).unwrap()).unwrap();
        assert_eq!(
            problem.to_string(),
            "spec.roles[1].members: an instance has 3 pods, which PodUnavailableBudget ml/b counts one by one, and it \
             never spares more than 1 at a time, so no instance could ever be replaced; let the budget spare 3, or \
             count groups: podGroupPolicy: {groupLabelKey: lockstep.dev/group}"
        );
    }
}
