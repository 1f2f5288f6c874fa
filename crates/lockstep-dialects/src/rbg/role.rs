//! From a role of theirs to a role of ours.

use lockstep_api::{Member, Role, RoleUpdateStrategy};
use lockstep_core::number::IntOrPercent;
use serde_json::Value;

use super::names::{Naming, PREFIX};
use super::read::{Group, number};
use super::restart;
use super::spec::pattern::Component;
use super::spec::role::{LeaderWorkerSet, RoleSpec};
use super::template::{Dressing, Source, add_missing};
use crate::{Findings, Places};

/// What became of a role besides.
pub(crate) struct Lowered {
    pub role: Role,
    /// How its pods are called.
    pub naming: Naming,
    /// Whether its service is for leaders only.
    pub leaders_only: bool,
    /// Whether it says that it is paused.
    pub paused: bool,
    /// The handles by which autoscalers hold it.
    pub adapters: Vec<String>,
}

/// What makes the pods of a role in the original; here it decides about names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    LeaderWorkerSet,
    Stateless,
    Stateful,
}

/// Which workload a role asks for.
pub(crate) fn workload(role: &RoleSpec, at: &str, found: &mut Findings<'_>) -> Workload {
    let annotations = role.annotations.iter().flatten();
    let said = |wanted: &str| {
        annotations.clone().find(|(key, _)| key.as_str() == wanted).map(|(_, value)| value.as_str())
    };
    let pattern = said(&format!("{PREFIX}role-instance-pattern"))
        .or_else(|| said("instance.rolebasedgroup.workloads.x-k8s.io/pattern"));
    let kind = role.workload.as_ref().and_then(|workload| workload.kind.as_deref()).or_else(|| {
        let kind = said(&format!("{PREFIX}role-workload-type"))?;
        kind.rsplit('/').next()
    });
    match kind {
        None | Some("" | "StatefulSet" | "InstanceSet" | "RoleInstanceSet") => {
            let stateless = matches!(pattern, Some("Stateless" | "Deployment"));
            if stateless { Workload::Stateless } else { Workload::Stateful }
        }
        Some("Deployment") => Workload::Stateless,
        Some("LeaderWorkerSet") => Workload::LeaderWorkerSet,
        Some(_) => {
            let message =
                "must be one of StatefulSet, Deployment, LeaderWorkerSet, InstanceSet, RoleInstanceSet";
            found.error(format!("{at}.workload.kind"), message);
            Workload::Stateful
        }
    }
}

/// A role at `at` of theirs and `ours` of ours.
pub(crate) fn lower(
    dressing: &Dressing<'_>,
    ours: &str,
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Option<Lowered> {
    let (role, at) = (dressing.role, dressing.at);
    places.put(ours, at);
    places.put(format!("{ours}.startsAfter"), format!("{at}.dependencies"));
    places.put(format!("{ours}.updateStrategy"), format!("{at}.rolloutStrategy.rollingUpdate"));
    places.fold(format!("{ours}.identity"), format!("{at}.name"));
    without_effect(role, at, found);
    let (update_strategy, paused) = strategy(role, at, found);
    let made = parts(dressing, ours, places, found);
    let (naming, members, leaders_only) = made?;
    let restart_policy = restart::lower(role, at, naming, found);
    let mut lowered = Role {
        name: role.name.clone(),
        replicas: role.replicas.unwrap_or(1),
        min_available: None,
        min_ready_seconds: role.min_ready_seconds.unwrap_or(0),
        starts_after: dependencies(role, at, found),
        update_strategy,
        restart_policy,
        template: None,
        members,
        identity: Some(dressing.group.names.of_all().narrowed(&dressing.group.names.of_role(naming))),
    };
    if naming == Naming::Standalone {
        lowered.template = lowered.members.pop().map(|member| member.template);
    }
    Some(Lowered { role: lowered, naming, leaders_only, paused, adapters: Vec::new() })
}

/// Named twice is named once.
fn dependencies(role: &RoleSpec, at: &str, found: &mut Findings<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (i, name) in role.dependencies.iter().flatten().enumerate() {
        if names.contains(name) {
            found.warn(format!("{at}.dependencies[{i}]"), "named already");
        } else {
            names.push(name.clone());
        }
    }
    names
}

type Parts = (Naming, Vec<Member>, bool);

/// What an instance is made of.
fn parts(
    dressing: &Dressing<'_>,
    ours: &str,
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Option<Parts> {
    let (role, at) = (dressing.role, dressing.at);
    let patterns = [
        ("standalonePattern", role.standalone_pattern.is_some()),
        ("leaderWorkerPattern", role.leader_worker_pattern.is_some()),
        ("customComponentsPattern", role.custom_components_pattern.is_some()),
    ];
    let given: Vec<&str> = patterns.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if let [first, second, ..] = given.as_slice() {
        found.error(format!("{at}.{second}"), format!("{first} is given too; keep one of them"));
        return None;
    }
    if let Some(pattern) = &role.custom_components_pattern {
        let place = format!("{at}.customComponentsPattern.components");
        return components(dressing, &pattern.components, &place, ours, places, found);
    }
    if let Some(list) = role.components.as_ref().filter(|list| !list.is_empty() && given.is_empty()) {
        return components(dressing, list, &format!("{at}.components"), ours, places, found);
    }
    pods(dressing, ours, places, found)
}

/// One pod, or a leader and its workers.
fn pods(dressing: &Dressing<'_>, ours: &str, places: &mut Places, found: &mut Findings<'_>) -> Option<Parts> {
    let (role, at) = (dressing.role, dressing.at);
    let pattern = role.leader_worker_pattern.as_ref();
    let (source, place) = match (pattern, &role.standalone_pattern) {
        (Some(it), _) => {
            let source =
                Source { template: it.template.as_ref(), reference: it.template_ref.as_ref(), patch: None };
            (source, format!("{at}.leaderWorkerPattern"))
        }
        (None, Some(it)) => {
            let source =
                Source { template: it.template.as_ref(), reference: it.template_ref.as_ref(), patch: None };
            (source, format!("{at}.standalonePattern"))
        }
        (None, None) => {
            let (template, reference) = (role.template.as_ref(), role.template_ref.as_ref());
            (Source { template, reference, patch: role.template_patch.as_ref() }, at.to_owned())
        }
    };
    let (template, written) = source.resolve(dressing.group, &place, found)?;
    let old = role.leader_worker_set.as_ref().filter(|_| role.standalone_pattern.is_none());
    let old = old.filter(|it| is_meant(role, it, at, found));
    let size = pattern.map(|it| it.size.unwrap_or(1)).or_else(|| old.map(|it| it.size.unwrap_or(1)));
    let lws = dressing.workload == Workload::LeaderWorkerSet;
    let Some(size) = size.or(lws.then_some(1)) else {
        places.put(format!("{ours}.template"), written);
        return Some((
            Naming::Standalone,
            vec![member(&role.name, 1, dressing.dress(template, found))],
            false,
        ));
    };
    let (leader, worker) = match (pattern, old) {
        (Some(it), _) => (it.leader_template_patch.as_ref(), it.worker_template_patch.as_ref()),
        (None, Some(it)) => (it.patch_leader_template.as_ref(), it.patch_worker_template.as_ref()),
        (None, None) => (None, None),
    };
    let patched = |patch: Option<&Value>| super::merge::merged(&template, patch.unwrap_or(&Value::Null));
    let leaders_only = !lws && service_is_for_leaders(dressing, found);
    let naming = if lws { Naming::LeaderWorkerSet } else { Naming::Numbered };
    let mut members = vec![member("leader", 1, dressing.dress(patched(leader), found))];
    if lws {
        members[0].identity = Some(dressing.group.names.of_leader());
    }
    if size > 1 {
        members.push(member("worker", size - 1, dressing.dress(patched(worker), found)));
    }
    if let Some(worker) = members.get_mut(1).filter(|_| leaders_only) {
        worker.identity = Some(lockstep_api::Identity {
            subdomain: Some(String::new()),
            ..lockstep_api::Identity::default()
        });
    }
    for k in 0..members.len() {
        places.put(format!("{ours}.members[{k}]"), at);
        places.put(format!("{ours}.members[{k}].template"), written.clone());
    }
    Some((naming, members, leaders_only))
}

/// Typed clients of v1alpha1 write a `leaderWorkerSet` that nobody asked for, and a StatefulSet or a Deployment has none.
fn is_meant(role: &RoleSpec, given: &LeaderWorkerSet, at: &str, found: &mut Findings<'_>) -> bool {
    let kind = role.workload.as_ref().and_then(|workload| workload.kind.as_deref());
    let meant = leader_worker_set_is_meant(kind, given.says_nothing());
    if !meant && !given.says_nothing() {
        let message = format!("has no effect: a {} has one pod to an instance", kind.unwrap_or_default());
        found.warn(format!("{at}.leaderWorkerSet"), message);
    }
    meant
}

/// Whether a `leaderWorkerSet` of v1alpha1 makes leaders and workers, under this kind of workload.
pub(crate) fn leader_worker_set_is_meant(kind: Option<&str>, says_nothing: bool) -> bool {
    match kind {
        Some("StatefulSet" | "Deployment") => false,
        Some("LeaderWorkerSet") => true,
        _ => !says_nothing,
    }
}

fn service_is_for_leaders(dressing: &Dressing<'_>, found: &mut Findings<'_>) -> bool {
    let pattern = dressing.role.leader_worker_pattern.as_ref();
    match pattern.and_then(|pattern| pattern.shared_service_selection.as_deref()) {
        None | Some("LeaderOnly") => true,
        Some("All") => false,
        Some(_) => {
            let at = format!("{}.leaderWorkerPattern.sharedServiceSelection", dressing.at);
            found.error(at, "must be All or LeaderOnly");
            false
        }
    }
}

fn components(
    dressing: &Dressing<'_>,
    list: &[Component],
    at: &str,
    ours: &str,
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Option<Parts> {
    if list.is_empty() {
        found.error(at, "at least one component is needed");
        return None;
    }
    let mut members = Vec::new();
    for (k, component) in list.iter().enumerate() {
        let at = format!("{at}[{k}]");
        let size = component.size.unwrap_or(1);
        if size == 0 {
            found.warn(format!("{at}.size"), "no pods: the component is left out");
            continue;
        }
        let place = format!("{ours}.members[{}]", members.len());
        places.put(place.clone(), at.clone());
        places.put(format!("{place}.count"), format!("{at}.size"));
        places.put(format!("{place}.identity.subdomain"), format!("{at}.serviceName"));
        let annotations = component.annotations.clone().unwrap_or_default();
        for key in annotations.keys().filter(|key| key.contains("workloads.x-k8s.io/")) {
            found.warn(format!("{at}.annotations[{key}]"), "accepted without effect");
        }
        let mut template = component.template.clone();
        add_missing(&mut template, "labels", &component.labels.clone().unwrap_or_default());
        add_missing(&mut template, "annotations", &annotations);
        let mut member = member(&component.name, size, dressing.dress(template, found));
        member.identity = Some(lockstep_api::Identity {
            subdomain: component.service_name.clone().filter(|name| !name.is_empty()),
            labels: [(format!("{PREFIX}component-size"), size.to_string())].into(),
            ..lockstep_api::Identity::default()
        });
        members.push(member);
    }
    Some((Naming::Components, members, false))
}

fn member(name: &str, count: u32, template: Value) -> Member {
    Member {
        name: name.to_owned(),
        count,
        min_available: None,
        starts_after: Vec::new(),
        template,
        identity: None,
    }
}

/// How instances move, and whether they are to stand still.
fn strategy(role: &RoleSpec, at: &str, found: &mut Findings<'_>) -> (Option<RoleUpdateStrategy>, bool) {
    let Some(strategy) = &role.rollout_strategy else { return (None, false) };
    if !matches!(strategy.kind.as_deref(), None | Some("" | "RollingUpdate")) {
        found.error(format!("{at}.rolloutStrategy.type"), "must be RollingUpdate");
    }
    let Some(given) = &strategy.rolling_update else { return (None, false) };
    let at = format!("{at}.rolloutStrategy.rollingUpdate");
    match given.kind.as_deref() {
        None | Some("" | "Recreate" | "RecreatePod") => {}
        Some("InPlaceIfPossible") => {
            found.warn(
                format!("{at}.type"),
                "accepted without effect: pods are replaced, not changed in place",
            );
        }
        Some("InPlaceOnly") => {
            found.warn(
                format!("{at}.type"),
                "accepted without effect: pods are replaced, not changed in place",
            );
        }
        Some(_) => {
            found.error(format!("{at}.type"), "must be one of RecreatePod, InPlaceIfPossible, InPlaceOnly")
        }
    }
    if given.in_place_update_strategy.is_some() {
        found.warn(format!("{at}.inPlaceUpdateStrategy"), "accepted without effect: pods are replaced");
    }
    let mut lowered = RoleUpdateStrategy::default();
    let mut put = |value: &Option<Value>, field: &str, into: &mut IntOrPercent| {
        if let Some(n) = number(value.as_ref(), &format!("{at}.{field}"), found) {
            *into = n;
        }
    };
    put(&given.max_unavailable, "maxUnavailable", &mut lowered.max_unavailable);
    put(&given.max_surge, "maxSurge", &mut lowered.max_surge);
    put(&given.partition, "partition", &mut lowered.partition);
    (Some(lowered), given.paused == Some(true))
}

/// What is stored and shown, and does nothing.
fn without_effect(role: &RoleSpec, at: &str, found: &mut Findings<'_>) {
    match role.pod_management_policy.as_deref() {
        None | Some("" | "Parallel") => {}
        Some("OrderedReady") => {
            let message = "accepted without effect: instances start together";
            found.warn(format!("{at}.podManagementPolicy"), message);
        }
        Some(_) => found.error(format!("{at}.podManagementPolicy"), "must be Parallel or OrderedReady"),
    }
    let nobody_packs = "accepted without effect: nobody packs by it";
    if role.instance_topology_constraint.is_some() {
        found.warn(format!("{at}.instanceTopologyConstraint"), nobody_packs);
    }
    if role.topology_constraint.is_some() {
        found.warn(format!("{at}.topologyConstraint"), nobody_packs);
    }
    for key in role.annotations.iter().flatten().map(|(key, _)| key) {
        let Some(name) = key.strip_prefix(PREFIX) else { continue };
        if name.starts_with("role-inplace-scheduling") || name == "restart-trigger-policy" {
            found.warn(format!("{at}.annotations[{key}]"), "accepted without effect");
        }
    }
}

/// Keeps a whole role as it is.
pub(crate) fn hold(role: &mut Role) {
    let mut strategy = role.strategy();
    strategy.partition = IntOrPercent::Percent(100);
    role.update_strategy = Some(strategy);
}

/// The names of the group's roles.
pub(crate) fn names(group: &Group) -> Vec<&str> {
    group.spec.roles.iter().map(|role| role.name.as_str()).collect()
}
