//! The Lease itself: what it says, and the only ways it is written.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, PostParams, WatchEvent, WatchParams};
use tokio::time::Instant;

use super::ElectionOptions;
use super::decide::{Record, Timing};
use crate::clock::Clock;

/// Changes of the Lease.
pub(super) type Changes = BoxStream<'static, Result<WatchEvent<Lease>, kube::Error>>;

/// The Lease as it was last seen, and since when it has been so.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    known: bool,
    lease: Option<Lease>,
    since: Option<Instant>,
    /// For how long it may still be held although it is gone.
    vanished: Option<Duration>,
}

impl Seen {
    /// Takes note of how it is. What has not changed since is as old as it was.
    pub(super) fn note(&mut self, lease: Option<Lease>, holder: &str, timing: &Timing, now: Instant) {
        let version =
            |lease: &Option<Lease>| lease.as_ref().and_then(|l| l.metadata.resource_version.clone());
        if self.known && version(&self.lease) == version(&lease) {
            return;
        }
        // Somebody removed a Lease that was held. Its holder does not know yet.
        let vanished = match (self.record(holder, timing), &lease) {
            (Record::Theirs { duration, .. }, None) => Some(duration),
            _ => None,
        };
        *self = Self { known: true, lease, since: Some(now), vanished };
    }

    /// What that means to somebody who writes this name into it.
    pub(super) fn record(&self, holder: &str, timing: &Timing) -> Record {
        let Some(since) = self.since else { return Record::Unknown };
        let spec = self.lease.as_ref().and_then(|lease| lease.spec.as_ref());
        let held_by = spec.and_then(|spec| spec.holder_identity.as_deref()).filter(|name| !name.is_empty());
        let told = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        match (held_by, self.vanished) {
            (Some(name), _) if name == holder => Record::Ours,
            (Some(_), _) => {
                let duration = told.map_or(timing.lease_duration, Duration::from_secs);
                Record::Theirs { since, duration }
            }
            (None, Some(duration)) => Record::Theirs { since, duration },
            (None, None) => Record::Free,
        }
    }

    /// The version to follow changes from.
    pub(super) fn version(&self) -> Option<&str> {
        self.lease.as_ref()?.metadata.resource_version.as_deref()
    }
}

/// Reads and writes one Lease in one name.
#[derive(Debug)]
pub(super) struct LeaseFile {
    api: Api<Lease>,
    name: String,
    holder: String,
    clock: Clock,
}

impl LeaseFile {
    pub(super) fn new(client: kube::Client, options: &ElectionOptions, holder: String) -> Self {
        let (name, clock) = (options.name.clone(), options.clock.clone());
        Self { api: Api::namespaced(client, &options.namespace), name, holder, clock }
    }

    pub(super) fn holder(&self) -> &str {
        &self.holder
    }

    pub(super) async fn read(&self) -> Result<Option<Lease>, kube::Error> {
        self.api.get_opt(&self.name).await
    }

    /// Follows changes from a version on.
    pub(super) async fn changes(&self, version: &str) -> Result<Changes, kube::Error> {
        let only_this = WatchParams::default().fields(&format!("metadata.name={}", self.name));
        Ok(self.api.watch(&only_this, version).await?.into_stream().boxed())
    }

    /// Writes our name into what was seen, or makes it if there was nothing. Fails with a conflict if it is not as
    /// it was seen any more.
    pub(super) async fn claim(&self, seen: &Seen, timing: &Timing) -> Result<Lease, kube::Error> {
        let lease = claimed(seen.lease.as_ref(), &self.name, &self.holder, timing, self.clock.now());
        match seen.lease {
            Some(_) => self.api.replace(&self.name, &PostParams::default(), &lease).await,
            None => self.api.create(&PostParams::default(), &lease).await,
        }
    }

    /// Takes our name out of it, if it is still in it.
    pub(super) async fn release(&self) -> Result<(), kube::Error> {
        let Some(mut lease) = self.read().await? else { return Ok(()) };
        let Some(spec) = lease.spec.as_mut() else { return Ok(()) };
        if spec.holder_identity.as_deref() != Some(&self.holder) {
            return Ok(());
        }
        spec.holder_identity = None;
        spec.renew_time = Some(MicroTime(self.clock.now()));
        self.api.replace(&self.name, &PostParams::default(), &lease).await.map(drop)
    }
}

/// The Lease with our name in it. Times in it are for people; nobody compares them with anything.
fn claimed(seen: Option<&Lease>, name: &str, holder: &str, timing: &Timing, now: Timestamp) -> Lease {
    let named = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let mut lease = seen.cloned().unwrap_or(Lease { metadata: named, spec: None });
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if spec.holder_identity.as_deref() != Some(holder) {
        spec.lease_transitions = Some(spec.lease_transitions.map_or(0, |n| n.saturating_add(1)));
        spec.acquire_time = Some(MicroTime(now));
        spec.holder_identity = Some(holder.to_owned());
    }
    let seconds = timing.lease_duration.as_millis().div_ceil(1000);
    spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
    spec.renew_time = Some(MicroTime(now));
    lease
}

/// Whether a write failed because somebody else wrote, or removed, what it was meant for.
pub(super) fn is_outdated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 || status.code == 404)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_millis(14_500),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    fn lease(version: &str, holder: Option<&str>, seconds: Option<i32>) -> Option<Lease> {
        let metadata = ObjectMeta { resource_version: Some(version.to_owned()), ..ObjectMeta::default() };
        let holder_identity = holder.map(str::to_owned);
        let spec = LeaseSpec { holder_identity, lease_duration_seconds: seconds, ..LeaseSpec::default() };
        Some(Lease { metadata, spec: Some(spec) })
    }

    #[test]
    fn what_was_seen_and_since_when() {
        let zero = Instant::now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let theirs = |since, duration| Record::Theirs { since: at(since), duration };
        let (own, told) = (TIMING.lease_duration, Duration::from_secs(30));
        let mut seen = Seen::default();
        assert_eq!(seen.record("me", &TIMING), Record::Unknown);
        let story = [
            (0, None, Record::Free),
            (1, lease("1", Some("you"), None), theirs(1, own)),
            // The same version again: as old as it was.
            (5, lease("1", Some("you"), None), theirs(1, own)),
            (6, lease("2", Some("you"), Some(30)), theirs(6, told)),
            // Removed while it was held: its holder may not know.
            (7, None, theirs(7, told)),
            (9, None, theirs(7, told)),
            (10, lease("3", Some(""), Some(30)), Record::Free),
            (11, lease("4", None, Some(30)), Record::Free),
            (12, None, Record::Free),
            (13, lease("5", Some("me"), Some(30)), Record::Ours),
            (14, None, Record::Free),
            (15, lease("6", Some("you"), Some(-1)), theirs(15, own)),
        ];
        for (now, lease, expected) in story {
            seen.note(lease, "me", &TIMING, at(now));
            assert_eq!(seen.record("me", &TIMING), expected, "at {now}");
        }
    }

    #[test]
    fn a_claim_keeps_what_is_not_its_own() {
        let now = Timestamp::UNIX_EPOCH;
        let new = claimed(None, "lockstep", "me", &TIMING, now);
        assert_eq!(new.metadata.name.as_deref(), Some("lockstep"));
        let spec = new.spec.expect("a spec");
        assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(0)));

        let mut found = lease("7", Some("you"), Some(3)).expect("a lease");
        found.metadata.labels = Some([("keep".to_owned(), "this".to_owned())].into());
        found.spec.as_mut().expect("a spec").lease_transitions = Some(4);
        let taken = claimed(Some(&found), "lockstep", "me", &TIMING, now);
        assert_eq!(taken.metadata, found.metadata, "the resourceVersion above all");
        let spec = taken.spec.clone().expect("a spec");
        assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("me"), Some(5)));

        let later = Timestamp::from_second(60).expect("a time");
        let renewed = claimed(Some(&taken), "lockstep", "me", &TIMING, later).spec.expect("a spec");
        assert_eq!((renewed.lease_transitions, renewed.acquire_time), (Some(5), Some(MicroTime(now))));
        assert_eq!(renewed.renew_time, Some(MicroTime(later)));
    }
}
