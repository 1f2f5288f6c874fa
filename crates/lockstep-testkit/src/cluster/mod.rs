//! A control plane of real processes, for one test.

mod access;
mod apply;
mod builder;
mod collector;
mod component;
mod embedded;
mod files;
mod guest;
mod kinds;
mod ports;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use lockstep_kubelet::{Kubelet, NodeGroup, Options};

pub use self::access::{Access, Credential};
pub use self::apply::apply;
pub(crate) use self::apply::create;
pub use self::builder::Builder;
pub(crate) use self::builder::{not_alone_here, or_skip};
pub use self::component::Component;
use self::component::{Ports, Setting};
use self::embedded::Embedded;
pub(crate) use self::files::AGGREGATION;
use self::guest::Guest;
pub use self::kinds::define;
pub(crate) use self::ports::free_port;
use crate::audit::Audit;
use crate::build::{BuildError, Programs};
use crate::pki::{Authority, PkiError};
use crate::process::{Process, Supervisor};
use crate::proxy::{Proxy, Upstream};
use crate::say;
use crate::scenario::Ground;

/// How the kit's own client appears in the audit log.
const AGENT: &str = "lockstep-testkit";

/// How long a component may take to answer.
const PATIENCE: Duration = Duration::from_secs(240);

/// How often an API server that is to come up is asked.
const ASK: Duration = Duration::from_millis(20);

/// A cluster cannot be had, or does not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Its programs cannot be had.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] PkiError),
    /// A file cannot be used.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No client can be made.
    #[error("no way to {what}: {reason}")]
    Access {
        /// Where to.
        what: String,
        /// Why.
        reason: String,
    },
    /// A component ended by itself.
    #[error("{component} ended by itself ({status}); its last words:\n{words}")]
    Ended {
        /// Which.
        component: Component,
        /// How.
        status: String,
        /// What it said last.
        words: String,
    },
    /// A component does not answer.
    #[error("{component} is not ready after {waited:?}: {reason}")]
    NotReady {
        /// Which.
        component: Component,
        /// How long it was waited for.
        waited: Duration,
        /// What it answered last.
        reason: String,
    },
    /// The cluster is the user's own, or an embedded one: its components are no processes of ours.
    #[error("{component} is no process of the test's own and cannot be stopped or started")]
    NotOurs {
        /// Which.
        component: Component,
    },
    /// The API server refused something the kit itself needs.
    #[error("{doing}: {source}")]
    Api {
        /// What was tried.
        doing: String,
        /// Why not.
        source: Box<kube::Error>,
    },
}

impl ClusterError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    pub(crate) fn access<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Self {
        let what = what.to_owned();
        move |error| Self::Access { what, reason: error.to_string() }
    }

    pub(crate) fn api(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Api { doing, source: Box::new(source) }
    }

    /// Another process took one of the ports between choosing and binding it.
    fn is_taken_port(&self) -> bool {
        matches!(self, Self::Ended { words, .. } if words.contains("address already in use"))
    }
}

/// A cluster: its own, or the user's.
pub struct Cluster {
    // First, so that it stops asking before nobody answers.
    kubelet: Option<Kubelet>,
    client: kube::Client,
    kubeconfig: PathBuf,
    guest: Option<Guest>,
    ours: Option<ControlPlane>,
    embedded: Option<Embedded>,
}

/// The processes of a cluster of our own.
struct ControlPlane {
    // First, because it is dropped first: it kills the processes, and then they are reaped.
    supervisor: Supervisor,
    running: Mutex<BTreeMap<Component, Process>>,
    programs: Programs,
    authority: Authority,
    access: Access,
    dir: PathBuf,
    ports: Ports,
    gangs: bool,
    node_grace: Duration,
    flags: Vec<(Component, String)>,
}

impl Cluster {
    /// A fresh control plane, ready to be used.
    pub async fn start() -> Result<Self, ClusterError> {
        Self::builder().start().await
    }

    /// A control plane that is to be a little different.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client with all rights.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// The kubeconfig file of the administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// How the administrator gets in, if the cluster is no guest's.
    pub fn access(&self) -> Option<&Access> {
        let embedded = self.embedded.as_ref().map(Embedded::access);
        self.ours.as_ref().map(|ours| &ours.access).or(embedded)
    }

    /// A way in for somebody else, who has no rights but those given to the user or the groups.
    pub fn access_as(&self, user: &str, groups: &[&str]) -> Result<Access, ClusterError> {
        let ours = self.ours(Component::ApiServer)?;
        let identity = ours.authority.user(user, groups)?;
        Ok(Access { credential: Credential::Certificate(identity), ..ours.access.clone() })
    }

    /// An authority for certificates of the test's own servers, if the cluster is no guest's.
    pub fn authority(&self) -> Option<&Authority> {
        let embedded = self.embedded.as_ref().map(Embedded::authority);
        self.ours.as_ref().map(|ours| &ours.authority).or(embedded)
    }

    /// Where the store answers, if the cluster is our own.
    pub(crate) fn store(&self) -> Option<String> {
        self.ours.as_ref().map(|ours| format!("http://127.0.0.1:{}", ours.ports.etcd))
    }

    /// What the API server's audit log says so far.
    pub fn audit(&self) -> Result<Audit, ClusterError> {
        if let Some(embedded) = &self.embedded {
            let read = Audit::parse(embedded.audit().as_bytes());
            return read.map_err(|(_, error)| ClusterError::access("read the audit log")(error));
        }
        let ours = self.ours(Component::ApiServer)?;
        Audit::read(&ours.dir.join("audit.log")).map_err(ClusterError::access("read the audit log"))
    }

    /// A proxy before the API server, where faults can be played.
    pub async fn proxy(&self) -> Result<Proxy, ClusterError> {
        let component = Component::ApiServer;
        let (Some(access), Some(authority)) = (self.access(), self.authority()) else {
            return Err(ClusterError::NotOurs { component });
        };
        let Access { url, ca_pem, .. } = access.clone();
        let proxy = Proxy::start(&Upstream { url, ca_pem }, authority).await;
        proxy.map_err(ClusterError::access("put a proxy before the API server"))
    }

    /// Makes a namespace whose name begins so, and says its whole name.
    pub async fn new_namespace(&self, prefix: &str) -> Result<String, ClusterError> {
        new_namespace(&self.client, prefix).await
    }

    /// What a scenario needs of it.
    pub(crate) fn ground(&self) -> Ground {
        let stand_in = self.stand_in().to_owned();
        Ground { world: "cluster", client: self.client(), stand_in, guest: self.is_guest(), sights: None }
    }

    /// The value of the label [`STAND_IN`](lockstep_kubelet::annotations::STAND_IN) on the nodes of this
    /// cluster: in a cluster of the user's own, several tests may have some.
    pub fn stand_in(&self) -> &str {
        self.guest.as_ref().map_or("true", Guest::name)
    }

    /// The kubelet stand-in, if the cluster has nodes.
    pub fn kubelet(&self) -> Option<&Kubelet> {
        self.kubelet.as_ref()
    }

    async fn with_nodes(mut self, groups: &[NodeGroup], options: Options) -> Result<Self, ClusterError> {
        let client = match self.access() {
            Some(access) => access.client("lockstep-kubelet").await?,
            None => self.client(),
        };
        let options = Options { stand_in: self.stand_in().to_owned(), ..options };
        for group in groups {
            let group = self.guest.as_mut().map_or_else(|| group.clone(), |guest| guest.host(group));
            let created = group.create(&client).await;
            created.map_err(ClusterError::api(format!("create nodes {}", group.prefix)))?;
        }
        self.kubelet = Some(Kubelet::start(client, options));
        Ok(self)
    }

    /// The folder with everything of the cluster, if it is our own.
    pub fn dir(&self) -> Option<&Path> {
        let embedded = self.embedded.as_ref().map(Embedded::dir);
        self.ours.as_ref().map(|ours| ours.dir.as_path()).or(embedded)
    }

    /// It is embedded: there are no processes, and whoever gets in may do everything.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// It is a cluster of the user's own, where manners are minded.
    pub fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Where a program of the control plane lies (`kubectl`, say), if the cluster is no guest's.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let ours = self.ours.as_ref().map(|ours| &ours.programs);
        let programs = ours.or_else(|| self.embedded.as_ref()?.programs())?;
        programs.path(name).ok()
    }

    /// Runs a program beside the control plane, for as long as the cluster is there.
    pub fn run(&self, program: &Path, arguments: &[String], log: &Path) -> Result<Process, ClusterError> {
        let supervisor = match &self.embedded {
            Some(embedded) => embedded.supervisor(),
            None => &self.ours(Component::ApiServer)?.supervisor,
        };
        supervisor.spawn(program, arguments, log).map_err(ClusterError::file(program))
    }

    /// A log file that nobody else writes.
    pub(crate) fn new_log(&self, name: &str) -> PathBuf {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.dir().map_or_else(std::env::temp_dir, Path::to_owned).join(format!("{name}-{number}.log"))
    }

    /// The process id of a component that runs.
    pub fn process_id(&self, component: Component) -> Option<u32> {
        self.ours.as_ref().and_then(|ours| ours.running().get(&component).map(Process::id))
    }

    /// Asks a component to end, and waits until it has.
    pub async fn stop(&self, component: Component) -> Result<(), ClusterError> {
        let process = self.ours(component)?.running().remove(&component);
        if let Some(process) = process {
            process.stop(Duration::from_secs(10)).await;
        }
        Ok(())
    }

    /// Kills a component on the spot.
    pub async fn kill(&self, component: Component) -> Result<(), ClusterError> {
        let process = self.ours(component)?.running().remove(&component);
        if let Some(process) = process {
            process.kill().await;
        }
        Ok(())
    }

    /// Starts a component that was stopped or killed, with all its data. Controllers that gave up while the
    /// API server was away are started, too, as a kubelet would.
    pub async fn start_again(&self, component: Component) -> Result<(), ClusterError> {
        let ours = self.ours(component)?;
        ours.start(component)?;
        ours.wait_until_listening(component).await?;
        if matches!(component, Component::ApiServer | Component::Etcd) {
            ours.wait_until_ready(&self.client).await?;
            ours.revive_controllers()?;
        }
        Ok(())
    }

    /// Starts components that ended by themselves, as a kubelet would: a scheduler that finds its cache in disorder
    /// after the API server was away gives up, for example.
    pub fn revive(&self) -> Result<(), ClusterError> {
        self.ours(Component::Scheduler)?.revive_controllers()
    }

    fn ours(&self, component: Component) -> Result<&ControlPlane, ClusterError> {
        self.ours.as_ref().ok_or(ClusterError::NotOurs { component })
    }
}

/// Makes a namespace whose name begins so, and says its whole name.
pub(crate) async fn new_namespace(client: &kube::Client, prefix: &str) -> Result<String, ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let made = namespaces.create(&PostParams::default(), &namespace).await;
    Ok(made.map_err(ClusterError::api("create a namespace"))?.metadata.name.unwrap_or_default())
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A test fails, and its cluster's folder goes with it.
        if let Some(ours) = self.ours.as_ref().filter(|_| std::thread::panicking()) {
            say(&format!("of the cluster of the test that failed: {}", ours.last_words()));
        }
        if let Some(guest) = self.guest.take() {
            drop(self.kubelet.take());
            guest.leave(&self.kubeconfig);
        }
    }
}

impl ControlPlane {
    fn running(&self) -> MutexGuard<'_, BTreeMap<Component, Process>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            dir: &self.dir,
            ports: self.ports,
            gangs: self.gangs,
            node_grace: self.node_grace,
            flags: &self.flags,
        }
    }

    fn start(&self, component: Component) -> Result<(), ClusterError> {
        let program = self.programs.path(component.program())?;
        let log = self.dir.join(format!("{component}.log"));
        let arguments = self.setting().arguments(component);
        let process =
            self.supervisor.spawn(&program, &arguments, &log).map_err(ClusterError::file(&program))?;
        self.running().insert(component, process);
        Ok(())
    }

    /// Waits until the API server says that it is ready.
    async fn wait_until_ready(&self, client: &kube::Client) -> Result<(), ClusterError> {
        self.wait_for(Component::ApiServer, async || {
            let ask = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
            client.request_text(ask).await.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    /// Waits until a component listens at its port, which each does when it has begun its work.
    async fn wait_until_listening(&self, component: Component) -> Result<(), ClusterError> {
        let port = self.ports.of(component);
        self.wait_for(component, async || {
            let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            connected.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    async fn wait_for(
        &self,
        component: Component,
        ask: impl AsyncFn() -> Result<(), String>,
    ) -> Result<(), ClusterError> {
        let started = tokio::time::Instant::now();
        while let Err(reason) = ask().await {
            self.still_running(component)?;
            let waited = started.elapsed();
            if waited > PATIENCE {
                return Err(ClusterError::NotReady { component, waited, reason });
            }
            tokio::time::sleep(ASK).await;
        }
        // It may have been somebody else who answered at its port.
        self.still_running(component)
    }

    /// The component that is waited for, and what it stands on, must not have ended.
    fn still_running(&self, waited_for: Component) -> Result<(), ClusterError> {
        for (component, process) in self.running().range_mut(..=waited_for) {
            if let Some(status) = process.ended() {
                let (status, words) = (status.to_string(), process.last_words());
                return Err(ClusterError::Ended { component: *component, status, words });
            }
        }
        Ok(())
    }

    fn revive_controllers(&self) -> Result<(), ClusterError> {
        let ended = |(component, process): (&Component, &mut Process)| process.ended().map(|_| *component);
        let ended: Vec<Component> = self.running().iter_mut().filter_map(ended).collect();
        ended.into_iter().try_for_each(|component| self.start(component))
    }
}
