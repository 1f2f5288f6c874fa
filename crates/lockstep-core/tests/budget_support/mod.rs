//! Builders shared by the budget tests.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod world;

use lockstep_core::budget::*;
use lockstep_core::number::IntOrPercent;
use lockstep_core::snapshot::Uid;
use lockstep_core::time::{Millis, Time};

pub fn uid(name: &str) -> Uid {
    Uid::new(name)
}

/// A ready pod of a group of the workload `lws`, or (without a group) of a plain workload; its UID is its
/// name.
pub fn pod(name: &str, group: Option<&str>) -> Pod {
    Pod {
        uid: uid(name),
        name: name.to_owned(),
        root: Some("lws".to_owned()),
        group: group.map(str::to_owned),
        ready: true,
        terminating: false,
        active: true,
        controller_gone: false,
        opted_out: false,
    }
}

/// Splitmix64: small, seeded, the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// An index into a list of so many.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A budget, its pods, and a webhook with a perfect view: what one client at a time experiences.
pub struct Scene {
    pub budget: Budget,
    pub view: View,
    pub controller: Controller,
    pub now: Time,
}

impl Scene {
    pub fn new(spec: BudgetSpec, pods: Vec<Pod>, root: Root) -> Self {
        let view = View { pods, roots: [("lws".to_owned(), root)].into(), live: true, ..View::default() };
        let budget = Budget { name: "inference/budget".to_owned(), spec, ..Budget::default() };
        Self { budget, view, controller: Controller::default(), now: Time(1_000_000) }
    }

    /// `groups` groups of `size` pods named `<group>-<k>`, scaled by an owner that counts groups.
    pub fn groups(groups: u32, size: u32, spec: BudgetSpec) -> Self {
        let pods = (0..groups)
            .flat_map(|g| (0..size).map(move |k| pod(&format!("{g}-{k}"), Some(&g.to_string()))))
            .collect();
        Self::new(spec, pods, counted(groups))
    }

    /// `pods` plain pods named `p<k>`, of an owner that wants `replicas`.
    pub fn plain(replicas: u32, pods: u32, spec: BudgetSpec) -> Self {
        Self::new(spec, (0..pods).map(|k| pod(&format!("p{k}"), None)).collect(), counted(replicas))
    }

    pub fn account(&self) -> Account {
        account(&self.budget, &self.view, self.now)
    }

    pub fn figures(&self) -> Figures {
        self.account().figures()
    }

    pub fn pod(&mut self, name: &str) -> &mut Pod {
        self.view.pods.iter_mut().find(|pod| pod.name == name).unwrap()
    }

    pub fn decide(&self, name: &str) -> Decision {
        self.ask(name, Operation::Evict)
    }

    pub fn ask(&self, name: &str, operation: Operation) -> Decision {
        let pod = self.view.pods.iter().find(|pod| pod.name == name).unwrap().uid.clone();
        decide(&self.account(), &Request { pod, operation }, self.now)
    }

    /// Asks, and writes down an admitted removal.
    pub fn evict(&mut self, name: &str) -> Verdict {
        let decision = self.decide(name);
        let account = self.account();
        if decision.is_admitted() {
            self.budget.state.record(&account, &decision.write);
        }
        decision.verdict
    }

    /// The pod is gone, and everybody has seen it.
    pub fn gone(&mut self, name: &str) {
        self.view.pods.retain(|pod| pod.name != name);
        self.seen();
    }

    /// A pod of that name comes back, ready, with another UID.
    pub fn back(&mut self, name: &str, group: Option<&str>) {
        let mut fresh = pod(name, group);
        fresh.uid = uid(&format!("{name}@{}", self.view.version.0));
        self.view.pods.push(fresh);
        self.seen();
    }

    pub fn seen(&mut self) -> Pruned {
        self.view.version.0 += 1;
        self.view.since = self.view.version;
        self.controller.prune(&mut self.budget, &self.view, self.now).unwrap()
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now + Millis::seconds(seconds);
    }
}

pub fn counted(replicas: u32) -> Root {
    Root {
        replicas: Some(replicas),
        counts_units: true,
        settled: true,
        pods_per_replica: None,
        version: Version(0),
    }
}

/// A root whose scale says nothing about the budget's units.
pub fn uncounted(replicas: u32) -> Root {
    Root {
        replicas: Some(replicas),
        counts_units: false,
        settled: true,
        pods_per_replica: None,
        version: Version(0),
    }
}

pub fn grouped(max_unavailable: u32, min_ready: u32) -> BudgetSpec {
    BudgetSpec {
        max_unavailable: Some(IntOrPercent::Int(max_unavailable)),
        pod_group_policy: Some(GroupPolicy { min_ready_replicas: min_ready }),
        ..BudgetSpec::default()
    }
}

pub fn per_pod(max_unavailable: IntOrPercent) -> BudgetSpec {
    BudgetSpec { max_unavailable: Some(max_unavailable), ..BudgetSpec::default() }
}

pub fn free(reason: FreeReason) -> Verdict {
    Verdict::Free(reason)
}

pub fn refused(verdict: &Verdict) -> &Shortage {
    match verdict {
        Verdict::Refused(shortage) => shortage,
        other => panic!("should be refused, is {other:?}"),
    }
}
