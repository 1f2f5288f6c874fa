//! Who gets what: first replicas, then leave to roll. Every decision is entered into the sums before the
//! next one is made, and nothing that shrinks frees anything before it is acknowledged.

use super::count::{Member, Sums};
use super::ledger::{Lease, Stance};
use super::model::{Kind, Reach, Totals, Wish};
use super::zero::Numbers;

/// The bounds of the whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub unavailable: i64,
    pub surge: i64,
    /// R − U.
    pub floor: i64,
    /// R + S.
    pub ceiling: i64,
    /// R − P, or what is new already where that is more; without a partition it binds nobody.
    pub new: Option<i64>,
}

impl Bounds {
    pub(super) fn of(t: Totals) -> Self {
        let [replicas, unavailable, surge, partition] =
            [t.replicas, t.max_unavailable, t.max_surge, t.partition].map(i64::from);
        Self {
            unavailable,
            surge,
            floor: replicas - unavailable,
            ceiling: replicas + surge,
            new: (partition > 0).then_some(replicas - partition),
        }
    }
}

/// What a member is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    pub stance: Stance,
    pub numbers: Numbers,
    /// The lease carries the wanted template, not the one the member has.
    pub wanted_template: bool,
}

/// Moves the member's replicas towards its share of the binding, as far as the slack of the others allows.
pub(super) fn lease_replicas(kind: Kind, bounds: Bounds, sums: &mut Sums, m: &mut Member) {
    if !m.can_be_steered() {
        return;
    }
    let others = sums.without(m);
    let leased = m.lease_replicas;
    m.lease_replicas = if m.retained {
        m.replicas
    } else if m.want < leased {
        scale_in_to(kind, bounds.floor - others.floor, m)
    } else {
        let room = bounds.ceiling - others.ceiling;
        m.want.min(room.min(room_for_new(bounds, others, m)).max(leased))
    };
    if m.lease_replicas < leased {
        m.leased_floor = m.leased_floor.min(m.lease_replicas - unavailable_kept(kind, m));
        let removed = (m.total - m.lease_replicas - surge_kept(kind, m)).max(0);
        let serving = if m.scales_in_by_readiness(kind) { m.available } else { m.available - removed };
        m.floor = m.floor.min(m.leased_floor).min(serving).max(0);
    }
    m.min_replicas = m.min_replicas.min(m.lease_replicas);
    m.max_replicas = m.max_replicas.max(m.lease_replicas);
    m.ceiling = m.ceiling.max(m.lease_replicas + surge_kept(kind, m));
    if m.may_grow_only_new() && m.lease_replicas > leased {
        m.new = m.new.max(m.new_at(m.lease_replicas));
    }
    *sums = others.with(m);
}

/// How far a member may grow if everything that grows there is new: as far as the others leave room, so that
/// those that are to have fewer new pods give them up first. Where the partition cannot hold in any case the
/// bound is what must become new, and a condition says so: the binding wants the replicas there.
fn room_for_new(bounds: Bounds, others: Sums, m: &Member) -> i64 {
    let kept_old = m.lease_replicas - m.new_at(m.lease_replicas);
    match bounds.new {
        Some(new) if m.may_grow_only_new() => new - others.new + kept_old,
        _ => i64::MAX,
    }
}

/// The lowest size at which the others' floors and this one's still make the whole. `needed` is what must be
/// available here for that; a floor that losses have already broken must at least not be leased away.
fn scale_in_to(kind: Kind, needed: i64, m: &Member) -> i64 {
    let leased = m.lease_replicas;
    let lowest = needed.min(m.leased_floor) + unavailable_kept(kind, m);
    if m.scales_in_by_readiness(kind) {
        return m.want.max(lowest.min(leased));
    }
    // Pods that are on their way out already must be gone first, or they would be taken for the ones meant.
    if m.total > m.replicas + m.max_surge {
        return leased;
    }
    let serving = needed.min(m.floor) + m.total - m.available - surge_kept(kind, m);
    m.want.max(lowest.max(serving).min(leased))
}

/// What may be down when a scale-in comes into force: pods that do not serve go first, or they do not.
fn unavailable_kept(kind: Kind, m: &Member) -> i64 {
    if m.scales_in_by_readiness(kind) { 0 } else { m.max_unavailable }
}

/// The surge a lease carries whether it rolls or not. A Deployment of two ReplicaSets drives them to replicas
/// plus maxSurge without looking at what serves, so together they keep the most that may stand there: until it
/// is held, has said so, and everything that stands serves.
fn surge_kept(kind: Kind, m: &Member) -> i64 {
    if kind != Kind::Deployment || m.inert {
        return 0;
    }
    let held = m.latest.as_ref().is_some_and(|l| l.stance == Stance::Held);
    // Once told to give it back it is not told otherwise before it has confirmed that, or it would never end.
    if held && m.latest.as_ref().is_some_and(|l| l.surge == 0) {
        return 0;
    }
    let at_rest = held && m.acknowledged && m.settled && m.available == m.total;
    if at_rest && m.lease_replicas >= m.replicas {
        return 0;
    }
    m.max_surge.min(m.leased_ceiling - m.lease_replicas).max(0)
}

/// Where a member stands among those that are still on their way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// No cluster before it is on its way.
    pub first: bool,
    /// No cluster before it has anything under way.
    pub first_under_way: bool,
}

/// What the member is to do next.
pub(super) fn grant(wish: &Wish, bounds: Bounds, sums: &mut Sums, m: &mut Member, turn: Turn) -> Grant {
    let others = sums.without(m);
    let grant = if m.fresh {
        at_rest(m, m.lease_replicas)
    } else if m.complete {
        at_rest(m, m.updated)
    } else {
        let (numbers, moves) = leave_to_roll(wish, bounds, others, m, turn);
        let held = wish.held.contains_key(&m.cluster);
        if moves && !held && !wish.strategy.paused.unwrap_or(false) {
            Grant { stance: Stance::Open, numbers, wanted_template: true }
        } else {
            closed(wish, m)
        }
    };
    enter(wish.kind, m, grant.numbers);
    *sums = others.with(m);
    grant
}

fn at_rest(m: &Member, updated: i64) -> Grant {
    let numbers = numbers(m, updated, 0, 0);
    Grant { stance: Stance::Rest, numbers, wanted_template: true }
}

/// The numbers of an open lease, and whether they let anything move.
fn leave_to_roll(wish: &Wish, bounds: Bounds, others: Sums, m: &Member, turn: Turn) -> (Numbers, bool) {
    let replicas = m.lease_replicas;
    let by_partition = bounds.new.map_or(i64::MAX, |new| (new - others.new).max(m.updated));
    let goal = m.target.min(replicas).min(by_partition).min(kept_to_grow_from(bounds, m));
    // U less what the others use, and whatever of the floor the others do not already provide for.
    let size = if m.scales_in_by_readiness(wish.kind) { replicas } else { m.min_replicas };
    let unavailable = (bounds.unavailable - others.used_unavailable)
        .min(size + others.floor - bounds.floor)
        .min(goal - m.updated_available)
        .max(to_be_finished(bounds, m, turn))
        .max(0);
    let surge_wanted = (goal - m.updated).max(m.total - m.replicas);
    let mut surge = (bounds.surge - others.used_surge)
        .min(bounds.ceiling - others.ceiling - replicas)
        .min(surge_wanted)
        .max(0);
    let moves = goal > m.updated_available && unavailable + surge > 0;
    // A Deployment that is scaled in shrinks its ReplicaSets without looking: its surge must not fall too.
    if wish.kind == Kind::Deployment && !m.inert && replicas < m.max_replicas {
        surge = surge.max(surge_kept(wish.kind, m));
    }
    let window = if turn.first { goal } else { goal.min(m.updated_available + unavailable + surge) };
    let window = window.max(m.updated).max(leased_before(wish, m).min(goal));
    (numbers(m, window, unavailable, surge), moves)
}

/// What is under way counts as unavailable already, unless surge stands in for it, so to let it finish uses nothing more.
/// Without that, clusters that were stopped halfway would wait for each other, once maxUnavailable has become less than
/// what they hold. Never more than the whole may have: whatever finishes makes room for another there.
fn to_be_finished(bounds: Bounds, m: &Member, turn: Turn) -> i64 {
    let counted = m.under_way.min(m.replicas - m.available).min(bounds.unavailable.max(1));
    if turn.first_under_way { counted.min(m.target - m.updated_available) } else { 0 }
}

/// How many its leases for this template let be new already. A LockstepSet moves first what is broken, whatever its
/// ordinal, and what stands below the partition comes back old: its partition never goes up again.
fn leased_before(wish: &Wish, m: &Member) -> i64 {
    let same = |l: &&Lease| wish.kind == Kind::LockstepSet && l.template == m.template;
    m.latest.as_ref().filter(same).map_or(0, |l| i64::from(l.updated).min(m.target))
}

/// A member that is still to grow by old pods keeps one it can grow from: with nothing old left it could only
/// grow new ones.
fn kept_to_grow_from(bounds: Bounds, m: &Member) -> i64 {
    let grows_old = bounds.new.is_some() && m.lease_replicas < m.want && m.target < m.want;
    if grows_old && !m.grows_only_new() { (m.lease_replicas - 1).max(m.updated) } else { i64::MAX }
}

/// A member that may not roll. A Deployment keeps the template it has: with one ReplicaSet it is inert, with
/// two it is held. The other kinds take the new template and are kept from it by their partition.
fn closed(wish: &Wish, m: &Member) -> Grant {
    let paused = wish.strategy.paused.unwrap_or(false);
    if wish.kind == Kind::Deployment {
        let stance = if m.inert && !paused { Stance::Rest } else { Stance::Held };
        let numbers = numbers(m, m.lease_replicas, 0, surge_kept(wish.kind, m));
        return Grant { stance, numbers, wanted_template: false };
    }
    // A lease that let pods be new may have been acted on without our knowing.
    let touched =
        m.updated > 0 || m.latest.as_ref().is_some_and(|l| l.updated > 0 && l.template == m.template);
    let stance = if touched || paused { Stance::Held } else { Stance::Untouched };
    let updated = m.updated.max(leased_before(wish, m));
    Grant { stance, numbers: numbers(m, updated, 0, 0), wanted_template: true }
}

fn numbers(m: &Member, updated: i64, unavailable: i64, surge: i64) -> Numbers {
    let narrow = |n: i64| u32::try_from(n.max(0)).unwrap_or(u32::MAX);
    Numbers {
        replicas: narrow(m.lease_replicas),
        updated: narrow(updated.min(m.lease_replicas)),
        unavailable: narrow(unavailable),
        surge: narrow(surge),
        creates_new: m.creates_new,
    }
}

/// Enters a grant into the member's own bounds, so that the next cluster sees it.
fn enter(kind: Kind, m: &mut Member, n: Numbers) {
    let [replicas, updated, unavailable, surge] =
        [n.replicas, n.updated, n.unavailable, n.surge].map(i64::from);
    m.max_unavailable = m.max_unavailable.max(unavailable);
    m.max_surge = m.max_surge.max(surge);
    let size = if m.scales_in_by_readiness(kind) { replicas } else { m.min_replicas };
    m.floor = m.floor.min(size - unavailable).max(0);
    m.ceiling = m.ceiling.max(replicas + surge);
    m.used_unavailable = m.used_unavailable.max(unavailable);
    m.used_surge = m.used_surge.max(surge);
    m.new = m.new.max(updated);
}

/// Whether anything at all may be written to the member now. One that confirms nothing is not sent ever more:
/// its page of the ledger stays short.
pub(super) fn may_write(m: &Member) -> bool {
    const UNCONFIRMED: usize = 16;
    m.reach == Reach::Reachable
        && m.can_be_steered()
        && m.live < UNCONFIRMED
        && !(m.fresh && m.lease_replicas == 0)
}
