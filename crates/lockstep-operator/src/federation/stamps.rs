//! Works are brought to carry what was granted, and what nobody asks for any more is given back to Karmada.

use kube::ResourceExt;
use kube::api::{DynamicObject, PostParams};
use lockstep_core::align::{self, Ledger, SplitMode};
use lockstep_federation::binding;
use lockstep_federation::interpret::Interpretation;
use lockstep_federation::stamp::{Stored, stamp};
use lockstep_federation::work::Work;
use serde_json::Value;

use super::aligner::Aligner;
use super::book::Case;
use super::{FederationError, Key, MANAGER, namespaced, review, works};

impl Aligner {
    /// Lets every Work carry what the ledger says. Our own admission would write the same.
    pub(super) async fn stamp(
        &self,
        case: &Case,
        kind: &Interpretation,
        ledger: &Ledger,
    ) -> Result<(), FederationError> {
        for work in &case.works {
            let Some((cluster, manifest)) = Work(work).cluster().zip(Work(work).manifest()) else { continue };
            if Work(work).is_going() {
                continue;
            }
            let lease = ledger.members.get(cluster).and_then(align::Entry::latest);
            let next = review::next(Work(work));
            let stored = Stored { manifest: Some(manifest), next: next.as_ref() };
            let stamped = stamp(kind, manifest, stored, lease);
            if stamped.manifest != *manifest || stamped.next != next {
                self.write(&review::restamped(work, kind, &stamped)).await?;
            }
        }
        Ok(())
    }

    async fn write(&self, work: &Value) -> Result<(), FederationError> {
        if !(self.sure)() {
            return Ok(());
        }
        let object: DynamicObject =
            serde_json::from_value(work.clone()).map_err(FederationError::unreadable("a Work"))?;
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let how = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let written = namespaced(&self.client, &namespace, &works()).replace(&name, &how, &object).await;
        written.map(drop).map_err(FederationError::refused(format!("write Work {namespace}/{name}")))
    }

    /// Nobody asks for it any more: everything is as Karmada would have it.
    pub(super) async fn release(
        &self,
        key: &Key,
        case: &Case,
        kind: &Interpretation,
        template: &Value,
    ) -> Result<(), FederationError> {
        let Some(rollout) = &case.rollout else { return Ok(()) };
        self.forget(key);
        let name = rollout.metadata.name.clone().unwrap_or_default();
        let deleted = self.rollouts(&key.namespace).delete(&name, &kube::api::DeleteParams::default()).await;
        match deleted {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(FederationError::refused("delete a FederatedRollout")(error)),
            Ok(_) => {}
        }
        let shares = binding::wish(kind, template, &case.binding, SplitMode::default()).clusters;
        for work in &case.works {
            let Some(cluster) = Work(work).cluster().filter(|_| !Work(work).is_going()) else { continue };
            let share = shares.iter().find(|it| it.cluster == cluster).map(|it| it.replicas);
            let (Some(share), Some(manifest)) = (share, Work(work).manifest()) else { continue };
            let released = lockstep_federation::stamp::release(
                kind,
                manifest,
                review::next(Work(work)),
                template,
                share,
                Work(work).overridden(kind).as_ref(),
            );
            self.write(&review::restamped(work, kind, &released)).await?;
        }
        Ok(())
    }
}
