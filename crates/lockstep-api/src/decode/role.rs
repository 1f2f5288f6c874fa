//! Roles and their members.

use serde_json::Value;

use super::reader::{Choice, Place, report_twice_below};
use super::set::{identity, limits};
use crate::bounds::{A_YEAR, MOST};
use crate::findings::Findings;
use crate::lockstep_set::{
    Member, RestartPolicy, RestartType, Role, RoleUpdateStrategy, RoleUpdateType, UpdateStrategy,
};

impl Choice for RoleUpdateType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("RollingUpdate", Self::RollingUpdate), ("OnDelete", Self::OnDelete)];
}

impl Choice for RestartType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("None", Self::None), ("Instance", Self::Instance), ("Group", Self::Group)];
}

/// The roles, one for each item of the list, so that places stay what they are.
pub(super) fn roles(place: Option<Place>, found: &mut Findings) -> Vec<Role> {
    let items = place.as_ref().and_then(|place| place.list(found)).unwrap_or_default();
    items.iter().map(|item| role(item, found)).collect()
}

fn role(place: &Place, found: &mut Findings) -> Role {
    let mut role = Role {
        name: String::new(),
        replicas: 1,
        min_available: None,
        min_ready_seconds: 0,
        starts_after: Vec::new(),
        update_strategy: None,
        restart_policy: None,
        template: None,
        members: Vec::new(),
        identity: None,
    };
    let Some(mut fields) = place.object(found) else { return role };
    role.name = fields.need_text("name", found);
    if let Some(replicas) = fields.take("replicas").and_then(|p| p.int(found, 0..=MOST)) {
        role.replicas = replicas;
    }
    role.min_available = fields.take("minAvailable").and_then(|p| p.int_or_percent(found, Some(100)));
    if let Some(seconds) = fields.take("minReadySeconds").and_then(|p| p.int(found, 0..=A_YEAR)) {
        role.min_ready_seconds = seconds;
    }
    role.starts_after = fields.take("startsAfter").map(|p| p.texts(found)).unwrap_or_default();
    role.update_strategy = fields.take("updateStrategy").map(|p| strategy(&p, found));
    role.restart_policy = fields.take("restartPolicy").map(|p| restart_policy(&p, found));
    role.template = fields.take("template").map(|p| template(&p, found));
    let members = fields.take("members").and_then(|p| p.list(found)).unwrap_or_default();
    role.members = members.iter().map(|item| member(item, found)).collect();
    role.identity = fields.take("identity").map(|p| identity(&p, found));
    fields.finish(found);
    role
}

fn strategy(place: &Place, found: &mut Findings) -> RoleUpdateStrategy {
    let Some(mut fields) = place.object(found) else { return RoleUpdateStrategy::default() };
    let kind = fields.take("type").and_then(|p| strategy_type(&p, found)).unwrap_or_default();
    let UpdateStrategy { max_unavailable, max_surge, partition, order, .. } = limits(fields, found);
    RoleUpdateStrategy { kind, max_unavailable, max_surge, partition, order }
}

fn strategy_type(place: &Place, found: &mut Findings) -> Option<RoleUpdateType> {
    if place.node.as_text() == Some("GroupRecreate") {
        let message = "must be RollingUpdate or OnDelete; GroupRecreate is for spec.updateStrategy.type only";
        found.error(&place.path, message);
        return None;
    }
    place.choice(found)
}

fn restart_policy(place: &Place, found: &mut Findings) -> RestartPolicy {
    let default = RestartPolicy::default();
    let Some(mut fields) = place.object(found) else { return default };
    let kind = fields.take("type").and_then(|p| p.choice(found));
    let base = fields.take("baseDelaySeconds").and_then(|p| p.int(found, 0..=A_YEAR));
    let max = fields.take("maxDelaySeconds").and_then(|p| p.int(found, 0..=A_YEAR));
    let grace = fields.take("gracePeriodSeconds").and_then(|p| p.int(found, 0..=A_YEAR));
    fields.finish(found);
    RestartPolicy {
        kind,
        grace_period_seconds: grace.unwrap_or(default.grace_period_seconds),
        base_delay_seconds: base.unwrap_or(default.base_delay_seconds),
        max_delay_seconds: max.unwrap_or(default.max_delay_seconds),
    }
}

fn member(place: &Place, found: &mut Findings) -> Member {
    let mut member = Member {
        name: String::new(),
        count: 1,
        min_available: None,
        starts_after: Vec::new(),
        template: Value::Null,
        identity: None,
    };
    let Some(mut fields) = place.object(found) else { return member };
    member.name = fields.need_text("name", found);
    if let Some(count) = fields.take("count").and_then(|p| p.int(found, 1..=MOST)) {
        member.count = count;
    }
    member.min_available = fields.take("minAvailable").and_then(|p| p.int(found, 1..=MOST));
    member.starts_after = fields.take("startsAfter").map(|p| p.texts(found)).unwrap_or_default();
    if let Some(given) = fields.need("template", found) {
        member.template = template(&given, found);
    }
    member.identity = fields.take("identity").map(|p| identity(&p, found));
    fields.finish(found);
    member
}

/// A pod template is taken over as it stands; what is in it is checked later.
fn template(place: &Place, found: &mut Findings) -> Value {
    report_twice_below(place, found);
    place.node.to_json()
}
