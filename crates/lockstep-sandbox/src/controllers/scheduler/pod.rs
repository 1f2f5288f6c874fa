//! A pod, as the scheduler sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::affinity::{NodeRule, Preference, Term};
use super::spread::Constraint;
use crate::controllers::quantity;
use crate::controllers::read::{self, entries, list, text};
use crate::controllers::taints::Toleration;
use crate::store::Key;

/// How much of what: processors in thousandths, everything else in units.
pub(super) type Amounts = BTreeMap<String, i64>;

/// A pod.
#[derive(Debug, Clone)]
pub(super) struct Pod {
    pub(super) key: Key,
    pub(super) object: Arc<Value>,
    pub(super) uid: String,
    pub(super) owner: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) node: Option<Arc<str>>,
    pub(super) ended: bool,
    pub(super) deleting: bool,
    pub(super) priority: i64,
    pub(super) created: String,
    /// The gang it belongs to.
    pub(super) group: Option<Arc<str>>,
    pub(super) gated: bool,
    /// It is this scheduler's.
    pub(super) ours: bool,
    pub(super) requests: Amounts,
    pub(super) ports: BTreeSet<(String, String, i64)>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) node_rule: NodeRule,
    pub(super) node_preferences: Vec<Preference>,
    pub(super) near: Vec<Term>,
    pub(super) apart: Vec<Term>,
    pub(super) rather_near: Vec<(i64, Term)>,
    pub(super) spread: Vec<Constraint>,
}

impl Pod {
    /// Reads a pod; one that asks for another scheduler is this one's if it is of every name.
    pub(super) fn read(key: &Key, object: &Arc<Value>, of_every_name: bool) -> Self {
        let spec = &object["spec"];
        let named = |value: &Value| Some(text(value)).filter(|name| !name.is_empty()).map(Arc::from);
        let labels = read::labels(object);
        let affinity = &spec["affinity"];
        let terms = |kind: &str| {
            let required = &affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"];
            list(required).iter().map(|term| Term::read(term, &key.namespace, &labels)).collect()
        };
        let preferred = |kind: &'static str, sign: i64| {
            let preferred = list(&affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"]);
            let read = |term: &Value| Term::read(&term["podAffinityTerm"], &key.namespace, &labels);
            preferred
                .iter()
                .map(|term| (sign * read::number(&term["weight"]), read(term)))
                .collect::<Vec<_>>()
        };
        Self {
            uid: read::uid(object).to_owned(),
            owner: read::controller(object).map_or("", |owner| text(&owner["uid"])).to_owned(),
            node: named(&spec["nodeName"]),
            ended: read::has_ended(object),
            deleting: read::is_deleting(object),
            priority: read::number(&spec["priority"]),
            created: text(&object["metadata"]["creationTimestamp"]).to_owned(),
            group: named(&spec["schedulingGroup"]["podGroupName"]),
            gated: !list(&spec["schedulingGates"]).is_empty(),
            ours: of_every_name || matches!(text(&spec["schedulerName"]), "" | "default-scheduler"),
            requests: requests(spec),
            ports: ports(spec),
            tolerations: Toleration::of(object),
            node_rule: NodeRule::read(spec),
            node_preferences: Preference::all(&affinity["nodeAffinity"]),
            near: terms("podAffinity"),
            apart: terms("podAntiAffinity"),
            rather_near: [preferred("podAffinity", 1), preferred("podAntiAffinity", -1)].concat(),
            spread: Constraint::all(spec, &labels),
            labels,
            key: key.clone(),
            object: Arc::clone(object),
        }
    }

    /// It waits for a node.
    pub(super) fn waits(&self) -> bool {
        self.ours && self.node.is_none() && !self.gated && !self.deleting && !self.ended
    }

    /// It takes room on this node.
    pub(super) fn takes_room_on(&self) -> Option<&Arc<str>> {
        self.node.as_ref().filter(|_| !self.ended)
    }
}

/// What a pod needs: its containers together, or what one that runs before them needs, if that is more.
fn requests(spec: &Value) -> Amounts {
    let mut together = Amounts::new();
    for container in list(&spec["containers"]) {
        add(&mut together, &container_requests(container));
    }
    let mut stay = Amounts::new();
    let mut before = Amounts::new();
    for container in list(&spec["initContainers"]) {
        let mut needs = container_requests(container);
        if container["restartPolicy"] == "Always" {
            // It stays beside all that come after it.
            add(&mut together, &needs);
            add(&mut stay, &needs);
            needs = stay.clone();
        } else {
            add(&mut needs, &stay);
        }
        at_least(&mut before, &needs);
    }
    at_least(&mut together, &before);
    for (name, amount) in amounts(&spec["resources"]["requests"]) {
        together.insert(name, amount);
    }
    add(&mut together, &amounts(&spec["overhead"]));
    together
}

fn container_requests(container: &Value) -> Amounts {
    let mut needs = amounts(&container["resources"]["limits"]);
    needs.extend(amounts(&container["resources"]["requests"]));
    needs
}

/// Reads amounts.
pub(super) fn amounts(resources: &Value) -> Amounts {
    let read = |(name, amount): (&String, &Value)| {
        let amount = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let parse = if name == "cpu" { quantity::thousandths } else { quantity::units };
        (name.clone(), parse(&amount))
    };
    entries(resources).map(read).collect()
}

/// Adds amounts to others.
pub(super) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

fn at_least(amounts: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        let found = amounts.entry(name.clone()).or_default();
        *found = (*found).max(*amount);
    }
}

/// The ports of the node a pod wants: protocol, address, number.
fn ports(spec: &Value) -> BTreeSet<(String, String, i64)> {
    let containers = list(&spec["containers"]).iter();
    let ports = containers.flat_map(|container| list(&container["ports"]));
    let or = |value: &Value, default: &str| match text(value) {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    ports
        .filter(|port| read::number(&port["hostPort"]) > 0)
        .map(|port| {
            (or(&port["protocol"], "TCP"), or(&port["hostIP"], "0.0.0.0"), read::number(&port["hostPort"]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_pods_need() {
        let one = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let stays = |cpu: &str| json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
        for (spec, cpu) in [
            (json!({"containers": [one("1"), one("500m")]}), 1500),
            (json!({"containers": [one("1")], "initContainers": [one("3"), one("2")]}), 3000),
            (json!({"containers": [one("1")], "initContainers": [stays("2"), one("1")]}), 3000),
            (json!({"containers": [one("1")], "initContainers": [stays("2"), one("2")]}), 4000),
            (json!({"containers": [one("1")], "overhead": {"cpu": "250m"}}), 1250),
            (json!({"containers": [one("1")], "resources": {"requests": {"cpu": "5"}}}), 5000),
            (json!({"containers": [{"resources": {"limits": {"cpu": 2}}}]}), 2000),
        ] {
            assert_eq!(requests(&spec).get("cpu"), Some(&cpu), "{spec}");
        }
    }
}
