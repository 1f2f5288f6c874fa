//! Manners in a cluster of the user's own: nodes nobody else is put on, and gone afterwards.

use std::path::Path;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::config::Kubeconfig;
use lockstep_kubelet::NodeGroup;
use lockstep_kubelet::annotations::STAND_IN;

use super::access::client_from;
use crate::say;

/// What was put into a cluster of the user's own.
#[derive(Debug, Default)]
pub(super) struct Guest {
    nodes: Vec<String>,
}

impl Guest {
    /// The nodes as they may stand there: under names of this process, and closed to everybody else's pods.
    pub fn host(&mut self, group: &NodeGroup) -> NodeGroup {
        let mut group = group.clone().with_taint(STAND_IN, "true", "NoSchedule");
        group.prefix = format!("{}-{}", group.prefix, std::process::id());
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

async fn remove(kubeconfig: &Path, nodes: &[String]) -> Result<(), String> {
    let config = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let client = client_from(config, "lockstep-testkit", "the cluster").await;
    let api: Api<Node> = Api::all(client.map_err(|error| error.to_string())?);
    for node in nodes {
        api.delete(node, &Default::default()).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}
