//! From a RoleBasedGroup, or a set of them, to a LockstepSet.

use lockstep_api::{
    API_VERSION, KIND, LockstepSet, LockstepSetSpec, Metadata, OnFailure, Problem, UpdateStrategy, UpdateType,
};
use lockstep_core::number::IntOrPercent;
use serde_json::{Map, Value};

use super::beside::{self, Made};
use super::gang::{self, Wish};
use super::names::Naming;
use super::read::{self, Group, number};
use super::role::{self, Workload};
use super::rules::{self, Given};
use super::spec::role::RoleSpec;
use super::template::Dressing;
use super::{kinds, names};
use crate::{Findings, Lowered, Places, World};

/// How long nothing may happen before a rollout counts as stalled, beyond the time an instance must be ready.
const PATIENCE: u32 = 600;
const LONGEST: u32 = 31_536_000;

/// Reads an object and makes a set of it.
pub(crate) fn lower(object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
    let mut found = Findings::new(object);
    let Some(group) = read::group(object, &mut found) else {
        return Err(found.close().err().unwrap_or_default());
    };
    let mut places = places(&group);
    let given = rules::given(&group, world, &mut found);
    let wish = gang::wish(&group, &given, world.served, &mut found);
    let roles = roles(&group, world, &wish, &mut places, &mut found);
    let coordination = rules::lower(&group, &given, &mut places, &mut found);
    let complete = roles.iter().all(Option::is_some);
    if !complete {
        // Names that rules and dependencies mean are not all there: what else is wrong is not worth saying.
        return Err(found.close().err().unwrap_or_default());
    }
    let mut roles: Vec<(Workload, role::Lowered)> = roles.into_iter().flatten().collect();
    share_no_name(&group, &roles, &mut found);
    let paused = hold(&group, &mut roles, &given, &mut places);
    if group.spec.topology_constraint.is_some() {
        let at = format!("{}.topologyConstraint", group.at);
        found.warn(at, "accepted without effect: nobody packs by it");
    }
    let update_strategy = group_strategy(&group, &mut places, &mut found);
    // Groups that are there only while a rollout lasts have addresses, too.
    let groups =
        group.replicas.saturating_add(update_strategy.max_surge.ceil_of(group.replicas).min(group.replicas));
    let beside = beside::all(&group, groups, &made(&group, &roles));
    let longest = roles.iter().map(|(_, it)| it.role.min_ready_seconds).max().unwrap_or(0);
    let set = LockstepSet {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: metadata(&group, object, &wish),
        spec: LockstepSetSpec {
            replicas: group.replicas,
            update_strategy,
            coordination,
            roles: roles.into_iter().map(|(_, it)| it.role).collect(),
            gang: wish.gang,
            on_failure: OnFailure::Hold,
            progress_deadline_seconds: longest.saturating_add(PATIENCE).min(LONGEST),
            revision_history_limit: 10,
            paused,
            // Said role by role, so that what is wrong with a name is said where the name stands.
            identity: None,
        },
        status: None,
    };
    Lowered::close(&set, beside, places, found)
}

/// Where the parts of every set stand in theirs.
fn places(group: &Group) -> Places {
    let mut places = Places::default();
    places.put("metadata", "metadata");
    places.put("spec", group.at.clone());
    places.put("spec.replicas", "spec.replicas");
    places
}

/// The queue of a gang stands on its pods, and on the set that makes the gang.
fn metadata(group: &Group, object: &Value, wish: &Wish) -> Metadata {
    Metadata {
        name: group.name.clone(),
        namespace: group.namespace.clone(),
        labels: read::strings(&object["metadata"]["labels"]),
        annotations: wish.annotations.clone(),
        rest: Map::new(),
    }
}

fn roles(
    group: &Group,
    world: &World,
    wish: &Wish,
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Vec<Option<(Workload, role::Lowered)>> {
    let lower_one = |(i, role): (usize, &RoleSpec)| {
        let at = format!("{}.roles[{i}]", group.at);
        let workload = role::workload(role, &at, found);
        let dressing = Dressing {
            group,
            role,
            world,
            at: &at,
            workload,
            annotations: &wish.annotations,
            priority: wish.priority.as_deref(),
        };
        let mut lowered = role::lower(&dressing, &format!("spec.roles[{i}]"), places, found)?;
        scale(group, world, role, &mut lowered, &at, found);
        if let Some((least, at)) = wish.least.get(&role.name) {
            let replicas = lowered.role.replicas;
            if *least > replicas {
                let fewer = gang::FEWER;
                found.warn(
                    at.clone(),
                    format!("{fewer}{replicas} replicas, which the gang needs, not {least}"),
                );
            }
            lowered.role.min_available = Some(IntOrPercent::Int((*least).min(replicas)));
        }
        Some((workload, lowered))
    };
    group.spec.roles.iter().enumerate().map(lower_one).collect()
}

/// What an autoscaler wrote holds: into an adapter that somebody made for the role, else into ours.
fn scale(
    group: &Group,
    world: &World,
    role: &RoleSpec,
    lowered: &mut role::Lowered,
    at: &str,
    found: &mut Findings<'_>,
) {
    let enabled = role.scaling_adapter.as_ref().is_some_and(|it| it.enable == Some(true));
    if enabled && group.names.of_set {
        let message = "one adapter for the role in all groups, not one for each group";
        found.warn(format!("{at}.scalingAdapter"), message);
    }
    let policy = role.scaling_adapter.as_ref().and_then(|it| it.scale_down_policy.as_deref());
    if policy.is_some_and(|policy| policy != "Unrestricted") {
        let message = "accepted without effect: a role is scaled at any time";
        found.warn(format!("{at}.scalingAdapter.scaleDownPolicy"), message);
    }
    let target = |adapter: &&Value| {
        let target = &adapter["spec"]["scaleTargetRef"];
        target["name"] == group.name.as_str() && target["role"] == role.name.as_str()
    };
    let ours = beside::adapter_name(group, role);
    let mut adapters: Vec<(&str, Option<u32>)> = world
        .of(&kinds::ADAPTER)
        .filter(target)
        .map(|adapter| {
            let replicas = adapter["spec"]["replicas"].as_u64().and_then(|n| u32::try_from(n).ok());
            (adapter["metadata"]["name"].as_str().unwrap_or_default(), replicas)
        })
        .collect();
    adapters.sort_by_key(|(name, _)| (*name == ours, *name));
    lowered.adapters =
        adapters.iter().filter(|(name, _)| *name != ours).map(|(name, _)| (*name).to_owned()).collect();
    if enabled && lowered.adapters.is_empty() {
        lowered.adapters.push(ours);
    }
    let Some((name, replicas)) = adapters.iter().find_map(|(name, n)| Some((*name, (*n)?))) else { return };
    if replicas != role.replicas.unwrap_or(1) {
        let message = format!("{replicas} is used: RoleBasedGroupScalingAdapter {name} says so");
        found.warn(format!("{at}.replicas"), message);
    }
    lowered.role.replicas = replicas;
}

/// Pods of `a` with leaders and workers are called `a-0-1`, and so is instance 1 of a role `a-0`.
fn share_no_name(group: &Group, roles: &[(Workload, role::Lowered)], found: &mut Findings<'_>) {
    let numbered = |it: &role::Lowered| matches!(it.naming, Naming::Numbered | Naming::LeaderWorkerSet);
    for (_, long) in roles.iter().filter(|(_, it)| numbered(it)) {
        for (i, (_, other)) in roles.iter().enumerate() {
            let rest = other.role.name.strip_prefix(&long.role.name).and_then(|rest| rest.strip_prefix('-'));
            if rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())) {
                let message = format!(
                    "role {} has pods of the same names; call one of them differently",
                    long.role.name
                );
                found.error(format!("{}.roles[{i}].name", group.at), message);
            }
        }
    }
}

/// A paused role stands still; one that others go along with holds them all.
fn hold(
    group: &Group,
    roles: &mut [(Workload, role::Lowered)],
    given: &[Given],
    places: &mut Places,
) -> bool {
    let together =
        |name: &String| given.iter().any(|it| it.rolls().is_some() && it.rule.roles.contains(name));
    let paused = roles.iter().filter(|(_, it)| it.paused);
    let all = paused.clone().count() == roles.len() && !roles.is_empty();
    if all || paused.clone().any(|(_, it)| together(&it.role.name)) {
        return true;
    }
    for (i, (_, it)) in roles.iter_mut().enumerate().filter(|(_, (_, it))| it.paused) {
        role::hold(&mut it.role);
        let paused = format!("{}.roles[{i}].rolloutStrategy.rollingUpdate.paused", group.at);
        places.fold(format!("spec.roles[{i}].updateStrategy.partition"), paused);
    }
    false
}

fn made<'a>(group: &'a Group, roles: &'a [(Workload, role::Lowered)]) -> Vec<Made<'a>> {
    let one = |(role, (workload, lowered)): (&'a RoleSpec, &'a (Workload, role::Lowered))| Made {
        role,
        replicas: lowered.role.replicas,
        workload: *workload,
        lowered,
    };
    group.spec.roles.iter().zip(roles).map(one).collect()
}

/// How groups of a set move. Without a word: one at a time, each by the strategies of its roles.
fn group_strategy(group: &Group, places: &mut Places, found: &mut Findings<'_>) -> UpdateStrategy {
    let mut lowered = UpdateStrategy::default();
    let Some((given, at)) = &group.rollout else { return lowered };
    places.put("spec.updateStrategy", at.clone());
    lowered.kind = match given.kind.as_deref() {
        None | Some("" | "InPlaceUpdate" | "RollingUpdate") => UpdateType::RollingUpdate,
        Some("Recreate") => UpdateType::GroupRecreate,
        Some(_) => {
            found.error(format!("{at}.type"), "must be InPlaceUpdate or Recreate");
            UpdateType::RollingUpdate
        }
    };
    let nested = given.rolling_update.clone().unwrap_or_default();
    let mut put = |flat: &Option<Value>, nested: &Option<Value>, field: &str, into: &mut IntOrPercent| {
        let (value, at) = match flat {
            Some(value) => (Some(value), format!("{at}.{field}")),
            None => (nested.as_ref(), format!("{at}.rollingUpdate.{field}")),
        };
        if let Some(n) = number(value, &at, found) {
            *into = n;
        }
    };
    put(&given.max_unavailable, &nested.max_unavailable, "maxUnavailable", &mut lowered.max_unavailable);
    put(&given.max_surge, &nested.max_surge, "maxSurge", &mut lowered.max_surge);
    put(&given.partition, &nested.partition, "partition", &mut lowered.partition);
    lowered
}

/// Selects the pods of a role, one for each instance.
pub(crate) fn selector(group: &str, role: &str, of_set: bool) -> String {
    let key = if of_set { "groupset-name" } else { "group-name" };
    let prefix = names::PREFIX;
    format!("{prefix}{key}={group},{prefix}role-name={role},{prefix}component-index=0")
}
