//! A small stand-in for Karmada: spreads the workloads of one cluster over others.
//!
//! It does what Karmada does around a rollout, and nothing more, as an ordinary client of a host and of its members:
//! a PropagationPolicy gives a resource template a ResourceBinding ([`binding`]), which divides its replicas by weight
//! ([`divide`]); every cluster of the binding gets a Work ([`work`]), written anew whenever the template or the binding
//! changes, with the user's own strategy; the Work is applied to its member and what the member says is put into its
//! status ([`agent`]); all members together stand in the status of the binding, and their sum in that of the template
//! ([`aggregate`]); clusters that answer are Ready. What Karmada is told by a ResourceInterpreterCustomization is done by
//! the functions beside those scripts.
//!
//! For tests, and for a first look without Karmada. Of overrides it knows the few that tests need ([`overrides`]); it has
//! no failover, and spreads the kinds it is told.

mod agent;
pub mod aggregate;
mod binder;
pub mod binding;
mod detector;
pub mod divide;
mod door;
mod health;
mod kinds;
mod mirror;
pub mod overrides;
mod teller;
pub mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use kube::core::ApiResource;
use lockstep_federation::interpret::{self, Interpretation};
use serde_json::Value;
use tokio::task::JoinSet;

pub use self::door::door;
pub use self::kinds::{cluster_kind, definitions};

/// The controllers that would take a template for a workload of the host.
pub const NOT_ON_THE_HOST: [&str; 2] = ["deployment-controller", "replicaset-controller"];

/// Who writes, as managed fields call it.
const MANAGER: &str = "lockstep-spread";

/// A member that does not answer in this time is asked again later.
const PATIENCE: Duration = Duration::from_secs(5);

/// A cluster that things are spread to, and the way there.
#[derive(Clone)]
pub struct Member {
    /// What it is called.
    pub name: String,
    /// The way there.
    pub client: Client,
}

/// How late what members say is told. Shared by all who tell it; nothing is late unless somebody says so.
#[derive(Debug, Clone, Default)]
pub struct Lateness(Arc<Late>);

#[derive(Debug, Default)]
struct Late {
    millis: AtomicU64,
    hits: AtomicU64,
}

impl Lateness {
    /// From now on things are told so late, and then all at once.
    pub fn set(&self, time: Duration) {
        self.0.millis.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How often something was told late.
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::Relaxed)
    }

    async fn wait(&self) {
        let millis = self.0.millis.load(Ordering::Relaxed);
        if millis > 0 {
            self.0.hits.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }
}

/// What it works with.
#[derive(Clone)]
pub struct Setting {
    /// The way to the host.
    pub host: Client,
    /// The members.
    pub members: Vec<Member>,
    /// How late what members say is told.
    pub lateness: Lateness,
    /// What is spread: see [`known`]. All clusters have to serve these kinds.
    pub kinds: Vec<&'static Interpretation>,
}

/// It spreads for as long as this is held.
#[derive(Debug)]
pub struct Spread {
    _tasks: JoinSet<()>,
}

impl Spread {
    /// Begins. The host has to serve [its kinds](definitions). Whoever comes after another knows nothing of what that
    /// one did, and does it again. Must be called on a tokio runtime.
    pub fn start(setting: Setting) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(detector::run(setting.host.clone(), setting.kinds.clone()));
        tasks.spawn(binder::run(setting.host.clone(), setting.kinds.clone()));
        tasks.spawn(teller::run(setting.host.clone(), setting.kinds.clone()));
        for member in setting.members {
            let agent = agent::Agent {
                host: setting.host.clone(),
                member,
                lateness: setting.lateness.clone(),
                kinds: setting.kinds.clone(),
            };
            tasks.spawn(health::run(agent.clone()));
            tasks.spawn(agent.clone().execute());
            tasks.spawn(agent.reflect());
        }
        Self { _tasks: tasks }
    }
}

/// Of the kinds that are known without being told, those with these names.
pub fn known(names: &[&str]) -> Vec<&'static Interpretation> {
    interpret::built_in().iter().filter(|kind| names.contains(&kind.kind.as_str())).collect()
}

/// A kind as the API knows it.
fn resource_of(kind: &Interpretation) -> ApiResource {
    kinds::resource(&kind.api_version, &kind.kind)
}

/// A text in an object, empty if there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
