//! From a ModelServing to the set that does what it says.

use std::collections::BTreeMap;

use lockstep_api::{
    Gang, GangScheduler, LockstepSet, LockstepSetSpec, Member, Metadata, OnFailure, Problem, RestartPolicy,
    RestartType,
};
use lockstep_core::number::IntOrPercent;
use serde_json::{Map, Value};

use super::kinds::{ROLE_REPLICA, SCHEMA};
use super::spec::{RecoveryPolicy, Role, Spec};
use super::{dependencies, gang, identity, rollout, template, unused};
use crate::{Findings, Lowered, Places, World, shape};

/// Reads, checks and lowers.
pub(super) fn lower(object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
    let spec = read(object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let scaled = scaled(name, world);
    let scheduler = gang::scheduler(&spec, world.served);

    let mut found = Findings::new(object);
    check(&spec, &mut found);
    gang::check(&spec, scheduler, &mut found);
    unused::check(&spec, scheduler, &mut found);

    let mut places = common_places();
    let rule = rollout::rule(&spec, &scaled, &mut places);
    let roles = spec.template.roles.iter().enumerate();
    let roles = roles.map(|(i, role)| {
        let making = Making { name, spec: &spec, scaled: &scaled, scheduler };
        making.role(i, role, &mut places, &mut found)
    });
    let roles = roles.collect();
    let set = LockstepSet {
        api_version: lockstep_api::API_VERSION.to_owned(),
        kind: lockstep_api::KIND.to_owned(),
        metadata: metadata(object, gang::annotations(&spec, scheduler)),
        spec: LockstepSetSpec {
            replicas: spec.replicas.unwrap_or(1),
            update_strategy: rollout::of_groups(&spec),
            coordination: rule.into_iter().collect(),
            roles,
            gang: Gang { scheduler, termination_delay: None },
            on_failure: OnFailure::Hold,
            progress_deadline_seconds: 600,
            revision_history_limit: spec.revision_history_limit.unwrap_or(10),
            paused: false,
            identity: Some(identity::of_set()),
        },
        status: None,
    };
    Lowered::close(&set, Vec::new(), places, found)
}

/// The spec, or everything about the object that does not fit its schema.
pub(super) fn read(object: &Value) -> Result<Spec, Vec<Problem>> {
    let misfits = shape::check(&SCHEMA, object);
    if !misfits.is_empty() {
        return Err(misfits);
    }
    serde_json::from_value(object["spec"].clone()).map_err(|error| {
        vec![Problem { path: "spec".to_owned(), value: None, message: error.to_string(), line: None }]
    })
}

/// Replicas of roles that autoscalers have set.
fn scaled<'a>(name: &str, world: &'a World) -> BTreeMap<&'a str, u32> {
    let ours = world.of(&ROLE_REPLICA).filter(|it| it["spec"]["modelServingRef"]["name"] == name);
    let replicas = |it: &'a Value| {
        let replicas = u32::try_from(it["spec"]["replicas"].as_u64()?).ok()?;
        Some((it["spec"]["roleName"].as_str()?, replicas))
    };
    ours.filter_map(replicas).collect()
}

/// Name, namespace and what others read on the object; not what kubectl keeps there for itself.
fn metadata(object: &Value, more: Vec<(&str, String)>) -> Metadata {
    let from = &object["metadata"];
    let strings = |field: &str| -> BTreeMap<String, String> {
        let fields = from[field].as_object().into_iter().flatten();
        let kept = fields.filter(|(key, _)| *key != "kubectl.kubernetes.io/last-applied-configuration");
        kept.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let mut annotations = strings("annotations");
    annotations.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Metadata {
        name: from["name"].as_str().unwrap_or_default().to_owned(),
        namespace: from["namespace"].as_str().map(str::to_owned),
        labels: strings("labels"),
        annotations,
        rest: Map::new(),
    }
}

fn common_places() -> Places {
    let mut places = Places::default();
    places.put("metadata", "metadata");
    places.put("spec.replicas", "spec.replicas");
    places.put("spec.updateStrategy", "spec.rolloutStrategy.rollingUpdateConfiguration");
    places.put("spec.revisionHistoryLimit", "spec.revisionHistoryLimit");
    // Whatever is wrong with a pod's name is a matter of the names it is made of.
    places.put("spec.identity.podName", "metadata.name");
    places
}

/// What fields alone cannot say.
fn check(spec: &Spec, found: &mut Findings<'_>) {
    rollout::check(spec, found);
    if let Some(given) = spec.rollout_strategy.as_ref().and_then(|it| it.role_coordination.as_ref()) {
        dependencies::check(spec, given, found);
    }
    for (i, role) in spec.template.roles.iter().enumerate() {
        if role.workers() > 0 && role.worker_template.is_none() {
            let at = format!("spec.template.roles[{i}].workerTemplate");
            found.error(at, "required, as workerReplicas is above 0");
        }
    }
}

/// What roles are made from.
struct Making<'a> {
    name: &'a str,
    spec: &'a Spec,
    scaled: &'a BTreeMap<&'a str, u32>,
    scheduler: GangScheduler,
}

impl Making<'_> {
    fn role(
        &self,
        i: usize,
        role: &Role,
        places: &mut Places,
        found: &mut Findings<'_>,
    ) -> lockstep_api::Role {
        let (ours, theirs) = (format!("spec.roles[{i}]"), format!("spec.template.roles[{i}]"));
        places.put(&ours, &theirs);
        places.put(format!("{ours}.updateStrategy"), &theirs);
        places.put(format!("{ours}.identity"), &theirs);
        places.put(
            format!("{ours}.minAvailable"),
            format!("spec.template.gangPolicy.minRoleReplicas[{}]", role.name),
        );
        let replicas = self.scaled.get(role.name.as_str()).copied().or(role.replicas).unwrap_or(1);
        // The minimum of a gang is the minimum of its group; without gangs, a group needs all it has.
        let least = gang::needed(self.spec, &role.name).filter(|_| self.scheduler != GangScheduler::None);
        lockstep_api::Role {
            name: role.name.clone(),
            replicas,
            min_available: least.map(|least| IntOrPercent::Int(least.min(replicas))),
            min_ready_seconds: 0,
            starts_after: Vec::new(),
            update_strategy: rollout::of_role(self.spec, role),
            restart_policy: Some(self.restarts()),
            template: None,
            members: self.members(role, (&ours, &theirs), places, found),
            identity: identity::of_role(role.worker_template.is_some()),
        }
    }

    /// The entry pod, and its workers if it has any.
    fn members(
        &self,
        role: &Role,
        (ours, theirs): (&str, &str),
        places: &mut Places,
        found: &mut Findings<'_>,
    ) -> Vec<Member> {
        let entry = (1, "entry", Some(&role.entry_template), Some(identity::of_entry()));
        let workers = (role.workers(), "worker", role.worker_template.as_ref(), None);
        let mut members = Vec::new();
        for (k, (count, name, written, identity)) in [entry, workers].into_iter().enumerate() {
            let Some(written) = written.filter(|_| count > 0) else { continue };
            let at = format!("{theirs}.{name}Template");
            places.put(format!("{ours}.members[{k}]"), theirs);
            places.put(format!("{ours}.members[{k}].template"), &at);
            let template = template::complete(written, self.name, self.spec, &at, found);
            members.push(Member {
                name: name.to_owned(),
                count,
                min_available: None,
                starts_after: Vec::new(),
                template,
                identity,
            });
        }
        members
    }

    fn restarts(&self) -> RestartPolicy {
        let kind = match self.spec.recovery_policy.unwrap_or_default() {
            RecoveryPolicy::ServingGroupRecreate => RestartType::Group,
            RecoveryPolicy::RoleRecreate => RestartType::Instance,
            RecoveryPolicy::None => RestartType::None,
        };
        let grace = self.spec.template.restart_grace_period_seconds.unwrap_or(0);
        RestartPolicy {
            // Below 0 a pod has all the time in the world.
            kind: Some(if grace < 0 { RestartType::None } else { kind }),
            grace_period_seconds: u32::try_from(grace).unwrap_or(0),
            ..RestartPolicy::default()
        }
    }
}
