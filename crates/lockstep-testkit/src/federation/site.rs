//! Where a case is played: real Karmada with real members, or clusters of this process.

use std::future::Future;
use std::time::Duration;

use kube::Client;
use kube::api::ApiResource;

use super::record::Recorder;
use super::{Federation, Member};
use crate::cluster::ClusterError;
use crate::proxy::{Fault, Held, Rule, Verb, Which};

/// Something that is undone when it is over.
pub type Undo = Box<dyn FnOnce() + Send>;

/// What members say is held back, until it is let go.
pub struct HeldBack {
    /// How often that happened so far.
    pub hits: Box<dyn Fn() -> u64 + Send>,
    /// Ends it.
    pub end: Undo,
}

/// Several clusters, and whoever spreads workloads over them.
pub trait Site {
    /// How long a case may take to come to where it is waited for.
    const PATIENCE: Duration;
    /// How long nothing happens when what has not ended never will.
    const GIVE_UP: Duration;

    /// A client of the host.
    fn client(&self) -> Client;

    /// A client of the member of this number, past whatever is wrong with the way there.
    fn member(&self, member: usize) -> Client;

    /// The members by name.
    fn names(&self) -> Vec<String>;

    /// Makes a namespace whose name begins so, and says its whole name.
    fn new_namespace(&self, prefix: &str) -> impl Future<Output = Result<String, ClusterError>>;

    /// Records what happens in a namespace to all pods, and to the workload of this kind, from now on.
    fn record(
        &self,
        namespace: &str,
        kind: &ApiResource,
    ) -> impl Future<Output = Result<Recorder, ClusterError>>;

    /// The member of this number is not reached any more, until that is undone. Nothing if that cannot be.
    fn cut_off(&self, member: usize) -> Option<Undo>;

    /// What becomes of this kind in the members is told so late. Nothing if that cannot be.
    fn hold_back(&self, kind: &ApiResource, time: Duration) -> Option<HeldBack>;

    /// Whoever spreads dies, and comes back with nothing in its memory.
    fn restart_controllers(&self) -> impl Future<Output = Result<(), ClusterError>>;
}

impl Site for Federation {
    const PATIENCE: Duration = Duration::from_secs(120);
    /// Karmada tries again ever later while a member is away.
    const GIVE_UP: Duration = Duration::from_secs(60);

    fn client(&self) -> Client {
        Self::client(self)
    }

    fn member(&self, member: usize) -> Client {
        self.members()[member].client()
    }

    fn names(&self) -> Vec<String> {
        self.members().iter().map(|member| member.name().to_owned()).collect()
    }

    async fn new_namespace(&self, prefix: &str) -> Result<String, ClusterError> {
        Self::new_namespace(self, prefix).await
    }

    async fn record(&self, namespace: &str, kind: &ApiResource) -> Result<Recorder, ClusterError> {
        Self::record(self, namespace, kind).await
    }

    fn cut_off(&self, member: usize) -> Option<Undo> {
        let cut_off = self.members()[member].cut_off()?;
        Some(Box::new(move || cut_off.mend()))
    }

    /// Holds the watches of the kind back, those that are open and those to come.
    fn hold_back(&self, kind: &ApiResource, time: Duration) -> Option<HeldBack> {
        let fault = Fault::HoldWatch { at_most: Some(time.into()) };
        let which = Which::verbs([Verb::Watch]).of(&kind.plural);
        let proxies = self.members().iter().filter_map(Member::proxy);
        let rules: std::sync::Arc<[Held]> =
            proxies.map(|proxy| proxy.add(Rule::new(which.clone(), fault.clone()))).collect();
        let counted = std::sync::Arc::clone(&rules);
        (!rules.is_empty()).then(|| HeldBack {
            hits: Box::new(move || counted.iter().map(Held::hits).sum()),
            end: Box::new(move || rules.iter().for_each(Held::remove)),
        })
    }

    async fn restart_controllers(&self) -> Result<(), ClusterError> {
        Self::restart_controllers(self).await
    }
}
