//! Rollouts over several clusters: what Karmada spreads keeps its template's own numbers over all of them.
//!
//! The leader watches ResourceBindings, Works and clusters ([`watches`]), keeps one FederatedRollout for each binding
//! that asks for it, written by compare-and-swap, and lets Works carry what it grants ([`aligner`]). Every replica
//! stamps Works before they are stored ([`Stamper`]). What may be granted is decided by `lockstep_core::align`, and
//! what a Work may carry by `lockstep_federation::stamp`.

mod aligner;
mod book;
mod customizations;
mod members;
mod reports;
mod review;
mod settled;
mod stamps;
mod watches;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use lockstep_federation::interpret::{Interpretation, Kinds};

pub use self::review::{Stamper, WEBHOOK, webhook};
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::Herald;

/// Who writes Works, as managed fields call it.
const MANAGER: &str = "lockstep-federation";

/// A binding, by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    namespace: String,
    name: String,
}

impl Key {
    fn of(metadata: &ObjectMeta) -> Option<Self> {
        Some(Self { namespace: metadata.namespace.clone()?, name: metadata.name.clone()? })
    }
}

/// What the leader of a federation works with.
#[derive(Clone)]
pub struct Setting {
    /// The way to Karmada's API server.
    pub client: Client,
    /// Who writes events.
    pub instance: Option<String>,
    /// Whether we still may write.
    pub sure: Arc<dyn Fn() -> bool + Send + Sync>,
    /// What time it is.
    pub clock: Clock,
    /// What is measured.
    pub metrics: Metrics,
    /// The kinds that are looked after.
    pub kinds: Kinds,
}

/// A federation cannot be looked after.
#[derive(Debug, thiserror::Error)]
pub enum FederationError {
    /// The API server refused.
    #[error("cannot {doing}: {source}")]
    Refused {
        /// What was to be done.
        doing: String,
        /// What it said.
        source: kube::Error,
    },
    /// Something stands in the API server that cannot be read.
    #[error("cannot read {what}: {source}")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

impl FederationError {
    fn refused(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Refused { doing, source }
    }

    fn unreadable(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Self {
        let what = what.into();
        move |source| Self::Unreadable { what, source }
    }

    /// Whether somebody else was faster: the watch will tell.
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { source: kube::Error::Api(status), .. } if status.reason == "Conflict")
    }
}

/// Looks after all rollouts for as long as we may write. Dropping the future stops everything.
pub async fn run(setting: Setting) {
    let herald =
        Arc::new(Herald::new(setting.client.clone(), setting.instance.clone(), setting.clock.clone()));
    let book = Arc::new(book::Book::default());
    let settler = settled::Settler::new(setting.client.clone(), Arc::clone(&book));
    let aligner = Arc::new(aligner::Aligner {
        client: setting.client.clone(),
        book: Arc::clone(&book),
        settler,
        herald: Arc::clone(&herald),
        sure: Arc::clone(&setting.sure),
        clock: setting.clock.clone(),
        metrics: setting.metrics,
        kinds: setting.kinds.clone(),
    });
    tokio::join!(
        watches::run(setting.client.clone(), book, &setting.kinds),
        customizations::keep(setting.client.clone(), herald, setting.sure, &setting.kinds),
        aligner.run(),
    );
}

/// A kind of Karmada's.
fn karmada(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn works() -> ApiResource {
    karmada("work.karmada.io", "v1alpha1", "Work")
}

/// The kind of rollouts.
fn rollouts() -> ApiResource {
    karmada("lockstep.dev", "v1alpha1", "FederatedRollout")
}

/// The kind of policies.
fn policies() -> ApiResource {
    karmada("lockstep.dev", "v1alpha1", "FederationPolicy")
}

/// The kind of a workload.
pub fn resource_of(kind: &Interpretation) -> ApiResource {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
    let of = GroupVersionKind::gvk(group, version, &kind.kind);
    match &kind.plural {
        Some(plural) => ApiResource::from_gvk_with_plural(&of, plural),
        None => ApiResource::from_gvk(&of),
    }
}

fn namespaced(client: &Client, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, resource)
}
