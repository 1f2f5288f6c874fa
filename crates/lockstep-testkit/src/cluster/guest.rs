//! Manners in a cluster of the user's own: nodes nobody else is put on, and gone afterwards.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::config::Kubeconfig;
use lockstep_kubelet::NodeGroup;
use lockstep_kubelet::annotations::STAND_IN;

use super::access::client_from;
use crate::say;

/// What was put into a cluster of the user's own.
#[derive(Debug)]
pub(super) struct Guest {
    name: String,
    nodes: Vec<String>,
}

impl Guest {
    /// A guest under a name no other has.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("{}-{number}", std::process::id()), nodes: Vec::new() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nodes as they may stand there: under the guest's name, and closed to everybody else's pods.
    pub fn host(&mut self, group: &NodeGroup) -> NodeGroup {
        let group = group.clone().with_taint(STAND_IN, &self.name, "NoSchedule");
        let mut group = group.with_label(STAND_IN, &self.name);
        group.prefix = format!("{}-{}", group.prefix, self.name);
        self.nodes.extend(group.nodes().into_iter().filter_map(|node| node.metadata.name));
        group
    }

    /// Removes what was put there. It is called while dropping, maybe within a runtime that may not wait, so
    /// it has a thread and a runtime of its own.
    pub fn leave(self, kubeconfig: &Path) {
        if self.nodes.is_empty() {
            return;
        }
        let path = kubeconfig.to_owned();
        let leaving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(remove(&path, &self.nodes))
        });
        match leaving.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => say(&format!("nodes are left behind in {}: {error}", kubeconfig.display())),
            Err(_) => say("nodes are left behind: their removal panicked"),
        }
    }
}

/// Removes all that can be removed, and says what could not.
async fn remove(kubeconfig: &Path, nodes: &[String]) -> Result<(), String> {
    let config = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let client = client_from(config, "lockstep-testkit", "the cluster").await;
    let api: Api<Node> = Api::all(client.map_err(|error| error.to_string())?);
    let mut left = Vec::new();
    for node in nodes {
        match api.delete(node, &Default::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => left.push(format!("{node}: {error}")),
        }
    }
    if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
}
