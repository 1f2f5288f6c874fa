//! What a rollout over several clusters says of itself: the conditions every Kubernetes tool understands, and those that
//! only hold where something is odd.

use lockstep_api::federation::{FederatedRolloutStatus, ReasonStatus};
use lockstep_core::align::Code;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Its type.
    pub kind: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// What is there only while it holds.
const ODD: [(&str, Code); 4] = [
    ("PartitionExceeded", Code::PartitionExceeded),
    ("StrategyOverridden", Code::StrategyOverridden),
    ("ReplicasNotMetered", Code::ReplicasNotMetered),
    ("MaxUnavailableIgnored", Code::MaxUnavailableIgnored),
];

/// The conditions of a rollout that stands like this.
pub fn claims(status: &FederatedRolloutStatus) -> Vec<Claim> {
    let complete = status.phase == "Complete";
    let stuck = if complete { None } else { stuck(status) };
    let waiting = status.waiting_for.clone();
    let claim = |kind, holds, reason: &str, message: String| Claim {
        kind,
        holds,
        reason: reason.to_owned(),
        message,
    };
    let ready = if complete { format!("all of {} have arrived", status.clusters) } else { waiting.clone() };
    let moving = match (complete, stuck) {
        (true, _) => "nothing is left to do".to_owned(),
        (false, Some(_)) => "nothing moves until somebody mends it".to_owned(),
        (false, None) => waiting,
    };
    let mut claims = vec![
        claim("Ready", complete, &status.phase, ready),
        claim("Reconciling", !complete && stuck.is_none(), &status.phase, moving),
        claim(
            "Stalled",
            stuck.is_some(),
            stuck.map_or("NotStalled", |it| &it.code),
            stuck.map(sentence).unwrap_or_default(),
        ),
    ];
    for (kind, code) in ODD {
        let told: Vec<String> = of(status, code).map(sentence).collect();
        if !told.is_empty() {
            claims.push(claim(kind, true, kind, told.join("; ")));
        }
    }
    claims
}

/// What only a person can mend: all that is left cannot be reached.
fn stuck(status: &FederatedRolloutStatus) -> Option<&ReasonStatus> {
    let unreachable = |cluster: &str| {
        of(status, Code::ClusterUnreachable).find(|it| it.cluster.as_deref() == Some(cluster))
    };
    let mut left = status.members.iter().filter(|it| !it.complete).peekable();
    let all_unreachable = left.peek().is_some() && left.all(|it| unreachable(&it.cluster).is_some());
    of(status, Code::ClusterUnreachable).next().filter(|_| all_unreachable)
}

fn of(status: &FederatedRolloutStatus, code: Code) -> impl Iterator<Item = &ReasonStatus> {
    let code = format!("{code:?}");
    status.reasons.iter().filter(move |it| it.code == code)
}

/// What every rollout comes by with every step: nobody has to be told of it.
const COURSE: [Code; 2] = [Code::WaitingForPods, Code::WaitingForBudget];

/// All that holds a rollout now and did not before, and is worth an event.
pub fn news<'a>(
    before: &'a FederatedRolloutStatus,
    now: &'a FederatedRolloutStatus,
) -> impl Iterator<Item = &'a ReasonStatus> {
    let of_course = |it: &ReasonStatus| COURSE.iter().any(|code| it.code == format!("{code:?}"));
    let is_known = |now: &ReasonStatus| {
        before.reasons.iter().any(|it| (&it.code, &it.cluster) == (&now.code, &now.cluster))
    };
    now.reasons.iter().filter(move |it| !of_course(it) && !is_known(it))
}

/// `member2: has not confirmed lease 4 yet`.
pub fn sentence(reason: &ReasonStatus) -> String {
    match &reason.cluster {
        Some(cluster) => format!("{cluster}: {}", reason.message),
        None => reason.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use lockstep_api::federation::MemberStatus;

    use super::*;

    fn status(phase: &str, left: &[&str], reasons: &[(Code, Option<&str>)]) -> FederatedRolloutStatus {
        let member = |name: &&str| MemberStatus { cluster: (*name).to_owned(), ..MemberStatus::default() };
        let reason = |(code, cluster): &(Code, Option<&str>)| ReasonStatus {
            code: format!("{code:?}"),
            cluster: cluster.map(str::to_owned),
            message: "so it is".to_owned(),
        };
        FederatedRolloutStatus {
            phase: phase.to_owned(),
            members: left.iter().map(member).collect(),
            reasons: reasons.iter().map(reason).collect(),
            ..FederatedRolloutStatus::default()
        }
    }

    fn said(status: &FederatedRolloutStatus) -> String {
        let holding = |it: &Claim| it.holds.then(|| format!("{}={}", it.kind, it.reason));
        claims(status).iter().filter_map(holding).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_is_new_and_not_of_course_is_worth_an_event() {
        use Code::WaitingForAcknowledgement as Silent;
        use Code::{ClusterUnreachable as Gone, PodsLost as Lost, WaitingForPods as Course};
        for (before, now, told) in [
            (&[(Course, Some("a"))][..], &[(Silent, Some("a")), (Course, Some("a"))][..], &[Silent][..]),
            (&[(Silent, Some("a"))], &[(Silent, Some("a"))], &[]),
            (&[(Silent, Some("a"))], &[(Silent, Some("a")), (Gone, Some("b"))], &[Gone]),
            (&[(Silent, Some("a")), (Gone, Some("b"))], &[(Gone, Some("b"))], &[]),
            (&[], &[(Course, Some("a"))], &[]),
            (&[], &[(Course, Some("a")), (Gone, Some("b"))], &[Gone]),
            (&[], &[(Gone, Some("a")), (Gone, Some("b")), (Lost, None)], &[Gone, Gone, Lost]),
            (&[(Gone, Some("b"))], &[(Course, Some("a")), (Gone, Some("b"))], &[]),
            (&[(Gone, Some("b"))], &[(Gone, Some("c"))], &[Gone]),
            (&[(Gone, Some("b"))], &[(Lost, None), (Gone, Some("b"))], &[Lost]),
            (&[(Lost, None)], &[], &[]),
        ] {
            let (before, now) = (status("Rolling", &[], before), status("Rolling", &[], now));
            let news: Vec<String> = news(&before, &now).map(|it| it.code.clone()).collect();
            let told: Vec<String> = told.iter().map(|code| format!("{code:?}")).collect();
            assert_eq!(news, told, "{before:?} {now:?}");
        }
    }

    #[test]
    fn as_kstatus_reads_them() {
        use Code::{ClusterUnreachable as Gone, PartitionExceeded, StrategyOverridden};
        let a_gone = [(Gone, Some("a"))];
        for (phase, left, reasons, holds) in [
            ("Complete", &[][..], &[][..], "Ready=Complete"),
            ("Complete", &[], &a_gone, "Ready=Complete"),
            ("Rolling", &["a", "b"], &[], "Reconciling=Rolling"),
            ("Paused", &["a"], &[], "Reconciling=Paused"),
            ("Rolling", &["a", "b"], &a_gone, "Reconciling=Rolling"),
            ("Rolling", &["a"], &a_gone, "Stalled=ClusterUnreachable"),
            (
                "Rolling",
                &["a"],
                &[(PartitionExceeded, None)],
                "Reconciling=Rolling PartitionExceeded=PartitionExceeded",
            ),
            (
                "Rolling",
                &["a"],
                &[(StrategyOverridden, Some("a"))],
                "Reconciling=Rolling StrategyOverridden=StrategyOverridden",
            ),
        ] {
            assert_eq!(said(&status(phase, left, reasons)), holds, "{phase} {left:?} {reasons:?}");
        }
    }
}
