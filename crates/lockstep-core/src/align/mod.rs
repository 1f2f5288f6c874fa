//! One rollout over several clusters: the sum of what is unavailable, surged and new keeps the template's own
//! numbers, with statuses late, lost and out of order.
//!
//! What a cluster may do is a *lease*. It is live from being written until a later one is acknowledged, and
//! everything any live lease allows counts as if it were used. Over all clusters, always:
//!
//! - Σ floor ≥ R − U, where a cluster's floor is what it surely keeps available;
//! - Σ ceiling ≤ R + S, where its ceiling is the most pods it can come to have;
//! - Σ new ≤ R − P, where new is the most pods it can come to have of the new template.
//!
//! So nothing grows before what it grows into has shrunk and been *confirmed*; no clock is needed. Losses
//! break a floor but never make room: what is lost counts as used until it is back.
//!
//! [`align`] is total and deterministic. It decides in one pass, in the binding's order: take in the reports,
//! count ([`count`]), lease replicas, split the new pods ([`target`]), grant leave to roll ([`grant`]), and
//! write down what each kind needs for that ([`zero`]).

mod count;
mod grant;
mod ledger;
mod model;
mod reason;
mod target;
mod why;
mod zero;

use std::collections::{BTreeMap, BTreeSet};

pub use ledger::{Entry, Lease, LeaseId, Ledger, Stance};
pub use model::{
    Alignment, Kind, Observation, Reach, Report, RollingStrategy, SplitMode, Standing, Target, TemplateHash,
    Totals, UnifiedRollingStatus, Wish,
};
pub use reason::{Code, Reason};

use count::{Member, Sums};
use grant::{Bounds, Grant, Turn};
use target::Share;

/// Aligns the clusters of one binding: what to remember, what to write and what to say.
///
/// A cluster without a report counts as reachable and silent. The ledger returned must be stored before any
/// of its leases is written to a cluster: a lease that is in force unremembered is the one thing that could
/// break a promise.
pub fn align(wish: &Wish, reports: &BTreeMap<String, Report>, ledger: &Ledger) -> Alignment {
    let totals = target::totals(wish);
    let mut bounds = Bounds::of(totals);
    let mut ledger = take_in(wish, reports, ledger);
    let mut members = members(wish, reports, &ledger);
    let mut sums = Sums::over(&members);
    let exceeded = exceeded(wish, bounds, &members);
    bounds.new = bounds.new.map(|new| new.saturating_add(exceeded));
    for member in &mut members {
        grant::lease_replicas(wish.kind, bounds, &mut sums, member);
    }
    set_targets(wish, totals, &mut members);
    for member in &mut members {
        member.complete = member.has_arrived();
    }
    // A binding that nobody has scheduled yet has not arrived anywhere.
    let complete = !members.is_empty() && members.iter().all(|m| m.complete);
    let at_rest = complete || members.iter().all(|m| is_free(m) || (m.want == 0 && m.complete));
    let mut turn = Turn { first: true, first_under_way: true };
    let mut leases = BTreeMap::new();
    for member in &mut members {
        if grant::may_write(member) {
            let mut grant = grant::grant(wish, bounds, &mut sums, member, turn);
            if at_rest {
                grant = give_back(member);
            }
            let overridden = reports.get(&member.cluster).and_then(|r| r.overridden.as_ref());
            let lease = to_lease(wish, member, grant, bounds.new.is_some(), overridden);
            if let Some(lease) = write(&mut ledger, &member.cluster, lease) {
                leases.insert(member.cluster.clone(), lease);
            }
        }
        turn.first &= member.complete;
        turn.first_under_way &= member.under_way == 0;
    }
    let reasons = why::reasons(wish, totals, reports, &members, &leases, exceeded);
    let members = members.iter().map(standing).collect();
    Alignment { ledger, leases, reasons, complete, totals, members }
}

/// The ledger with everything newly reported in it. A cluster whose Work is gone is forgotten; one that only
/// left the binding is not.
fn take_in(wish: &Wish, reports: &BTreeMap<String, Report>, ledger: &Ledger) -> Ledger {
    let mut ledger = ledger.clone();
    for (cluster, report) in reports {
        if report.reach == Reach::Gone {
            ledger.members.remove(cluster);
        } else if let Some(status) = &report.status {
            ledger.members.entry(cluster.clone()).or_default().absorb(wish.kind, status);
        }
    }
    ledger
}

/// Every cluster that counts: the binding's, in its order (one named twice counts once), then those that
/// left it and may still hold pods, by name.
fn members(wish: &Wish, reports: &BTreeMap<String, Report>, ledger: &Ledger) -> Vec<Member> {
    let (unknown, silent) = (Entry::default(), Report::default());
    let entry = |cluster: &str| ledger.members.get(cluster).unwrap_or(&unknown);
    let report = |cluster: &str| match reports.get(cluster) {
        // A Work that is gone is one that can be written anew.
        Some(report) if report.reach != Reach::Gone => report,
        _ => &silent,
    };
    let mut placed = BTreeSet::new();
    let mut members = Vec::with_capacity(wish.clusters.len());
    for Target { cluster, replicas } in &wish.clusters {
        if placed.insert(cluster.as_str()) {
            members.push(Member::count(wish, cluster, Some(*replicas), entry(cluster), report(cluster)));
        }
    }
    for cluster in ledger.members.keys().filter(|c| !placed.contains(c.as_str())) {
        members.push(Member::count(wish, cluster, None, entry(cluster), report(cluster)));
    }
    members
}

/// What of a member is new already or can only become so.
fn already_new(wish: &Wish, m: &Member) -> i64 {
    if wish.kind.has_partition() && m.grows_only_new() { m.least_new_at(m.want) } else { m.updated }
}

/// By how many what is new already exceeds what the partition allows.
fn exceeded(wish: &Wish, bounds: Bounds, members: &[Member]) -> i64 {
    let already: i64 = members.iter().map(|m| already_new(wish, m)).sum();
    bounds.new.map_or(0, |new| (already - new).max(0))
}

/// Splits the pods that may be new over the clusters.
fn set_targets(wish: &Wish, totals: Totals, members: &mut [Member]) {
    let narrow = |n: i64| u32::try_from(n.max(0)).unwrap_or(u32::MAX);
    let share = |m: &Member| {
        let already = already_new(wish, m);
        // A cluster that shrinks is not asked for more than it will have in the end.
        Share { size: narrow(m.want.max(already.min(m.lease_replicas))), already: narrow(already) }
    };
    let shares: Vec<Share> = members.iter().map(share).collect();
    let mut may_be_new = totals.replicas.saturating_sub(totals.partition);
    if totals.partition == 0 {
        // Nothing is kept old, not even in a cluster that is still to shrink.
        may_be_new = shares.iter().fold(0, |sum, s| sum.saturating_add(s.size));
    }
    for (member, target) in members.iter_mut().zip(target::split(&shares, may_be_new, wish.split)) {
        member.target = i64::from(target);
    }
}

/// Whether the member already has the user's own values for this very wish. A pod that dies afterwards is
/// its controller's business: nothing is taken back for it.
fn is_free(m: &Member) -> bool {
    m.latest.as_ref().is_some_and(|lease| {
        lease.stance == Stance::Free
            && lease.template == m.template
            && i64::from(lease.replicas) == m.want
            && i64::from(lease.updated) == m.target
    })
}

/// Everybody has arrived: the user's own values.
fn give_back(m: &Member) -> Grant {
    let replicas = u32::try_from(m.want.max(0)).unwrap_or(u32::MAX);
    let updated = u32::try_from(m.target.max(0)).unwrap_or(u32::MAX);
    let replicas = if m.retained { u32::try_from(m.replicas.max(0)).unwrap_or(u32::MAX) } else { replicas };
    let numbers = zero::Numbers {
        replicas,
        updated: updated.min(replicas),
        unavailable: 0,
        surge: 0,
        creates_new: m.creates_new,
    };
    Grant { stance: Stance::Free, numbers, wanted_template: true }
}

fn to_lease(
    wish: &Wish,
    m: &Member,
    grant: Grant,
    partitioned: bool,
    overridden: Option<&RollingStrategy>,
) -> Lease {
    let Grant { stance, numbers, wanted_template } = grant;
    let kept = m.latest.as_ref().filter(|_| !wanted_template).map(|l| l.template.clone());
    let mut lease = Lease {
        id: LeaseId::default(),
        template: kept.unwrap_or_else(|| m.template.clone()),
        replicas: numbers.replicas,
        updated: numbers.updated,
        unavailable: numbers.unavailable,
        surge: numbers.surge,
        stance,
        strategy: zero::written(wish, stance, numbers, partitioned),
    };
    if let Some(overridden) = overridden {
        yield_to(overridden, &mut lease);
    }
    lease
}

/// Where an override policy sets a value the lease says that value, and it counts as granted. So it is in force only
/// while it is counted, also when the policy comes, changes or goes.
fn yield_to(overridden: &RollingStrategy, lease: &mut Lease) {
    if let Some(value) = overridden.max_unavailable {
        lease.strategy.max_unavailable = Some(value);
        lease.unavailable = value.ceil_of(lease.replicas);
    }
    if let Some(value) = overridden.max_surge {
        lease.strategy.max_surge = Some(value);
        lease.surge = value.ceil_of(lease.replicas);
    }
    if let Some(value) = overridden.partition {
        lease.strategy.partition = Some(value);
        lease.updated = lease.replicas.saturating_sub(value.floor_of(lease.replicas));
    }
    if let Some(paused) = overridden.paused {
        lease.strategy.paused = Some(paused);
    }
}

/// Enters a lease that says something new.
fn write(ledger: &mut Ledger, cluster: &str, lease: Lease) -> Option<Lease> {
    let latest = ledger.members.get(cluster).and_then(Entry::latest);
    if latest.is_some_and(|latest| latest.says_the_same(&lease)) {
        return None;
    }
    let lease = Lease { id: ledger.next_id(), ..lease };
    ledger.members.entry(cluster.to_owned()).or_default().live.push(lease.clone());
    Some(lease)
}

fn standing(m: &Member) -> Standing {
    let narrow = |n: i64| u32::try_from(n.max(0)).unwrap_or(u32::MAX);
    Standing {
        cluster: m.cluster.clone(),
        template: m.template.clone(),
        replicas: narrow(m.lease_replicas),
        target: narrow(m.target),
        updated: narrow(m.updated),
        updated_available: narrow(m.updated_available),
        complete: m.complete,
    }
}
