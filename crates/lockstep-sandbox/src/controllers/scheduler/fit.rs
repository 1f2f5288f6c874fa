//! Where a pod can be, and where best.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::affinity::Term;
use super::cluster::{self, Cluster, Node};
use super::pod::Pod;
use super::spread::{Places, Uneven};
use crate::controllers::taints::Taint;

/// Why a pod cannot be on any node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unfit {
    nodes: usize,
    reasons: BTreeMap<String, usize>,
    /// How many nodes would do if others went.
    if_others_went: usize,
}

impl Unfit {
    /// The sentence.
    pub(super) fn sentence(&self) -> String {
        if self.nodes == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        let mut reasons: Vec<String> =
            self.reasons.iter().map(|(reason, nodes)| format!("{nodes} {reason}")).collect();
        reasons.sort();
        format!("0/{} nodes are available: {}.", self.nodes, reasons.join(", "))
    }

    /// The sentence, and why nobody is sent away for the pod.
    pub(super) fn full_sentence(&self, pod: &Pod) -> String {
        let sentence = self.sentence();
        if self.nodes == 0 {
            return sentence;
        }
        if pod.object["spec"]["preemptionPolicy"] == "Never" {
            return format!("{sentence} preemption: not eligible due to preemptionPolicy=Never.");
        }
        let no_help = self.nodes - self.if_others_went;
        let why = [
            (self.if_others_went, "No preemption victims found for incoming pod"),
            (no_help, "Preemption is not helpful for scheduling"),
        ];
        let why = why.into_iter().filter(|(nodes, _)| *nodes > 0);
        let mut why: Vec<String> = why.map(|(nodes, why)| format!("{nodes} {why}")).collect();
        why.sort();
        format!("{sentence} preemption: 0/{} nodes are available: {}.", self.nodes, why.join(", "))
    }

    fn add(&mut self, no: No) {
        self.if_others_went += usize::from(no.if_others_went);
        for reason in no.reasons {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }
}

/// Why a pod cannot be on one node.
struct No {
    reasons: Vec<String>,
    if_others_went: bool,
}

impl No {
    fn never(reason: &str) -> Self {
        Self { reasons: vec![reason.to_owned()], if_others_went: false }
    }

    fn now(reason: &str) -> Self {
        Self { if_others_went: true, ..Self::never(reason) }
    }
}

/// The best node for a pod.
pub(super) fn best(pod: &Pod, cluster: &Cluster) -> Result<Arc<str>, Unfit> {
    let search = Search::new(pod, cluster);
    let mut unfit = Unfit { nodes: cluster.nodes.len(), ..Unfit::default() };
    let mut fit = Vec::new();
    for node in cluster.nodes.values() {
        match search.check(node) {
            Ok(()) => fit.push(node),
            Err(no) => unfit.add(no),
        }
    }
    search.choose(&fit).map(|node| Arc::clone(&node.name)).ok_or(unfit)
}

/// A place: a label of nodes, and its value.
type Place = (String, String);

/// All that is the same for every node.
struct Search<'a> {
    pod: &'a Pod,
    cluster: &'a Cluster,
    names: Option<BTreeSet<String>>,
    places: Places,
    near: BTreeMap<Place, usize>,
    apart: BTreeSet<Place>,
    others_apart: BTreeSet<Place>,
    rather_near: BTreeMap<Place, i64>,
}

impl<'a> Search<'a> {
    fn new(pod: &'a Pod, cluster: &'a Cluster) -> Self {
        let mut search = Self {
            pod,
            cluster,
            names: pod.node_rule.names(),
            places: Places::of(pod, cluster),
            near: BTreeMap::new(),
            apart: BTreeSet::new(),
            others_apart: BTreeSet::new(),
            rather_near: BTreeMap::new(),
        };
        search.look_at_those_apart();
        if !(pod.near.is_empty() && pod.apart.is_empty() && pod.rather_near.is_empty()) {
            search.look_at_neighbours();
        }
        search
    }

    fn means(&self, term: &Term, other: &Pod) -> bool {
        let namespace = self.cluster.namespaces.get(&other.key.namespace);
        term.means(&other.key.namespace, namespace, &other.labels)
    }

    /// Those who want this pod apart from them.
    fn look_at_those_apart(&mut self) {
        for other in self.cluster.aloof() {
            let Some(node) = other.node.as_ref().and_then(|node| self.cluster.nodes.get(node)) else {
                continue;
            };
            let against = other.apart.iter().filter(|term| self.means(term, self.pod));
            let places: Vec<Place> = against.filter_map(|term| place(node, &term.topology)).collect();
            self.others_apart.extend(places);
        }
    }

    /// Those this pod wants near, or apart.
    fn look_at_neighbours(&mut self) {
        for node in self.cluster.nodes.values() {
            for other in self.cluster.pods_on(&node.name) {
                if self.is_wanted(other) {
                    for place in self.pod.near.iter().filter_map(|term| place(node, &term.topology)) {
                        *self.near.entry(place).or_default() += 1;
                    }
                }
                for term in &self.pod.apart {
                    if self.means(term, other) {
                        self.apart.extend(place(node, &term.topology));
                    }
                }
                for (weight, term) in &self.pod.rather_near {
                    if self.means(term, other)
                        && let Some(place) = place(node, &term.topology)
                    {
                        *self.rather_near.entry(place).or_default() += weight;
                    }
                }
            }
        }
    }

    /// All terms mean it.
    fn is_wanted(&self, other: &Pod) -> bool {
        !self.pod.near.is_empty() && self.pod.near.iter().all(|term| self.means(term, other))
    }

    /// In the order of a real scheduler: the first thing that speaks against a node is the one that is told.
    fn check(&self, node: &Node) -> Result<(), No> {
        if self.names.as_ref().is_some_and(|names| !names.contains(&*node.name)) {
            return Err(No::never("node(s) didn't satisfy plugin(s) [NodeAffinity]"));
        }
        if node.unschedulable && !self.may_go_where_cordoned() {
            return Err(No::never("node(s) were unschedulable"));
        }
        if node.untolerated(&self.pod.tolerations).is_some() {
            return Err(No::never("node(s) had untolerated taint(s)"));
        }
        if !self.pod.node_rule.admits(&node.name, &node.labels) {
            return Err(No::never("node(s) didn't match Pod's node affinity/selector"));
        }
        self.check_ports(node)?;
        self.check_room(node)?;
        match self.places.refuse(self.pod, &node.labels) {
            Some(Uneven::NoPlace) => {
                let why = "node(s) didn't match pod topology spread constraints (missing required label)";
                return Err(No::never(why));
            }
            Some(Uneven::TooMany) => {
                return Err(No::now("node(s) didn't match pod topology spread constraints"));
            }
            None => {}
        }
        self.check_neighbours(node)
    }

    fn may_go_where_cordoned(&self) -> bool {
        let cordon = Taint::new("node.kubernetes.io/unschedulable", "NoSchedule");
        cordon.is_tolerated(&self.pod.tolerations)
    }

    fn check_ports(&self, node: &Node) -> Result<(), No> {
        let any = "0.0.0.0";
        let clash = |one: &(String, String, i64), other: &(String, String, i64)| {
            one.0 == other.0 && one.2 == other.2 && (one.1 == other.1 || one.1 == any || other.1 == any)
        };
        let wanted = &self.pod.ports;
        let taken = |other: &Pod| other.ports.iter().any(|port| wanted.iter().any(|one| clash(one, port)));
        if !wanted.is_empty() && self.cluster.pods_on(&node.name).any(taken) {
            return Err(No::now("node(s) didn't have free ports for the requested pod ports"));
        }
        Ok(())
    }

    fn check_room(&self, node: &Node) -> Result<(), No> {
        let load = self.cluster.load(&node.name);
        let mut no = No { reasons: Vec::new(), if_others_went: true };
        let most = node.allocatable.get("pods").copied().unwrap_or_default();
        if i64::try_from(load.pods.len()).unwrap_or(i64::MAX) >= most {
            no.reasons.push("Too many pods".to_owned());
        }
        for (name, amount) in self.pod.requests.iter().filter(|(_, amount)| **amount > 0) {
            let all = node.allocatable.get(name).copied().unwrap_or_default();
            let used = load.used.get(name).copied().unwrap_or_default();
            if *amount > all - used {
                no.reasons.push(format!("Insufficient {name}"));
                no.if_others_went &= *amount <= all;
            }
        }
        if no.reasons.is_empty() { Ok(()) } else { Err(no) }
    }

    fn check_neighbours(&self, node: &Node) -> Result<(), No> {
        let wanted = &self.pod.near;
        let there =
            |term: &Term| place(node, &term.topology).is_some_and(|place| self.near.contains_key(&place));
        // The first of those who want each other near has nobody to be near to.
        let first = || {
            self.near.is_empty()
                && self.is_wanted(self.pod)
                && wanted.iter().all(|term| node.labels.contains_key(&term.topology))
        };
        if !wanted.is_empty() && !wanted.iter().all(there) && !first() {
            return Err(No::never("node(s) didn't match pod affinity rules"));
        }
        let in_any = |places: &BTreeSet<Place>| {
            places.iter().any(|(label, value)| node.labels.get(label) == Some(value))
        };
        if in_any(&self.apart) {
            return Err(No::now("node(s) didn't match pod anti-affinity rules"));
        }
        if in_any(&self.others_apart) {
            return Err(No::now("node(s) didn't satisfy existing pods anti-affinity rules"));
        }
        Ok(())
    }

    /// What the pod prefers comes first, then room, then being apart from its like, then the name.
    fn choose(&self, fit: &[&'a Node]) -> Option<&'a Node> {
        let preferred = |node: &Node| {
            let of_node = self.pod.node_preferences.iter();
            of_node.map(|one| one.weight_of(&node.name, &node.labels)).sum::<i64>()
        };
        let neighbours = |node: &Node| {
            let near = self.rather_near.iter();
            near.filter(|((label, value), _)| node.labels.get(label) == Some(value)).map(|(_, w)| w).sum()
        };
        let spurned = |node: &Node| {
            let soft = node.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
            -i64::try_from(soft.filter(|taint| !taint.is_tolerated(&self.pod.tolerations)).count())
                .unwrap_or(0)
        };
        let scores = [(3, scaled(fit, spurned)), (2, scaled(fit, preferred)), (2, scaled(fit, neighbours))];
        let total = |(at, node): (usize, &&Node)| {
            let free = cluster::free(node, self.cluster.load(&node.name), self.pod);
            free + scores.iter().map(|(weight, scores)| weight * scores[at]).sum::<i64>()
        };
        let totals: Vec<i64> = fit.iter().enumerate().map(total).collect();
        let best = totals.iter().max()?;
        let ties = fit.iter().zip(&totals).filter(|(_, total)| *total == best).map(|(node, _)| *node);
        ties.min_by_key(|node| (self.cluster.load(&node.name).like(self.pod), Arc::clone(&node.name)))
    }
}

/// Scores from 0 for the worst to 100 for the best; all 0 if there is no difference.
fn scaled(fit: &[&Node], score: impl Fn(&Node) -> i64) -> Vec<i64> {
    let scores: Vec<i64> = fit.iter().map(|node| score(node)).collect();
    let (least, most) = (scores.iter().min().copied(), scores.iter().max().copied());
    let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
    scores.iter().map(|score| if most > least { (score - least) * 100 / (most - least) } else { 0 }).collect()
}

fn place(node: &Node, label: &str) -> Option<Place> {
    node.labels.get(label).map(|value| (label.to_owned(), value.clone()))
}
