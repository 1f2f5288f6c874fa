//! Whether nodes are alive, and the taints that tell.
//!
//! A node is alive as long as something of it is young enough: its lease, its condition, or itself. A real controller
//! goes by when it saw these change, and so starts anew when it is restarted; this one goes by what they say.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controllers::feed::Feed;
use crate::controllers::read::{self, list, text};
use crate::controllers::taints::Taint;
use crate::controllers::wish::{Event, Turn, Wish};
use crate::controllers::{Controller, key};
use crate::store::{Key, Store};

const COMPONENT: &str = "node-controller";
const TTL: &str = "node.alpha.kubernetes.io/ttl";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// How long a node may be silent, unless told.
pub const GRACE: SignedDuration = SignedDuration::from_secs(40);

/// How long a new one may be.
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Pods are sent away from one node at a time, in each zone.
const BETWEEN_EVICTIONS: SignedDuration = SignedDuration::from_secs(10);

/// In a zone of no more than this many nodes, of which most are not ready, no more pods are sent away.
const SMALL_ZONE: usize = 50;

/// The conditions of a node that keep pods away when they have this status.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Tells which nodes are alive, and taints those that are not.
#[derive(Debug)]
pub struct NodeLifecycle {
    grace: SignedDuration,
    feed: Feed,
    awake: bool,
    again: Option<Timestamp>,
}

impl NodeLifecycle {
    /// A node may be silent for so long.
    pub fn with_grace(grace: SignedDuration) -> Self {
        Self { grace, feed: Feed::default(), awake: false, again: None }
    }
}

impl Controller for NodeLifecycle {
    fn name(&self) -> &'static str {
        "node-lifecycle-controller"
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        // A lease that is renewed is no news: it is read when the node would otherwise be taken for dead.
        let news = self.feed.news(store);
        let news = news.is_none_or(|mut news| news.any(|change| *change.key.resource == *"nodes"));
        let due = self.again.is_some_and(|again| again <= now);
        if !(news || due || self.awake) {
            return Turn { again: self.again, ..Turn::default() };
        }
        let turn = Look { store, now, grace: self.grace, turn: Turn::default() }.take();
        // What is wished may be refused.
        self.awake = !turn.wishes.is_empty();
        self.again = turn.again;
        turn
    }
}

/// One look at all nodes.
struct Look<'a> {
    store: &'a Store,
    now: Timestamp,
    grace: SignedDuration,
    turn: Turn,
}

/// How the nodes of a zone fare.
#[derive(Debug, Default)]
struct Zone {
    ready: usize,
    not_ready: usize,
    /// When pods were last sent away from one of its nodes.
    last: Option<Timestamp>,
}

impl Zone {
    fn is_dead(&self) -> bool {
        self.ready == 0 && self.not_ready > 0
    }

    /// Rather the controller is cut off than so many nodes dead.
    fn is_doubtful(&self) -> bool {
        let all = self.ready + self.not_ready;
        !self.is_dead() && self.not_ready > 2 && self.not_ready * 100 >= all * 55 && all <= SMALL_ZONE
    }
}

impl Look<'_> {
    fn take(mut self) -> Turn {
        let resource = Arc::from("nodes");
        let nodes: Vec<(&Key, &Arc<Value>)> = self.store.list(&resource, None).collect();
        let mut zones: BTreeMap<String, Zone> = BTreeMap::new();
        for (_, node) in &nodes {
            let zone = zones.entry(zone(node)).or_default();
            let ready = read::condition_status(node, "Ready") == "True";
            if ready {
                zone.ready += 1
            } else {
                zone.not_ready += 1
            };
            zone.last = zone.last.max(sent_away_at(node));
        }
        let all_dead = !zones.is_empty() && zones.values().all(Zone::is_dead);
        for (key, node) in nodes {
            self.meet(key, node);
            if !self.check_life(key, node) {
                let zone = zones.entry(zone(node)).or_default();
                self.taint(key, node, zone, all_dead);
            }
        }
        self.turn
    }

    /// Greets a node that is new: for how long kubelets may keep what they read is noted on every one.
    fn meet(&mut self, key: &Key, node: &Value) {
        if node["metadata"]["annotations"].get(TTL).is_some() {
            return;
        }
        let patch = json!({"metadata": {"annotations": {TTL: "0"}}});
        self.turn.wishes.push(Wish::Merge { key: key.clone(), subresource: None, patch });
        let about = json!({"apiVersion": "v1", "kind": "Node", "name": *key.name, "uid": read::uid(node)});
        let said = format!("Node {0} event: Registered Node {0} in Controller", key.name);
        self.turn.wishes.push(Event::normal(about, "RegisteredNode", said).by(COMPONENT));
    }

    /// Whether the node has only just been found silent.
    fn check_life(&mut self, key: &Key, node: &Value) -> bool {
        let known = read::condition(node, "Ready").is_some();
        let grace = if known { self.grace } else { STARTUP_GRACE.max(self.grace) };
        let Some(until) = self.last_sign(node).and_then(|sign| sign.checked_add(grace).ok()) else {
            return false;
        };
        if self.now < until {
            self.turn.look_at(until);
            return false;
        }
        let conditions = self.silent_conditions(node);
        if conditions == list(&node["status"]["conditions"]) {
            return false;
        }
        let version = &node["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
        self.turn.wishes.push(Wish::Merge { key: key.clone(), subresource: Some("status"), patch });
        if read::condition_status(node, "Ready") == "True" {
            let about =
                json!({"apiVersion": "v1", "kind": "Node", "name": *key.name, "uid": read::uid(node)});
            let said = format!("Node {} status is now: NodeNotReady", key.name);
            self.turn.wishes.push(Event::normal(about, "NodeNotReady", said).by(COMPONENT));
            self.mark_pods(&key.name);
        }
        true
    }

    fn last_sign(&self, node: &Value) -> Option<Timestamp> {
        let lease = self.store.get(&key("leases.coordination.k8s.io", "kube-node-lease", read::name(node)));
        let ready = read::condition(node, "Ready");
        // A silence that was already found is no sign.
        let ready = ready.filter(|ready| ready["status"] != "Unknown");
        [
            lease.and_then(|lease| read::time(&lease["spec"]["renewTime"])),
            ready.and_then(|ready| read::time(&ready["lastHeartbeatTime"])),
            ready.and_then(|ready| read::time(&ready["lastTransitionTime"])),
            read::time(&node["metadata"]["creationTimestamp"]),
        ]
        .into_iter()
        .max()
        .flatten()
    }

    fn silent_conditions(&self, node: &Value) -> Vec<Value> {
        let now = read::stamp(self.now);
        let mut conditions = list(&node["status"]["conditions"]).to_vec();
        for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
            match conditions.iter_mut().find(|condition| condition["type"] == kind) {
                Some(known) if known["status"] != "Unknown" => {
                    known["status"] = json!("Unknown");
                    known["reason"] = json!("NodeStatusUnknown");
                    known["message"] = json!("Kubelet stopped posting node status.");
                    known["lastTransitionTime"] = json!(now);
                }
                Some(_) => {}
                None => conditions.push(json!({
                    "type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                    "lastHeartbeatTime": node["metadata"]["creationTimestamp"], "lastTransitionTime": now,
                })),
            }
        }
        conditions
    }

    /// The pods of a silent node are not ready.
    fn mark_pods(&mut self, node: &str) {
        for (key, pod) in self.store.list(&Arc::from("pods"), None) {
            if pod["spec"]["nodeName"] != node || read::condition_status(pod, "Ready") != "True" {
                continue;
            }
            let mut conditions = list(&pod["status"]["conditions"]).to_vec();
            for ready in conditions.iter_mut().filter(|condition| condition["type"] == "Ready") {
                ready["status"] = json!("False");
                ready["lastTransitionTime"] = json!(read::stamp(self.now));
            }
            let version = &pod["metadata"]["resourceVersion"];
            let patch =
                json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
            let about = read::reference("v1", "Pod", pod);
            let event = Event::warning(about, "NodeNotReady", "Node is not ready".to_owned());
            let merge = Wish::Merge { key: key.clone(), subresource: Some("status"), patch };
            self.turn.wishes.extend([merge, event.by(COMPONENT)]);
        }
    }

    /// Gives a node the taints its conditions call for, and takes away the others.
    fn taint(&mut self, key: &Key, node: &Value, zone: &mut Zone, all_dead: bool) {
        let wanted = self.wanted(node, zone, all_dead);
        let has: Vec<Taint> = Taint::of(node);
        let stay = has.iter().zip(list(&node["spec"]["taints"])).filter(|(taint, _)| {
            !is_ours(taint) || wanted.contains(&(taint.key.as_str(), taint.effect.as_str()))
        });
        let mut taints: Vec<Value> = stay.map(|(_, written)| written.clone()).collect();
        let there = |(wanted, effect): &(&str, &str)| {
            has.iter().any(|one| one.key == *wanted && one.effect == *effect)
        };
        for (wanted, effect) in wanted.iter().filter(|wanted| !there(wanted)) {
            taints.push(json!({"key": wanted, "effect": effect, "timeAdded": read::stamp(self.now)}));
        }
        if taints == list(&node["spec"]["taints"]) {
            return;
        }
        let version = &node["metadata"]["resourceVersion"];
        let taints = if taints.is_empty() { Value::Null } else { json!(taints) };
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
        self.turn.wishes.push(Wish::Merge { key: key.clone(), subresource: None, patch });
    }

    fn wanted(&mut self, node: &Value, zone: &mut Zone, all_dead: bool) -> Vec<(&'static str, &'static str)> {
        let holds = |(kind, status, _): &&(&str, &str, &str)| read::condition_status(node, kind) == *status;
        let mut wanted: Vec<(&str, &str)> =
            TAINTS.iter().filter(holds).map(|(_, _, taint)| (*taint, "NoSchedule")).collect();
        if node["spec"]["unschedulable"] == true {
            wanted.push((UNSCHEDULABLE, "NoSchedule"));
        }
        let sends_away = match read::condition_status(node, "Ready") {
            "False" => NOT_READY,
            "Unknown" => UNREACHABLE,
            _ => return wanted,
        };
        if all_dead {
            return wanted;
        }
        let next = zone.last.and_then(|last| last.checked_add(BETWEEN_EVICTIONS).ok());
        if sent_away_at(node).is_some() {
            wanted.push((sends_away, "NoExecute"));
        } else if let Some(next) = next.filter(|next| *next > self.now) {
            self.turn.look_at(next);
        } else if !zone.is_doubtful() {
            wanted.push((sends_away, "NoExecute"));
            zone.last = Some(self.now);
        }
        wanted
    }
}

/// Since when a node sends pods away because it is not ready.
fn sent_away_at(node: &Value) -> Option<Timestamp> {
    let taints = list(&node["spec"]["taints"]).iter();
    let ours = taints.filter(|taint| taint["effect"] == "NoExecute" && is_ours(&Taint::read(taint)));
    ours.map(|taint| read::time(&taint["timeAdded"]).unwrap_or(Timestamp::UNIX_EPOCH)).max()
}

/// A taint this controller puts on nodes.
fn is_ours(taint: &Taint) -> bool {
    match taint.effect.as_str() {
        "NoSchedule" => taint.key == UNSCHEDULABLE || TAINTS.iter().any(|(_, _, ours)| *ours == taint.key),
        "NoExecute" => taint.key == NOT_READY || taint.key == UNREACHABLE,
        _ => false,
    }
}

/// Where a node is.
fn zone(node: &Value) -> String {
    let labels = &node["metadata"]["labels"];
    let label = |name: &str| text(&labels[name]).to_owned();
    format!("{}:{}", label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"))
}
