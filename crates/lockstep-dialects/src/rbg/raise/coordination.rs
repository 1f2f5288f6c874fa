//! Where each coordination stands, role by role.

use lockstep_api::status::{LockstepSetStatus, RoleStatus};
use serde_json::{Map, Value, json};

use super::Talk;
use crate::rbg::read::Group;
use crate::rbg::rules::{self, Given};
use crate::{Findings, Lowered, World};

/// One state for each coordination, in the order of the spec, those of a policy after the group's own.
pub(super) fn states(talk: &Talk<'_>, group: &Group, lowered: &Lowered, world: &World) -> Vec<Value> {
    let given = rules::given(group, world, &mut Findings::new(talk.object));
    let roles = talk.roles(lowered);
    let one = |(i, it): (usize, &Given)| {
        let strategy = it.word();
        let mut progress = Map::new();
        for role in roles.iter().filter(|role| it.rule.roles.contains(&role.name)) {
            let state = if strategy == "RollingUpdate" {
                update_state(role, talk.status())
            } else {
                presence_state(role)
            };
            progress.insert(role.name.clone(), json!({"strategy": strategy, "state": state}));
        }
        let progress = Value::Object(progress);
        let before = &talk.before()["coordinationState"][i];
        let same = before["progress"] == progress && before["lastUpdateTime"].is_string();
        let time = if same { before["lastUpdateTime"].clone() } else { json!(talk.seen.now) };
        json!({"name": it.rule.name, "progress": progress, "lastUpdateTime": time})
    };
    given.iter().enumerate().map(one).collect()
}

/// Where a role stands in an update.
fn update_state(role: &RoleStatus, status: &LockstepSetStatus) -> &'static str {
    let reached = role.updated_ready >= role.target;
    match status.rollout.phase.as_str() {
        "RolledBack" => "Complete",
        "RollingBack" if !reached => "RollingBack",
        _ if reached && role.target >= role.replicas => "Complete",
        _ if reached => "PartitionReached",
        "Stalled" => "Stalled",
        _ if held_by_skew(&role.name, status) => "HeldBySkew",
        _ if role.updated == 0 => "Pending",
        _ => "Updating",
    }
}

/// Where a role stands that is placed or grows side by side with others.
fn presence_state(role: &RoleStatus) -> &'static str {
    match (role.ready, role.replicas) {
        (ready, replicas) if ready >= replicas => "Complete",
        (0, _) => "Pending",
        _ => "Updating",
    }
}

/// Blocks are named `llama-0/prefill-3` or `llama-0/prefill`.
fn held_by_skew(role: &str, status: &LockstepSetStatus) -> bool {
    let is_role = |what: &str| {
        let Some(rest) = what.rsplit_once('/').and_then(|(_, name)| name.strip_prefix(role)) else {
            return false;
        };
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    status.rollout.blocked.iter().any(|block| block.reason == "SkewHeld" && is_role(&block.what))
}
