//! How old is what a client knows: known exactly here, where everything that it is told passes by.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Extensions, Method, Uri};
use tokio::time::Instant;

use super::about;
use crate::request::Query;

/// Requests with no longer pauses between them may belong to one plan: what is decided together is sent one by one.
const BREATH: Duration = Duration::from_millis(10);

/// Who is not told what became of a write asks again after a second.
const SECOND_TRY: Duration = Duration::from_millis(1_050);

/// What is done to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// It is created.
    Create,
    /// It is deleted.
    Delete,
}

/// Something that a client did to a pod.
#[derive(Debug, Clone)]
pub struct Done {
    /// When it arrived.
    pub arrived: Instant,
    /// When, and upon what, it was decided.
    pub decided: Decided,
    /// What else the client gave along with the request, for those in this process.
    pub along: Extensions,
}

/// When a request was sent, and upon what it was decided.
#[derive(Debug, Clone, Copy)]
pub struct Decided {
    /// The client knew all that had happened until then, or more.
    pub rests_on: Instant,
    /// When it was sent.
    pub sent: Instant,
}

/// What a client has seen, and what it does upon that.
#[derive(Debug, Clone)]
pub(super) struct Sight(Arc<Mutex<Seen>>);

#[derive(Debug)]
struct Seen {
    /// The watches of pods that are behind, and since when.
    behind: BTreeMap<String, Instant>,
    under_way: usize,
    /// What anything may rest on that is sent in the same breath as the request that ended last.
    breath: Option<Breath>,
    deeds: BTreeMap<(Deed, String), Done>,
}

#[derive(Debug, Clone, Copy)]
struct Breath {
    rests_on: Instant,
    until: Instant,
}

/// The watch that every client begins with.
const FIRST: &str = "";

impl Sight {
    /// Of a client that has seen nothing since then.
    pub fn since(then: Instant) -> Self {
        let behind = BTreeMap::from([(FIRST.to_owned(), then)]);
        let seen = Seen { behind, under_way: 0, breath: None, deeds: BTreeMap::new() };
        Self(Arc::new(Mutex::new(seen)))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest view that a client may act upon which decides or sends something now.
    pub fn rests_on(&self) -> Instant {
        self.lock().rests_on()
    }

    /// What was last done so to a pod.
    pub fn deed(&self, deed: Deed, pod: &str) -> Option<Done> {
        self.lock().deeds.get(&(deed, pod.to_owned())).cloned()
    }

    /// A pod is about to be created or deleted.
    pub fn done(&self, deed: Deed, pod: &str, decided: Decided, along: Extensions) {
        let done = Done { arrived: Instant::now(), decided, along };
        self.lock().deeds.insert((deed, pod.to_owned()), done);
    }

    /// Something that it did to a pod arrived after one moment, and not after the other.
    pub fn acted_between(&self, from: Instant, until: Instant) -> bool {
        self.lock().deeds.values().any(|done| done.arrived > from && done.arrived <= until)
    }

    /// A watch has been told of all there is.
    pub fn caught_up(&self, watch: &str) {
        let mut seen = self.lock();
        seen.behind.remove(FIRST);
        seen.behind.remove(watch);
    }

    /// A watch is not told of what happens from now on.
    pub fn falls_behind(&self, watch: &str) {
        self.lock().behind.entry(watch.to_owned()).or_insert_with(Instant::now);
    }

    /// A request is sent.
    pub fn sends(&self) -> Sent {
        let mut seen = self.lock();
        let rests_on = seen.rests_on();
        seen.under_way += 1;
        let until = seen.breath.map_or(rests_on, |breath| breath.until);
        seen.breath = Some(Breath { rests_on, until });
        let decided = Decided { rests_on, sent: Instant::now() };
        Sent { sight: self.clone(), decided, pause: BREATH }
    }
}

impl Seen {
    fn rests_on(&self) -> Instant {
        let now = Instant::now();
        let same_breath = |breath: &&Breath| self.under_way > 0 || now <= breath.until;
        let breath = self.breath.as_ref().filter(same_breath).map(|breath| breath.rests_on);
        self.behind.values().copied().chain(breath).min().unwrap_or(now)
    }
}

/// A request under way, until somebody is told what became of it, or does not wait any longer.
#[derive(Debug)]
pub(super) struct Sent {
    sight: Sight,
    pub decided: Decided,
    pause: Duration,
}

impl Sent {
    /// It went wrong, and may be tried again.
    pub fn failed(&mut self) {
        self.pause = SECOND_TRY;
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let mut seen = self.sight.lock();
        seen.under_way -= 1;
        let until = Instant::now() + self.pause;
        if let Some(breath) = &mut seen.breath {
            breath.until = breath.until.max(until);
        }
    }
}

/// What a request has to do with what its client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bearing {
    /// It watches pods.
    Watch(String),
    /// What is decided may wait for its answer.
    Step,
    /// Nothing.
    None,
}

/// What a request has to do with what its client knows. Leases and events are nobody's step.
pub(super) fn bearing(method: &Method, uri: &Uri) -> Bearing {
    let of = about(uri.path());
    if *method == Method::GET && of.name.is_empty() {
        let watches = of.what == "pods" && Query::read(uri.query().unwrap_or_default()).says("watch");
        return if watches { Bearing::Watch(uri.path().to_owned()) } else { Bearing::None };
    }
    if matches!(of.what, "leases" | "events") { Bearing::None } else { Bearing::Step }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn after(millis: u64) {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    fn age(sight: &Sight) -> u128 {
        sight.rests_on().elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_seen_nothing_knows_nothing() {
        let sight = Sight::since(Instant::now());
        after(100).await;
        assert_eq!(age(&sight), 100);
        sight.caught_up("/api/v1/pods");
        assert_eq!(age(&sight), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_broke_is_as_old_as_its_end() {
        let sight = Sight::since(Instant::now());
        sight.caught_up("/api/v1/pods");
        after(100).await;
        sight.falls_behind("/api/v1/pods");
        after(30).await;
        sight.falls_behind("/api/v1/pods");
        after(20).await;
        assert_eq!(age(&sight), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_in_one_breath_may_have_been_decided_at_its_beginning() {
        let sight = Sight::since(Instant::now());
        sight.caught_up("/api/v1/pods");
        let first = sight.sends();
        after(5_000).await;
        assert_eq!(age(&sight), 5_000);
        drop(first);
        let second = sight.sends();
        after(1).await;
        assert_eq!(second.decided.rests_on.elapsed().as_millis(), 5_001);
        drop(second);
        after(11).await;
        assert_eq!(age(&sight), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_may_be_tried_again_a_second_later() {
        let sight = Sight::since(Instant::now());
        sight.caught_up("/api/v1/pods");
        let mut sent = sight.sends();
        sent.failed();
        drop(sent);
        after(1_000).await;
        assert_eq!(age(&sight), 1_000);
        after(100).await;
        assert_eq!(age(&sight), 0);
    }

    #[test]
    fn leases_hold_nobody_up() {
        let rows = [
            ("GET", "/api/v1/pods?watch=true", Bearing::Watch("/api/v1/pods".to_owned())),
            ("GET", "/api/v1/pods", Bearing::None),
            ("GET", "/apis/lockstep.dev/v1alpha1/lockstepsets?watch=1", Bearing::None),
            ("GET", "/api/v1/namespaces/x/pods/a-0", Bearing::Step),
            ("POST", "/api/v1/namespaces/x/pods", Bearing::Step),
            ("PUT", "/apis/lockstep.dev/v1alpha1/namespaces/x/lockstepsets/a/status", Bearing::Step),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/a", Bearing::None),
        ];
        for (method, uri, expected) in rows {
            let method: Method = method.parse().expect("a method");
            assert_eq!(bearing(&method, &uri.parse().expect("a URI")), expected, "{method} {uri}");
        }
    }
}
