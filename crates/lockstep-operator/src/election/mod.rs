//! Leader election: of several replicas one acts, by a `coordination.k8s.io` Lease.
//!
//! Two rules make sure that there are never two. Who leads is sure of it only for the renew deadline after the
//! *start* of its last successful renewal; who waits takes over only when the record has not changed for the whole,
//! longer lease, counted from when it *saw* the change. Both are measured by each one's own monotonic clock, and no
//! timestamp of another machine is ever looked at. Every write is a PUT with the resourceVersion that was seen, so
//! a write that was held back on its way changes nothing any more when it arrives late.

mod decide;
mod keeper;
mod leadership;
mod lease;

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

pub use self::decide::{Decision, Own, Record, Timing, decide};
use self::keeper::Keeper;
pub use self::leadership::Leadership;
use self::lease::LeaseFile;
use crate::clock::Clock;

/// Where the Lease is, who we are, and how patient everybody is.
#[derive(Debug, Clone)]
pub struct ElectionOptions {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Who we are, for people: the name of the pod. Something random is added, so that no two processes are alike.
    pub identity: String,
    /// How long the others wait for a holder that has fallen silent.
    pub lease_duration: Duration,
    /// How long we are sure after a renewal; must be shorter than the lease.
    pub renew_deadline: Duration,
    /// How often we renew, and how long we wait after a failure; must be shorter than the renew deadline.
    pub retry_period: Duration,
    /// What is added to who we are; something random, unless it is told.
    pub nonce: Option<u64>,
    /// What time it is, for people who read the Lease.
    pub clock: Clock,
}

impl ElectionOptions {
    /// The usual: a lease of 15 s, sure for 10 s, renewed every 2 s.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            nonce: None,
            clock: Clock::default(),
        }
    }

    fn timing(&self) -> Timing {
        let Self { lease_duration, renew_deadline, retry_period, .. } = *self;
        Timing { lease_duration, renew_deadline, retry_period }
    }
}

/// An election cannot be held like that.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the retry period ({retry_period:?}) must be shorter than the renew deadline ({renew_deadline:?}), and that \
     shorter than the lease ({lease_duration:?})"
)]
pub struct BadTiming {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// A candidate for a Lease.
#[derive(Debug)]
pub struct Election {
    file: LeaseFile,
    timing: Timing,
}

/// How [`Election::run`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<T> {
    /// It was asked to end.
    Shutdown,
    /// The work ended by itself.
    Finished(T),
}

impl Election {
    /// A candidate that does not take part yet.
    pub fn new(client: kube::Client, options: &ElectionOptions) -> Result<Self, BadTiming> {
        let timing = options.timing();
        let Timing { lease_duration, renew_deadline, retry_period } = timing;
        if retry_period.is_zero() || retry_period >= renew_deadline || renew_deadline >= lease_duration {
            return Err(BadTiming { lease_duration, renew_deadline, retry_period });
        }
        // A process that died must not be mistaken for the one that follows it under the same name.
        let nonce = options.nonce.unwrap_or_else(|| RandomState::new().hash_one(&options.identity));
        let holder = format!("{}_{nonce:016x}", options.identity);
        Ok(Self { file: LeaseFile::new(client, options, holder), timing })
    }

    /// What stands in the Lease when we hold it.
    pub fn holder(&self) -> &str {
        self.file.holder()
    }

    /// Takes part until `shutdown`, and works while it leads: `work` is called each time leadership is gained, and
    /// what it returns is dropped the moment we are no longer sure. In the end the Lease is released, so that the
    /// next one need not wait. If this is dropped instead, the Lease runs out.
    ///
    /// What the work spawns is not dropped with it, and has to ask [`Leadership::is_sure`] before it acts.
    pub async fn run<W, F, T>(self, shutdown: impl Future<Output = ()>, mut work: W) -> Ended<T>
    where
        W: FnMut(Leadership) -> F,
        F: Future<Output = T>,
    {
        let (announce, mut terms) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        // In a task of its own: work that computes for seconds must not keep us from renewing.
        let mut keeper = JoinSet::new();
        keeper.spawn(Keeper::new(self.file, self.timing, announce).campaign(stopped));
        let working = async {
            loop {
                let leadership = next_term(&mut terms).await;
                tokio::select! {
                    biased;
                    () = leadership.lost() => tracing::warn!("leadership lost"),
                    done = work(leadership.clone()) => return done,
                }
            }
        };
        let ended = tokio::select! {
            biased;
            () = shutdown => Ended::Shutdown,
            done = working => Ended::Finished(done),
        };
        // The work is gone by now; only then may somebody else begin.
        let _ = stop.send(());
        while keeper.join_next().await.is_some() {}
        ended
    }
}

/// Waits until we lead and are sure of it.
async fn next_term(terms: &mut watch::Receiver<Option<Leadership>>) -> Leadership {
    loop {
        let gained = terms.borrow_and_update().clone();
        if let Some(leadership) = gained.filter(Leadership::is_sure) {
            return leadership;
        }
        if terms.changed().await.is_err() {
            // Nobody campaigns any more, so nothing will ever be gained.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn times_must_be_in_order() {
        let client = || {
            let config = kube::Config::new("http://127.0.0.1:1".parse().expect("a URI"));
            kube::Client::try_from(config).expect("a client")
        };
        let seconds = Duration::from_secs;
        for (lease, renew, retry, good) in
            [(15, 10, 2, true), (3, 2, 1, true), (15, 15, 2, false), (15, 10, 10, false), (15, 10, 0, false)]
        {
            let options = ElectionOptions {
                lease_duration: seconds(lease),
                renew_deadline: seconds(renew),
                retry_period: seconds(retry),
                ..ElectionOptions::new("x", "y", "z")
            };
            assert_eq!(Election::new(client(), &options).is_ok(), good, "{options:?}");
        }
        let options = ElectionOptions::new("x", "y", "z");
        let holder = || Election::new(client(), &options).expect("good times").holder().to_owned();
        let (one, other) = (holder(), holder());
        assert!(one.starts_with("z_") && one != other, "{one} {other}");
    }
}
