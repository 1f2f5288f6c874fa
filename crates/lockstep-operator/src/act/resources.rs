//! What a gang needs at least, for a scheduler that asks before it looks for places.

use std::collections::BTreeMap;

use lockstep_api::stored::{Content, StoredSet};
use lockstep_core::gang::{Gang, GangName};
use lockstep_core::model::{Role, RuleKind, Spec};
use lockstep_core::stages::Stages;
use lockstep_core::start;
use serde_json::Value;

use crate::quantity::{nanos, written};

/// Amounts in billionths, by resource.
type Amounts = BTreeMap<String, i128>;

/// The requests of the pods that the gang's minimum counts, at the revision wished for. Nothing if the minimum counts
/// others than the spec would have: too much would keep it waiting for ever.
pub fn least_resources(set: &StoredSet, spec: &Spec, gang: &Gang) -> BTreeMap<String, String> {
    let (mut pods, mut sum) = (0u32, Amounts::new());
    for role in &spec.roles {
        let instances = instances(spec, role, &gang.name);
        let content = set.roles.get(&role.name).and_then(|stored| stored.content().ok());
        let Some(content) = content.filter(|_| instances > 0) else { continue };
        let stages = Stages::of(role);
        let stage = if let GangName::Stage(_, _, stage) = gang.name { stage } else { 0 };
        for member in role.members.iter().filter(|member| stages.stage(&member.name) == stage) {
            let count = instances.saturating_mul(member.min_available);
            pods = pods.saturating_add(count);
            add(&mut sum, &of_member(&content, member.name.as_str()), i128::from(count));
        }
    }
    let known = pods == gang.minimum;
    sum.into_iter().filter(|_| known).map(|(name, amount)| (name, written(amount))).collect()
}

/// How many instances of a role are in a gang.
fn instances(spec: &Spec, role: &Role, gang: &GangName) -> u32 {
    match gang {
        GangName::Base(stage) if start::stage(spec, role) == *stage => role.needed(),
        GangName::Base(_) => 0,
        GangName::Instance(name, _) | GangName::Stage(name, _, _) => u32::from(*name == role.name),
        GangName::Batch(rule, _) => {
            let rule = spec.rules.iter().find(|known| known.name == *rule).map(|rule| &rule.kind);
            match rule {
                Some(RuleKind::AffinityScheduling(affinity)) => {
                    affinity.ratios.get(&role.name).copied().unwrap_or(0)
                }
                _ => 0,
            }
        }
    }
}

/// What one pod of a member asks for: all of its containers together, or the one that asks for most before they run.
fn of_member(content: &Content, name: &str) -> Amounts {
    let member = content.members.iter().find(|member| member.name == name);
    let Some(pod) = member.and_then(|member| member.template.get("spec")) else { return Amounts::new() };
    let list = |field: &str| pod[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let stays = |container: &&Value| container["restartPolicy"] == "Always";
    let mut sum = requests(&pod["overhead"], &Value::Null);
    for container in list("containers").iter().chain(list("initContainers").iter().filter(stays)) {
        add(&mut sum, &of_container(container), 1);
    }
    for container in list("initContainers").iter().filter(|container| !stays(container)) {
        for (name, amount) in of_container(container) {
            let known = sum.entry(name).or_default();
            *known = (*known).max(amount);
        }
    }
    sum
}

/// A limit without a request is a request.
fn of_container(container: &Value) -> Amounts {
    requests(&container["resources"]["requests"], &container["resources"]["limits"])
}

fn requests(asked: &Value, otherwise: &Value) -> Amounts {
    let given = |from: &Value| -> Amounts {
        let fields = from.as_object().into_iter().flatten();
        fields.filter_map(|(name, amount)| Some((name.clone(), nanos(amount)?))).collect()
    };
    let mut all = given(otherwise);
    all.extend(given(asked));
    all
}

fn add(sum: &mut Amounts, more: &Amounts, times: i128) {
    for (name, amount) in more {
        let known = sum.entry(name.clone()).or_default();
        *known = known.saturating_add(amount.saturating_mul(times));
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::{lower, parse};
    use serde_json::json;

    use super::*;

    const SET: &str = "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: llama}
spec:
  gang: {scheduler: Volcano}
  roles:
  - name: prefill
    replicas: 3
    minAvailable: 2
    members:
    - name: leader
      template: {spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]}}
    - name: worker
      count: 2
      template:
        spec:
          initContainers:
          - {name: load, image: x, resources: {requests: {memory: 4Gi}}}
          - {name: side, image: x, restartPolicy: Always, resources: {requests: {cpu: 250m}}}
          containers: [{name: main, image: x, resources: {limits: {cpu: 2, nvidia.com/gpu: 8}, requests: {cpu: 1}}}]
  - name: router
    startsAfter: [prefill]
    template: {spec: {containers: [{name: main, image: x}]}}
";

    #[test]
    fn what_the_minimum_counts() {
        let set = parse(SET).expect("a set").set;
        let (stored, spec) = (StoredSet::of(&set), lower(&set));
        let instance = GangName::Instance("prefill".into(), 2);
        let rows = [
            (GangName::Base(0), 6, json!({"cpu": "8", "memory": "19327352832", "nvidia.com/gpu": "32"})),
            (GangName::Base(1), 1, json!({})),
            (instance.clone(), 3, json!({"cpu": "4", "memory": "9663676416", "nvidia.com/gpu": "16"})),
            // Whoever shrank or grew meanwhile is counted otherwise.
            (instance, 2, json!({})),
        ];
        for (name, minimum, wanted) in rows {
            let gang = Gang { group: 0, incarnation: 1, name, minimum };
            assert_eq!(json!(least_resources(&stored, &spec, &gang)), wanted, "{gang:?}");
        }
    }
}
