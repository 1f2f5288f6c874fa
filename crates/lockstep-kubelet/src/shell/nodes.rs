//! The nodes that are played.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use serde_json::Value;

use super::addresses::AddressPool;
use crate::node;

/// Nodes that live, with their UIDs.
pub(crate) type Alive = BTreeMap<String, String>;

/// What is known of the nodes that are played.
#[derive(Debug)]
pub(crate) struct Nodes {
    known: BTreeMap<String, Known>,
    pool: AddressPool,
    listed: Option<BTreeSet<String>>,
}

#[derive(Debug)]
struct Known {
    node: Node,
    address: Ipv4Addr,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        Self { known: BTreeMap::new(), pool: AddressPool::for_nodes(), listed: None }
    }

    /// Takes note of an event; answers with the name of the node to look at.
    pub(crate) fn apply(&mut self, event: Event<Node>) -> Option<String> {
        match event {
            Event::Init => self.listed = Some(BTreeSet::new()),
            Event::InitApply(node) => {
                let name = self.put(node)?;
                self.listed.get_or_insert_default().insert(name.clone());
                return Some(name);
            }
            Event::InitDone => {
                if let Some(listed) = self.listed.take() {
                    self.known.retain(|name, _| listed.contains(name));
                }
            }
            Event::Apply(node) => return self.put(node),
            Event::Delete(node) => self.remove(&node),
        }
        None
    }

    fn put(&mut self, node: Node) -> Option<String> {
        let name = node.metadata.name.clone()?;
        let address = match (node::address(&node), self.known.get(&name)) {
            (Some(address), _) => address,
            (None, Some(known)) => known.address,
            (None, None) => self.pool.claim(&name),
        };
        self.pool.note(address, &name);
        self.known.insert(name.clone(), Known { node, address });
        Some(name)
    }

    fn remove(&mut self, node: &Node) {
        let Some(name) = &node.metadata.name else { return };
        if self.known.get(name).is_some_and(|known| known.node.metadata.uid == node.metadata.uid)
            && let Some(known) = self.known.remove(name)
        {
            self.pool.release(known.address, name);
        }
    }

    /// The address of a node that lives.
    pub(crate) fn address(&self, name: &str) -> Option<Ipv4Addr> {
        self.known.get(name).filter(|known| !node::is_gone(&known.node)).map(|known| known.address)
    }

    /// What to write about a node so that it looks alive.
    pub(crate) fn refresh(&self, name: &str, now: Timestamp) -> Option<Value> {
        let address = self.address(name)?;
        node::refresh(&self.known.get(name)?.node, address, now)
    }

    /// The nodes that live.
    pub(crate) fn alive(&self) -> Alive {
        let living = self.known.iter().filter(|(_, known)| !node::is_gone(&known.node));
        living
            .map(|(name, known)| (name.clone(), known.node.metadata.uid.clone().unwrap_or_default()))
            .collect()
    }
}
