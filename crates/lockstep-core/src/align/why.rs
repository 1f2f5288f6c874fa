//! From the decisions to sentences: who waits for whom.

use std::collections::BTreeMap;

use super::count::Member;
use super::ledger::{Lease, Stance};
use super::model::{Reach, Report, Totals, Wish};
use super::reason::{Code, Reason};

/// Everything somebody should know about this alignment, the whole first, then cluster by cluster.
pub(super) fn reasons(
    wish: &Wish,
    totals: Totals,
    reports: &BTreeMap<String, Report>,
    members: &[Member],
    leases: &BTreeMap<String, Lease>,
    exceeded: i64,
) -> Vec<Reason> {
    let mut reasons = overall(wish, totals, members, exceeded);
    for member in members {
        let report = reports.get(&member.cluster);
        reasons.extend(about_contact(member));
        reasons.extend(report.into_iter().flat_map(|r| about_meddling(member, r)));
        if !member.complete {
            let written = leases.get(&member.cluster).or(member.latest.as_ref());
            reasons.extend(about_waiting(wish, member, written, leases));
            reasons.extend(about_budget(wish, member, written, members));
        }
    }
    reasons
}

fn overall(wish: &Wish, totals: Totals, members: &[Member], exceeded: i64) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if exceeded > 0 {
        reasons.push(Reason::overall(
            Code::PartitionExceeded,
            format!(
                "{exceeded} more pods are new than partition {} of {} allows; they cannot be made old again: \
                 put the old template back, or lower the partition",
                totals.partition, totals.replicas
            ),
        ));
    }
    if wish.strategy.paused.unwrap_or(false) {
        let message = "the template is paused; clear its paused field to go on".to_owned();
        reasons.push(Reason::overall(Code::Paused, message));
    }
    reasons.extend(about_losses(totals, members));
    reasons
}

fn about_losses(totals: Totals, members: &[Member]) -> Option<Reason> {
    let heard = || members.iter().filter(|m| m.heard);
    let lost: i64 = heard().map(lost_by).sum();
    if lost <= 0 {
        return None;
    }
    let away: i64 = heard().map(|m| (m.replicas - m.available).max(0)).sum();
    // With all of it used up, not even the template that would mend them gets in.
    let full = away >= i64::from(totals.max_unavailable) && totals.max_surge == 0;
    let way_out =
        format!("; to replace what cannot come back by itself, set maxUnavailable to {away} or more");
    let message = format!(
        "{lost} pods beyond what was granted are not available{}; nothing of maxUnavailable {} is given out for them{}",
        names(heard().filter(|m| lost_by(m) > 0)),
        totals.max_unavailable,
        if full { way_out.as_str() } else { "" }
    );
    Some(Reason::overall(Code::PodsLost, message))
}

/// Pods that should be available and are not, beyond what was granted. New ones that are still to come are none of them,
/// as many as there may be on their way.
fn lost_by(m: &Member) -> i64 {
    let on_their_way = match m.latest.as_ref().map(|lease| lease.stance) {
        None | Some(Stance::Rest) => m.replicas,
        Some(Stance::Open | Stance::Held | Stance::Untouched) => m.max_unavailable + m.max_surge,
        Some(Stance::Free) => 0,
    };
    let coming = (m.updated - m.updated_available).min(on_their_way);
    (m.replicas - m.available - m.max_unavailable.max(coming).max(m.under_way)).max(0)
}

fn names<'a>(members: impl Iterator<Item = &'a Member>) -> String {
    let named: Vec<String> =
        members.take(5).map(|m| format!("{} ({})", m.cluster, m.replicas - m.available)).collect();
    if named.is_empty() { String::new() } else { format!(" in {}", named.join(", ")) }
}

fn about_contact(m: &Member) -> Option<Reason> {
    if m.reach == Reach::Unreachable {
        let message = format!(
            "unreachable; it keeps {} pods, {} unavailable and {} surge reserved until it answers or its Work is removed",
            m.ceiling, m.used_unavailable, m.used_surge
        );
        return Some(Reason::about(Code::ClusterUnreachable, &m.cluster, message));
    }
    match &m.latest {
        Some(lease) if !m.heard => Some(Reason::about(
            Code::NoStatus,
            &m.cluster,
            format!(
                "has not reported since lease {} was written for it; nothing more is given to it",
                lease.id.0
            ),
        )),
        _ => None,
    }
}

fn about_meddling(m: &Member, report: &Report) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(why) = &report.may_not_look {
        reasons.push(Reason::about(Code::MayNotLook, &m.cluster, why.clone()));
    }
    if report.overridden.is_some() {
        let message = "an override policy sets its strategy; that value counts as granted and is not changed";
        reasons.push(Reason::about(Code::StrategyOverridden, &m.cluster, message.to_owned()));
    }
    if let Some(granted) = m.unheeded {
        let message = format!(
            "its API server does not know maxUnavailable of a StatefulSet (feature gate \
             MaxUnavailableStatefulSet): it takes one pod at a time, not {granted}"
        );
        reasons.push(Reason::about(Code::MaxUnavailableIgnored, &m.cluster, message));
    }
    if report.replicas_retained {
        let message = "it decides its own replicas; they cannot be kept within maxUnavailable and maxSurge";
        reasons.push(Reason::about(Code::ReplicasNotMetered, &m.cluster, message.to_owned()));
    }
    reasons
}

fn about_waiting(
    wish: &Wish,
    m: &Member,
    written: Option<&Lease>,
    leases: &BTreeMap<String, Lease>,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if m.reach != Reach::Reachable {
        return reasons;
    }
    if m.heard && (!m.acknowledged || leases.contains_key(&m.cluster)) {
        let id = written.map_or(0, |l| l.id.0);
        let message = format!(
            "has not confirmed lease {id} yet; until it does, {} unavailable and {} surge stay reserved for it",
            m.used_unavailable, m.used_surge
        );
        reasons.push(Reason::about(Code::WaitingForAcknowledgement, &m.cluster, message));
    }
    let coming = m.updated - m.updated_available;
    if m.heard && coming > 0 {
        let are = if coming == 1 { "is" } else { "are" };
        let message = format!("{coming} of its {} new pods {are} not available yet", m.updated);
        reasons.push(Reason::about(Code::WaitingForPods, &m.cluster, message));
    }
    if m.leaving {
        let message =
            format!("left the binding and still has {} pods; they go as others become available", m.total);
        reasons.push(Reason::about(Code::Leaving, &m.cluster, message));
    } else if m.lease_replicas != m.want && !m.retained {
        let message = format!(
            "has {} of {} replicas; the rest follows as other clusters {}",
            m.lease_replicas,
            m.want,
            if m.lease_replicas < m.want { "give theirs up" } else { "become available" }
        );
        reasons.push(Reason::about(Code::WaitingForReplicas, &m.cluster, message));
    }
    if let Some(why) = wish.held.get(&m.cluster) {
        reasons.push(Reason::about(Code::WaitingForTurn, &m.cluster, why.clone()));
    }
    reasons
}

/// What a cluster may not begin since others are at it.
fn about_budget(wish: &Wish, m: &Member, written: Option<&Lease>, members: &[Member]) -> Option<Reason> {
    let closed = written.is_none_or(|l| matches!(l.stance, Stance::Held | Stance::Untouched | Stance::Rest));
    let may_begin = m.heard && m.reach == Reach::Reachable && !wish.held.contains_key(&m.cluster);
    let is_left = m.updated_available < m.target.min(m.lease_replicas) && m.total > m.updated;
    if !closed || !is_left || !may_begin || wish.strategy.paused.unwrap_or(false) {
        return None;
    }
    let uses = |it: &&Member| it.cluster != m.cluster && it.used_unavailable + it.used_surge > 0;
    let users: Vec<&str> = members.iter().filter(uses).take(5).map(|it| it.cluster.as_str()).collect();
    if users.is_empty() {
        return None;
    }
    let users = users.join(", ");
    let message = format!("may not roll yet: what may be unavailable or surged is in use in {users}");
    Some(Reason::about(Code::WaitingForBudget, &m.cluster, message))
}
