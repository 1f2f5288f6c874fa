//! Saying where a set stands: one status, written only when it changed and not too often, and events.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Client, Error};
use lockstep_api::status::{BlockedStatus, LockstepSetStatus};
use lockstep_api::{API_VERSION, KIND, label};
use lockstep_core::snapshot::Memory;
use lockstep_core::time::Millis;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::actor::{Actor, Done};
use super::desk::Handle;
use super::pace::Topic;
use super::wish::{Wish, resource};
use super::writes::in_time;
use crate::act::{ActError, SetRef};
use crate::metrics::RolloutOutcome;
use crate::report::notes;

/// Statuses that only count on are written this far apart.
const PERIOD: Duration = Duration::from_secs(1);

impl Actor {
    /// Says where the set stands, now or a little later, while other things go on.
    pub(super) fn say(&mut self, wish: &Arc<Wish>, status: LockstepSetStatus) {
        if status == self.said || self.saying {
            return;
        }
        if let Some(until) = self.holds(&Topic::Status) {
            return self.wake_at(until);
        }
        let since = self.said_at.map(|at| at.elapsed());
        if let Some(left) = since.and_then(|since| PERIOD.checked_sub(since)).filter(|left| !left.is_zero())
            && !is_prompt(&self.said, &status)
        {
            // A part of a millisecond is waited for, too: who wakes early would only look again at once.
            let left = left.as_nanos().div_ceil(1_000_000);
            self.wake_at(self.now() + Millis(u64::try_from(left).unwrap_or_default()));
            return;
        }
        self.announce(&wish.set, &status);
        self.saying = true;
        self.begin(&status);
        let (client, handle, wish) =
            (self.context.client.clone(), Arc::clone(&self.handle), Arc::clone(wish));
        self.jobs.spawn(async move {
            let result = match write(&client, &handle, &wish, &status).await {
                Ok(Said::Overtaken) => Err(ActError::Overtaken),
                Ok(Said::Written | Said::Gone) => Ok(()),
                Err(error) => Err(error),
            };
            Done { topic: Topic::Status, result }
        });
    }

    /// Says where the set stands before anything else is done. Returns whether that still is so.
    pub(super) async fn say_first(
        &mut self,
        wish: &Arc<Wish>,
        status: &LockstepSetStatus,
    ) -> Result<bool, ActError> {
        while self.saying {
            let Some(done) = self.jobs.join_next().await else { break };
            self.ended(done);
        }
        // What was said meanwhile has moved the object on.
        let latest = self.handle.desk().wish.clone().unwrap_or_else(|| Arc::clone(wish));
        // A person may have promoted or aborted, which leaves the generation as it is.
        let changed = latest.version != wish.version && latest.status.memory != self.written;
        if latest.generation != wish.generation || latest.set.uid != wish.set.uid || changed {
            return Ok(false);
        }
        self.announce(&wish.set, status);
        self.begin(status);
        let said = write(&self.context.client, &self.handle, &latest, status).await?;
        Ok(said == Said::Written)
    }

    /// The status could not be written: what stands in the API server counts again.
    pub(super) fn not_said(&mut self, error: ActError) {
        self.doubt = true;
        if error == ActError::Overtaken {
            // That is no trouble, but it has to be said anew, whether or not anybody tells of a change.
            return self.handle.ring();
        }
        self.failed(Topic::Status, error);
    }

    fn begin(&mut self, status: &LockstepSetStatus) {
        self.measure(status);
        self.written = status.memory.clone();
        self.stored = Memory::deserialize(&self.written).unwrap_or_default();
        self.said = status.clone();
        self.said_at = Some(Instant::now());
    }

    /// Counts what has come to an end.
    fn measure(&self, status: &LockstepSetStatus) {
        let metrics = &self.context.metrics;
        metrics.set_status(&self.set.namespace, &self.set.name, status);
        let now = self.context.clock.now();
        let since = |stamp: &str| {
            let then: jiff::Timestamp = stamp.parse().ok()?;
            Duration::try_from(now.duration_since(then)).ok()
        };
        let still = |block: &BlockedStatus| {
            status
                .rollout
                .blocked
                .iter()
                .any(|other| other.what == block.what && other.reason == block.reason)
        };
        for block in self.said.rollout.blocked.iter().filter(|block| !still(block)) {
            metrics.blocked_for(&block.reason, since(&block.since).unwrap_or_default());
        }
        let (was, is) = (&self.said.rollout, &status.rollout);
        // A spec that is refused, or mended, ends no rollout.
        let moved = was.phase != is.phase && !status.is_refused() && !self.said.is_refused();
        let outcome = RolloutOutcome::of_phase(&is.phase).filter(|_| moved);
        if let (Some(outcome), Some(took)) = (outcome, was.started_at.as_deref().and_then(since)) {
            metrics.rollout_ended(outcome, took);
        }
    }

    /// Sends events for what has changed, in the words of the status.
    fn announce(&mut self, set: &SetRef, status: &LockstepSetStatus) {
        for note in notes(&self.said, status) {
            for about in set.concerned() {
                let (events, note) = (Arc::clone(&self.context.events), note.clone());
                self.jobs.spawn(async move {
                    let told = events.tell(&about, &note).await;
                    let result = told.map_err(|error| ActError::of("send an event".to_owned(), error));
                    Done { topic: Topic::Aside, result }
                });
            }
        }
    }
}

/// Whether somebody waits for this: a spec that was seen, another phase.
fn is_prompt(said: &LockstepSetStatus, status: &LockstepSetStatus) -> bool {
    said.observed_generation != status.observed_generation || said.rollout.phase != status.rollout.phase
}

/// What became of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It stands there.
    Written,
    /// Somebody else was faster.
    Overtaken,
    /// There is nothing left to speak of.
    Gone,
}

/// Writes a status, if the object still is in the state the status speaks of.
async fn write(
    client: &Client,
    handle: &Handle,
    wish: &Wish,
    status: &LockstepSetStatus,
) -> Result<Said, ActError> {
    let SetRef { namespace, name, uid, .. } = &wish.set;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource());
    let body = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": wish.version.to_string()},
        "status": status,
    });
    let parameters = PatchParams::apply(label::FIELD_MANAGER).force();
    let request = async { Ok(api.patch_status(name, &parameters, &Patch::Apply(body)).await) };
    let written = match in_time(&format!("write the status of {name}"), request).await? {
        Ok(object) => object,
        // Somebody changed the set meanwhile: take that first.
        Err(Error::Api(status)) if status.code == 409 => {
            let found = api.get_opt(name).await;
            match found.map_err(|error| ActError::of(format!("read set {name}"), error))? {
                Some(object) => {
                    handle.change(|desk| desk.answer(Wish::read(&object)));
                    return Ok(Said::Overtaken);
                }
                None => return Ok(Said::Gone),
            }
        }
        Err(Error::Api(status)) if status.code == 404 => return Ok(Said::Gone),
        Err(error) => return Err(ActError::of(format!("write the status of {name}"), error)),
    };
    handle.desk().answer(Wish::read(&written));
    Ok(Said::Written)
}
