//! Scales of roles: the number of instances lives there, for autoscalers and for us.

use k8s_openapi::Resource as _;
use kube::api::{Api, DeleteParams, Patch};
use lockstep_api::label;
use lockstep_api::role_scale::{RoleScale, RoleScaleStatus};
use lockstep_core::model::{Role, Spec};
use lockstep_core::names::RoleName;
use serde_json::json;

use super::super::desk::{Handle, ScaleKnown};
use super::{Keeper, apply, ignore_missing};
use crate::act::ActError;

impl Keeper<'_> {
    /// A scale per role. A number that is changed in the set's spec is taken over.
    pub async fn scales(&self, spec: &Spec) -> Result<(), ActError> {
        let api: Api<RoleScale> = self.api();
        let set = self.set();
        for role in &spec.roles {
            let name = RoleScale::name_of(&set.name, role.name.as_str());
            let known = self.handle.desk().scales.get(&name).filter(|known| known.owner == set.uid).cloned();
            if known.as_ref().is_some_and(|known| known.taken_over == Some(role.replicas)) {
                continue;
            }
            let object = json!({
                "apiVersion": RoleScale::API_VERSION,
                "kind": RoleScale::KIND,
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
            let owner = set.uid.clone();
            let scale = ScaleKnown { role: role.name.clone(), replicas, owner, taken_over, status };
            self.handle.desk().scales.insert(name, scale);
        }
        self.remove_scales(&api, spec).await
    }

    async fn remove_scales(&self, api: &Api<RoleScale>, spec: &Spec) -> Result<(), ActError> {
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
        let api: Api<RoleScale> = self.api();
        for role in &spec.roles {
            let name = RoleScale::name_of(&self.set().name, role.name.as_str());
            let wanted =
                RoleScaleStatus { replicas: role.replicas, selector: selector(&self.set().name, role) };
            let known = self.handle.desk().scales.get(&name).and_then(|known| known.status.clone());
            if known.as_ref() == Some(&wanted) {
                continue;
            }
            let object = json!({
                "apiVersion": RoleScale::API_VERSION,
                "kind": RoleScale::KIND,
                "metadata": {"name": name},
                "status": wanted,
            });
            let applied = api.patch_status(&name, &apply(), &Patch::Apply(object)).await;
            applied.map_err(|error| ActError::of(format!("write the status of scale {name}"), error))?;
            if let Some(scale) = self.handle.desk().scales.get_mut(&name) {
                scale.status = Some(wanted);
            }
        }
        Ok(())
    }
}

/// One pod per instance, its first, in group 0. An autoscaler multiplies the pods it finds by how busy they are and
/// takes that for the new number, which counts in each group: with the pods of two groups it would ask for twice as
/// many as are needed.
fn selector(set: &str, role: &Role) -> String {
    let first = role.members.first().map(|member| member.name.as_str()).unwrap_or_default();
    let labels = [
        (label::SET, set),
        (label::GROUP, "0"),
        (label::ROLE, role.name.as_str()),
        (label::MEMBER, first),
        (label::POD, "0"),
    ];
    labels.map(|(key, value)| format!("{key}={value}")).join(",")
}

/// The spec with the numbers its scales hold.
pub fn scaled(spec: &Spec, handle: &Handle) -> Spec {
    let desk = handle.desk();
    let set = desk.wish.as_ref().map(|wish| wish.set.uid.as_str());
    let mut spec = spec.clone();
    for role in &mut spec.roles {
        let scale = desk.scales.get(&RoleScale::name_of(&spec.name, role.name.as_str()));
        let counts = |scale: &&ScaleKnown| {
            scale.taken_over == Some(role.replicas) && Some(scale.owner.as_str()) == set
        };
        if let Some(scale) = scale.filter(counts) {
            role.replicas = scale.replicas;
        }
    }
    spec
}

/// What is known of a role from its scale.
pub fn read_scale(object: &RoleScale) -> ScaleKnown {
    let annotations = object.metadata.annotations.as_ref();
    let owner =
        object.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    ScaleKnown {
        role: RoleName::new(&object.spec.role),
        replicas: object.spec.replicas,
        owner: owner.map(|owner| owner.uid.clone()).unwrap_or_default(),
        taken_over: annotations.and_then(|all| all.get(label::TAKEN_OVER)?.parse().ok()),
        status: object.status.clone(),
    }
}
