//! The statuses of containers.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
};

use super::id::Run;
use super::life::{End, Life};
use super::view::{ContainerView, PodView};
use crate::behaviour::Behaviour;
use crate::span::Length;
use crate::time::{between, later, stored};

/// How long a failed pull is shown as such before it is shown as a pause.
const PULL_SHOWN_FOR: std::time::Duration = std::time::Duration::from_secs(2);

/// What there is to say about containers.
pub(crate) struct Account<'a> {
    pub pod: &'a PodView,
    pub behaviour: &'a Behaviour,
    pub life: &'a Life,
    pub ready: bool,
    /// Whether containers that ended stay so, whatever the restart policy says: the pod is being deleted.
    pub last: bool,
    pub now: Timestamp,
}

impl Account<'_> {
    /// The statuses of the ordinary containers.
    pub(crate) fn containers(&self) -> Vec<ContainerStatus> {
        self.pod.spec.containers.iter().map(|container| self.container(container)).collect()
    }

    /// The statuses of the init containers: done, or running beside the others.
    pub(crate) fn init_containers(&self) -> Vec<ContainerStatus> {
        let status = |container: &ContainerView| {
            if container.is_sidecar() { self.container(container) } else { self.done(container) }
        };
        self.pod.spec.init_containers.iter().map(status).collect()
    }

    /// When the status of containers that wait for an image changes next.
    pub(crate) fn pull_changes_at(&self) -> Option<Timestamp> {
        let shown_until = later(self.started(), PULL_SHOWN_FOR);
        (*self.life == Life::Unborn && self.now < shown_until).then_some(shown_until)
    }

    /// Whether the containers have ended and are not started again.
    pub(crate) fn is_over(&self) -> bool {
        match self.life {
            Life::Ended(end) => self.last || !self.pod.spec.restart_policy.restarts(end.exit_code),
            Life::Unborn => self.last,
            Life::Running(_) => false,
        }
    }

    fn started(&self) -> Timestamp {
        self.pod.status.start_time.clone().unwrap_or_else(|| stored(self.now)).0
    }

    fn container(&self, container: &ContainerView) -> ContainerStatus {
        match self.life {
            Life::Unborn if self.last => self.unknown(container),
            Life::Unborn => self.pulling(container),
            Life::Running(run) => self.running(container, run),
            Life::Ended(end) => self.ended(container, end),
        }
    }

    fn before(&self, container: &ContainerView) -> Option<&ContainerStatus> {
        let status = &self.pod.status;
        let mut all = status.container_statuses.iter().chain(&status.init_container_statuses);
        all.find(|status| status.name == container.name)
    }

    fn running(&self, container: &ContainerView, run: &Run) -> ContainerStatus {
        let started = container.startup_probe.is_none() || self.ready;
        let started = started || self.before(container).is_some_and(|before| was_started(before, run));
        let state = ContainerStateRunning { started_at: Some(stored(run.since)) };
        ContainerStatus {
            ready: self.ready,
            started: Some(started),
            state: Some(ContainerState { running: Some(state), ..ContainerState::default() }),
            last_state: self.before(container).and_then(last_end).or_else(none),
            ..self.born(container, run)
        }
    }

    fn ended(&self, container: &ContainerView, end: &End) -> ContainerStatus {
        let record = ContainerState {
            terminated: Some(ContainerStateTerminated {
                container_id: Some(end.run.id(self.pod.uid(), &container.name)),
                exit_code: end.exit_code,
                reason: Some(end.reason.clone()),
                message: Some(end.message()),
                started_at: Some(stored(end.run.since)),
                finished_at: Some(stored(end.at)),
                signal: None,
            }),
            ..ContainerState::default()
        };
        let pause = between(end.at, end.restarts_at(self.behaviour));
        // The first restart does not wait, so there is no back-off to show.
        let (state, last_state) = if self.is_over() || pause.is_zero() {
            (record, self.before(container).and_then(|before| before.last_state.clone()))
        } else {
            (crash_loop(self.pod, container, pause), Some(record))
        };
        let last_state = last_state.or_else(none);
        ContainerStatus { state: Some(state), last_state, ..self.born(container, &end.run) }
    }

    /// What stays the same through a run.
    fn born(&self, container: &ContainerView, run: &Run) -> ContainerStatus {
        ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone(),
            image_id: format!("stand-in://{}", container.image),
            container_id: Some(run.id(self.pod.uid(), &container.name)),
            restart_count: i32::try_from(run.number).unwrap_or(i32::MAX),
            started: Some(false),
            ..ContainerStatus::default()
        }
    }

    fn pulling(&self, container: &ContainerView) -> ContainerStatus {
        let (reason, message) = if self.pull_changes_at().is_some() {
            ("ErrImagePull", format!("failed to pull image \"{}\": not found", container.image))
        } else {
            ("ImagePullBackOff", format!("Back-off pulling image \"{}\"", container.image))
        };
        unstarted(container, waiting(reason, message))
    }

    /// A container that was asked to end before it began, in the words of a real kubelet.
    fn unknown(&self, container: &ContainerView) -> ContainerStatus {
        let record = ContainerStateTerminated {
            exit_code: 137,
            reason: Some("ContainerStatusUnknown".into()),
            message: Some("The container could not be located when the pod was terminated".into()),
            ..ContainerStateTerminated::default()
        };
        unstarted(container, ContainerState { terminated: Some(record), ..ContainerState::default() })
    }

    fn done(&self, container: &ContainerView) -> ContainerStatus {
        let started = self.started();
        let id = Run { number: 0, strikes: 0, since: started }.id(self.pod.uid(), &container.name);
        let record = ContainerStateTerminated {
            container_id: Some(id.clone()),
            exit_code: 0,
            reason: Some("Completed".into()),
            started_at: Some(stored(started)),
            finished_at: Some(stored(started)),
            ..ContainerStateTerminated::default()
        };
        ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone(),
            image_id: format!("stand-in://{}", container.image),
            container_id: Some(id),
            ready: true,
            started: Some(false),
            state: Some(ContainerState { terminated: Some(record), ..ContainerState::default() }),
            last_state: none(),
            ..ContainerStatus::default()
        }
    }
}

/// The state of a container before its first; the API server writes it out too.
fn none() -> Option<ContainerState> {
    Some(ContainerState::default())
}

/// Whether the container had passed its startup probe in this run.
fn was_started(before: &ContainerStatus, run: &Run) -> bool {
    before.started == Some(true) && before.container_id.as_deref().and_then(Run::read) == Some(*run)
}

/// The last end on record.
fn last_end(before: &ContainerStatus) -> Option<ContainerState> {
    let ended = before.state.clone().filter(|state| state.terminated.is_some());
    ended.or_else(|| before.last_state.clone())
}

fn unstarted(container: &ContainerView, state: ContainerState) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone(),
        started: Some(false),
        state: Some(state),
        last_state: none(),
        ..ContainerStatus::default()
    }
}

fn crash_loop(pod: &PodView, container: &ContainerView, pause: std::time::Duration) -> ContainerState {
    let message = format!(
        "back-off {} restarting failed container={} pod={}_{}({})",
        Length(pause),
        container.name,
        pod.name(),
        pod.namespace(),
        pod.uid(),
    );
    waiting("CrashLoopBackOff", message)
}

fn waiting(reason: &str, message: String) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.into()), message: Some(message) };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}
