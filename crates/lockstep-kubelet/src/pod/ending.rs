//! The end of a pod that is being deleted.

use std::time::Duration;

use jiff::Timestamp;

use super::containers::Account;
use super::life::{End, Life};
use super::status::StatusChange;
use super::step::Next;
use super::view::PodView;
use crate::behaviour::Behaviour;
use crate::span::{Span, When};
use crate::time::{earlier, later};

/// What to do about a pod that must be gone by `deadline`.
///
/// A pod that ends at once takes one write. A pod that takes its time, or that finalizers hold, first shows its
/// containers ended, as under a real kubelet: somebody may look at it.
pub(crate) fn ending(pod: &PodView, behaviour: &Behaviour, deadline: Timestamp, now: Timestamp) -> Next {
    let slow = match behaviour.terminates_after {
        Some(When::Never) => return Next::Nothing,
        Some(When::After(span)) if !span.longest().is_zero() => Some(span),
        _ => None,
    };
    let mut life = Life::of(pod);
    if let Life::Running(run) = life
        && !pod.status.is_over()
    {
        let stop = stop(pod, slow, deadline, now);
        if stop.at > now {
            return Next::WaitUntil(stop.at);
        }
        let (exit_code, reason) = if stop.killed { (137, "Error") } else { (0, "Completed") };
        life = Life::Ended(End { run, at: now, exit_code, reason: reason.into() });
    }
    let is_shown = pod.is_held() || (slow.is_some() && life != Life::Unborn);
    if is_shown && !pod.status.is_over() {
        let account = Account { pod, behaviour, life: &life, ready: false, last: true, now };
        return Next::Patch(Box::new(StatusChange::describe(&account)));
    }
    // Without a grace period left, the deletion is as finished as finalizers allow.
    let is_finished = pod.is_held() && grace(pod).is_zero();
    if is_finished { Next::Nothing } else { Next::Finish }
}

/// When running containers stop, and whether they have to be killed for it.
struct Stop {
    at: Timestamp,
    killed: bool,
}

fn stop(pod: &PodView, slow: Option<Span>, deadline: Timestamp, now: Timestamp) -> Stop {
    let Some(span) = slow else { return Stop { at: now, killed: false } };
    // The deletion timestamp is when the grace period ends, in whole seconds.
    let asked = earlier(deadline, grace(pod));
    let wished = later(asked, span.draw(pod.uid(), "terminates-after", 0));
    Stop { at: wished.min(deadline), killed: wished > deadline }
}

fn grace(pod: &PodView) -> Duration {
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
