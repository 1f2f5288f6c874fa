//! Starting a federation.

use futures::future::try_join_all;
use lockstep_kubelet::NodeGroup;
use serde_json::Value;

use super::{Federation, Member};
use crate::cluster::{AGGREGATION, Cluster, ClusterError, Component, not_alone_here, or_skip};
use crate::neighbours::{karmada, kruise, leader_worker_set};

/// What no embedded cluster has.
const WHY: &str = "the controllers of Karmada";

/// What Karmada needs of Kubernetes' own controllers. Others would take its templates for workloads of the host.
const HOST_CONTROLLERS: &str =
    "--controllers=namespace-controller,garbage-collector-controller,serviceaccount-token-controller";

/// What a federation is to be like.
#[derive(Debug, Clone)]
pub struct Builder {
    members: Vec<String>,
    nodes: NodeGroup,
    kinds: Vec<Value>,
    kruise: bool,
    leader_worker_sets: bool,
    proxies: bool,
    by_rights: bool,
}

impl Default for Builder {
    fn default() -> Self {
        let members = ["member1", "member2"].map(str::to_owned).to_vec();
        Self {
            members,
            nodes: NodeGroup::new("node", 2),
            kinds: Vec::new(),
            kruise: false,
            leader_worker_sets: false,
            proxies: false,
            by_rights: false,
        }
    }
}

impl Builder {
    /// Its members by name; two unless told.
    pub fn members<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.members = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// The nodes of each member, instead of two.
    pub fn nodes(mut self, group: NodeGroup) -> Self {
        self.nodes = group;
        self
    }

    /// Makes a kind known (a CustomResourceDefinition) to the host and to all members, from the start.
    pub fn kind(mut self, definition: Value) -> Self {
        self.kinds.push(definition);
        self
    }

    /// With Kruise's controllers on every member, and CloneSets on the host.
    pub fn kruise(mut self) -> Self {
        self.kruise = true;
        self
    }

    /// With the manager of LeaderWorkerSets on every member, and its kinds on the host.
    pub fn leader_worker_sets(mut self) -> Self {
        self.leader_worker_sets = true;
        self
    }

    /// With a fault proxy between Karmada and every member.
    pub fn proxies(mut self) -> Self {
        self.proxies = true;
        self
    }

    /// Whoever asks a member through Karmada may there what the member says he may. Otherwise Karmada may speak for
    /// everybody.
    pub fn by_rights(mut self) -> Self {
        self.by_rights = true;
        self
    }

    /// Starts it for a test, or skips the test as [a cluster's builder](crate::cluster::Builder::start_or_skip) does.
    ///
    /// # Panics
    /// If it cannot be started although it can be built.
    pub async fn start_or_skip(self) -> Option<Federation> {
        if not_alone_here(WHY) { None } else { or_skip(self.start().await) }
    }

    /// Starts it, and waits until Karmada calls all members ready.
    pub async fn start(self) -> Result<Federation, ClusterError> {
        let members = try_join_all(self.members.iter().map(|name| self.member(name)));
        let ((host, karmada), members) = futures::try_join!(self.host(), members)?;
        try_join_all(members.iter().map(|member| member.join(&host, self.by_rights))).await?;
        Ok(Federation { karmada, members, host })
    }

    async fn host(&self) -> Result<(Cluster, karmada::Karmada), ClusterError> {
        let mut host = Cluster::builder().our_own(WHY).without(Component::Scheduler);
        for flag in AGGREGATION {
            host = host.flag(Component::ApiServer, flag);
        }
        let host = host.flag(Component::ControllerManager, HOST_CONTROLLERS).start().await?;
        self.define(&host).await?;
        if self.kruise {
            host.define(&kruise::clone_set_definition().await?).await?;
        }
        if self.leader_worker_sets {
            leader_worker_set::define_kinds(&host).await?;
        }
        let karmada = karmada::start(&host).await?;
        Ok((host, karmada))
    }

    async fn member(&self, name: &str) -> Result<Member, ClusterError> {
        let cluster = Cluster::builder().our_own(WHY).nodes(self.nodes.clone()).start().await?;
        self.define(&cluster).await?;
        let mut neighbours = Vec::new();
        if self.kruise {
            neighbours.push(kruise::start(&cluster).await?);
        }
        if self.leader_worker_sets {
            neighbours.push(leader_worker_set::start(&cluster).await?);
        }
        let proxy = if self.proxies { Some(cluster.proxy().await?) } else { None };
        Ok(Member::new(name, cluster, neighbours, proxy))
    }

    async fn define(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        try_join_all(self.kinds.iter().map(|definition| cluster.define(definition))).await?;
        Ok(())
    }
}
