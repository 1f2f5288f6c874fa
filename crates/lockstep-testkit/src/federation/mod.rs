//! Several clusters under one Karmada, all of real processes, for one test; or under a stand-in for Karmada, all in this
//! process ([`EmbeddedFederation`]).
//!
//! Of the real ones the host keeps Karmada's objects: an API server with few controllers, and Karmada's four processes. The members are
//! ordinary clusters with nodes, to which Karmada pushes. See [`Federation::builder`].

mod builder;
pub mod case;
mod embedded;
mod member;
mod play;
pub mod record;
mod site;

use std::path::Path;

pub use self::builder::Builder;
pub use self::embedded::{EmbeddedFederation, Ways};
pub use self::member::{CutOff, Member};
pub use self::play::{Played, play, play_beside};
pub use self::site::{HeldBack, Site, Undo};

use crate::cluster::{Cluster, ClusterError};
use crate::neighbours::karmada::Karmada;

/// Karmada with its members, ready to be used.
pub struct Federation {
    // In the order of dependence, the last stands alone: fields are dropped from the first on.
    karmada: Karmada,
    members: Vec<Member>,
    host: Cluster,
}

impl Federation {
    /// A federation that is to be as told.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The cluster of Karmada's objects. Webhooks, faults and the audit log are those of every cluster.
    pub fn host(&self) -> &Cluster {
        &self.host
    }

    /// A client of Karmada's API server, with all rights.
    pub fn client(&self) -> kube::Client {
        self.host.client()
    }

    /// The kubeconfig file for Karmada's API server.
    pub fn kubeconfig(&self) -> &Path {
        self.host.kubeconfig()
    }

    /// Karmada's processes.
    pub fn karmada(&self) -> &Karmada {
        &self.karmada
    }

    /// The members, in the order in which they were named.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A member by its name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name() == name)
    }

    /// Kills Karmada's controllers and starts them again, with nothing in their memory.
    pub async fn restart_controllers(&self) -> Result<(), ClusterError> {
        self.karmada.controllers.kill().await;
        self.karmada.controllers.start_again(&self.host)
    }

    /// Which of Karmada's processes ended by themselves, with their last words.
    pub fn ended(&self) -> Vec<String> {
        let ended = |(name, it): (&str, &crate::neighbours::Neighbour)| {
            it.ended().map(|words| format!("{name} ended by itself:\n{words}"))
        };
        self.karmada.all().into_iter().filter_map(ended).collect()
    }

    /// Makes a namespace whose name begins so, and says its whole name. Karmada makes it in the members.
    pub async fn new_namespace(&self, prefix: &str) -> Result<String, ClusterError> {
        self.host.new_namespace(prefix).await
    }
}
