//! The conditions that every Kubernetes tool understands: Ready, Reconciling and Stalled.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time as Stamp};
use lockstep_api::status::{CHILDREN, INVALID_SPEC, NAME_TAKEN};
use lockstep_core::status::Phase;
use lockstep_core::time::Time;

/// No more names than this are said.
const MOST_NAMES: usize = 5;

/// What conditions are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// Where the rollout stands.
    pub phase: Phase,
    /// Why it waits, in one word.
    pub reason: Option<String>,
    /// Why it waits, in a sentence.
    pub message: Option<String>,
}

/// Type, whether it holds, reason, message.
pub(crate) type Claim = (&'static str, bool, String, String);

/// The conditions of a set. What did not change keeps its time.
pub fn of(outlook: &Outlook, before: &[Condition], generation: i64, now: Time) -> Vec<Condition> {
    claims(outlook).into_iter().map(|claim| condition(claim, before, generation, now)).collect()
}

/// The conditions of a set that cannot be read.
pub fn invalid(message: String, before: &[Condition], generation: i64, now: Time) -> Vec<Condition> {
    let reason = || INVALID_SPEC.to_owned();
    let claims = [
        ("Ready", false, reason(), message.clone()),
        ("Reconciling", false, reason(), "nothing moves until the spec is mended".to_owned()),
        ("Stalled", true, reason(), message),
    ];
    claims.into_iter().map(|claim| condition(claim, before, generation, now)).collect()
}

/// The condition of a set whose services have names that somebody else has; none if there is no such name.
pub fn children(taken: &[String], before: &[Condition], generation: i64, now: Time) -> Option<Condition> {
    let line = |name: &String| {
        format!(
            "a Service named {name} is there and was not made from this set: pods have names in DNS only as \
             far as it is headless and selects them; delete or rename it"
        )
    };
    let mut said: Vec<String> = taken.iter().take(MOST_NAMES).map(line).collect();
    if let Some(more) = taken.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
        said.push(format!("and {more} more"));
    }
    let claim = (CHILDREN, false, NAME_TAKEN.to_owned(), said.join("\n"));
    (!taken.is_empty()).then(|| condition(claim, before, generation, now))
}

fn claims(outlook: &Outlook) -> [Claim; 3] {
    let phase = format!("{:?}", outlook.phase);
    let why = outlook.message.clone().unwrap_or_default();
    let waiting = outlook.reason.clone().unwrap_or_else(|| phase.clone());
    let text = |text: &str| text.to_owned();
    let ((ready, ready_why), (reconciling, reconciling_why), (stalled, stalled_why)) = match outlook.phase {
        Phase::Complete => (
            (true, text("everything is at the update revision and available")),
            (false, text("nothing is left to do")),
            (false, String::new()),
        ),
        Phase::PartitionReached => (
            (true, text("what may move has moved; the partition keeps the rest")),
            (false, text("nothing is left to do")),
            (false, String::new()),
        ),
        Phase::Stalled => {
            ((false, why.clone()), (false, text("no progress within the deadline")), (true, why))
        }
        Phase::RolledBack => (
            (false, text("back at the stable revision; the spec wishes for another")),
            (false, text("nothing is left to do")),
            (true, text("the rollout failed or was aborted and was taken back")),
        ),
        Phase::Progressing | Phase::RollingBack | Phase::Paused => {
            ((false, why.clone()), (true, why), (false, String::new()))
        }
    };
    let stalled_reason = match outlook.phase {
        Phase::Stalled => waiting,
        Phase::RolledBack => phase.clone(),
        _ => text("NotStalled"),
    };
    [
        ("Ready", ready, phase.clone(), ready_why),
        ("Reconciling", reconciling, phase, reconciling_why),
        ("Stalled", stalled, stalled_reason, stalled_why),
    ]
}

/// A condition. If it held or did not hold before, it keeps its time.
pub(crate) fn condition(claim: Claim, before: &[Condition], generation: i64, now: Time) -> Condition {
    let (kind, holds, reason, message) = claim;
    let status = if holds { "True" } else { "False" };
    let same = before.iter().find(|known| known.type_ == kind && known.status == status);
    let seconds = i64::try_from(now.0 / 1000).unwrap_or_default();
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        observed_generation: Some(generation),
        last_transition_time: same.map_or_else(
            || Stamp(Timestamp::from_second(seconds).unwrap_or_default()),
            |known| known.last_transition_time.clone(),
        ),
        reason,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(phase: Phase) -> Vec<String> {
        let outlook =
            Outlook { phase, reason: Some("SkewHeld".into()), message: Some("decode is behind".into()) };
        let all = of(&outlook, &[], 7, Time(5_000));
        all.iter().map(|c| format!("{}={} {}", c.type_, c.status, c.reason)).collect()
    }

    #[test]
    fn as_kstatus_reads_them() {
        assert_eq!(
            words(Phase::Complete),
            ["Ready=True Complete", "Reconciling=False Complete", "Stalled=False NotStalled"]
        );
        assert_eq!(
            words(Phase::Progressing),
            ["Ready=False Progressing", "Reconciling=True Progressing", "Stalled=False NotStalled"]
        );
        assert_eq!(
            words(Phase::Stalled),
            ["Ready=False Stalled", "Reconciling=False Stalled", "Stalled=True SkewHeld"]
        );
        assert_eq!(
            words(Phase::RolledBack),
            ["Ready=False RolledBack", "Reconciling=False RolledBack", "Stalled=True RolledBack"]
        );
    }

    #[test]
    fn a_time_moves_only_with_the_status() {
        let outlook = |phase| Outlook { phase, reason: None, message: None };
        let first = of(&outlook(Phase::Progressing), &[], 1, Time(5_000));
        let second = of(&outlook(Phase::RollingBack), &first, 2, Time(9_000));
        let third = of(&outlook(Phase::Complete), &second, 2, Time(11_000));
        let time = |all: &[Condition]| all[0].last_transition_time.0.as_second();
        assert_eq!((time(&first), time(&second), time(&third)), (5, 5, 11));
        assert_eq!(second[0].observed_generation, Some(2));
    }
}
