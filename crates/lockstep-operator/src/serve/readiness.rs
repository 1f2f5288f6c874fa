//! Whether this replica should be sent requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What has to be there before a replica is ready. Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    certificate: AtomicBool,
    caches: AtomicBool,
    leading: AtomicBool,
    ending: AtomicBool,
}

impl Readiness {
    /// The webhook has a certificate to show.
    pub fn certificate(&self, there: bool) {
        self.0.certificate.store(there, Ordering::Relaxed);
    }

    /// The caches of the controller are filled. Only who leads needs them.
    pub fn caches(&self, filled: bool) {
        self.0.caches.store(filled, Ordering::Relaxed);
    }

    /// This replica leads, or stands by. The caches of one that has just begun to lead are empty.
    pub fn leading(&self, leads: bool) {
        self.0.caches.store(false, Ordering::Relaxed);
        self.0.leading.store(leads, Ordering::Relaxed);
    }

    /// It is about to end: nothing new should come.
    pub fn ending(&self) {
        self.0.ending.store(true, Ordering::Relaxed);
    }

    /// What is missing, one line each; nothing if it is ready.
    pub fn missing(&self) -> Vec<&'static str> {
        let is = |part: &AtomicBool| part.load(Ordering::Relaxed);
        let mut missing = Vec::new();
        if !is(&self.0.certificate) {
            missing.push("the webhook has no certificate yet");
        }
        if is(&self.0.leading) && !is(&self.0.caches) {
            missing.push("the caches are not filled yet");
        }
        if is(&self.0.ending) {
            missing.push("shutting down");
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_needs_no_caches_and_a_leader_does() {
        let ready = Readiness::default();
        assert_eq!(ready.missing(), ["the webhook has no certificate yet"]);
        ready.certificate(true);
        assert!(ready.missing().is_empty(), "a standby");
        ready.clone().leading(true);
        assert_eq!(ready.missing(), ["the caches are not filled yet"]);
        ready.caches(true);
        assert!(ready.missing().is_empty());
        ready.leading(false);
        ready.leading(true);
        assert_eq!(ready.missing().len(), 1, "caches of an earlier term do not count");
        ready.caches(true);
        ready.ending();
        assert_eq!(ready.missing(), ["shutting down"]);
    }
}
