//! A drain before it happens: what goes at once, what waits for what, and what can never go.
//!
//! `kubectl drain` evicts all pods of a node at once and asks again for those that were refused, so the steps are
//! rounds: all that is let go, then a wait until what went has been replaced elsewhere, then the next round. The
//! first is decided from what is there, the others from the best that can be hoped for: everything stands. What is
//! refused even then can never go.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use lockstep_core::budget::{Account, Budget, BudgetState, Pod as Seen, View};
use lockstep_core::number::IntOrPercent;
use lockstep_core::snapshot::Uid;
use lockstep_core::time::Time;
use serde::Serialize;

use super::held::{Held, Toll, evict};
use super::pdb::Guard;
use crate::show::pod_state::is_ready;

/// One namespace: its budgets of both kinds.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// Ours.
    pub budgets: Vec<Held>,
    /// PodDisruptionBudgets.
    pub guards: Vec<Guard>,
}

/// A pod that is to leave the node.
#[derive(Debug, Clone)]
pub struct Leaving {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    uid: Uid,
    labels: BTreeMap<String, String>,
    ready: bool,
    /// Whether somebody makes another one in its place.
    pub returns: bool,
}

/// Why a pod is passed over by a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passed {
    /// A DaemonSet would only make it again.
    DaemonSet,
    /// The kubelet itself runs it.
    Static,
    /// It has finished, or is leaving already.
    Over,
}

/// Whether a drain would evict a pod, or why not.
pub fn leaving(pod: &Pod) -> Result<Leaving, Passed> {
    let metadata = &pod.metadata;
    let annotations = metadata.annotations.as_ref();
    let mut owners = metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if annotations.is_some_and(|all| all.contains_key("kubernetes.io/config.mirror")) {
        return Err(Passed::Static);
    }
    if metadata.deletion_timestamp.is_some() || matches!(phase, Some("Succeeded" | "Failed")) {
        return Err(Passed::Over);
    }
    if controller.is_some_and(|owner| owner.kind == "DaemonSet") {
        return Err(Passed::DaemonSet);
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(Leaving {
        namespace: text(&metadata.namespace),
        name: text(&metadata.name),
        uid: Uid::new(&text(&metadata.uid)),
        labels: metadata.labels.clone().unwrap_or_default(),
        ready: is_ready(pod),
        returns: controller.is_some(),
    })
}

/// What a drain comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// What goes, round by round. The first is at once.
    pub steps: Vec<Step>,
    /// What can never go.
    pub never: Vec<Stuck>,
}

/// What goes together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What has to come back before.
    pub after: BTreeSet<String>,
    /// What goes.
    pub pods: Vec<Going>,
}

/// A pod that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Going {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub pod: String,
    /// What it costs each budget that covers it.
    pub costs: Vec<Cost>,
}

/// What a pod costs one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// The budget.
    pub budget: String,
    /// What it is to it.
    pub unit: String,
    /// The price.
    #[serde(flatten)]
    pub toll: Toll,
}

/// A pod that can never go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub pod: String,
    /// Who holds it, and what would let it go.
    pub why: String,
}

/// Plays a drain.
pub fn simulate(grounds: &BTreeMap<String, Ground>, leaving: &[Leaving], now: Time) -> Drain {
    let mut drain = Drain::default();
    let mut gone: BTreeMap<Uid, bool> = BTreeMap::new();
    let mut left: Vec<&Leaving> = leaving.iter().collect();
    let mut after = BTreeSet::new();
    for round in 0.. {
        let mut board = Board::new(grounds, now);
        if round > 0 {
            board.restore(&gone);
        }
        let mut refused = Vec::new();
        let mut step = Step { after: std::mem::take(&mut after), pods: Vec::new() };
        for pod in left {
            match board.evict(pod) {
                Ok(costs) => {
                    gone.insert(pod.uid.clone(), pod.returns);
                    let (namespace, pod) = (pod.namespace.clone(), pod.name.clone());
                    step.pods.push(Going { namespace, pod, costs });
                }
                Err(refusal) => refused.push((pod, refusal)),
            }
        }
        let stands_still = round > 0 && step.pods.is_empty();
        after = refused.iter().flat_map(|(_, refusal)| refusal.awaits.iter().cloned()).collect();
        if !stands_still {
            drain.steps.push(step);
        }
        if stands_still {
            let stuck = |(pod, refusal): (&Leaving, Refusal)| Stuck {
                namespace: pod.namespace.clone(),
                pod: pod.name.clone(),
                why: refusal.never,
            };
            drain.never = refused.into_iter().map(stuck).collect();
            break;
        }
        left = refused.into_iter().map(|(pod, _)| pod).collect();
        if left.is_empty() {
            break;
        }
    }
    drain
}

/// Why a pod may not go now.
struct Refusal {
    /// What would have to come back.
    awaits: BTreeSet<String>,
    /// What is said if nothing helps.
    never: String,
}

/// All budgets of all namespaces in one round.
struct Board {
    grounds: BTreeMap<String, Ground>,
    accounts: BTreeMap<(String, usize), Account>,
    now: Time,
}

impl Board {
    fn new(grounds: &BTreeMap<String, Ground>, now: Time) -> Self {
        let mut board = Self { grounds: grounds.clone(), accounts: BTreeMap::new(), now };
        board.count_all();
        board
    }

    fn count_all(&mut self) {
        let count = |(namespace, ground): (&String, &Ground)| -> Vec<((String, usize), Account)> {
            let all = ground.budgets.iter().enumerate();
            all.map(|(i, held)| ((namespace.clone(), i), held.account(self.now))).collect()
        };
        self.accounts = self.grounds.iter().flat_map(count).collect();
    }

    /// Everything stands again, what went included if somebody makes it anew.
    fn restore(&mut self, gone: &BTreeMap<Uid, bool>) {
        for (namespace, ground) in &mut self.grounds {
            ground.guards = ground.guards.iter().map(Guard::restored).collect();
            for (i, held) in ground.budgets.iter_mut().enumerate() {
                if let Some(account) = self.accounts.get(&(namespace.clone(), i)) {
                    *held = at_best(held, account, gone);
                }
            }
        }
        self.count_all();
    }

    /// Evicts a pod, if every budget lets it go.
    fn evict(&mut self, pod: &Leaving) -> Result<Vec<Cost>, Refusal> {
        let Some(ground) = self.grounds.get_mut(&pod.namespace) else { return Ok(Vec::new()) };
        let guard = guard_of(ground, pod)?;
        let mut decisions = Vec::new();
        for (i, held) in ground.budgets.iter().enumerate() {
            let Some(account) = self.accounts.get(&(pod.namespace.clone(), i)) else { continue };
            if !account.covers(&pod.uid) {
                continue;
            }
            let decision = evict(account, &pod.uid, self.now);
            if !decision.is_admitted() {
                return Err(refusal(held, account));
            }
            decisions.push((i, decision));
        }
        if let Some(guard) = guard {
            ground.guards[guard].allowed -= 1;
        }
        let mut costs = Vec::new();
        for (i, decision) in decisions {
            let (held, key) = (&mut ground.budgets[i], (pod.namespace.clone(), i));
            let toll = Toll::of(&decision);
            costs.push(Cost { budget: held.name.clone(), unit: unit_of(held, &pod.uid), toll });
            if let Some(account) = self.accounts.get(&key) {
                held.budget.state.record(account, &decision.write);
                self.accounts.insert(key, held.account(self.now));
            }
        }
        Ok(costs)
    }
}

fn unit_of(held: &Held, uid: &Uid) -> String {
    let pod = held.view.pods.iter().find(|pod| pod.uid == *uid);
    pod.map(|pod| pod.unit(held.grouped()).to_string()).unwrap_or_default()
}

/// The PodDisruptionBudget that has to be paid, if any.
fn guard_of(ground: &Ground, pod: &Leaving) -> Result<Option<usize>, Refusal> {
    let covering: Vec<usize> =
        (0..ground.guards.len()).filter(|i| ground.guards[*i].covers(&pod.labels)).collect();
    let (i, guard) = match covering.as_slice() {
        [] => return Ok(None),
        [i] => (*i, &ground.guards[*i]),
        _ => {
            let names: Vec<&str> = covering.iter().map(|i| ground.guards[*i].name.as_str()).collect();
            let never = format!(
                "more than one PodDisruptionBudget covers it ({}), which evictions are refused for; delete all but one",
                names.join(", ")
            );
            return Err(Refusal { awaits: BTreeSet::new(), never });
        }
    };
    match (guard.allowed, pod.ready) {
        (_, false) if guard.frees_unready => Ok(None),
        (0, _) => Err(Refusal {
            awaits: BTreeSet::from([format!("pods of PodDisruptionBudget {}", guard.name)]),
            never: format!(
                "PodDisruptionBudget {} never lets one go; raise its maxUnavailable or lower its minAvailable",
                guard.name
            ),
        }),
        _ => Ok(Some(i)),
    }
}

fn refusal(held: &Held, account: &Account) -> Refusal {
    let away = account.units().iter().filter(|unit| !unit.is_available());
    let mut awaits: BTreeSet<String> = away.map(|unit| unit.key.to_string()).collect();
    let seen = u32::try_from(account.units().len()).unwrap_or(u32::MAX);
    let missing = account.expected().saturating_sub(seen);
    if missing > 0 {
        awaits.insert(format!("{missing} missing of budget {}", held.name));
    }
    Refusal { awaits, never: advice(held, account) }
}

/// Which field of a budget holds everything.
fn advice(held: &Held, account: &Account) -> String {
    let expected = account.expected();
    let spec = account.spec();
    let words = |n: Option<IntOrPercent>| n.map(|n| n.to_string()).unwrap_or_default();
    let least = spec.min_available.is_some_and(|least| least.ceil_of(expected) >= expected);
    let fields = match (least, spec.max_unavailable) {
        (true, _) => format!("spec.minAvailable {} must be below {expected}", words(spec.min_available)),
        (false, most) => format!("spec.maxUnavailable {} must be 1 or more", words(most)),
    };
    format!(
        "PodUnavailableBudget {} keeps {} of {expected} {}s: {fields}",
        held.name,
        account.desired(),
        held.unit_word()
    )
}

/// A budget when everything it expects stands, and nothing is promised. What is nowhere to be seen now is put in.
fn at_best(held: &Held, account: &Account, gone: &BTreeMap<Uid, bool>) -> Held {
    let renewed = |pod: &Seen| match gone.get(&pod.uid) {
        Some(false) => None,
        Some(true) => Some(Uid::new(&format!("{}, made anew", pod.uid))),
        None => Some(pod.uid.clone()),
    };
    let stands =
        |pod: &Seen| Some(Seen { uid: renewed(pod)?, ready: true, terminating: false, ..pod.clone() });
    let mut pods: Vec<Seen> = held.view.pods.iter().filter(|pod| pod.active).filter_map(stands).collect();
    let seen = account.units().len();
    let needed = account.units().iter().map(|unit| unit.min_ready).max().unwrap_or(1);
    for missing in seen..usize::try_from(account.expected()).unwrap_or(usize::MAX) {
        for i in 0..needed {
            let name = format!("missing-{missing}-{i}");
            pods.push(Seen { uid: Uid::new(&name), name, ..blank(missing) });
        }
    }
    let budget = Budget {
        spec: lockstep_core::budget::BudgetSpec {
            protect_total_replicas: Some(account.expected()),
            ..held.budget.spec.clone()
        },
        state: BudgetState { promises: BTreeMap::new(), ..held.budget.state.clone() },
        ..held.budget.clone()
    };
    Held { budget, view: View { pods, ..held.view.clone() }, ..held.clone() }
}

fn blank(missing: usize) -> Seen {
    Seen {
        uid: Uid::default(),
        name: String::new(),
        root: None,
        group: Some(format!("missing-{missing}")),
        ready: true,
        terminating: false,
        active: true,
        controller_gone: false,
        opted_out: false,
    }
}

#[cfg(test)]
mod tests;
