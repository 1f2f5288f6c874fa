//! Rules over roles, as ceilings: how many instances of each role may be updated now.
//!
//! Each rule gives every role it names a ceiling, per group; a role takes the smallest.

pub mod scaling;
pub mod skew;
pub mod steps;

use serde::Serialize;

use crate::model::{Role, Rule, RuleKind, Spec};
use crate::number::{self, IntOrPercent, Limits, Ratio};
use crate::time::Time;

/// How far a role of one group has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Progress {
    /// Wished for: `d`.
    pub desired: u32,
    /// May be updated: `T`.
    pub eligible: u32,
    /// Updated and ready: `ru`.
    pub ready: u32,
    /// Its target is its stable revision and nothing of it is outdated: it counts as finished even while
    /// broken, else it could block its own repair.
    pub settled: bool,
}

impl Progress {
    /// Nothing of it is left to be updated.
    pub fn finished(&self) -> bool {
        self.settled || self.ready >= self.eligible
    }

    /// The updated and ready share.
    pub fn share(&self) -> Ratio {
        Ratio::new(u64::from(self.ready), u64::from(self.desired))
    }
}

/// Why a role may not go beyond a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Cause {
    /// Another role is behind.
    Skew {
        /// The role that is behind, by position.
        behind: usize,
    },
    /// A step is not met.
    Step {
        /// The step, counted from 0.
        step: usize,
        /// The role that is to come to the number, by position.
        role: usize,
        /// How many of it are updated and ready.
        ready: u32,
        /// How many the step asks for.
        target: u32,
    },
    /// A pause is not over.
    Pause {
        /// The step, counted from 0.
        step: usize,
        /// When it ends by itself.
        until: Option<Time>,
    },
}

/// How many instances of a role may be updated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ceiling {
    /// The number.
    pub limit: u32,
    /// The rule that says so, by position.
    pub rule: usize,
    /// Why.
    pub cause: Cause,
}

/// The pauses of one group.
pub trait Pauses {
    /// Enters a pause if it was not entered before. `None`: it is over. `Some(until)`: it holds.
    fn hold(
        &mut self,
        rule: usize,
        step: usize,
        duration: Option<crate::time::Millis>,
    ) -> Option<Option<Time>>;
}

/// The smallest ceiling of each role, by position; `None` where no rule holds it.
pub fn ceilings(spec: &Spec, progress: &[Progress], pauses: &mut dyn Pauses) -> Vec<Option<Ceiling>> {
    let mut smallest: Vec<Option<Ceiling>> = vec![None; spec.roles.len()];
    for (index, rule) in spec.rules.iter().enumerate() {
        let found = match &rule.kind {
            RuleKind::RollingUpdate(rule) => skew::ceilings(spec, rule, progress),
            RuleKind::Steps(steps) => steps::ceilings(spec, index, steps, progress, pauses),
            RuleKind::AffinityScheduling(_) | RuleKind::Scaling(_) => continue,
        };
        for (role, limit, cause) in found {
            if smallest[role].as_ref().is_none_or(|ceiling| limit < ceiling.limit) {
                smallest[role] = Some(Ceiling { limit, rule: index, cause });
            }
        }
    }
    smallest
}

/// The limits and the partition of a role, with what its rules say in their place: the strictest wins.
pub fn limits(spec: &Spec, role: &Role) -> (Limits, u32) {
    let over = |rule: &Rule| match &rule.kind {
        RuleKind::RollingUpdate(skew) if skew.roles.contains(&role.name) => {
            Some((skew.max_unavailable, skew.partition))
        }
        _ => None,
    };
    let overrides: Vec<_> = spec.rules.iter().filter_map(over).collect();
    let own = role.strategy.max_unavailable;
    let resolve =
        |unavailable: IntOrPercent| Limits::resolve(unavailable, role.strategy.max_surge, role.replicas);
    let limits = overrides
        .iter()
        .filter_map(|(unavailable, _)| unavailable.map(resolve))
        .min_by_key(|limits| limits.unavailable)
        .unwrap_or_else(|| resolve(own));
    let partition = overrides
        .iter()
        .filter_map(|(_, partition)| partition.map(|p| number::partition(p, role.replicas)))
        .max()
        .unwrap_or_else(|| number::partition(role.strategy.partition, role.replicas));
    (limits, partition)
}
