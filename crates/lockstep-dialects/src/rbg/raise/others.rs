//! What is said of the objects beside a group, and of a set of groups.

use lockstep_core::number;
use serde_json::{Value, json};

use super::Talk;
use crate::raised::condition;
use crate::rbg::names::PREFIX;
use crate::rbg::read::Group;
use crate::rbg::{kinds, lower};
use crate::{Lowered, World};

/// The status of a CoordinatedPolicy: whether there is a group of its name. Without one it does nothing, and says so.
pub fn policy_status(policy: &Value, bound: bool, now: &str) -> Value {
    let generation = policy["metadata"]["generation"].as_i64().unwrap_or(0);
    let name = policy["metadata"]["name"].as_str().unwrap_or_default();
    let (reason, message) = if bound {
        ("Bound", format!("applied to RoleBasedGroup {name}"))
    } else {
        (
            "NoSuchGroup",
            format!("there is no RoleBasedGroup {name}; a policy is for the group of its own name"),
        )
    };
    let seen = (now, generation);
    json!({
        "observedGeneration": generation,
        "conditions": [condition(&policy["status"], "Bound", bound, reason, &message, seen)],
    })
}

impl Talk<'_> {
    /// The status of a RoleBasedGroupSet.
    pub(super) fn set(&self, lowered: &Lowered) -> Value {
        let (status, spec) = (self.status(), &lowered.set.spec);
        let kept = number::partition(spec.update_strategy.partition, spec.replicas);
        let expected = spec.replicas.saturating_sub(kept);
        let updated_ready = status.updated_replicas.min(status.ready_replicas);
        let ready = if status.ready_replicas >= spec.replicas {
            self.condition("Ready", true, "AllGroupsReady", "all groups are ready")
        } else {
            let message = format!("{} of {} groups are ready", status.ready_replicas, spec.replicas);
            self.condition("Ready", false, "GroupsNotReady", &message)
        };
        let mut conditions = vec![ready, self.rolling("Rolling"), self.progressing()];
        conditions.extend(self.no_gang(lowered));
        conditions.extend(self.seen.children(self.before(), self.generation));
        json!({
            "observedGeneration": self.observed(),
            "replicas": spec.replicas,
            "readyReplicas": status.ready_replicas,
            "currentReplicas": spec.replicas.saturating_sub(status.updated_replicas),
            "updatedReplicas": status.updated_replicas,
            "updatedReadyReplicas": updated_ready,
            "expectedUpdatedReplicas": expected,
            "currentRevision": status.revision.stable.clone().unwrap_or_default(),
            "updateRevision": status.revision.update,
            "selector": format!("{PREFIX}groupset-name={}", lowered.set.metadata.name),
            "conditions": conditions,
        })
    }

    /// Adapters and the policy.
    pub(super) fn beside(&self, group: &Group, lowered: &Lowered, world: &World) -> Vec<Value> {
        let adapters = lowered.beside.iter().filter(|object| kinds::ADAPTER.is_of(object));
        let mut said: Vec<Value> =
            adapters.map(|adapter| self.adapter(group, adapter, lowered, world)).collect();
        if let Some(policy) = world.named(&kinds::POLICY, &group.name).filter(|_| !group.names.of_set) {
            said.push(json!({
                "apiVersion": kinds::POLICY.api_version(),
                "kind": kinds::POLICY.kind,
                "metadata": {"name": group.name},
                "status": policy_status(policy, true, self.seen.now),
            }));
        }
        said
    }

    fn adapter(&self, group: &Group, adapter: &Value, lowered: &Lowered, world: &World) -> Value {
        let name = adapter["metadata"]["name"].as_str().unwrap_or_default();
        let role = adapter["spec"]["scaleTargetRef"]["role"].as_str().unwrap_or_default();
        let before = world.named(&kinds::ADAPTER, name).map_or(&Value::Null, |stored| &stored["status"]);
        let wished = lowered.set.spec.roles.iter().find(|it| it.name == role).map_or(0, |it| it.replicas);
        let groups = lowered.set.spec.replicas.max(1);
        let ready = self.status().roles.iter().find(|it| it.name == role).map_or(0, |it| it.ready / groups);
        let mut status = json!({
            "phase": "Bound",
            "replicas": wished,
            "readyReplicas": ready,
            "selector": lower::selector(&group.name, role, group.names.of_set),
        });
        let scaled = before["replicas"].as_u64().is_some_and(|old| old != u64::from(wished));
        let time = if scaled { json!(self.seen.now) } else { before["lastScaleTime"].clone() };
        if !time.is_null() {
            status["lastScaleTime"] = time;
        }
        json!({
            "apiVersion": kinds::ADAPTER.api_version(),
            "kind": kinds::ADAPTER.kind,
            "metadata": {"name": name},
            "status": status,
        })
    }
}
