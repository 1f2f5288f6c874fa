//! Updated fractions stay close together.

use super::{Cause, Progress};
use crate::model::{Skew, Spec};
use crate::number::Ratio;

/// The largest distance the rule allows, as a ratio.
pub fn bound(spec: &Spec, rule: &Skew) -> Ratio {
    let smallest = spanned(spec, rule).map(|role| spec.roles[role].replicas).min().unwrap_or(1);
    Ratio::of_skew(rule.max_skew, smallest)
}

/// The roles the rule spans, by position. A role without instances is ignored.
fn spanned<'a>(spec: &'a Spec, rule: &'a Skew) -> impl Iterator<Item = usize> + 'a {
    rule.roles.iter().filter_map(|name| spec.role_index(name)).filter(|role| spec.roles[*role].replicas > 0)
}

/// What each unfinished role of the rule may come to: the least of the others plus the skew. The slowest may
/// always have one more than is ready, so that nothing waits in a circle.
pub fn ceilings(spec: &Spec, rule: &Skew, progress: &[Progress]) -> Vec<(usize, u32, Cause)> {
    let skew = bound(spec, rule);
    let unfinished: Vec<usize> = spanned(spec, rule).filter(|role| !progress[*role].finished()).collect();
    let Some(slowest) = unfinished.iter().map(|role| progress[*role].share()).min() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for &role in &unfinished {
        let others = unfinished.iter().copied().filter(|other| *other != role);
        let Some(behind) = others.min_by_key(|other| progress[*other].share()) else { continue };
        let own = progress[role];
        let mut limit = progress[behind].share().floor_of_sum(skew, own.desired);
        if own.share() == slowest {
            limit = limit.max(own.ready.saturating_add(1));
        }
        found.push((role, limit, Cause::Skew { behind }));
    }
    found
}

/// How far apart the unfinished roles are from the most advanced one that changes, in tenths of a percent, for
/// screens.
pub fn distance(spec: &Spec, rule: &Skew, progress: &[Progress]) -> u32 {
    let changing = || spanned(spec, rule).filter(|role| !progress[*role].settled);
    let shares = || changing().map(|role| progress[role].share());
    let slowest =
        changing().filter(|role| !progress[*role].finished()).map(|role| progress[role].share()).min();
    match (slowest, shares().max()) {
        (Some(slowest), Some(fastest)) => fastest.permille_above(slowest),
        _ => 0,
    }
}
