//! Spreading pods evenly over places.

use std::collections::BTreeMap;

use serde_json::Value;

use super::affinity::Labels;
use super::cluster::Cluster;
use super::pod::Pod;
use crate::controllers::read::{list, number, text};
use crate::selector::Selector;

/// How unevenly pods may be spread.
#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub(super) topology: String,
    most: i64,
    selector: Option<Selector>,
    least_places: i64,
    /// Only nodes the pod could be on count.
    by_affinity: bool,
    /// Only nodes whose taints it tolerates count.
    by_taints: bool,
}

impl Constraint {
    /// The constraints of a pod that must hold.
    pub(super) fn all(spec: &Value, labels: &Labels) -> Vec<Self> {
        let constraints = list(&spec["topologySpreadConstraints"]).iter();
        let strict = constraints.filter(|constraint| constraint["whenUnsatisfiable"] == "DoNotSchedule");
        strict.map(|constraint| Self::read(constraint, labels)).collect()
    }

    fn read(constraint: &Value, labels: &Labels) -> Self {
        let mut selector = Selector::of_object(&constraint["labelSelector"]);
        for key in list(&constraint["matchLabelKeys"]).iter().map(text) {
            if let Some((selector, value)) = selector.as_mut().zip(labels.get(key)) {
                selector.add(key, "In", value);
            }
        }
        Self {
            topology: text(&constraint["topologyKey"]).to_owned(),
            most: number(&constraint["maxSkew"]),
            selector,
            least_places: constraint["minDomains"].as_i64().unwrap_or(1),
            by_affinity: constraint["nodeAffinityPolicy"] != "Ignore",
            by_taints: constraint["nodeTaintsPolicy"] == "Honor",
        }
    }

    fn counts(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

/// How many pods each place has, for each constraint of a pod.
#[derive(Debug, Default)]
pub(super) struct Places {
    found: Vec<BTreeMap<String, i64>>,
}

impl Places {
    /// Counts.
    pub(super) fn of(pod: &Pod, cluster: &Cluster) -> Self {
        let mut found = vec![BTreeMap::new(); pod.spread.len()];
        if pod.spread.is_empty() {
            return Self { found };
        }
        let nodes = cluster.nodes.values();
        for node in nodes.filter(|node| pod.spread.iter().all(|one| node.labels.contains_key(&one.topology)))
        {
            for (constraint, found) in pod.spread.iter().zip(&mut found) {
                let wanted = !constraint.by_affinity || pod.node_rule.admits(&node.name, &node.labels);
                let tolerated = !constraint.by_taints || node.untolerated(&pod.tolerations).is_none();
                if wanted && tolerated {
                    let place = node.labels[&constraint.topology].clone();
                    *found.entry(place).or_default() += count(cluster, &node.name, pod, constraint);
                }
            }
        }
        Self { found }
    }

    /// Why a pod cannot be in this node's place, if it cannot.
    pub(super) fn refuse(&self, pod: &Pod, labels: &Labels) -> Option<Uneven> {
        pod.spread.iter().zip(&self.found).find_map(|(constraint, found)| {
            let Some(place) = labels.get(&constraint.topology) else {
                return Some(Uneven::NoPlace);
            };
            let few = i64::try_from(found.len()).unwrap_or(i64::MAX) < constraint.least_places;
            // Where no node counts nothing can be the least.
            let least = if few { 0 } else { found.values().min().copied().unwrap_or(i64::from(i32::MAX)) };
            let there = found.get(place).copied().unwrap_or_default();
            let with_this = there + i64::from(constraint.counts(&pod.labels));
            (with_this - least > constraint.most).then_some(Uneven::TooMany)
        })
    }
}

/// Why a pod cannot be in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uneven {
    /// The node is in no place at all.
    NoPlace,
    /// There would be too many.
    TooMany,
}

fn count(cluster: &Cluster, node: &str, pod: &Pod, constraint: &Constraint) -> i64 {
    if constraint.selector.as_ref().is_none_or(Selector::is_empty) {
        return 0;
    }
    let counts = |other: &&Pod| {
        other.key.namespace == pod.key.namespace && !other.deleting && constraint.counts(&other.labels)
    };
    i64::try_from(cluster.pods_on(node).filter(counts).count()).unwrap_or(i64::MAX)
}
