//! A whole cluster in this process and in its own time: the embedded API server and controllers, the kubelet
//! stand-in, and whoever is given a client.
//!
//! On a runtime whose time is paused ([`in_virtual_time`]) nobody waits for real: the clock jumps to the next thing
//! that is due. The same seed then gives the same history, byte for byte ([`Embedded::history`]).

use std::future::Future;
use std::sync::Arc;

use jiff::Timestamp;
use lockstep_kubelet::{Kubelet, NodeGroup, Options, TokioClock};
use lockstep_sandbox::cluster::faults::{Faulty, Link, Profile};
use lockstep_sandbox::cluster::{Cluster as Sandbox, Setup, Webhooks};
use lockstep_spread::NOT_ON_THE_HOST;
use tokio::time::Instant;

use crate::cluster::{ClusterError, define};
use crate::recorder::Sights;
use crate::scenario::Ground;

/// So many changes are kept: all of any run.
const CHANGES: usize = 10_000_000;

/// A cluster in this process.
pub struct Embedded {
    sandbox: Sandbox,
    webhooks: Arc<Webhooks>,
    client: kube::Client,
    began: Instant,
    operators: Sights,
    _kubelet: Option<Kubelet>,
}

impl Embedded {
    /// Starts one with our kinds and these nodes. Names and identities come from the seed.
    pub async fn start(seed: u64, nodes: &NodeGroup) -> Result<Self, ClusterError> {
        Self::start_with(seed, nodes, Profile::default()).await
    }

    /// The same, with a way for the kubelet stand-in that is not a good one.
    pub async fn start_with(seed: u64, nodes: &NodeGroup, way: Profile) -> Result<Self, ClusterError> {
        let made = Self::bare(seed, &[]);
        for (_, definition) in lockstep_api::crd::all() {
            define(&made.client, &definition).await?;
        }
        nodes.create(&made.client).await.map_err(ClusterError::api("create nodes"))?;
        let clock = Arc::new(TokioClock::starting_at(made.sandbox.now()));
        let way = if way == Profile::default() {
            made.client()
        } else {
            kube::Client::new(Faulty::before(made.sandbox.service(), way, !seed).0, "default")
        };
        let kubelet = Kubelet::start(way, Options { clock, ..Options::default() });
        Ok(Self { _kubelet: Some(kubelet), ..made })
    }

    /// Starts one without nodes that only keeps objects, for whoever spreads them: its Deployments make no pods.
    pub async fn host(seed: u64) -> Result<Self, ClusterError> {
        let made = Self::bare(seed, &NOT_ON_THE_HOST);
        for definition in lockstep_api::federation::definition::all() {
            define(&made.client, &definition).await?;
        }
        Ok(made)
    }

    fn bare(seed: u64, without: &[&str]) -> Self {
        let began = Instant::now();
        let webhooks = Arc::new(Webhooks::default());
        let mut setup = Setup { caller: Arc::<Webhooks>::clone(&webhooks), ..Setup::at(origin()) };
        setup.settings.seed = seed;
        setup.settings.changes = CHANGES;
        setup.without = without.iter().map(|name| (*name).to_owned()).collect();
        let sandbox = Sandbox::start(setup);
        let client = kube::Client::new(sandbox.service(), "default");
        Self { sandbox, webhooks, client, began, operators: Sights::default(), _kubelet: None }
    }

    /// A client with all rights.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// A client for an operator whose way to the API server is not a good one, and the means to make it worse. What
    /// it cannot know counts in its favour.
    pub fn client_through(&self, profile: Profile, seed: u64) -> (kube::Client, Link) {
        let blind_since = self.operators.rest_on();
        let (service, link) = Faulty::after(self.sandbox.service(), profile, seed, blind_since);
        self.operators.add(link.clone());
        (kube::Client::new(service, "default"), link)
    }

    /// Its webhooks, for whoever answers for one in this process.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// What time it is there, for whoever has to agree with it.
    pub fn clock(&self) -> impl Fn() -> Timestamp + Send + Sync + 'static {
        let began = self.began;
        move || origin().checked_add(began.elapsed()).unwrap_or(Timestamp::MAX)
    }

    /// Every change of everything, from the beginning, in order.
    pub fn history(&self) -> Vec<String> {
        self.sandbox.look(|server| {
            let store = server.store();
            let changes = store.all_changes_after(store.compacted()).into_iter().flatten();
            let line = |change: &lockstep_sandbox::store::Change| {
                let what = if change.removed { "-" } else { "+" };
                format!("{} {what} {} {}", change.revision, change.key.resource, change.after)
            };
            changes.map(line).collect()
        })
    }

    /// What a scenario needs of it.
    pub(crate) fn ground(&self) -> Ground {
        Ground {
            world: "embedded",
            client: self.client(),
            stand_in: "true".to_owned(),
            guest: false,
            sights: Some(self.operators.clone()),
        }
    }
}

/// When the world begins.
fn origin() -> Timestamp {
    Timestamp::UNIX_EPOCH
        .checked_add(jiff::SignedDuration::from_hours(24 * 365 * 57))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Does some work on a runtime of its own, where nobody waits for real.
///
/// # Panics
/// If there can be no runtime.
#[allow(clippy::expect_used, reason = "a test may fail loudly")]
pub fn in_virtual_time<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime").block_on(work)
}
