//! What the containers of a pod are doing, and what they do next.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus};

use super::id::Run;
use super::view::PodView;
use crate::behaviour::{BackOff, Behaviour, Image};
use crate::span::When;
use crate::time::{between, later};

/// What a terminated container's message begins with; the exact moment follows.
const ENDED_AT: &str = "ended at ";

/// What the containers of a pod, which all behave alike, are doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Life {
    /// They have never run.
    Unborn,
    /// They run.
    Running(Run),
    /// They ran and ended.
    Ended(End),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// The run that ended.
    pub run: Run,
    /// When.
    pub at: Timestamp,
    /// With which exit code.
    pub exit_code: i32,
    /// Why, in the kubelet's words.
    pub reason: String,
}

impl End {
    /// Failures in a row, this one included; a long run wipes out those before.
    pub(crate) fn strikes(&self) -> u32 {
        let forgiven = between(self.run.since, self.at) >= BackOff::FORGIVEN_AFTER;
        if forgiven { 1 } else { self.run.strikes.saturating_add(1) }
    }

    /// When the containers are started again, if they are.
    pub(crate) fn restarts_at(&self, behaviour: &Behaviour) -> Timestamp {
        later(self.at, behaviour.back_off.unwrap_or_default().pause(self.strikes()))
    }

    /// The message that [`End::read`] takes the exact moment from.
    pub(crate) fn message(&self) -> String {
        format!("{ENDED_AT}{}", self.at)
    }

    fn read(record: &ContainerStateTerminated, number: u32) -> Self {
        let started = record.started_at.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let exact = || record.message.as_deref()?.strip_prefix(ENDED_AT)?.parse().ok();
        let finished = record.finished_at.as_ref().map_or(started, |time| time.0);
        Self {
            run: run_of(record.container_id.as_deref(), number, started),
            at: exact().unwrap_or(finished),
            exit_code: record.exit_code,
            reason: record.reason.clone().unwrap_or_default(),
        }
    }
}

fn run_of(id: Option<&str>, number: u32, started: Timestamp) -> Run {
    id.and_then(Run::read).unwrap_or(Run { number, strikes: 0, since: started })
}

impl Life {
    /// What the status says.
    pub(crate) fn of(pod: &PodView) -> Self {
        pod.status.container_statuses.first().map_or(Self::Unborn, Self::of_container)
    }

    fn of_container(status: &ContainerStatus) -> Self {
        let number = u32::try_from(status.restart_count).unwrap_or_default();
        let state = status.state.clone().unwrap_or_default();
        if let Some(running) = state.running {
            let started = running.started_at.map_or(Timestamp::UNIX_EPOCH, |time| time.0);
            return Self::Running(run_of(status.container_id.as_deref(), number, started));
        }
        let before = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        match state.terminated.as_ref().or(before) {
            Some(record) => Self::Ended(End::read(record, number)),
            None => Self::Unborn,
        }
    }

    /// What they do at `now`, one change at most, and when the next one is due.
    pub(crate) fn next(
        self,
        pod: &PodView,
        behaviour: &Behaviour,
        now: Timestamp,
    ) -> (Self, Option<Timestamp>) {
        match self {
            Self::Unborn if behaviour.image == Some(Image::Missing) => (self, None),
            Self::Unborn => (Self::Running(Run { number: 0, strikes: 0, since: now }), None),
            Self::Running(run) => match fate(&run, pod.uid(), behaviour) {
                Some(end) if end.at <= now => (Self::Ended(End { at: now, ..end }), None),
                fate => (self, fate.map(|end| end.at)),
            },
            Self::Ended(ref end) if !pod.spec.restart_policy.restarts(end.exit_code) => (self, None),
            Self::Ended(ref end) => match end.restarts_at(behaviour) {
                at if at > now => (self, Some(at)),
                _ => {
                    let number = end.run.number.saturating_add(1);
                    (Self::Running(Run { number, strikes: end.strikes(), since: now }), None)
                }
            },
        }
    }
}

/// How and when a run ends, if it does.
fn fate(run: &Run, uid: &str, behaviour: &Behaviour) -> Option<End> {
    let due = |when: Option<When>, purpose| match when {
        None | Some(When::Never) => None,
        Some(When::After(span)) => Some(later(run.since, span.draw(uid, purpose, run.number))),
    };
    let may_crash = behaviour.crashes.is_none_or(|times| run.number < times);
    let crash = due(behaviour.crash_after, "crash-after").filter(|_| may_crash).map(|at| {
        let reason = behaviour.crash_reason.unwrap_or_default();
        End { run: *run, at, exit_code: reason.exit_code(), reason: reason.to_string() }
    });
    let done = due(behaviour.completes_after, "completes-after").map(|at| End {
        run: *run,
        at,
        exit_code: 0,
        reason: "Completed".into(),
    });
    match (crash, done) {
        (Some(crash), Some(done)) => Some(if done.at < crash.at { done } else { crash }),
        (crash, done) => crash.or(done),
    }
}
