//! Workloads as a scenario knows them: the manifest, what it promises, and whose pods are whose.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as k8s;
use lockstep_api::label;
use lockstep_core::model::{Member, Role, RoleStrategy, Spec, StrategyKind};
use lockstep_core::names::{MemberName, RoleName};
use lockstep_core::number::IntOrPercent;
use lockstep_core::promises::Promise;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::Subject;
use lockstep_core::time::Millis;
use lockstep_kubelet::annotations::{PREFIX, STAND_IN};
use serde_json::{Map, Value, json};

/// Says of a pod which template it was made from, whatever its controller calls it.
pub const REVISION: &str = "testkit.lockstep.dev/revision";

/// A manifest is not what a scenario can be made of.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It is not YAML, or not a valid LockstepSet.
    #[error("{0}")]
    Invalid(String),
    /// Scenarios do not know this kind.
    #[error("kind is {0:?}, and scenarios know StatefulSet, Deployment and LockstepSet")]
    UnknownKind(String),
    /// A number is none.
    #[error("{field}: {reason}")]
    Field {
        /// Where.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// The kinds a scenario can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `apps/v1`, with ordinals.
    StatefulSet,
    /// `apps/v1`, without.
    Deployment,
    /// Ours.
    LockstepSet,
}

/// A workload: its manifest, and what it promises in the words of the engine.
#[derive(Debug, Clone)]
pub struct Workload {
    kind: Kind,
    manifest: Value,
    spec: Spec,
}

/// Where a pod stands.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its instance.
    pub of: Subject,
    /// Its member.
    pub member: MemberName,
    /// What it was made from.
    pub revision: Revision,
    /// What its whole set was made from.
    pub set_revision: Revision,
}

impl Workload {
    /// Reads a manifest.
    pub fn read(yaml: &str) -> Result<Self, WorkloadError> {
        let manifest = lockstep_api::yaml_to_json(yaml).map_err(said)?;
        let kind = manifest["kind"].as_str().unwrap_or_default();
        let (kind, spec) = match kind {
            "StatefulSet" => (Kind::StatefulSet, stateful_set(&manifest)?),
            "Deployment" => (Kind::Deployment, deployment(&manifest)?),
            "LockstepSet" => {
                let parsed = lockstep_api::parse(yaml).map_err(said)?;
                (Kind::LockstepSet, lockstep_api::lower(&parsed.set))
            }
            other => return Err(WorkloadError::UnknownKind(other.to_owned())),
        };
        Ok(Self { kind, manifest, spec })
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// What it promises.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The revisions that will never run, because their templates tell the kubelet stand-in that an image is
    /// missing.
    pub fn never_ready(&self) -> Vec<Revision> {
        let missing =
            |template: &Value| template["metadata"]["annotations"][format!("{PREFIX}image")] == "missing";
        match self.kind {
            Kind::LockstepSet => {
                let written = self.manifest["spec"]["roles"].as_array().into_iter().flatten();
                let roles = written.zip(&self.spec.roles);
                let bad = roles.filter(|(written, _)| templates(written).any(missing));
                bad.map(|(_, role)| role.revision).collect()
            }
            _ if missing(&self.manifest["spec"]["template"]) => {
                self.spec.roles.iter().map(|role| role.revision).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The promises its controller makes. Without ordinals there is none about them; what Lockstep alone
    /// promises, a Deployment is not held to.
    pub fn promises(&self) -> &'static [Promise] {
        use Promise::{Containment, Convergence, Floor, NoHoles, PartitionUntouched, SurgeCeiling};
        match self.kind {
            Kind::Deployment => &[Floor, Convergence],
            Kind::StatefulSet => {
                &[Floor, SurgeCeiling, PartitionUntouched, Containment, NoHoles, Convergence]
            }
            Kind::LockstepSet => &Promise::ALL,
        }
    }

    /// The manifest as it is applied.
    pub fn manifest(&self) -> &Value {
        &self.manifest
    }

    /// The same for a cluster: its pods carry their revision, stay on the nodes of the kubelet stand-in, and
    /// behave as these annotations tell the stand-in.
    pub fn dressed(
        &self,
        stand_in: &str,
        behaviour: &BTreeMap<String, String>,
    ) -> Result<Self, WorkloadError> {
        let mut dressed = self.clone();
        if self.kind == Kind::LockstepSet {
            for role in dressed.manifest["spec"]["roles"].as_array_mut().into_iter().flatten() {
                for template in templates_mut(role) {
                    dress(template, stand_in, behaviour);
                }
            }
            let parsed = lockstep_api::parse_json(&dressed.manifest).map_err(said)?;
            dressed.spec = lockstep_api::lower(&parsed.set);
            return Ok(dressed);
        }
        let revision = self.spec.roles.first().map(|role| role.revision).unwrap_or_default();
        let template = &mut dressed.manifest["spec"]["template"];
        object(&mut template["metadata"]["annotations"])
            .insert(REVISION.to_owned(), json!(revision.as_str()));
        dress(template, stand_in, behaviour);
        Ok(dressed)
    }

    /// Where a pod stands, if it belongs to this workload.
    pub fn place(&self, pod: &k8s::Pod, slots: &mut Slots) -> Option<Place> {
        let owner =
            pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        if self.kind == Kind::LockstepSet {
            return (owner.kind == "LockstepSet" && owner.name == self.name()).then(|| by_labels(pod))?;
        }
        let role = self.spec.roles.first()?;
        let instance = match self.kind {
            Kind::StatefulSet if owner.kind == "StatefulSet" && owner.name == self.name() => {
                pod.metadata.name.as_deref()?.strip_prefix(self.name())?.strip_prefix('-')?.parse().ok()?
            }
            Kind::Deployment if owner.kind == "ReplicaSet" && owner.name.starts_with(self.name()) => {
                slots.of(pod.metadata.uid.as_deref()?)
            }
            _ => return None,
        };
        let revision: Revision =
            pod.metadata.annotations.as_ref()?.get(REVISION).and_then(|text| text.parse().ok())?;
        let of = Subject { group: 0, role: role.name.clone(), instance };
        let member = role.members.first()?.name.clone();
        let set_revision = Revision::of_roles([(&role.name, revision)]);
        Some(Place { of, member, revision, set_revision })
    }
}

fn said(problems: Vec<lockstep_api::Problem>) -> WorkloadError {
    WorkloadError::Invalid(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Where a pod says it stands.
fn by_labels(pod: &k8s::Pod) -> Option<Place> {
    let text = |key| pod.metadata.labels.as_ref()?.get(key).map(String::as_str);
    let of = Subject {
        group: text(label::GROUP)?.parse().ok()?,
        role: RoleName::new(text(label::ROLE)?),
        instance: text(label::INSTANCE)?.parse().ok()?,
    };
    let member = MemberName::new(text(label::MEMBER)?);
    let revision = text(label::REVISION)?.parse().ok()?;
    let set_revision = text(label::SET_REVISION)?.parse().ok()?;
    Some(Place { of, member, revision, set_revision })
}

/// The pod templates of a role.
fn templates(role: &Value) -> impl Iterator<Item = &Value> {
    let members = role["members"].as_array().into_iter().flatten();
    role.get("template").into_iter().chain(members.filter_map(|member| member.get("template")))
}

fn templates_mut(role: &mut Value) -> Vec<&mut Value> {
    let Some(fields) = role.as_object_mut() else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "template" => found.push(value),
            "members" => {
                let members = value.as_array_mut().into_iter().flatten();
                found.extend(members.filter_map(|member| member.get_mut("template")));
            }
            _ => {}
        }
    }
    found
}

fn dress(template: &mut Value, stand_in: &str, behaviour: &BTreeMap<String, String>) {
    let annotations = object(&mut template["metadata"]["annotations"]);
    for (name, value) in behaviour {
        annotations.entry(name).or_insert_with(|| json!(value));
    }
    let selector = object(&mut template["spec"]["nodeSelector"]);
    selector.insert(STAND_IN.to_owned(), json!(stand_in));
    template["spec"]["tolerations"] = json!([{"key": STAND_IN, "operator": "Exists"}]);
}

/// Numbers for pods that have none: the lowest that is free.
#[derive(Debug, Default)]
pub struct Slots(BTreeMap<u32, String>);

impl Slots {
    fn of(&mut self, uid: &str) -> u32 {
        if let Some((slot, _)) = self.0.iter().find(|(_, held)| *held == uid) {
            return *slot;
        }
        let free = (0..).find(|slot| !self.0.contains_key(slot)).unwrap_or(u32::MAX);
        self.0.insert(free, uid.to_owned());
        free
    }

    /// The pod is gone.
    pub fn free(&mut self, uid: &str) {
        self.0.retain(|_, held| held != uid);
    }
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("made an object above"),
    }
}

fn stateful_set(manifest: &Value) -> Result<Spec, WorkloadError> {
    let rolling = &manifest["spec"]["updateStrategy"]["rollingUpdate"];
    let strategy = RoleStrategy {
        kind: match manifest["spec"]["updateStrategy"]["type"].as_str() {
            Some("OnDelete") => StrategyKind::OnDelete,
            _ => StrategyKind::RollingUpdate,
        },
        max_unavailable: number(&rolling["maxUnavailable"], IntOrPercent::Int(1), "maxUnavailable")?,
        max_surge: IntOrPercent::Int(0),
        partition: number(&rolling["partition"], IntOrPercent::Int(0), "partition")?,
        ..RoleStrategy::default()
    };
    Ok(one_role(manifest, strategy))
}

fn deployment(manifest: &Value) -> Result<Spec, WorkloadError> {
    let rolling = &manifest["spec"]["strategy"]["rollingUpdate"];
    let quarter = IntOrPercent::Percent(25);
    let all_at_once = manifest["spec"]["strategy"]["type"] == "Recreate";
    let unavailable = if all_at_once { IntOrPercent::Percent(100) } else { quarter };
    let strategy = RoleStrategy {
        max_unavailable: number(&rolling["maxUnavailable"], unavailable, "maxUnavailable")?,
        max_surge: number(&rolling["maxSurge"], quarter, "maxSurge")?,
        ..RoleStrategy::default()
    };
    Ok(one_role(manifest, strategy))
}

fn number(value: &Value, default: IntOrPercent, field: &'static str) -> Result<IntOrPercent, WorkloadError> {
    if value.is_null() {
        return Ok(default);
    }
    let read = serde_json::from_value(value.clone());
    read.map_err(|error| WorkloadError::Field { field, reason: error.to_string() })
}

/// A workload of one kind of pod, as a set of one group with one role.
fn one_role(manifest: &Value, strategy: RoleStrategy) -> Spec {
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    let spec = &manifest["spec"];
    let small = |value: &Value, otherwise: u64| value.as_u64().unwrap_or(otherwise);
    let role = Role {
        name: RoleName::new(name),
        replicas: u32::try_from(small(&spec["replicas"], 1)).unwrap_or(u32::MAX),
        revision: Revision::of(&spec["template"]),
        min_available: None,
        min_ready: Millis::seconds(small(&spec["minReadySeconds"], 0)),
        starts_after: Vec::new(),
        member_order: Default::default(),
        strategy,
        restart: Default::default(),
        members: vec![Member { name: MemberName::new(name), count: 1, min_available: 1 }],
    };
    Spec {
        name: name.into(),
        replicas: 1,
        strategy: Default::default(),
        roles: vec![role],
        rules: Vec::new(),
        gang: Default::default(),
        on_failure: Default::default(),
        progress_deadline: Millis::seconds(small(&spec["progressDeadlineSeconds"], 600)),
        paused: false,
    }
}
