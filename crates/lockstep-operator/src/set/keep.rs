//! What stands beside a set's pods: stored revisions, services, scales, gangs. Written when it is missing, left
//! alone when it stands.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::Service;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::{Client, Error};
use lockstep_api::identity::Values;
use lockstep_api::stored::StoredSet;
use lockstep_api::{API_VERSION, Valid, label};
use lockstep_core::gang::Gang;
use lockstep_core::model::{GangScheduler, Spec};
use lockstep_core::names::RoleName;
use lockstep_core::plan::Plan;
use lockstep_core::revision::Revision;
use serde_json::{Value, json};

use super::desk::{GangKnown, Handle, ScaleKnown};
use super::wish::Wish;
use crate::act::{ActError, SetRef, gang_name, gang_object, gang_resource};
use crate::observe::{Stored, revision_name};

/// Keeps what stands beside the pods.
pub struct Keeper<'a> {
    pub client: &'a Client,
    pub handle: &'a Handle,
    pub wish: &'a Wish,
}

/// The resource of roles' scales.
pub fn scale_resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, "RoleScale"), "rolescales")
}

/// The name of a role's scale.
pub fn scale_name(set: &str, role: &str) -> String {
    format!("{set}-{role}")
}

fn apply() -> PatchParams {
    PatchParams::apply(label::FIELD_MANAGER).force()
}

fn create() -> PostParams {
    PostParams { field_manager: Some(label::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

impl Keeper<'_> {
    fn set(&self) -> &SetRef {
        &self.wish.set
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.set().namespace)
    }

    fn dynamic(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.set().namespace, resource)
    }

    /// Stores the revision that is wished for, before any pod needs it. One that is wished for again becomes the
    /// latest.
    pub async fn revision(&self, set: &Valid) -> Result<(), ActError> {
        let stored = StoredSet::of(set);
        let revision = stored.revision();
        let (known, next) = {
            let desk = self.handle.desk();
            (desk.history.get(revision).map(|known| known.number), desk.history.next_number())
        };
        let name = revision_name(&self.set().name, revision);
        let api: Api<ControllerRevision> = self.api();
        let number = match known {
            Some(number) if number + 1 == next => return Ok(()),
            Some(_) => {
                let patch = json!({"revision": next});
                let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await;
                patched.map_err(|error| ActError::of(format!("renumber revision {name}"), error))?;
                next
            }
            None => self.store(&api, &name, &stored, next).await?,
        };
        self.handle.desk().history.insert(revision, Stored { name, number, set: stored });
        Ok(())
    }

    async fn store(
        &self,
        api: &Api<ControllerRevision>,
        name: &str,
        stored: &StoredSet,
        number: i64,
    ) -> Result<i64, ActError> {
        let doing = || format!("store revision {name}");
        let unreadable =
            |error: serde_json::Error| ActError::Unknown { doing: doing(), message: error.to_string() };
        let object = json!({
            "metadata": {
                "name": name,
                "namespace": self.set().namespace,
                "labels": {label::SET: self.set().name, label::SET_REVISION: stored.revision().as_str()},
                "ownerReferences": [self.set().owner_reference()],
            },
            "revision": number,
            "data": stored,
        });
        let object: ControllerRevision = serde_json::from_value(object).map_err(unreadable)?;
        match api.create(&create(), &object).await {
            Ok(_) => Ok(number),
            Err(Error::Api(status)) if status.reason == "AlreadyExists" => {
                let found = api.get(name).await.map_err(|error| ActError::of(doing(), error))?;
                let ours = found.metadata.owner_references.iter().flatten().any(|o| o.uid == self.set().uid);
                if ours {
                    Ok(found.revision.unwrap_or(number))
                } else {
                    let message =
                        "an object of that name is there and does not belong to this set".to_owned();
                    Err(ActError::Refused { doing: doing(), code: 409, message })
                }
            }
            Err(error) => Err(ActError::of(doing(), error)),
        }
    }

    /// Forgets the oldest revisions beyond the limit that nothing needs.
    pub async fn forget_revisions(&self, limit: u32, plan: &Plan) -> Result<(), ActError> {
        let forgettable = {
            let desk = self.handle.desk();
            let owner = self.wish.set.uid.as_str().into();
            let mut roles: BTreeSet<(RoleName, Revision)> = desk
                .view
                .pods(&owner)
                .map(|((place, ..), known)| (place.role.clone(), known.pod.revision))
                .collect();
            let stable =
                plan.memory.roles.iter().filter_map(|(name, role)| Some((name.clone(), role.stable?)));
            roles.extend(stable);
            let sets: BTreeSet<Revision> = plan
                .memory
                .complete
                .iter()
                .map(|complete| complete.revision)
                .chain([plan.status.revision.update])
                .collect();
            desk.history.forgettable(limit, &sets, &roles)
        };
        let api: Api<ControllerRevision> = self.api();
        for (revision, name) in forgettable {
            let deleted = api.delete(&name, &DeleteParams::default()).await;
            ignore_missing(deleted, || format!("forget revision {name}"))?;
            self.handle.desk().history.remove(revision);
        }
        Ok(())
    }

    /// Headless services, so that pods have stable names in DNS, ready or not: a leader waits for its workers.
    pub async fn services(&self, set: &Valid, spec: &Spec) -> Result<(), ActError> {
        let wanted = subdomains(set, spec);
        let missing: Vec<String> = {
            let desk = self.handle.desk();
            wanted.into_iter().filter(|name| !desk.services.contains(name)).collect()
        };
        let api: Api<Service> = self.api();
        for name in missing {
            let object = json!({
                "metadata": {
                    "name": name,
                    "labels": {label::SET: self.set().name},
                    "ownerReferences": [self.set().owner_reference()],
                },
                "spec": {
                    "clusterIP": "None",
                    "publishNotReadyAddresses": true,
                    "selector": {label::SET: self.set().name},
                },
            });
            let doing = || format!("create service {name}");
            let object = serde_json::from_value(object)
                .map_err(|error| ActError::Unknown { doing: doing(), message: error.to_string() })?;
            match api.create(&create(), &object).await {
                Ok(_) => {}
                // Somebody's own service of that name does as well, or is theirs to mend.
                Err(Error::Api(status)) if status.reason == "AlreadyExists" => {}
                Err(error) => return Err(ActError::of(doing(), error)),
            }
            self.handle.desk().services.insert(name);
        }
        Ok(())
    }

    /// A scale per role. The number lives there; a number that is changed in the set's spec is taken over.
    pub async fn scales(&self, spec: &Spec) -> Result<(), ActError> {
        let resource = scale_resource();
        let api = self.dynamic(&resource);
        let set = self.set();
        for role in &spec.roles {
            let name = scale_name(&set.name, role.name.as_str());
            let known = self.handle.desk().scales.get(&name).cloned();
            if known.as_ref().is_some_and(|known| known.taken_over == Some(role.replicas)) {
                continue;
            }
            let object = json!({
                "apiVersion": API_VERSION,
                "kind": "RoleScale",
                "metadata": {
                    "name": name,
                    "labels": {label::SET: set.name, label::ROLE: role.name},
                    "annotations": {label::TAKEN_OVER: role.replicas.to_string()},
                    "ownerReferences": [set.owner_reference()],
                },
                "spec": {"set": set.name, "role": role.name, "replicas": role.replicas},
            });
            let applied = api.patch(&name, &apply(), &Patch::Apply(object)).await;
            applied.map_err(|error| ActError::of(format!("write scale {name}"), error))?;
            let (replicas, taken_over) = (role.replicas, Some(role.replicas));
            let status = known.and_then(|known| known.status);
            let scale = ScaleKnown { role: role.name.clone(), replicas, taken_over, status };
            self.handle.desk().scales.insert(name, scale);
        }
        self.remove_scales(&api, spec).await
    }

    async fn remove_scales(&self, api: &Api<DynamicObject>, spec: &Spec) -> Result<(), ActError> {
        let stray: Vec<String> = {
            let desk = self.handle.desk();
            let stray = desk.scales.iter().filter(|(_, scale)| spec.role(&scale.role).is_none());
            stray.map(|(name, _)| name.clone()).collect()
        };
        for name in stray {
            let deleted = api.delete(&name, &DeleteParams::default()).await;
            ignore_missing(deleted, || format!("delete scale {name}"))?;
            self.handle.desk().scales.remove(&name);
        }
        Ok(())
    }

    /// Tells autoscalers how many there are, and which pods stand for them.
    pub async fn scale_statuses(&self, spec: &Spec) -> Result<(), ActError> {
        let resource = scale_resource();
        let api = self.dynamic(&resource);
        for role in &spec.roles {
            let name = scale_name(&self.set().name, role.name.as_str());
            let wanted = (role.replicas, scale_selector(&self.set().name, role));
            let known = self.handle.desk().scales.get(&name).and_then(|known| known.status.clone());
            if known.as_ref() == Some(&wanted) {
                continue;
            }
            let object = json!({
                "apiVersion": API_VERSION,
                "kind": "RoleScale",
                "metadata": {"name": name},
                "status": {"replicas": wanted.0, "selector": wanted.1},
            });
            let applied = api.patch_status(&name, &apply(), &Patch::Apply(object)).await;
            applied.map_err(|error| ActError::of(format!("write the status of scale {name}"), error))?;
            if let Some(scale) = self.handle.desk().scales.get_mut(&name) {
                scale.status = Some(wanted);
            }
        }
        Ok(())
    }

    /// Gangs as they must stand before the pods that name them.
    pub async fn gangs(&self, scheduler: GangScheduler, plan: &Plan) -> Result<(), ActError> {
        let Some(resource) = gang_resource(scheduler) else { return Ok(()) };
        let api = self.dynamic(&resource);
        for gang in &plan.gangs {
            let set = self.set();
            let name = gang_name(&set.name, gang.group, gang.incarnation, &gang.name);
            let pods =
                if scheduler == GangScheduler::PodGang { self.pods_of(gang, plan) } else { Vec::new() };
            let Some(object) = gang_object(scheduler, set, gang, &pods) else { continue };
            let known = self.handle.desk().gangs.get(&name).cloned();
            if known.as_ref().is_some_and(|known| known.spec == object["spec"]) {
                continue;
            }
            let applied = api.patch(&name, &apply(), &Patch::Apply(&object)).await;
            applied.map_err(|error| ActError::of(format!("write gang {name}"), error))?;
            let base = matches!(gang.name, lockstep_core::gang::GangName::Base(_));
            let placed = known.is_some_and(|known| known.placed);
            let (group, incarnation, spec) = (gang.group, gang.incarnation, object["spec"].clone());
            self.handle.desk().gangs.insert(name, GangKnown { group, incarnation, base, spec, placed });
        }
        Ok(())
    }

    /// The names of a gang's pods: those that stand and those that are about to be created.
    fn pods_of(&self, gang: &Gang, plan: &Plan) -> Vec<String> {
        use lockstep_core::plan::Action;
        let desk = self.handle.desk();
        let owner = self.wish.set.uid.as_str().into();
        let key = gang.name.to_string();
        let mut names: BTreeSet<String> = desk
            .view
            .pods(&owner)
            .filter(|((place, ..), known)| {
                let pod = &known.pod;
                place.group == gang.group
                    && pod.incarnation == gang.incarnation
                    && pod.gang.as_ref().is_some_and(|gang| gang.as_str() == key)
            })
            .map(|((_, _, _, name), _)| name.clone())
            .collect();
        for action in &plan.actions {
            let Action::Create(create) = action else { continue };
            if create.of.group != gang.group || create.gang.as_ref() != Some(&gang.name) {
                continue;
            }
            let content =
                desk.history.role(&create.of.role, create.revision).and_then(|role| role.content().ok());
            let Some(content) = content else { continue };
            let name = |slot| crate::act::pod_name(&self.wish.set.name, &content, create, slot);
            names.extend(create.pods.iter().map(name));
        }
        names.into_iter().collect()
    }

    /// Removes gangs that no pod names and none is about to.
    pub async fn remove_gangs(&self, scheduler: GangScheduler, plan: &Plan) -> Result<(), ActError> {
        let Some(resource) = gang_resource(scheduler) else { return Ok(()) };
        let stray: Vec<String> = {
            let desk = self.handle.desk();
            let owner = self.wish.set.uid.as_str().into();
            let mut named: BTreeSet<String> = BTreeSet::new();
            for ((place, ..), known) in desk.view.pods(&owner) {
                if let Some(gang) = &known.pod.gang {
                    let set = &self.wish.set.name;
                    named.insert(format!("{set}-{}-{}-{gang}", place.group, known.pod.incarnation));
                }
            }
            let planned = plan.gangs.iter();
            named.extend(planned.map(|g| gang_name(&self.wish.set.name, g.group, g.incarnation, &g.name)));
            desk.gangs.keys().filter(|name| !named.contains(*name)).cloned().collect()
        };
        let api = self.dynamic(&resource);
        for name in stray {
            let deleted = api.delete(&name, &DeleteParams::default()).await;
            ignore_missing(deleted, || format!("delete gang {name}"))?;
            self.handle.desk().gangs.remove(&name);
        }
        Ok(())
    }
}

fn ignore_missing<T>(deleted: Result<T, Error>, doing: impl FnOnce() -> String) -> Result<(), ActError> {
    match deleted {
        Ok(_) => Ok(()),
        Err(Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ActError::of(doing(), error)),
    }
}

/// One pod per instance, its first, in group 0. An autoscaler multiplies the pods it finds by how busy they are and
/// takes that for the new number, which counts in each group: with the pods of two groups it would ask for twice as
/// many as are needed.
fn scale_selector(set: &str, role: &lockstep_core::model::Role) -> String {
    let first = role.members.first().map(|member| member.name.as_str()).unwrap_or_default();
    format!(
        "{}={set},{}=0,{}={},{}={first},{}=0",
        label::SET,
        label::GROUP,
        label::ROLE,
        role.name,
        label::MEMBER,
        label::POD
    )
}

/// The subdomains that pods of the set have: the set's name, or what its identity template says.
fn subdomains(set: &Valid, spec: &Spec) -> BTreeSet<String> {
    let template = set.spec.identity.as_ref().and_then(|identity| identity.subdomain.as_deref());
    let Some(template) = template else { return BTreeSet::from([set.metadata.name.clone()]) };
    let mut names = BTreeSet::new();
    let groups = if template.contains("{group}") { spec.replicas } else { 1 };
    for group in 0..groups {
        for role in &spec.roles {
            let values = Values {
                set: &set.metadata.name,
                group,
                role: role.name.as_str(),
                instance: 0,
                member: role.members.first().map(|member| member.name.as_str()).unwrap_or_default(),
                pod: 0,
                revision: role.revision.as_str(),
                leader: "",
                size: u64::from(role.pods()),
            };
            names.insert(lockstep_api::identity::expand(template, &values));
        }
    }
    names
}

/// The spec with the numbers its scales hold.
pub fn scaled(spec: &Spec, handle: &Handle) -> Spec {
    const MOST: u32 = 100_000;
    let desk = handle.desk();
    let mut spec = spec.clone();
    for role in &mut spec.roles {
        let scale = desk.scales.get(&scale_name(&spec.name, role.name.as_str()));
        if let Some(scale) = scale.filter(|scale| scale.taken_over == Some(role.replicas)) {
            role.replicas = scale.replicas.min(MOST);
        }
    }
    spec
}

/// Reads a role's scale.
pub fn read_scale(object: &DynamicObject) -> Option<ScaleKnown> {
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let spec = object.data.get("spec")?;
    let annotations = object.metadata.annotations.as_ref();
    let status = object
        .data
        .get("status")
        .and_then(|status| Some((number(&status["replicas"])?, status["selector"].as_str()?.to_owned())));
    Some(ScaleKnown {
        role: RoleName::new(spec["role"].as_str()?),
        replicas: number(&spec["replicas"])?,
        taken_over: annotations.and_then(|all| all.get(label::TAKEN_OVER)?.parse().ok()),
        status,
    })
}
