//! Starting a cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kube::config::Kubeconfig;
use lockstep_kubelet::{NodeGroup, Options};
use serde_json::Value;

use super::access::client_from;
use super::component::Setting;
use super::guest::Guest;
use super::{AGENT, Cluster, ClusterError, Component, ControlPlane, embedded, files, kinds, ports};
use crate::build::{Part, Programs};
use crate::pki::Authority;
use crate::process::Supervisor;
use crate::say;

/// How often a start is tried when somebody else takes a port.
const TRIES: u32 = 3;

/// What a cluster is to be like.
#[derive(Debug, Clone)]
pub struct Builder {
    gangs: bool,
    node_grace: Duration,
    without: Vec<Component>,
    nodes: Vec<NodeGroup>,
    kubelet: Options,
    our_own: Option<&'static str>,
    not_a_guest: bool,
    embedded: bool,
    flags: Vec<(Component, String)>,
    kinds: Vec<Value>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            gangs: false,
            node_grace: Duration::from_secs(3600),
            without: Vec::new(),
            nodes: Vec::new(),
            kubelet: Options::default(),
            our_own: None,
            not_a_guest: false,
            embedded: false,
            flags: Vec::new(),
            kinds: Vec::new(),
        }
    }
}

impl Builder {
    /// Switches Kubernetes' own gang scheduling on (`PodGroup` of `scheduling.k8s.io`).
    pub fn gangs(mut self) -> Self {
        self.gangs = true;
        self
    }

    /// How long a node may be silent before Kubernetes calls it lost. An hour, unless told: a busy machine
    /// must not look like one that lost its nodes.
    pub fn node_grace(mut self, grace: Duration) -> Self {
        self.node_grace = grace;
        self
    }

    /// Leaves a component out.
    pub fn without(mut self, component: Component) -> Self {
        self.without.push(component);
        self
    }

    /// It must be made of real processes of our own, because the test needs this: "to stop the API server". With a
    /// cluster of the user's own, or an embedded one, such a test is skipped, loudly.
    pub fn our_own(mut self, why: &'static str) -> Self {
        self.our_own = Some(why);
        self
    }

    /// Programs are going to run beside it, or its audit log is going to be read. An embedded cluster will do, one of the
    /// user's own will not.
    pub fn not_a_guest(mut self) -> Self {
        self.not_a_guest = true;
        self
    }

    /// It must be an embedded one, whatever the environment says: a test that compares has one of each.
    pub fn embedded(mut self) -> Self {
        self.embedded = true;
        self
    }

    /// Starts a component with one more flag. The cluster must be [of our own](Self::our_own): nobody else's is
    /// started.
    pub fn flag(mut self, component: Component, flag: &str) -> Self {
        self.flags.push((component, flag.to_owned()));
        self
    }

    /// Makes kinds known (CustomResourceDefinitions) before any controller starts, as they are where somebody has worked
    /// for long. The garbage collector looks for new ones twice a minute only. An owner of a kind that it does not know it
    /// has merely heard of, and asks after it ever more seldom: after ten changes of what belongs to it, every 1000 s. If
    /// it goes meanwhile, what it leaves behind stays that long.
    pub fn kinds(mut self, definitions: impl IntoIterator<Item = Value>) -> Self {
        self.kinds.extend(definitions);
        self
    }

    /// Gives it nodes, played by a kubelet stand-in.
    pub fn nodes(mut self, group: NodeGroup) -> Self {
        self.nodes.push(group);
        self
    }

    /// Sets the stand-in up differently.
    pub fn kubelet(mut self, options: Options) -> Self {
        self.kubelet = options;
        self
    }

    /// Starts it, or connects to the cluster of `LOCKSTEP_KUBECONFIG` if that is set and will do. With
    /// `LOCKSTEP_EMBEDDED` set, an embedded cluster is started if that will do.
    pub async fn start(self) -> Result<Cluster, ClusterError> {
        let cluster = match std::env::var_os("LOCKSTEP_KUBECONFIG") {
            _ if self.embedded => embedded::start(&new_dir(), &self.without, self.node_grace).await?,
            Some(kubeconfig) if self.our_own.is_none() && !self.not_a_guest => {
                connect(Path::new(&kubeconfig)).await?
            }
            _ if self.our_own.is_none() && wants_embedded() => {
                embedded::start(&new_dir(), &self.without, self.node_grace).await?
            }
            _ => self.start_our_own().await?,
        };
        if cluster.ours.is_none() {
            kinds::define_all(&cluster.client, &self.kinds).await?;
        }
        let Self { nodes, kubelet, .. } = self;
        if nodes.is_empty() { Ok(cluster) } else { cluster.with_nodes(&nodes, kubelet).await }
    }

    async fn start_our_own(&self) -> Result<Cluster, ClusterError> {
        // Building blocks for minutes, and other tests of the program may want to go on.
        let programs = tokio::task::spawn_blocking(|| Programs::of(Part::Kubernetes, &mut say)).await;
        let programs = programs.map_err(ClusterError::access("build the control plane"))??;
        let mut tries = 1;
        loop {
            match self.try_to_start(programs.clone()).await {
                Err(error) if error.is_taken_port() && tries < TRIES => tries += 1,
                answer => return answer,
            }
        }
    }

    /// Starts it for a test. Where there is nothing to build it with, the test is skipped, loudly; with
    /// `LOCKSTEP_NEVER_SKIP` or `CI` set it fails.
    ///
    /// # Panics
    /// If it cannot be started for any other reason.
    pub async fn start_or_skip(self) -> Option<Cluster> {
        let beside = (self.not_a_guest && !wants_embedded()).then_some("to run programs beside its cluster");
        if self.our_own.or(beside).is_some_and(not_alone_here) {
            return None;
        }
        or_skip(self.start().await)
    }

    async fn try_to_start(&self, programs: Programs) -> Result<Cluster, ClusterError> {
        let dir = new_dir();
        let keep = std::env::var_os("LOCKSTEP_KEEP").is_some();
        let supervisor = Supervisor::start(&dir, keep).map_err(ClusterError::file(&dir))?;
        if keep {
            say(&format!("the cluster's files stay in {}", dir.display()));
        }
        let authority = Authority::new("lockstep test")?;
        let ports = ports::free().map_err(ClusterError::file(Path::new("127.0.0.1")))?;
        let (gangs, node_grace, flags) = (self.gangs, self.node_grace, self.flags.clone());
        let setting = Setting { dir: &dir, ports, gangs, node_grace, flags: &flags };
        let access = files::write(&setting, &authority)?;
        let client = access.client(AGENT).await?;
        let running = Mutex::new(BTreeMap::new());
        let kubeconfig = dir.join("admin.kubeconfig");
        let ours = ControlPlane {
            supervisor,
            running,
            programs,
            authority,
            access,
            dir,
            ports,
            gangs,
            node_grace,
            flags,
        };
        for component in [Component::Etcd, Component::ApiServer] {
            ours.start(component)?;
        }
        ours.wait_until_ready(&client).await?;
        kinds::make_known(&client, &self.kinds).await?;
        let others = [Component::ControllerManager, Component::Scheduler];
        let others = || others.into_iter().filter(|component| !self.without.contains(component));
        for component in others() {
            ours.start(component)?;
        }
        for component in others() {
            ours.wait_until_listening(component).await?;
        }
        Ok(Cluster { kubelet: None, client, kubeconfig, guest: None, ours: Some(ours), embedded: None })
    }
}

/// Tests are to be played on embedded clusters.
fn wants_embedded() -> bool {
    std::env::var_os("LOCKSTEP_EMBEDDED").is_some()
}

/// Whether the user has given a cluster, or asked for an embedded one: what needs one of processes of our own is skipped
/// then, loudly.
pub(crate) fn not_alone_here(why: &str) -> bool {
    let set = ["LOCKSTEP_EMBEDDED", "LOCKSTEP_KUBECONFIG"];
    let Some(set) = set.into_iter().find(|name| std::env::var_os(name).is_some()) else { return false };
    skipped(&format!("it needs {why}, and {set} is set"));
    true
}

/// What was started. Where there is nothing to build it with, the test is skipped, loudly, if it may be.
///
/// # Panics
/// If it could not be started for any other reason.
pub(crate) fn or_skip<T>(started: Result<T, ClusterError>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(ClusterError::Build(error)) if error.is_missing_toolchain() && may_skip() => {
            skipped(&error.to_string());
            None
        }
        Err(error) => panic!("no cluster: {error}"),
    }
}

fn skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    say(&format!("SKIPPED {test}: {reason}"));
}

fn may_skip() -> bool {
    ["LOCKSTEP_NEVER_SKIP", "CI"].into_iter().all(|name| std::env::var_os(name).is_none())
}

/// Uses a cluster of the user's own. Nothing of it is started or stopped.
async fn connect(kubeconfig: &Path) -> Result<Cluster, ClusterError> {
    let what = format!("the cluster of LOCKSTEP_KUBECONFIG={}", kubeconfig.display());
    let config = Kubeconfig::read_from(kubeconfig).map_err(ClusterError::access(&what))?;
    let client = client_from(config, AGENT, &what).await?;
    // Better said here than by the first thing that is tried.
    let version = client.apiserver_version().await;
    version.map_err(|error| ClusterError::Access { what, reason: causes(&error) })?;
    let guest = Some(Guest::new());
    Ok(Cluster {
        kubelet: None,
        client,
        kubeconfig: kubeconfig.to_owned(),
        guest,
        ours: None,
        embedded: None,
    })
}

/// An error with what caused it: the outermost says little more than that it did not work.
fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A folder no other cluster has, in the folder for temporary files.
fn new_dir() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    std::env::temp_dir().join(format!("lockstep-cluster-{}-{number}-{moment:x}", std::process::id()))
}
