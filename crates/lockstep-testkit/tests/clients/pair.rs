//! A real cluster and an embedded one with the same nodes.

use std::path::PathBuf;

use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use tokio::sync::{Mutex, MutexGuard};

/// Both.
pub struct Pair {
    pub real: Cluster,
    pub ours: Cluster,
    /// The kubectl of the real one's version.
    pub kubectl: PathBuf,
    /// A folder that goes with them.
    pub dir: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

/// There is one pair at a time: what clients say is not to depend on who else keeps the machine busy.
static ALONE: Mutex<()> = Mutex::const_new(());

impl Pair {
    /// Starts both, unless the test is to be skipped.
    pub async fn start() -> Option<Self> {
        let alone = ALONE.lock().await;
        let with_nodes = || Cluster::builder().gangs().nodes(NodeGroup::new("node", 3));
        let real = with_nodes().our_own("a real cluster to compare with").start_or_skip().await?;
        let ours = with_nodes().embedded().start_or_skip().await?;
        let kubectl = real.program("kubectl").expect("a cluster of our own has a kubectl");
        let dir = real.dir().expect("a cluster of our own has a folder").join("clients");
        std::fs::create_dir_all(&dir).expect("a folder");
        Some(Self { real, ours, kubectl, dir, _alone: alone })
    }
}
