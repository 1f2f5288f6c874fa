//! The API server: a state machine. A request goes in with the time, an answer comes out.
//!
//! Nothing here waits. A watch is a cursor that is asked for what came since ([`watch::Watch`]). Where a webhook has
//! to be asked, the answer is the question ([`Answer::Ask`]); whoever carries it to the webhook comes back with the
//! same request and what it said ([`Told`]), and everything is thought through again on what is stored then.

mod admission;
mod catalogue;
mod conversion;
mod convert;
mod create;
mod custom;
mod decode;
mod delete;
mod discovery;
mod events;
mod keep;
mod modify;
mod openapi;
mod patching;
mod read;
mod render;
mod reviews;
mod routes;
mod rules;
mod subresources;
mod told;
mod typed;
pub mod watch;

use jiff::Timestamp;
use serde_json::Value;

use crate::refusal::Refusal;
use crate::request::Request;
use crate::store::Store;

pub use self::catalogue::Catalogue;
pub use self::render::{Body, Response};
pub use self::told::{Call, Told};
pub(crate) use self::typed::go_map;
pub use self::watch::Watch;

/// What comes of a request.
#[derive(Debug)]
pub enum Answer {
    /// The answer.
    Done(Response),
    /// Events, from now on.
    Watch(Box<Watch>),
    /// A webhook has to be asked first.
    Ask(Box<Call>),
}

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where unique names and identities come from: the same seed, the same ones.
    pub seed: u64,
    /// How many changes are remembered for watches.
    pub changes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, changes: 20_000 }
    }
}

/// The API server.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) store: Store,
    pub(crate) catalogue: Catalogue,
    pub(crate) settings: Settings,
}

/// Why a request goes no further.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It is refused.
    No(Refusal),
    /// A webhook has to be asked.
    Ask(Box<Call>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::No(refusal)
    }
}

/// What a step of a request comes to.
pub(crate) type Step<T> = Result<T, Stop>;

/// One request, while it is worked on.
pub(crate) struct Turn<'a> {
    pub server: &'a mut Server,
    pub now: Timestamp,
    pub request: &'a Request,
    pub told: &'a Told,
    /// What the client is told besides the answer.
    pub warnings: Vec<String>,
}

impl Server {
    /// A server with the namespaces every cluster has.
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        let store = Store::new(settings.changes);
        let mut server = Self { store, catalogue: Catalogue::built_in(), settings };
        server.furnish(now);
        server
    }

    /// A server over what was stored before.
    pub fn over(settings: Settings, objects: impl IntoIterator<Item = Value>, revision: u64) -> Self {
        let objects: Vec<Value> = objects.into_iter().collect();
        let mut catalogue = Catalogue::built_in();
        // Without their definitions nobody knows where custom objects lie.
        for crd in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
            catalogue.define(crd);
        }
        let mut store = Store::new(settings.changes);
        for object in objects {
            if let Some(key) = catalogue.key_of(&object) {
                store.restore(key, object);
            }
        }
        store.resume_at(revision);
        Self { store, catalogue, settings }
    }

    /// What comes of a request. `told` is what webhooks have said to this very request so far.
    pub fn handle(&mut self, now: Timestamp, request: &Request, told: &Told) -> Answer {
        let mut turn = Turn { server: self, now, request, told, warnings: Vec::new() };
        let came = turn.route();
        let warnings = std::mem::take(&mut turn.warnings);
        match came {
            Ok(Answer::Done(response)) => Answer::Done(response.with_warnings(warnings)),
            Ok(Answer::Watch(mut watch)) => {
                watch.warnings = warnings;
                Answer::Watch(watch)
            }
            Ok(other) => other,
            Err(Stop::Ask(call)) => Answer::Ask(call),
            Err(Stop::No(refusal)) => {
                Answer::Done(Response::refused(&refusal, request).with_warnings(warnings))
            }
        }
    }

    /// What is stored.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The kinds that are served.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Forgets old changes: watches that are further behind end, as they do when etcd is compacted.
    pub fn compact(&mut self, revision: u64) {
        self.store.compact(revision);
    }

    fn furnish_classes(&mut self, now: Timestamp) {
        let classes = [
            (
                "system-cluster-critical",
                2_000_000_000,
                "Used for system critical pods that must run in the cluster, but can be moved to another node if \
                 necessary.",
            ),
            (
                "system-node-critical",
                2_000_001_000,
                "Used for system critical pods that must not be moved from their current node.",
            ),
        ];
        for (name, value, description) in classes {
            let body = serde_json::json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                "value": value, "description": description,
            });
            let request =
                Request::new(crate::request::Method::Post, "/apis/scheduling.k8s.io/v1/priorityclasses");
            let mut request = request.with_body("application/json", body.to_string());
            request.user_agent = "kube-apiserver".to_owned();
            self.handle(now, &request, &Told::default());
        }
    }

    /// What stands in a cluster from its first moment.
    fn furnish(&mut self, now: Timestamp) {
        let names = ["default", "kube-system", "kube-public", "kube-node-lease"];
        self.furnish_classes(now);
        for name in names {
            let body =
                serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let request = Request::new(crate::request::Method::Post, "/api/v1/namespaces");
            let mut request = request.with_body("application/json", body.to_string());
            request.user_agent = "kube-apiserver".to_owned();
            self.handle(now, &request, &Told::default());
        }
    }
}

/// A moment, as it stands in objects.
pub(crate) fn written(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An identity made from secret bytes, for tokens.
pub(crate) fn identity_of(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    create::identity(0, &hex)
}
