//! Several clusters of this process, and the stand-in that spreads workloads over them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::ApiResource;
use lockstep_kubelet::NodeGroup;
use lockstep_sandbox::cluster::Webhooks;
use lockstep_sandbox::cluster::faults::{Link, Profile};
use lockstep_spread::{Lateness, Setting, Spread, definitions, door, known};

use super::record::Recorder;
use super::site::{HeldBack, Site, Undo};
use crate::cluster::{ClusterError, define, new_namespace};
use crate::embedded::Embedded;

/// What is wrong with the ways between clusters, by a seed.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    /// Where names, identities and all misfortunes come from.
    pub seed: u64,
    /// From whoever spreads to the host.
    pub host: Profile,
    /// From the host to every member, for whoever spreads and for whoever asks through the host.
    pub members: Profile,
}

/// A host and its members, all in this process.
pub struct EmbeddedFederation {
    setting: Setting,
    links: Vec<Link>,
    spread: Mutex<Option<Spread>>,
    names: Vec<String>,
    members: Vec<Embedded>,
    host: Embedded,
}

impl EmbeddedFederation {
    /// Starts a host and so many members, `member1` and so on, of two nodes each.
    pub async fn start(members: usize, ways: &Ways) -> Result<Self, ClusterError> {
        let Ways { seed, .. } = *ways;
        let host = Embedded::host(seed).await?;
        let kinds = known(&["Deployment", "LockstepSet"]);
        for definition in definitions().into_iter().chain([lockstep_api::crd::lockstep_set()]) {
            define(&host.client(), &definition).await?;
        }
        let names: Vec<String> = (1..=members).map(|number| format!("member{number}")).collect();
        let (mut clusters, mut links, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (number, name) in (1..).zip(&names) {
            let seed = seed.wrapping_add(number << 32);
            let cluster = Embedded::start(seed, &NodeGroup::new("node", 2)).await?;
            let (client, link) = cluster.client_through(ways.members.clone(), seed);
            ends.push(lockstep_spread::Member { name: name.clone(), client });
            links.push(link);
            clusters.push(cluster);
        }
        let (to_host, _) = host.client_through(ways.host.clone(), !seed);
        let setting = Setting { host: to_host, members: ends, lateness: Lateness::default(), kinds };
        let spread = Mutex::new(Some(Spread::start(setting.clone())));
        Ok(Self { setting, links, spread, names, members: clusters, host })
    }

    /// The host.
    pub fn host(&self) -> &Embedded {
        &self.host
    }

    /// The members themselves.
    pub fn members(&self) -> &[Embedded] {
        &self.members
    }

    /// A client of the host that reaches the members through it, on a way that is not a good one, and the means to make
    /// it worse.
    pub fn client_through(&self, profile: Profile, seed: u64) -> (Client, Link) {
        let (host, link) = self.host.client_through(profile, seed);
        (door(host, &self.setting.members), link)
    }

    /// The host's webhooks, for whoever answers for one in this process.
    pub fn webhooks(&self) -> &Webhooks {
        self.host.webhooks()
    }

    /// What time it is there, for whoever has to agree with it.
    pub fn clock(&self) -> impl Fn() -> Timestamp + Send + Sync + 'static {
        self.host.clock()
    }

    /// Every change of everything, from the beginning: of the host first, then of the members.
    pub fn history(&self) -> Vec<String> {
        std::iter::once(&self.host).chain(&self.members).flat_map(Embedded::history).collect()
    }
}

impl Site for EmbeddedFederation {
    /// Nobody waits for real, and what is never answered is given up after some minutes.
    const PATIENCE: Duration = Duration::from_secs(3600);
    const GIVE_UP: Duration = Duration::from_secs(700);

    fn client(&self) -> Client {
        self.host.client()
    }

    fn member(&self, member: usize) -> Client {
        self.members[member].client()
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    async fn new_namespace(&self, prefix: &str) -> Result<String, ClusterError> {
        new_namespace(&self.host.client(), prefix).await
    }

    async fn record(&self, namespace: &str, kind: &ApiResource) -> Result<Recorder, ClusterError> {
        let members = self.names.iter().cloned().zip(self.members.iter().map(Embedded::client)).collect();
        Recorder::here(members, namespace, kind).await
    }

    fn cut_off(&self, member: usize) -> Option<Undo> {
        let link = self.links[member].clone();
        link.cut();
        Some(Box::new(move || link.mend()))
    }

    fn hold_back(&self, _: &ApiResource, time: Duration) -> Option<HeldBack> {
        let lateness = self.setting.lateness.clone();
        lateness.set(time);
        let (counted, ended) = (lateness.clone(), lateness);
        Some(HeldBack {
            hits: Box::new(move || counted.hits()),
            end: Box::new(move || ended.set(Duration::ZERO)),
        })
    }

    async fn restart_controllers(&self) -> Result<(), ClusterError> {
        let mut spread = self.spread.lock().unwrap_or_else(PoisonError::into_inner);
        drop(spread.take());
        *spread = Some(Spread::start(self.setting.clone()));
        Ok(())
    }
}
