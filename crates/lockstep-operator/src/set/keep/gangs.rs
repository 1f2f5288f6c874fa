//! Gangs: there before the pods that name them, gone when none does.

use std::collections::BTreeSet;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch};
use lockstep_api::stored::StoredSet;
use lockstep_core::gang::{Gang, GangName};
use lockstep_core::model::{GangScheduler, Spec};
use lockstep_core::names::RoleName;
use lockstep_core::plan::{Action, Create, Plan};
use lockstep_core::revision::Revision;
use serde_json::Value;

use super::super::desk::GangKnown;
use super::{Keeper, apply, ignore_missing};
use crate::act::{ActError, gang_name, gang_object, gang_resource, least_resources};
use crate::observe::{Known, Place};

impl Keeper<'_> {
    fn dynamic(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.set().namespace, resource)
    }

    /// Gangs as they must stand before the pods that name them.
    pub async fn gangs(&self, spec: &Spec, plan: &Plan) -> Result<(), ActError> {
        let scheduler = spec.gang.scheduler;
        let Some(resource) = gang_resource(scheduler) else { return Ok(()) };
        // Only Volcano wants to know what a gang needs.
        let stored = match (scheduler, &self.wish.parsed) {
            (GangScheduler::Volcano, Ok(checked)) => Some(StoredSet::of(&checked.parsed.set)),
            _ => None,
        };
        let api = self.dynamic(&resource);
        for gang in &plan.gangs {
            let set = self.set();
            let name = gang_name(&set.name, gang.group, gang.incarnation, &gang.name);
            let pods =
                if scheduler == GangScheduler::PodGang { self.pods_of(gang, plan) } else { Vec::new() };
            // What others than the wished pods need nobody says here: too much would keep them waiting for ever.
            let wished = stored.as_ref().filter(|_| self.is_as_wished(gang, spec, plan));
            let resources = wished.map(|stored| least_resources(stored, spec, gang)).unwrap_or_default();
            let Some(object) = gang_object(scheduler, set, gang, &pods, &resources) else { continue };
            let known = self.handle.desk().gangs.get(&name).cloned();
            if known.as_ref().is_some_and(|known| covers(&known.spec, &object["spec"])) {
                continue;
            }
            let applied = api.patch(&name, &apply(), &Patch::Apply(&object)).await;
            applied.map_err(|error| ActError::of(format!("write gang {name}"), error))?;
            let base = matches!(gang.name, GangName::Base(_));
            let placed = known.is_some_and(|known| known.placed);
            let (group, incarnation, spec) = (gang.group, gang.incarnation, object["spec"].clone());
            self.handle
                .desk()
                .gangs
                .insert(name, GangKnown { scheduler, group, incarnation, base, spec, placed });
        }
        Ok(())
    }

    /// Whether all pods of a gang, those that stand and those that are about to be created, are at the revisions wished
    /// for.
    fn is_as_wished(&self, gang: &Gang, spec: &Spec, plan: &Plan) -> bool {
        let is_wished = |role: &RoleName, revision: Revision| {
            spec.roles.iter().any(|known| known.name == *role && known.revision == revision)
        };
        let desk = self.handle.desk();
        let owner = self.wish.set.uid.as_str().into();
        let is_of_gang = names(gang);
        let mut standing = desk.view.pods(&owner).filter(|((place, ..), known)| is_of_gang(place, known));
        creates(gang, plan).all(|create| is_wished(&create.of.role, create.revision))
            && standing.all(|((place, ..), known)| is_wished(&place.role, known.pod.revision))
    }

    /// The names of a gang's pods: those that stand and those that are about to be created.
    fn pods_of(&self, gang: &Gang, plan: &Plan) -> Vec<String> {
        let desk = self.handle.desk();
        let owner = self.wish.set.uid.as_str().into();
        let is_of_gang = names(gang);
        let standing = desk.view.pods(&owner).filter(|((place, ..), known)| is_of_gang(place, known));
        let mut names: BTreeSet<String> = standing.map(|((_, _, _, name), _)| name.to_string()).collect();
        for create in creates(gang, plan) {
            let content =
                desk.history.role(&create.of.role, create.revision).and_then(|role| role.content().ok());
            let Some(content) = content else { continue };
            let name = |slot| crate::act::pod_name(&self.wish.set, &content, create, slot);
            names.extend(create.pods.iter().map(name));
        }
        names.into_iter().collect()
    }

    /// Removes gangs that no pod names and none is about to.
    pub async fn remove_gangs(&self, plan: &Plan) -> Result<(), ActError> {
        let stray: Vec<(String, GangScheduler)> = {
            let desk = self.handle.desk();
            let (owner, set) = (self.wish.set.uid.as_str().into(), &self.wish.set.name);
            let mut named: BTreeSet<String> = BTreeSet::new();
            for ((place, ..), known) in desk.view.pods(&owner) {
                if let Some(gang) = &known.pod.gang {
                    named.insert(format!("{set}-{}-{}-{gang}", place.group, known.pod.incarnation));
                }
            }
            named.extend(plan.gangs.iter().map(|g| gang_name(set, g.group, g.incarnation, &g.name)));
            let stray = desk.gangs.iter().filter(|(name, _)| !named.contains(*name));
            stray.map(|(name, gang)| (name.clone(), gang.scheduler)).collect()
        };
        for (name, scheduler) in stray {
            let Some(resource) = gang_resource(scheduler) else { continue };
            let deleted = self.dynamic(&resource).delete(&name, &DeleteParams::default()).await;
            ignore_missing(deleted, || format!("delete gang {name}"))?;
            self.handle.desk().gangs.remove(&name);
        }
        Ok(())
    }
}

/// Whether a pod that stands names a gang.
fn names(gang: &Gang) -> impl Fn(&Place, &Known) -> bool {
    let key = gang.name.to_string();
    move |place, known| {
        let pod = &known.pod;
        place.group == gang.group
            && pod.incarnation == gang.incarnation
            && pod.gang.as_ref().is_some_and(|gang| gang.as_str() == key)
    }
}

/// What is about to be created for a gang.
fn creates<'a>(gang: &'a Gang, plan: &'a Plan) -> impl Iterator<Item = &'a Create> {
    plan.actions.iter().filter_map(move |action| match action {
        Action::Create(create)
            if create.of.group == gang.group && create.gang.as_ref() == Some(&gang.name) =>
        {
            Some(create)
        }
        _ => None,
    })
}

/// Whether everything that is wanted stands; the API server may have filled in more.
fn covers(known: &Value, wanted: &Value) -> bool {
    match (known, wanted) {
        (Value::Object(known), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| known.get(key).is_some_and(|known| covers(known, value)))
        }
        (Value::Array(known), Value::Array(wanted)) => {
            known.len() == wanted.len()
                && known.iter().zip(wanted).all(|(known, wanted)| covers(known, wanted))
        }
        (known, wanted) => known == wanted,
    }
}
