//! The same rollout with fewer pods and fewer waves: what a large set is proved by.
//!
//! On an ideal cluster all pods of an instance are created, placed, ready and gone at the same moments, and there is
//! room for every gang. So a proof needs no more pods of an instance than tell single pods from several.
//!
//! How many units move at once does not decide whether all of them get there. A unit may move when its role is below
//! its ceiling and one more may be unavailable; at rest, when everything that moved is ready, the latter always holds.
//! The ceiling rises with what the others have reached, and falls only by the moves it allowed: a role is held by the
//! skew to those behind it, by steps to those before it. So a move of one that is possible stays possible, whatever the
//! others do, until it is made, and all orders and sizes of waves come to rest at the same place. What the skew or a step allows at once is
//! not touched: only the numbers that say how many may be away at the same time.

use crate::coordinate;
use crate::model::{Member, Role, RuleKind, Spec};
use crate::number::{IntOrPercent, Limits};

/// So many waves show as much as thousands.
pub const WAVES: u32 = 8;

/// The same wish, quicker to be played: as much of each level may be away at once as makes it this many waves.
pub fn hurried(spec: &Spec, waves: u32) -> Spec {
    let mut quick = spec.clone();
    for (role, given) in quick.roles.iter_mut().zip(&spec.roles) {
        let limits = wide(coordinate::limits(spec, given).0, given.replicas / waves.max(1));
        role.strategy.max_unavailable = IntOrPercent::Int(limits.unavailable);
        role.strategy.max_surge = IntOrPercent::Int(limits.surge);
        thin(role);
    }
    for rule in &mut quick.rules {
        if let RuleKind::RollingUpdate(skew) = &mut rule.kind {
            // Its roles have it already.
            skew.max_unavailable = None;
        }
    }
    let groups = wide(spec.strategy.limits(spec.replicas), spec.replicas / waves.max(1));
    quick.strategy.max_unavailable = IntOrPercent::Int(groups.unavailable);
    quick.strategy.max_surge = IntOrPercent::Int(groups.surge);
    quick
}

/// Whoever moves by standing in for others goes on doing so.
fn wide(limits: Limits, share: u32) -> Limits {
    match limits {
        Limits { unavailable: 0, surge: 0 } => limits,
        Limits { unavailable: 0, surge } => Limits { unavailable: 0, surge: surge.max(share) },
        Limits { unavailable, surge } => Limits { unavailable: unavailable.max(share), surge },
    }
}

/// One pod of each member; two of the only one. An order among them only makes an instance take longer.
fn thin(role: &mut Role) {
    role.member_order.clear();
    let several = role.members.iter().filter(|member| member.count > 0).count() > 1;
    for Member { count, min_available, .. } in &mut role.members {
        *count = (*count).min(if several { 1 } else { 2 });
        *min_available = (*min_available).min(*count);
    }
}
