//! From their coordination to our rules.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::{
    AffinityScheduling, BatchMode, Coordination as Rule, Progression, RollingUpdate, Scaling,
};
use lockstep_core::number::IntOrPercent;
use serde::Deserialize;
use serde_json::Value;

use super::kinds;
use super::read::{Group, number, whole, without_nulls};
use super::role::names;
use super::spec::coordination::{self as theirs, Coordination, Strategy};
use super::spec::others::PolicySpec;
use crate::{Findings, Places, World};

/// All of it: nothing waits.
const ANY_DISTANCE: IntOrPercent = IntOrPercent::Percent(100);

/// One coordination of theirs, where it stands, and whether it stands in an object of its own.
pub(crate) struct Given {
    pub rule: Coordination,
    pub at: String,
    pub of_policy: bool,
}

impl Given {
    /// Whether updates of its roles are coordinated, and in the words of the proposal.
    pub fn rolls(&self) -> Option<bool> {
        let strategy = self.rule.strategy.as_ref();
        let flat = strategy.is_some_and(Strategy::has_numbers);
        let proposed = self.rule.kind.as_deref() == Some("RollingUpdate") || flat;
        let structured = strategy.is_some_and(|strategy| strategy.rolling_update.is_some());
        (proposed || structured).then_some(proposed)
    }

    /// What the gang of the group needs of each role, if the rule asks for a gang.
    pub fn gang(&self) -> Option<BTreeMap<String, u32>> {
        let gang = self.rule.strategy.as_ref()?.scheduling.as_ref()?.gang.as_ref()?;
        Some(gang.min_replicas.clone().unwrap_or_default())
    }

    /// What it is about, in a word.
    pub fn word(&self) -> &'static str {
        let strategy = self.rule.strategy.clone().unwrap_or_default();
        if strategy.affinity_scheduling.is_some() && self.rolls().is_none() {
            "AffinityScheduling"
        } else if strategy.scaling.is_some() && self.rolls().is_none() {
            "Scaling"
        } else if strategy.scheduling.is_some() && self.rolls().is_none() {
            "Scheduling"
        } else {
            "RollingUpdate"
        }
    }
}

impl Strategy {
    fn has_numbers(&self) -> bool {
        let numbers = [&self.max_skew, &self.max_unavailable, &self.max_unavailable_ratio, &self.partition];
        numbers.into_iter().any(Option::is_some)
    }
}

/// Every rule for a group: its own, then those of the policy of its name.
pub(crate) fn given(group: &Group, world: &World, found: &mut Findings<'_>) -> Vec<Given> {
    let own = group.spec.coordination.iter().flatten().enumerate();
    let mut all: Vec<Given> = own
        .map(|(i, rule)| Given {
            rule: rule.clone(),
            at: format!("{}.coordination[{i}]", group.at),
            of_policy: false,
        })
        .collect();
    let Some(policy) = world.named(&kinds::POLICY, &group.name).filter(|_| !group.names.of_set) else {
        return all;
    };
    let place = |at: &str| format!("CoordinatedPolicy {}: {at}", group.name);
    let misfits = whole(&kinds::policy_spec(), policy);
    if let Some(first) = misfits.first() {
        // Somebody else's object, somebody else's mistake: it is said there, and the group goes on without it.
        found.warn(place(&first.path), format!("the policy is not applied: {}", first.message));
        return all;
    }
    let read = PolicySpec::deserialize(&without_nulls(&policy["spec"])).unwrap_or_default();
    let known: BTreeSet<&str> = names(group).into_iter().collect();
    for (i, mut rule) in read.policies.into_iter().enumerate() {
        let at = place(&format!("spec.policies[{i}]"));
        let strangers: Vec<String> =
            rule.roles.iter().filter(|role| !known.contains(role.as_str())).cloned().collect();
        if !strangers.is_empty() {
            found.warn(format!("{at}.roles"), format!("the group has no role {}", strangers.join(", ")));
            rule.roles.retain(|role| known.contains(role.as_str()));
        }
        if !rule.roles.is_empty() {
            all.push(Given { rule, at, of_policy: true });
        }
    }
    all
}

/// Our rules.
pub(crate) fn lower(
    group: &Group,
    given: &[Given],
    places: &mut Places,
    found: &mut Findings<'_>,
) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for (i, it) in given.iter().enumerate() {
        let ours = format!("spec.coordination[{}]", rules.len());
        let Some(rule) = one(it, i, &rules, found) else { continue };
        places.put(ours.clone(), it.at.clone());
        let nested = it.rule.strategy.as_ref().is_some_and(|strategy| strategy.rolling_update.is_some());
        let numbers = if nested { "strategy.rollingUpdate" } else { "strategy" };
        places.put(format!("{ours}.rollingUpdate"), format!("{}.{numbers}", it.at));
        places.put(format!("{ours}.affinityScheduling"), format!("{}.strategy.affinityScheduling", it.at));
        places.put(format!("{ours}.scaling"), format!("{}.strategy.scaling", it.at));
        if rule.rolling_update.is_some() {
            own_strategies(group, it, &rule, found);
        }
        rules.push(rule);
    }
    rules
}

fn one(it: &Given, i: usize, before: &[Rule], found: &mut Findings<'_>) -> Option<Rule> {
    let at = &it.at;
    let strategy = it.rule.strategy.clone().unwrap_or_default();
    match it.rule.kind.as_deref() {
        None | Some("" | "RollingUpdate") => {}
        Some("AffinityScheduling") if strategy.affinity_scheduling.is_none() => {
            found.error(format!("{at}.strategy.affinityScheduling"), "required");
            return None;
        }
        Some("AffinityScheduling") => {}
        Some(_) => {
            found.error(format!("{at}.type"), "must be RollingUpdate or AffinityScheduling");
            return None;
        }
    }
    said_only(&strategy, at, found);
    let rule = Rule {
        name: name(it, i, before, found)?,
        roles: it.rule.roles.clone(),
        rolling_update: it.rolls().and_then(|_| rolling_update(&strategy, at, found)),
        steps: None,
        affinity_scheduling: strategy
            .affinity_scheduling
            .as_ref()
            .map(|affinity| self::affinity(affinity, &format!("{at}.strategy.affinityScheduling"), found)),
        scaling: strategy
            .scaling
            .as_ref()
            .and_then(|scaling| self::scaling(scaling, &format!("{at}.strategy.scaling"), found)),
    };
    let asks = rule.rolling_update.is_some() || rule.affinity_scheduling.is_some() || rule.scaling.is_some();
    if !asks && it.gang().is_none() && strategy.segment_scheduling.is_none() {
        found.warn(format!("{at}.strategy"), "asks for nothing");
    }
    asks.then_some(rule)
}

/// What is stored and shown, and does nothing.
fn said_only(strategy: &Strategy, at: &str, found: &mut Findings<'_>) {
    if strategy.segment_scheduling.is_some() {
        let message = "accepted without effect: use affinityScheduling for batches";
        found.warn(format!("{at}.strategy.segmentScheduling"), message);
    }
    if strategy.scheduling.as_ref().is_some_and(|it| it.topology_constraint.is_some()) {
        let place = format!("{at}.strategy.scheduling.topologyConstraint");
        found.warn(place, "accepted without effect: nobody packs by it");
    }
}

/// The rule's name: theirs where it may be part of a label, else as near to it as can be.
fn name(it: &Given, i: usize, before: &[Rule], found: &mut Findings<'_>) -> Option<String> {
    let Some(given) = it.rule.name.as_deref().filter(|name| !name.is_empty()) else {
        if it.of_policy {
            return Some(format!("policy-{i}"));
        }
        found.error(format!("{}.name", it.at), "required");
        return None;
    };
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let mut name: String = given.to_ascii_lowercase().chars().map(plain).take(63).collect();
    name = name.trim_matches('-').to_owned();
    let taken = |name: &str| before.iter().any(|rule| rule.name == name);
    if name.is_empty() || (taken(&name) && (it.of_policy || name != given)) {
        name = format!("rule-{i}");
    }
    Some(name)
}

fn rolling_update(strategy: &Strategy, at: &str, found: &mut Findings<'_>) -> Option<RollingUpdate> {
    let at = format!("{at}.strategy");
    let flat = theirs::RollingUpdate {
        max_skew: strategy.max_skew.clone(),
        max_unavailable: strategy.max_unavailable.clone(),
        max_unavailable_ratio: strategy.max_unavailable_ratio.clone(),
        partition: strategy.partition.clone(),
    };
    let (given, at) = match &strategy.rolling_update {
        Some(_) if strategy.has_numbers() => {
            found.error(format!("{at}.rollingUpdate"), "numbers are given beside it too; keep one of them");
            return None;
        }
        Some(nested) => (nested.clone(), format!("{at}.rollingUpdate")),
        None => (flat, at),
    };
    if given.max_unavailable.is_some() && given.max_unavailable_ratio.is_some() {
        let message = "another spelling of maxUnavailable, which is given too";
        found.error(format!("{at}.maxUnavailableRatio"), message);
    }
    let mut read =
        |value: &Option<Value>, field: &str| number(value.as_ref(), &format!("{at}.{field}"), found);
    let max_skew = read(&given.max_skew, "maxSkew").unwrap_or(ANY_DISTANCE);
    let ratio = read(&given.max_unavailable_ratio, "maxUnavailableRatio");
    let max_unavailable = read(&given.max_unavailable, "maxUnavailable").or(ratio);
    Some(RollingUpdate { max_skew, max_unavailable, partition: read(&given.partition, "partition") })
}

fn affinity(given: &theirs::Affinity, at: &str, found: &mut Findings<'_>) -> AffinityScheduling {
    let mut ratios = BTreeMap::new();
    for (role, ratio) in &given.ratios {
        let read = u32::try_from(*ratio).ok().filter(|ratio| *ratio > 0);
        if read.is_none() {
            found.error(format!("{at}.ratios[{role}]"), "must be at least 1");
        }
        ratios.insert(role.clone(), read.unwrap_or(1));
    }
    let batch_mode = match given.batch_mode.as_deref() {
        None | Some("" | "Sequential") => BatchMode::Sequential,
        Some("Parallel") => BatchMode::Parallel,
        Some(_) => {
            found.error(format!("{at}.batchMode"), "must be Sequential or Parallel");
            BatchMode::Sequential
        }
    };
    let topology_key = given.topology_key.clone().unwrap_or_else(|| "kubernetes.io/hostname".to_owned());
    AffinityScheduling { topology_key, ratios, batch_mode }
}

fn scaling(given: &theirs::Scaling, at: &str, found: &mut Findings<'_>) -> Option<Scaling> {
    let max_skew = number(given.max_skew.as_ref(), &format!("{at}.maxSkew"), found).unwrap_or(ANY_DISTANCE);
    let progression = match given.progression.as_deref() {
        None | Some("" | "OrderScheduled") => Progression::OrderScheduled,
        Some("OrderReady") => Progression::OrderReady,
        Some("Parallel") => return None,
        Some(_) => {
            let message = "must be OrderScheduled, OrderReady or Parallel";
            found.error(format!("{at}.progression"), message);
            return None;
        }
    };
    Some(Scaling { max_skew, progression })
}

/// What a role says about its own updates beside a rule that says it for several.
fn own_strategies(group: &Group, it: &Given, rule: &Rule, found: &mut Findings<'_>) {
    let proposed = it.rolls() == Some(true) && !it.of_policy;
    let stands_in =
        rule.rolling_update.is_some_and(|it| it.max_unavailable.is_some() || it.partition.is_some());
    for (i, role) in group.spec.roles.iter().enumerate() {
        if role.rollout_strategy.is_none() || !rule.roles.contains(&role.name) {
            continue;
        }
        let at = format!("{}.roles[{i}].rolloutStrategy", group.at);
        if proposed {
            found.error(at, format!("{} rolls this role together with others; remove it here", it.at));
        } else if stands_in {
            found.warn(at, format!("maxUnavailable and partition of {} stand in for these", it.at));
        }
    }
}
