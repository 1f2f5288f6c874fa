//! Gaining the Lease, keeping it, and giving it back.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::WatchEvent;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::decide::{Decision, Own, Timing, decide};
use super::leadership::{Leadership, Term};
use super::lease::{Changes, LeaseFile, Seen, is_outdated};

/// How often a release is tried when somebody writes at the same time.
const RELEASE_TRIES: u32 = 3;

/// Campaigns for the Lease, and announces each term it gains.
pub(super) struct Keeper {
    file: LeaseFile,
    timing: Timing,
    announce: watch::Sender<Option<Leadership>>,
    seen: Seen,
    own: Own,
    term: Option<Term>,
    /// Changes made by others, with the time since when they are followed.
    changes: Option<(Changes, Instant)>,
}

impl Keeper {
    pub(super) fn new(file: LeaseFile, timing: Timing, announce: watch::Sender<Option<Leadership>>) -> Self {
        let (seen, own) = (Seen::default(), Own::default());
        Self { file, timing, announce, seen, own, term: None, changes: None }
    }

    /// Takes part until it is stopped, and gives the Lease back then.
    pub(super) async fn campaign(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                () = self.step() => {}
            }
        }
        self.step_down();
        self.release().await;
    }

    async fn step(&mut self) {
        let record = self.seen.record(self.file.holder(), &self.timing);
        match decide(Instant::now(), record, self.own, &self.timing) {
            Decision::Look => self.look().await,
            Decision::Acquire | Decision::Renew => self.claim().await,
            Decision::Wait(until) => self.wait(until).await,
            Decision::Unsure => self.step_down(),
        }
    }

    /// How long one request may take: a renewal that hangs must leave time for another.
    fn patience(&self) -> Duration {
        self.timing.renew_deadline / 2
    }

    async fn look(&mut self) {
        match timeout(self.patience(), self.file.read()).await {
            Ok(Ok(lease)) => self.note(lease),
            Ok(Err(error)) => self.failed("read", &error.to_string()),
            Err(_) => self.failed("read", "no answer"),
        }
    }

    fn note(&mut self, lease: Option<Lease>) {
        self.changes = None;
        self.own.retry_at = None;
        self.seen.note(lease, self.file.holder(), &self.timing, Instant::now());
    }

    fn failed(&mut self, doing: &str, reason: &str) {
        tracing::warn!(reason, "cannot {doing} the lease");
        self.own.retry_at = Some(Instant::now() + self.timing.retry_period);
    }

    /// Acquires or renews.
    async fn claim(&mut self) {
        // What we may conclude from an answer counts from before the question.
        let began = Instant::now();
        match timeout(self.patience(), self.file.claim(&self.seen, &self.timing)).await {
            Ok(Ok(lease)) => {
                self.note(Some(lease));
                self.claimed(began);
            }
            Ok(Err(error)) if is_outdated(&error) => self.outdated(&error).await,
            Ok(Err(error)) => self.failed("write", &error.to_string()),
            Err(_) => self.failed("write", "no answer"),
        }
    }

    /// Reads what it is now: perhaps we wrote it ourselves, and lost the answer.
    async fn outdated(&mut self, error: &kube::Error) {
        let before = self.seen.version().map(str::to_owned);
        self.look().await;
        if self.own.retry_at.is_none() && before.as_deref() == self.seen.version() {
            // Nobody has changed it. Something else is wrong, such as a namespace that does not exist.
            self.failed("write", &error.to_string());
        }
    }

    fn claimed(&mut self, began: Instant) {
        let sure_until = began + self.timing.renew_deadline;
        self.own.renewed = Some(began);
        if self.term.as_ref().is_some_and(|term| term.renew(sure_until)) {
            return;
        }
        let (term, leadership) = Term::begin(sure_until);
        if leadership.is_sure() {
            tracing::info!(holder = self.file.holder(), "leading");
        }
        self.term = Some(term);
        self.announce.send_replace(Some(leadership));
    }

    fn step_down(&mut self) {
        self.own.renewed = None;
        self.term = None;
    }

    /// Waits until then, or until somebody else changes the Lease.
    async fn wait(&mut self, until: Instant) {
        if self.own.renewed.is_some() {
            return sleep_until(until).await;
        }
        let Some(version) = self.seen.version().map(str::to_owned) else {
            sleep_until(until.min(Instant::now() + self.timing.retry_period)).await;
            return self.look().await;
        };
        if self.changes.is_none() {
            let opened = Instant::now();
            match timeout_at(until, self.file.changes(&version)).await {
                Ok(Ok(changes)) => self.changes = Some((changes, opened)),
                // Perhaps we are not allowed to watch. Asking now and then does it, too.
                Ok(Err(error)) => {
                    tracing::debug!(%error, "cannot watch the lease");
                    return self.ask_again(until, opened).await;
                }
                Err(_) => return,
            }
        }
        let Some((changes, opened)) = &mut self.changes else { return };
        let opened = *opened;
        let change = tokio::select! {
            biased;
            change = changes.next() => change,
            () = sleep_until(until) => return,
        };
        let now = Instant::now();
        match change {
            Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                self.seen.note(Some(lease), self.file.holder(), &self.timing, now);
            }
            Some(Ok(WatchEvent::Deleted(_))) => {
                self.seen.note(None, self.file.holder(), &self.timing, now);
            }
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => self.ask_again(until, opened).await,
        }
    }

    /// Reads the Lease again, a retry period after the watch was opened that showed nothing more.
    async fn ask_again(&mut self, until: Instant, opened: Instant) {
        self.changes = None;
        sleep_until(until.min(opened + self.timing.retry_period)).await;
        self.look().await;
    }

    /// Gives the Lease back, if that can be done in good time; else it runs out by itself.
    async fn release(&mut self) {
        for _ in 0..RELEASE_TRIES {
            match timeout(self.patience(), self.file.release()).await {
                Ok(Ok(())) => return tracing::info!("lease released"),
                // A last renewal of ours was still on its way.
                Ok(Err(error)) if is_outdated(&error) => {}
                Ok(Err(error)) => return tracing::warn!(%error, "cannot release the lease"),
                Err(_) => return tracing::warn!("cannot release the lease: no answer"),
            }
        }
    }
}
