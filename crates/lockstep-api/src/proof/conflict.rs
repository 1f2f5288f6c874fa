//! Why a rollout cannot finish: the rules that block each other, by field and name, and what to change.

use std::collections::BTreeSet;

use lockstep_core::blocked::{Blocked, Reason};
use lockstep_core::coordinate::{self, Cause, Ceiling, Pauses};
use lockstep_core::model::{RuleKind, Spec, Step};
use lockstep_core::time::{Millis, Time};

use super::stage::Stage;
use crate::LockstepSet;
use crate::words;

/// Why a rollout cannot finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The rules that block each other, by their position in `spec.coordination`.
    pub rules: Vec<usize>,
    /// The whole explanation.
    pub message: String,
}

/// Explains what is blocked where a rollout came to rest.
pub fn explain(set: &LockstepSet, spec: &Spec, stage: &Stage, blocked: &[Blocked]) -> Conflict {
    let group = blocked.iter().find(|b| b.reason == Reason::RulesConflict).and_then(|b| b.group);
    let held = group.map(|group| held(spec, stage, group)).unwrap_or_default();
    if held.is_empty() {
        return Conflict { rules: Vec::new(), message: general(blocked) };
    }
    let mut rules: Vec<usize> = held.iter().map(|(_, ceiling)| ceiling.rule).collect();
    rules.sort_unstable_by(|a, b| b.cmp(a));
    rules.dedup();
    let subjects: Vec<String> = rules.iter().map(|rule| place(set, spec, *rule)).collect();
    let mut clauses: Vec<String> = Vec::new();
    for (role, ceiling) in &held {
        let clause = clause(spec, stage, *role, ceiling, group.unwrap_or(0));
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }
    let verb = if subjects.len() == 1 { "blocks itself" } else { "block each other" };
    let advice = advice(spec, &held);
    let message = format!("{} {verb}: {}. {advice}", words::join_and(&subjects), clauses.join(", but "));
    let positions = rules.iter().filter_map(|rule| position(set, spec, *rule)).collect::<BTreeSet<_>>();
    Conflict { rules: positions.into_iter().collect(), message }
}

/// The roles that have something left and are held, with what holds them: steps first.
fn held(spec: &Spec, stage: &Stage, group: u32) -> Vec<(usize, Ceiling)> {
    let progress = stage.progress(group);
    let ceilings = coordinate::ceilings(spec, &progress, &mut Promoted);
    let roles = ceilings.into_iter().enumerate().filter_map(|(role, ceiling)| Some((role, ceiling?)));
    let left = |role: usize| !progress[role].finished();
    let mut held: Vec<(usize, Ceiling)> = roles
        .filter(|(role, c)| left(*role) && c.limit <= stage.updated(group, &spec.roles[*role]))
        .collect();
    held.sort_by_key(|(role, ceiling)| (!matches!(ceiling.cause, Cause::Step { .. }), ceiling.rule, *role));
    held
}

/// A proof counts pauses as promoted.
struct Promoted;

impl Pauses for Promoted {
    fn hold(&mut self, _: usize, _: usize, _: Option<Millis>) -> Option<Option<Time>> {
        None
    }
}

/// Where a rule of the engine stands in the manifest.
fn position(set: &LockstepSet, spec: &Spec, rule: usize) -> Option<usize> {
    let name = spec.rules.get(rule)?.name.as_str();
    set.spec.coordination.iter().position(|c| c.name == name)
}

/// `spec.coordination[1] "canary" (steps)`.
fn place(set: &LockstepSet, spec: &Spec, rule: usize) -> String {
    let of = &spec.rules[rule];
    let kind = match of.kind {
        RuleKind::RollingUpdate(_) => "skew",
        RuleKind::Steps(_) => "steps",
        RuleKind::AffinityScheduling(_) => "affinity",
        RuleKind::Scaling(_) => "scaling",
    };
    match position(set, spec, rule) {
        Some(index) => format!("spec.coordination[{index}] {} ({kind})", of.name),
        None => format!("rule {} ({kind})", of.name),
    }
}

fn clause(spec: &Spec, stage: &Stage, role: usize, ceiling: &Ceiling, group: u32) -> String {
    let rule = &spec.rules[ceiling.rule];
    let name = &spec.roles[role].name;
    match &ceiling.cause {
        Cause::Step { step, role: wanted, target, .. } => {
            let wants = wish(spec, ceiling.rule, *step).unwrap_or_else(|| target.to_string());
            let wanted = &spec.roles[*wanted].name;
            let held = if wanted == name { "anything else".to_owned() } else { name.to_string() };
            format!("step {} of {} wants {wanted} at {wants} before {held} moves", step + 1, rule.name)
        }
        Cause::Skew { behind } => {
            let skew = match &rule.kind {
                RuleKind::RollingUpdate(skew) => format!("maxSkew {} of {}", skew.max_skew, rule.name),
                _ => rule.name.to_string(),
            };
            let now = stage.updated(group, &spec.roles[role]);
            let of = spec.roles[role].replicas;
            format!("{skew} holds {name} at {now} of {of} until {} moves", spec.roles[*behind].name)
        }
        Cause::Pause { step, .. } => format!("{} pauses at step {}", rule.name, step + 1),
    }
}

/// What a step asks for, as it was written.
fn wish(spec: &Spec, rule: usize, step: usize) -> Option<String> {
    match &spec.rules.get(rule)?.kind {
        RuleKind::Steps(steps) => match steps.get(step)? {
            Step::Update { to, .. } => Some(to.to_string()),
            Step::Pause { .. } => None,
        },
        _ => None,
    }
}

fn advice(spec: &Spec, held: &[(usize, Ceiling)]) -> String {
    let step = held.iter().find_map(|(role, ceiling)| match &ceiling.cause {
        Cause::Step { step, role: wanted, .. } if wanted != role => Some((ceiling.rule, *step, *role)),
        _ => None,
    });
    let skew = held.iter().find(|(_, ceiling)| matches!(ceiling.cause, Cause::Skew { .. }));
    match (step, skew) {
        (Some((rule, step, role)), Some((_, skew))) => format!(
            "Raise maxSkew of {}, or move {} in step {} of {} too.",
            spec.rules[skew.rule].name,
            spec.roles[role].name,
            step + 1,
            spec.rules[rule].name
        ),
        (Some(_), None) => {
            "Give the rules the same order of roles, or make them one list of steps.".to_owned()
        }
        _ => "Loosen one of them.".to_owned(),
    }
}

fn general(blocked: &[Blocked]) -> String {
    if blocked.is_empty() {
        return "nothing more would ever happen, and no rule says why".to_owned();
    }
    let lines: Vec<String> =
        blocked.iter().map(|b| format!("{} is blocked by {}: {}", b.what, b.rule, b.message)).collect();
    lines.join("; ")
}
