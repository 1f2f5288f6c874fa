//! Roles that grow do so side by side.

use crate::model::{Scaling, Spec};
use crate::number::Ratio;

/// How much of a role is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Growth {
    /// Wished for.
    pub desired: u32,
    /// Counted by the rule's progression: scheduled or ready instances.
    pub counted: u32,
}

/// How many instances of each role of the rule may exist, by the same formula as the skew of updates; the
/// slowest may always have one more. Roles that are fully grown hold nobody back.
pub fn ceilings(spec: &Spec, rule: &Scaling, growth: &[Growth]) -> Vec<(usize, u32)> {
    let growing: Vec<usize> = rule
        .roles
        .iter()
        .filter_map(|name| spec.role_index(name))
        .filter(|role| growth[*role].counted < growth[*role].desired)
        .collect();
    let share = |role: usize| Ratio::new(u64::from(growth[role].counted), u64::from(growth[role].desired));
    let spanned = rule.roles.iter().filter_map(|name| spec.role(name)).map(|role| role.replicas);
    let smallest = spanned.filter(|replicas| *replicas > 0).min().unwrap_or(1);
    let skew = Ratio::of_skew(rule.max_skew, smallest);
    let slowest = growing.iter().map(|role| share(*role)).min();
    growing
        .iter()
        .filter_map(|&role| {
            let behind = growing.iter().filter(|other| **other != role).map(|other| share(*other)).min()?;
            let mut limit = behind.floor_of_sum(skew, growth[role].desired);
            if Some(share(role)) == slowest {
                limit = limit.max(growth[role].counted.saturating_add(1));
            }
            Some((role, limit))
        })
        .collect()
}
