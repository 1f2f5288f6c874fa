//! Stored revisions: written before the first pod that needs them, forgotten when nothing does.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::Error;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use lockstep_api::stored::StoredSet;
use lockstep_api::{Valid, label};
use lockstep_core::names::RoleName;
use lockstep_core::plan::Plan;
use lockstep_core::revision::Revision;
use serde_json::json;

use super::{Keeper, create, ignore_missing};
use crate::act::ActError;
use crate::observe::{Stored, revision_name};

impl Keeper<'_> {
    /// Stores the revision that is wished for, before any pod needs it. One that is wished for again becomes the
    /// latest.
    pub async fn revision(&self, set: &Valid) -> Result<(), ActError> {
        let stored = StoredSet::of(set);
        let revision = stored.revision();
        let (known, next, stood_complete) = {
            let desk = self.handle.desk();
            let known = desk.history.get(revision);
            let stood_complete = known.is_some_and(|known| known.stood_complete);
            (known.map(|known| known.number), desk.history.next_number(), stood_complete)
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
        self.handle.desk().history.insert(revision, Stored { name, number, stood_complete, set: stored });
        Ok(())
    }

    /// Notes on the stored revision that the set stood complete at it: later ones take its place in the memory, and
    /// who goes back then still wants to know which ever worked.
    pub async fn mark_complete(&self, plan: &Plan) -> Result<(), ActError> {
        let Some(revision) = plan.memory.complete.as_ref().map(|complete| complete.revision) else {
            return Ok(());
        };
        let known = self.handle.desk().history.get(revision).cloned();
        let Some(known) = known.filter(|known| !known.stood_complete) else { return Ok(()) };
        let api: Api<ControllerRevision> = self.api();
        let mark = json!({"metadata": {"annotations": {label::STOOD_COMPLETE: "true"}}});
        let patched = api.patch(&known.name, &PatchParams::default(), &Patch::Merge(mark)).await;
        ignore_missing(patched, || format!("mark revision {} as complete", known.name))?;
        self.handle.desk().history.insert(revision, Stored { stood_complete: true, ..known });
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
                "annotations": {label::STOOD_COMPLETE: "false"},
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
}
