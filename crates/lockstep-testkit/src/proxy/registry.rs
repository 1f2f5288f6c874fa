//! The rules that are in force, and what passed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::request::Request;
use super::rule::{Fault, Rule};

/// A rule in force. Dropping this leaves it in force, so a scenario may add rules and forget them; they end
/// with the proxy at the latest.
#[derive(Debug)]
pub struct Held {
    id: u64,
    hits: Arc<AtomicU64>,
    registry: Arc<Registry>,
}

impl Held {
    /// How often the fault happened: per request, or per stream for faults of watches.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Ends the rule. Its hits stay readable, and what was held back is delivered.
    pub fn remove(&self) {
        self.registry.remove(self.id);
    }
}

/// A request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The request.
    pub request: Request,
    /// How often it was sent on: once, unless a fault says otherwise.
    pub sent: u32,
}

/// What happens to a request.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) delay: Duration,
    pub(super) fault: Option<Fault>,
}

/// What a rule means for one stream: decided once, when the two meet.
#[derive(Debug)]
pub(super) struct Met {
    id: u64,
    /// Nothing if the rule lets this stream pass.
    pub(super) fault: Option<Fault>,
    pub(super) since: Instant,
    /// How many events were delivered since.
    pub(super) events: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    rule: Rule,
    fitted: u64,
    hits: Arc<AtomicU64>,
}

impl Entry {
    /// Whether it is the turn of a request that fits.
    fn claim(&mut self) -> bool {
        self.fitted += 1;
        let left = self.rule.times.is_none_or(|times| self.hits.load(Ordering::Relaxed) < times);
        let due = left && self.fitted > self.rule.skip;
        if due {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        due
    }
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    rules: Vec<Entry>,
    seen: Vec<Seen>,
}

/// The rules in force, oldest first.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

impl Registry {
    pub(super) fn add(self: &Arc<Self>, rule: Rule) -> Held {
        let hits = Arc::new(AtomicU64::new(0));
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.rules.push(Entry { id, rule, fitted: 0, hits: Arc::clone(&hits) });
        drop(state);
        self.changes.send_replace(());
        Held { id, hits, registry: Arc::clone(self) }
    }

    fn remove(&self, id: u64) {
        self.lock().rules.retain(|entry| entry.id != id);
        self.changes.send_replace(());
    }

    pub(super) fn clear(&self) {
        self.lock().rules.clear();
        self.changes.send_replace(());
    }

    /// Tells when rules come and go.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// What happens to a request: all delays, and the oldest other fault.
    pub(super) fn decide(&self, request: &Request) -> Verdict {
        let mut verdict = Verdict::default();
        let mut state = self.lock();
        let fitting =
            |entry: &&mut Entry| !entry.rule.fault.is_of_streams() && entry.rule.which.fits(request);
        for entry in state.rules.iter_mut().filter(fitting) {
            if !entry.claim() {
                continue;
            }
            match &entry.rule.fault {
                Fault::Delay(delay) => verdict.delay += Duration::from(*delay),
                fault => {
                    verdict.fault = Some(fault.clone());
                    break;
                }
            }
        }
        verdict
    }

    /// Brings up to date what the rules mean for a stream.
    pub(super) fn meet(&self, request: &Request, met: &mut Vec<Met>) {
        let mut state = self.lock();
        met.retain(|met| state.rules.iter().any(|entry| entry.id == met.id));
        let fitting = |entry: &&mut Entry| entry.rule.fault.is_of_streams() && entry.rule.which.fits(request);
        for entry in state.rules.iter_mut().filter(fitting) {
            if met.iter().all(|met| met.id != entry.id) {
                let fault = entry.claim().then(|| entry.rule.fault.clone());
                met.push(Met { id: entry.id, fault, since: Instant::now(), events: 0 });
            }
        }
    }

    pub(super) fn record(&self, request: &Request, sent: u32) {
        self.lock().seen.push(Seen { request: request.clone(), sent });
    }

    pub(super) fn seen<T>(&self, read: impl FnOnce(&[Seen]) -> T) -> T {
        read(&self.lock().seen)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::proxy::{Refusal, Verb, Which};

    fn request(uri: &str) -> Request {
        Request::parse(&Method::GET, &uri.parse().unwrap(), &HeaderMap::new())
    }

    #[test]
    fn skip_and_times_count_what_fits() {
        let registry = Arc::new(Registry::default());
        let which = Which::verbs([Verb::Get]).of("pods");
        let held = registry.add(Rule::new(which, Fault::Drop).skip(1).times(2));
        let dropped = |uri| registry.decide(&request(uri)).fault.is_some();
        assert!(!dropped("/api/v1/nodes/a"));
        assert!(!dropped("/api/v1/namespaces/x/pods/a"));
        assert!(!dropped("/api/v1/nodes/a"));
        assert!(dropped("/api/v1/namespaces/x/pods/a"));
        assert!(dropped("/api/v1/namespaces/x/pods/a"));
        assert!(!dropped("/api/v1/namespaces/x/pods/a"));
        assert_eq!(held.hits(), 2);
    }

    #[test]
    fn delays_add_up_and_the_oldest_fault_decides() {
        let registry = Arc::new(Registry::default());
        let delay = |millis| Rule::new(Which::any(), Fault::Delay(Duration::from_millis(millis).into()));
        registry.add(delay(20));
        let refuse = registry.add(Rule::new(Which::any(), Fault::Refuse(Refusal::new(500, "InternalError"))));
        registry.add(delay(30));
        let drop = registry.add(Rule::new(Which::any(), Fault::Drop));
        let verdict = registry.decide(&request("/version"));
        assert_eq!(verdict.delay, Duration::from_millis(20));
        assert!(matches!(verdict.fault, Some(Fault::Refuse(_))));
        refuse.remove();
        let verdict = registry.decide(&request("/version"));
        assert_eq!((verdict.delay, verdict.fault), (Duration::from_millis(50), Some(Fault::Drop)));
        assert_eq!((refuse.hits(), drop.hits()), (1, 1));
        registry.clear();
        assert_eq!(registry.decide(&request("/version")).fault, None);
    }

    #[tokio::test]
    async fn a_stream_meets_each_rule_once() {
        let registry = Arc::new(Registry::default());
        let watch = request("/api/v1/pods?watch=true");
        let held = registry.add(Rule::new(Which::any(), Fault::GoneWatch).times(1));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        registry.meet(&watch, &mut first);
        registry.meet(&watch, &mut first);
        registry.meet(&watch, &mut second);
        assert_eq!(first[0].fault, Some(Fault::GoneWatch));
        assert_eq!(second[0].fault, None);
        assert_eq!((first.len(), second.len(), held.hits()), (1, 1, 1));
        held.remove();
        registry.meet(&watch, &mut first);
        assert!(first.is_empty());
    }
}
