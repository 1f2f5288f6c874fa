//! Creating nodes by the dozen.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, NodeSpec, NodeStatus, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};

use crate::annotations::STAND_IN;

/// How many nodes are created at a time.
const AT_A_TIME: usize = 16;

/// A number of nodes of one kind, named `<prefix>-0`, `<prefix>-1` and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeGroup {
    /// What their names begin with.
    pub prefix: String,
    /// How many there are.
    pub count: u32,
    /// What each of them has: `cpu`, `memory`, `pods`, `nvidia.com/gpu` and the like.
    #[serde(default = "capacity")]
    pub capacity: BTreeMap<String, String>,
    /// Labels of all of them.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Labels whose values go round: node `i` gets the value at `i` modulo their number. Zones and racks.
    #[serde(default)]
    pub topology: BTreeMap<String, Vec<String>>,
    /// Taints of all of them.
    #[serde(default)]
    pub taints: Vec<Taint>,
}

fn capacity() -> BTreeMap<String, String> {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    [("cpu", "32"), ("memory", "256Gi"), ("pods", "110")].map(pair).into()
}

impl NodeGroup {
    /// So many nodes with 32 CPUs, 256 GiB and room for 110 pods.
    pub fn new(prefix: &str, count: u32) -> Self {
        Self {
            prefix: prefix.to_owned(),
            count,
            capacity: capacity(),
            labels: BTreeMap::new(),
            topology: BTreeMap::new(),
            taints: Vec::new(),
        }
    }

    /// With so much of a resource each.
    pub fn with_capacity(mut self, resource: &str, quantity: &str) -> Self {
        self.capacity.insert(resource.to_owned(), quantity.to_owned());
        self
    }

    /// With a label.
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// With a label whose values go round.
    pub fn with_topology(mut self, key: &str, values: &[&str]) -> Self {
        self.topology.insert(key.to_owned(), values.iter().map(|value| (*value).to_owned()).collect());
        self
    }

    /// With a taint.
    pub fn with_taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        let taint =
            Taint { key: key.into(), value: Some(value.into()), effect: effect.into(), time_added: None };
        self.taints.push(taint);
        self
    }

    /// The nodes as objects. The stand-in adds the rest of their status once it sees them.
    pub fn nodes(&self) -> Vec<Node> {
        (0..self.count as usize).map(|index| self.node(index)).collect()
    }

    /// Creates the nodes; those that exist already stay as they are.
    pub async fn create(&self, client: &Client) -> kube::Result<()> {
        let api: Api<Node> = Api::all(client.clone());
        let create = |node: Node| {
            let api = api.clone();
            async move {
                match api.create(&PostParams::default(), &node).await {
                    Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                    other => other.map(drop),
                }
            }
        };
        stream::iter(self.nodes()).map(create).buffer_unordered(AT_A_TIME).try_collect().await
    }

    fn node(&self, index: usize) -> Node {
        let name = format!("{}-{index}", self.prefix);
        let quantity = |(key, value): (&String, &String)| (key.clone(), Quantity(value.clone()));
        let capacity: BTreeMap<_, _> = self.capacity.iter().map(quantity).collect();
        Node {
            metadata: ObjectMeta {
                labels: Some(self.labels_of(&name, index)),
                name: Some(name),
                ..ObjectMeta::default()
            },
            spec: Some(NodeSpec { taints: Some(self.taints.clone()), ..NodeSpec::default() }),
            status: Some(NodeStatus {
                allocatable: Some(capacity.clone()),
                capacity: Some(capacity),
                ..NodeStatus::default()
            }),
        }
    }

    fn labels_of(&self, name: &str, index: usize) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.entry(STAND_IN.to_owned()).or_insert_with(|| "true".to_owned());
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        for (key, values) in &self.topology {
            if let Some(value) = values.get(index % values.len().max(1)) {
                labels.insert(key.clone(), value.clone());
            }
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_what_was_asked_for() {
        let group = NodeGroup::new("gpu", 3)
            .with_capacity("nvidia.com/gpu", "8")
            .with_label("pool", "gpu")
            .with_topology("topology.kubernetes.io/zone", &["a", "b"])
            .with_taint("gpu", "only", "NoSchedule");
        let nodes = group.nodes();
        let zones: Vec<_> = nodes
            .iter()
            .map(|node| {
                let labels = node.metadata.labels.as_ref().unwrap();
                assert_eq!((labels["pool"].as_str(), labels[STAND_IN].as_str()), ("gpu", "true"));
                labels["topology.kubernetes.io/zone"].as_str()
            })
            .collect();
        assert_eq!(zones, ["a", "b", "a"]);
        let status = nodes[2].status.as_ref().unwrap();
        assert_eq!(status.allocatable.as_ref().unwrap()["nvidia.com/gpu"], Quantity("8".into()));
        assert_eq!(nodes[2].metadata.name.as_deref(), Some("gpu-2"));
        assert_eq!(nodes[2].spec.as_ref().unwrap().taints.as_ref().unwrap()[0].effect, "NoSchedule");
    }

    #[test]
    fn a_group_is_data() {
        let group: NodeGroup = serde_json::from_str(r#"{"prefix": "n", "count": 1}"#).unwrap();
        assert_eq!(group, NodeGroup::new("n", 1));
    }
}
