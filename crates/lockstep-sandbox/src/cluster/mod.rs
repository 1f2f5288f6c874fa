//! The embedded cluster at work: the server, its controllers, and the ways in.
//!
//! Everything here waits with tokio's timers only, and tells the time by them: on a runtime whose time is paused, an
//! hour passes in the moment everybody waits for it.

mod answer;
mod audit;
mod body;
pub mod data;
mod drive;
pub mod faults;
mod listen;
mod service;
mod stream;
mod tidings;
mod webhooks;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::controllers::{Controllers, GRACE, Kinds};
use crate::server::{Catalogue, Server, Settings};

pub use self::body::Answered;
pub use self::listen::{Access, ListenError, Listening};
pub use self::service::InProcess;
pub use self::tidings::Changes;
use self::tidings::Tidings;
pub use self::webhooks::{Caller, Carried, Handler, Webhooks};

/// How a cluster is set up.
#[derive(Debug)]
pub struct Setup {
    /// How its server behaves.
    pub settings: Settings,
    /// What time it is when it starts.
    pub origin: Timestamp,
    /// Controllers that are not wanted, by name, or by that of the component they are part of.
    pub without: Vec<String>,
    /// The scheduler takes every pod, also those that ask for another by `schedulerName`: there is none besides.
    pub any_scheduler: bool,
    /// How long a node may be silent before it is called lost: 40 seconds, unless told.
    pub node_grace: SignedDuration,
    /// Who carries questions to webhooks.
    pub caller: Arc<dyn Caller>,
    /// What stood in it before.
    pub data: Option<data::Data>,
    /// Every request is remembered, for [`Cluster::audit`].
    pub audit: bool,
}

impl Setup {
    /// A fresh cluster whose time is that of the machine.
    pub fn now() -> Self {
        Self::at(Timestamp::now())
    }

    /// A fresh cluster that starts at some time.
    pub fn at(origin: Timestamp) -> Self {
        Self {
            settings: Settings::default(),
            origin,
            without: Vec::new(),
            any_scheduler: false,
            node_grace: GRACE,
            caller: Arc::new(Webhooks::default()),
            data: None,
            audit: false,
        }
    }
}

/// An embedded cluster. It runs until the last of its handles is gone.
#[derive(Debug, Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
    _driver: Arc<Task>,
}

/// What all ways into a cluster share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    kinds: Arc<Known>,
    revision: Arc<Tidings<u64>>,
    caller: Arc<dyn Caller>,
    audit: Option<audit::Log>,
    origin: Timestamp,
    started: Instant,
    /// The revision it started with, and how many requests there were since: no two have the same number.
    first: u64,
    requests: AtomicU64,
}

/// What is changed under one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub server: Server,
    pub controllers: Controllers,
}

/// The kinds controllers may ask for.
#[derive(Debug)]
struct Known(RwLock<Catalogue>);

impl Kinds for Known {
    fn resource(&self, api_version: &str, kind: &str) -> Option<(Arc<str>, bool)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).resource_of(api_version, kind)
    }

    fn scale(&self, api_version: &str, kind: &str, object: &serde_json::Value) -> Option<i64> {
        let catalogue = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = catalogue.of(api_version, kind)?;
        if catalogue.custom_kind(&found).is_none() {
            return object["spec"]["replicas"].as_i64();
        }
        let path = &catalogue.custom(&found)?.scale.as_ref()?.spec_replicas;
        object.pointer(&path.replace('.', "/"))?.as_i64()
    }
}

/// A task that ends with whoever holds it.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Cluster {
    /// Starts a cluster. Must be called on a tokio runtime.
    pub fn start(setup: Setup) -> Self {
        // Its time runs from here on: making a server takes some of it, and its clock must not be behind.
        let started = Instant::now();
        let Setup { settings, origin, without, any_scheduler, node_grace, caller, data, audit } = setup;
        let server = match data {
            Some(data) => {
                let data = data.begun_again(origin);
                Server::over(settings, data.objects, data.revision)
            }
            None => Server::new(settings, origin),
        };
        let kinds = Arc::new(Known(RwLock::new(server.catalogue().clone())));
        let controllers = Controllers::all(Arc::clone(&kinds) as Arc<dyn Kinds>, node_grace);
        let mut controllers = if any_scheduler { controllers.with_one_scheduler() } else { controllers };
        for name in &without {
            controllers.switch(name, false);
        }
        let first = server.store().revision();
        let revision = Arc::new(Tidings::new(first));
        let state = Mutex::new(State { server, controllers });
        let requests = AtomicU64::new(0);
        let audit = audit.then(audit::Log::default);
        let shared = Shared { state, kinds, revision, caller, audit, origin, started, first, requests };
        let shared = Arc::new(shared);
        let driver = tokio::spawn(drive::drive(Arc::downgrade(&shared)));
        Self { shared, _driver: Arc::new(Task(driver)) }
    }

    /// A way in for clients of this process: a tower service, as `kube::Client` takes one.
    pub fn service(&self) -> InProcess {
        InProcess::new(Arc::clone(&self.shared))
    }

    /// What time it is there.
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// All that is stored, to be kept elsewhere.
    pub fn data(&self) -> data::Data {
        data::Data::of(&self.shared.lock().server)
    }

    /// The audit log so far, as a real API server writes it: one event of `audit.k8s.io/v1` in a line. Empty unless
    /// it was [asked for](Setup::audit).
    pub fn audit(&self) -> String {
        self.shared.audit.as_ref().map(audit::Log::text).unwrap_or_default()
    }

    /// Looks at the server.
    pub fn look<T>(&self, at: impl FnOnce(&Server) -> T) -> T {
        at(&self.shared.lock().server)
    }

    /// Forgets all changes so far: watches that are not up to date end with 410.
    pub fn compact(&self) {
        let mut state = self.shared.lock();
        let revision = state.server.store().revision();
        state.server.compact(revision);
    }

    /// Tells of every change: the revision it made.
    pub fn changes(&self) -> Changes {
        Changes::new(&self.shared.revision)
    }
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.origin.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// When tokio's clock will show a time of this cluster.
    pub fn instant(&self, time: Timestamp) -> Instant {
        let span = time.duration_since(self.origin);
        self.started + std::time::Duration::try_from(span).unwrap_or_default()
    }
}
