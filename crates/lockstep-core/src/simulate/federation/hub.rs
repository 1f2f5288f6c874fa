//! Whoever aligns: it reads what the clusters reported, stores the ledger and writes the Works; and it may be killed
//! between any two of these.

use std::collections::BTreeMap;

use super::Sim;
use super::happen::Job;
use super::trace::What;
use super::workload::Workload;
use crate::align::{Lease, Reason};
use crate::time::{Millis, Time};

impl<W: Workload> Sim<'_, W> {
    /// There is news: align at this moment, once.
    pub(super) fn stir(&mut self) {
        if !self.aligning && !self.down {
            self.aligning = true;
            self.after(Millis(0), Job::Align);
        }
    }

    pub(super) fn align(&mut self) {
        self.aligning = false;
        if self.down {
            return;
        }
        let (held, wake) = self.turns.held(&self.world.wish, self.now);
        self.world.wish.held = held;
        if let Some(wake) = wake.filter(|wake| *wake > self.now) {
            self.at(wake, Job::Wake);
        }
        let answer = self.world.align();
        self.turns.aligned(&self.world.wish, &answer, self.now);
        self.settled = answer.complete && answer.leases.is_empty();
        self.outcome.alignments += 1;
        self.outcome.leases += answer.leases.len() as u64;
        self.outcome.totals = answer.totals;
        self.note(answer.reasons);
        self.give(answer.leases);
    }

    /// Writes leases, unless it dies over it. What is not written then is in the ledger all the same.
    fn give(&mut self, leases: BTreeMap<String, Lease>) {
        for (cluster, lease) in leases {
            self.tell(What::Lease { cluster: cluster.clone(), lease: Box::new(lease.clone()) });
            match &mut self.dying {
                Some(0) => {}
                Some(left) => {
                    *left -= 1;
                    self.write(&cluster, lease);
                }
                None => self.write(&cluster, lease),
            }
        }
        if self.dying.take().is_some() {
            self.down = true;
            self.tell(What::Killed);
            let away = Millis(self.rng.between(1000, 30_000));
            self.after(away, Job::Restart);
        }
    }

    /// It will be killed over what it writes next, which is now.
    pub(super) fn kill(&mut self) {
        if !self.down {
            self.dying = Some(self.rng.below(3));
            self.stir();
        }
    }

    /// It is there again: every Work carries what the ledger says, then it goes on.
    pub(super) fn restart(&mut self) {
        self.down = false;
        self.tell(What::Restarted);
        let latest: Vec<(String, Lease)> = self
            .world
            .ledger
            .members
            .iter()
            .filter_map(|(cluster, entry)| Some((cluster.clone(), entry.latest()?.clone())))
            .collect();
        for (cluster, lease) in latest {
            let stands = self.desk(&cluster).work.as_ref().map(|work| work.id);
            if lease.id.0 > 0 && stands != Some(lease.id) {
                self.write(&cluster, lease);
            }
        }
        self.stir();
    }

    /// Keeps the time of what it waits for.
    fn note(&mut self, reasons: Vec<Reason>) {
        if self.reasons == reasons {
            return;
        }
        let before = std::mem::take(&mut self.waiting);
        let now = self.now;
        let since = |reason: &Reason| {
            let key = (reason.code, reason.cluster.clone());
            let since: Time = before.get(&key).copied().unwrap_or(now);
            (key, since)
        };
        self.waiting = reasons.iter().map(since).collect();
        let gone: Vec<_> = before.iter().filter(|(key, _)| !self.waiting.contains_key(*key)).collect();
        for ((code, _), since) in gone {
            self.count_wait(*code, *since);
        }
        self.reasons.clone_from(&reasons);
        self.tell(What::Waiting { reasons });
    }
}
