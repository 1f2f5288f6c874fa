//! The numbers of the whole: R, U, S and P, and how many pods of each cluster are to be new.

use super::model::{Kind, SplitMode, Totals, Wish};
use crate::number::{self, IntOrPercent};

/// Resolves the strategy once against the binding's total, rounding as the kind's own controller does.
///
/// Both limits at zero would forbid every move, written as numbers or as percentages: one may then be
/// unavailable.
pub(super) fn totals(wish: &Wish) -> Totals {
    let replicas = wish.clusters.iter().fold(0u32, |sum, c| sum.saturating_add(c.replicas));
    let (unavailable, surge) = wish.kind.defaults();
    let unavailable = wish.strategy.max_unavailable.unwrap_or(unavailable);
    let surge = wish.strategy.max_surge.unwrap_or(surge);
    let max_surge = if wish.kind.has_surge() { surge.ceil_of(replicas).min(replicas) } else { 0 };
    let rounds_up = wish.kind == Kind::CloneSet && max_surge == 0;
    let resolved = if rounds_up { unavailable.ceil_of(replicas) } else { unavailable.floor_of(replicas) };
    let nothing = resolved == 0 && max_surge == 0;
    let max_unavailable = if nothing { 1 } else { resolved }.min(replicas);
    let partition = if wish.kind.has_partition() {
        number::partition(wish.strategy.partition.unwrap_or(IntOrPercent::Int(0)), replicas)
    } else {
        0
    };
    Totals { replicas, max_unavailable, max_surge, partition }
}

/// One cluster as the split of new pods sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Its size: the most that can be new.
    pub size: u32,
    /// What is new already; it is never asked to undo it.
    pub already: u32,
}

/// How many pods of each cluster are to be new, `total` over all. What is new already counts first, even
/// where it is more than `total`.
pub(super) fn split(shares: &[Share], total: u32, mode: SplitMode) -> Vec<u32> {
    let mut targets: Vec<u32> = shares.iter().map(|s| s.already.min(s.size)).collect();
    if mode == SplitMode::Proportional {
        raise_towards(&mut targets, &by_largest_remainder(shares, total), total);
    }
    // In the binding's order; after a proportional split this only places what clamping left over.
    let mut rest = rest_of(&targets, total);
    for (target, share) in targets.iter_mut().zip(shares) {
        let more = rest.min(u64::from(share.size.saturating_sub(*target)));
        *target = target.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        rest -= more;
    }
    targets
}

fn rest_of(targets: &[u32], total: u32) -> u64 {
    let sum: u64 = targets.iter().map(|t| u64::from(*t)).sum();
    u64::from(total).saturating_sub(sum)
}

/// Raises each target to its ideal share, in order, as long as something is left.
fn raise_towards(targets: &mut [u32], ideal: &[u32], total: u32) {
    let mut rest = rest_of(targets, total);
    for (target, ideal) in targets.iter_mut().zip(ideal) {
        let more = rest.min(u64::from(ideal.saturating_sub(*target)));
        *target = target.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        rest -= more;
    }
}

/// `total` spread in proportion to size; what rounding leaves goes to the largest remainders, ties in order.
fn by_largest_remainder(shares: &[Share], total: u32) -> Vec<u32> {
    let sizes: u64 = shares.iter().map(|s| u64::from(s.size)).sum();
    if sizes == 0 {
        return vec![0; shares.len()];
    }
    let total = u64::from(total).min(sizes);
    let exact = |s: &Share| u128::from(total) * u128::from(s.size);
    let whole = |s: &Share| u64::try_from(exact(s) / u128::from(sizes)).unwrap_or(u64::MAX);
    let mut left = total.saturating_sub(shares.iter().map(whole).sum());
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|i| {
        let remainder = shares.get(*i).map_or(0, |s| exact(s) % u128::from(sizes));
        (std::cmp::Reverse(remainder), *i)
    });
    let mut ideal: Vec<u32> = shares.iter().map(|s| u32::try_from(whole(s)).unwrap_or(u32::MAX)).collect();
    for index in order {
        if left == 0 {
            break;
        }
        if let Some(share) = ideal.get_mut(index) {
            *share = share.saturating_add(1);
            left -= 1;
        }
    }
    ideal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(sizes: &[(u32, u32)]) -> Vec<Share> {
        sizes.iter().map(|&(size, already)| Share { size, already }).collect()
    }

    #[test]
    fn sequential_fills_one_cluster_after_the_other() {
        assert_eq!(split(&shares(&[(5, 0), (5, 0)]), 7, SplitMode::Sequential), [5, 2]);
        assert_eq!(split(&shares(&[(3, 0), (7, 0)]), 6, SplitMode::Sequential), [3, 3]);
    }

    #[test]
    fn what_is_new_already_is_never_undone() {
        assert_eq!(split(&shares(&[(5, 0), (5, 4)]), 7, SplitMode::Sequential), [3, 4]);
        assert_eq!(split(&shares(&[(5, 3), (5, 4)]), 2, SplitMode::Sequential), [3, 4]);
    }

    #[test]
    fn proportional_gives_rounding_to_the_largest_remainder_and_does_not_drift() {
        assert_eq!(split(&shares(&[(3, 0), (7, 0)]), 6, SplitMode::Proportional), [2, 4]);
        assert_eq!(split(&shares(&[(10, 0), (10, 0)]), 10, SplitMode::Proportional), [5, 5]);
        assert_eq!(split(&shares(&[(10, 5), (10, 0)]), 10, SplitMode::Proportional), [5, 5]);
        assert_eq!(split(&shares(&[(10, 8), (10, 0)]), 10, SplitMode::Proportional), [8, 2]);
        assert_eq!(split(&shares(&[(0, 0), (0, 0)]), 0, SplitMode::Proportional), [0, 0]);
    }
}
