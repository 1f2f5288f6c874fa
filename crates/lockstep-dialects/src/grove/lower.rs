//! A PodCliqueSet as a LockstepSet.

use lockstep_api::{
    Duration, Gang, GangScheduler, Identity, LockstepSet, LockstepSetSpec, Member, Metadata, Order,
    RestartPolicy, RestartType, Role, RoleUpdateStrategy, RoleUpdateType, UpdateStrategy, UpdateType,
};
use lockstep_core::number::IntOrPercent;
use lockstep_core::time::Millis;
use serde_json::{Map, Value, json};

use super::form::{Clique, Form, Given, Part};
use super::order::Orders;
use super::spec::SetStrategyType;
use super::{children, claims, duration, identity, order, placement, queues};
use crate::findings::Findings;
use crate::places::Places;
use crate::world::World;

const FOUR_HOURS: Duration = Duration(Millis(4 * 3_600_000));

/// The set, and where its user wrote what.
pub(super) fn set(form: &Form<'_>, world: &World, found: &mut Findings<'_>) -> (LockstepSet, Places) {
    let mut places = Places::default();
    for (ours, theirs) in [
        ("metadata", "metadata"),
        ("spec.replicas", "spec.replicas"),
        ("spec.updateStrategy", "spec.updateStrategy.rollingUpdate"),
        ("spec.gang.terminationDelay", "spec.template.terminationDelay"),
        ("spec.roles", "spec.template.cliques"),
    ] {
        places.put(ours, theirs);
    }
    places.fold("spec.identity", "metadata.name");
    let after = order::starts_after(form, found);
    let roles = form
        .parts
        .iter()
        .enumerate()
        .map(|(i, part)| role(form, (i, part), &after, world, &mut places, found));
    let roles: Vec<Role> = roles.collect();
    let spec = LockstepSetSpec {
        replicas: form.spec.replicas,
        update_strategy: strategy(form),
        coordination: Vec::new(),
        roles,
        gang: Gang { scheduler: scheduler(form, world), termination_delay: Some(termination(form, found)) },
        on_failure: lockstep_api::OnFailure::Hold,
        progress_deadline_seconds: deadline(form, found),
        revision_history_limit: 10,
        paused: false,
        identity: Some(identity::of_set()),
    };
    let set = LockstepSet {
        api_version: lockstep_api::API_VERSION.to_owned(),
        kind: lockstep_api::KIND.to_owned(),
        metadata: Metadata {
            name: form.name.to_owned(),
            namespace: Some(form.namespace.to_owned()).filter(|it| !it.is_empty()),
            annotations: queues::of_volcano(form),
            ..Metadata::default()
        },
        spec,
        status: None,
    };
    (set, places)
}

/// Groups move one at a time, from the lowest; only those that are recreated ask how many.
fn strategy(form: &Form<'_>) -> UpdateStrategy {
    let limits =
        form.spec.update_strategy.as_ref().and_then(|it| it.rolling_update.clone()).unwrap_or_default();
    let kind = match form.strategy() {
        SetStrategyType::ReplicaRecreate => UpdateType::GroupRecreate,
        SetStrategyType::OnDelete => UpdateType::OnDelete,
        _ => UpdateType::RollingUpdate,
    };
    let one_by_one = UpdateStrategy { kind, order: Order::Ascending, ..UpdateStrategy::default() };
    if kind != UpdateType::GroupRecreate {
        return one_by_one;
    }
    UpdateStrategy {
        max_unavailable: limits.max_unavailable.unwrap_or(one_by_one.max_unavailable),
        max_surge: limits.max_surge.unwrap_or(one_by_one.max_surge),
        ..one_by_one
    }
}

/// Volcano or Grove's own gangs for pods of such a scheduler, Kubernetes' own for all others.
fn scheduler(form: &Form<'_>, world: &World) -> GangScheduler {
    let names: Vec<&str> = form.cliques().map(|(_, clique)| queues::scheduler(clique)).collect();
    let own = |name: &&str| !["", "default-scheduler", "volcano", queues::KUEUE].contains(name);
    if world.served.volcano && names.iter().all(|name| *name == "volcano") {
        GangScheduler::Volcano
    } else if world.served.pod_gangs && names.iter().all(own) {
        GangScheduler::PodGang
    } else if world.served.pod_groups {
        GangScheduler::PodGroup
    } else {
        GangScheduler::None
    }
}

fn termination(form: &Form<'_>, found: &mut Findings<'_>) -> Duration {
    let Some(text) = &form.spec.template.termination_delay else { return FOUR_HOURS };
    duration::read(text).unwrap_or_else(|| {
        found.error("spec.template.terminationDelay", duration::EXPECTED);
        FOUR_HOURS
    })
}

/// The longest deadline that a part asks for: a set has one.
fn deadline(form: &Form<'_>, found: &mut Findings<'_>) -> u32 {
    let mut longest: Option<u32> = None;
    let mut given = form.parts.iter().filter_map(|part| part.limits.deadline.as_ref()).peekable();
    let several = form.parts.len() > 1 && given.peek().is_some();
    for (text, at) in given {
        let Some(Duration(Millis(millis))) = duration::read(text) else {
            found.error(at.clone(), duration::EXPECTED);
            continue;
        };
        let seconds = u32::try_from(millis.div_ceil(1000)).unwrap_or(u32::MAX);
        longest = longest.max(Some(seconds.max(1)));
        if several {
            found.warn(at.clone(), "holds for the whole set; the longest of all is used");
        }
    }
    longest.unwrap_or(600)
}

fn role(
    form: &Form<'_>,
    (i, part): (usize, &Part<'_>),
    after: &Orders,
    world: &World,
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Role {
    let replicas = children::running(form, part, world);
    let mut templates: Vec<Value> =
        part.cliques.iter().map(|clique| template(form, part, clique, world, found)).collect();
    let ours = format!("spec.roles[{i}]");
    put_places(part, &ours, places);
    let mut role = Role {
        name: part.name.to_owned(),
        replicas,
        min_available: Some(IntOrPercent::Int(part.min_available.value.min(replicas))),
        min_ready_seconds: 0,
        starts_after: after.parts[i].iter().map(|other| form.parts[*other].name.to_owned()).collect(),
        update_strategy: role_strategy(form, part),
        // The kubelet restarts containers; what is too broken goes with its whole replica, after a while.
        restart_policy: Some(RestartPolicy { kind: Some(RestartType::None), ..RestartPolicy::default() }),
        template: None,
        members: Vec::new(),
        identity: Some(if part.group.is_some() { identity::of_group() } else { identity::of_clique() }),
    };
    if part.group.is_none() {
        role.template = templates.pop();
        if let (Some(clique), Some(identity)) = (part.cliques.first(), &mut role.identity) {
            identity.resource_claims = claims::names(form, part, clique);
        }
        return role;
    }
    let stands = |clique: &Clique<'_>| part.members().any(|it| it.template.name == clique.template.name);
    for (clique, template) in part.cliques.iter().zip(templates).filter(|(clique, _)| stands(clique)) {
        put_member(clique, &format!("{ours}.members[{}]", role.members.len()), places);
        let after = after.cliques.get(&clique.template.name).cloned().unwrap_or_default();
        let mut member = member(clique, after, template);
        let resource_claims = claims::names(form, part, clique);
        if !resource_claims.is_empty() {
            member.identity = Some(Identity { resource_claims, ..Identity::default() });
        }
        role.members.push(member);
    }
    if part.is_idle() {
        role.replicas = 0;
        role.min_available = None;
    }
    role
}

fn member(clique: &Clique<'_>, starts_after: Vec<String>, template: Value) -> Member {
    let count = clique.replicas.value.max(1);
    Member {
        name: clique.template.name.clone(),
        count,
        min_available: Some(clique.min_available.value.clamp(1, count)),
        starts_after,
        template,
        identity: None,
    }
}

/// Pods of a clique from the oldest, replicas of a scaling group from the lowest.
fn role_strategy(form: &Form<'_>, part: &Part<'_>) -> Option<RoleUpdateStrategy> {
    let rolls = !matches!(form.strategy(), SetStrategyType::ReplicaRecreate | SetStrategyType::OnDelete);
    let Given { unavailable, surge, .. } = part.limits;
    rolls.then(|| RoleUpdateStrategy {
        kind: RoleUpdateType::RollingUpdate,
        max_unavailable: unavailable.unwrap_or(IntOrPercent::Int(1)),
        max_surge: surge.unwrap_or(IntOrPercent::Int(0)),
        partition: IntOrPercent::Int(0),
        order: if part.group.is_some() { Order::Ascending } else { Order::OldestFirst },
    })
}

/// The pod template of a clique.
fn template(
    form: &Form<'_>,
    part: &Part<'_>,
    clique: &Clique<'_>,
    world: &World,
    found: &mut Findings<'_>,
) -> Value {
    let mut spec = clique.template.spec.pod_spec.clone();
    let class = form.spec.template.priority_class_name.as_deref().filter(|it| !it.is_empty());
    if let (Some(class), Some(fields)) = (class, spec.as_object_mut()) {
        fields.entry("priorityClassName").or_insert_with(|| json!(class));
    }
    own_environment(&mut spec, &format!("{}.spec.podSpec", clique.at), found);
    let queue = queues::ask_kueue(form, clique, &mut spec, found);
    placement::place(form, part, clique, world, &mut spec);
    claims::share(form, part, clique, &mut spec);
    let mut metadata = Map::new();
    let mut labels = clique.template.labels.clone();
    for (key, value) in queue {
        labels.entry(key).or_insert(value);
    }
    for (field, given) in [("labels", &labels), ("annotations", &clique.template.annotations)] {
        if !given.is_empty() {
            metadata.insert(field.to_owned(), json!(given));
        }
    }
    if metadata.is_empty() { json!({"spec": spec}) } else { json!({"metadata": metadata, "spec": spec}) }
}

/// Containers cannot have other values for our variables.
fn own_environment(spec: &mut Value, at: &str, found: &mut Findings<'_>) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for (i, container) in containers.into_iter().flatten().enumerate() {
            let Some(env) = container.get_mut("env").and_then(Value::as_array_mut) else { continue };
            let reserved = |variable: &Value| {
                variable["name"].as_str().is_some_and(|it| identity::RESERVED.contains(&it))
            };
            for (k, _) in env.iter().enumerate().filter(|(_, variable)| reserved(variable)) {
                found.warn(
                    format!("{at}.{list}[{i}].env[{k}].name"),
                    "has no effect: every container gets it from us",
                );
            }
            env.retain(|variable| !reserved(variable));
        }
    }
}

fn put_places(part: &Part<'_>, ours: &str, places: &mut Places) {
    places.put(ours, part.at.as_str());
    places.put(format!("{ours}.replicas"), part.replicas.at.as_str());
    places.put(format!("{ours}.minAvailable"), part.min_available.at.as_str());
    places.put(format!("{ours}.updateStrategy"), part.limits.at.as_str());
    places.fold(format!("{ours}.identity"), format!("{}.name", part.at));
    if let (None, [clique]) = (part.group, part.cliques.as_slice()) {
        places.put(format!("{ours}.startsAfter"), format!("{}.spec.startsAfter", clique.at));
        places.put(format!("{ours}.template.spec"), format!("{}.spec.podSpec", clique.at));
        places.put(format!("{ours}.template.metadata"), clique.at.as_str());
    }
}

fn put_member(clique: &Clique<'_>, ours: &str, places: &mut Places) {
    places.put(ours, clique.at.as_str());
    places.fold(format!("{ours}.identity"), format!("{}.name", clique.at));
    places.put(format!("{ours}.count"), clique.replicas.at.as_str());
    places.put(format!("{ours}.minAvailable"), clique.min_available.at.as_str());
    places.put(format!("{ours}.template.spec"), format!("{}.spec.podSpec", clique.at));
    places.put(format!("{ours}.template.metadata"), clique.at.as_str());
}
