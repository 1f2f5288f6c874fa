//! A stage for tests: one pod, a clock, and an API server that believes everything.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::{Next, PodView, StatusChange, step};
use crate::behaviour::Behaviour;
use crate::time::later;

/// A pod on stage.
pub(crate) struct Stage {
    pub pod: PodView,
    pub behaviour: Behaviour,
    pub now: Timestamp,
    pub origin: Timestamp,
    pub writes: usize,
    pub is_gone: bool,
}

impl Stage {
    /// A pod of one container that behaves so.
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "web-0", "namespace": "default", "uid": "u-1", "generation": 1},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
        }))
        .unwrap();
        let origin: Timestamp = "2026-01-01T00:00:00.700Z".parse().unwrap();
        Self { pod, behaviour, now: origin, origin, writes: 0, is_gone: false }
    }

    /// The same with behaviour as annotations write it.
    pub(crate) fn annotated(pairs: &[(&str, &str)]) -> Self {
        let prefixed =
            |(key, value): &(&str, &str)| (format!("kubelet.lockstep.dev/{key}"), (*value).to_owned());
        let (behaviour, bad) = crate::annotations::read(&pairs.iter().map(prefixed).collect());
        assert_eq!(bad, vec![]);
        Self::new(behaviour)
    }

    /// Does what is to be done now, and says when to look again.
    pub(crate) fn settle(&mut self) -> Option<Timestamp> {
        for _ in 0..10 {
            match step(&self.pod, &self.behaviour, self.now) {
                Next::Patch(change) => self.apply(*change),
                Next::Finish => {
                    self.is_gone = true;
                    return None;
                }
                Next::WaitUntil(at) => {
                    assert!(at > self.now, "waits for what is past");
                    return Some(at);
                }
                Next::Nothing => return None,
            }
        }
        panic!("never settles: {:?}", self.pod.status);
    }

    /// Lets time pass until `length` after the beginning, acting whenever something is due.
    pub(crate) fn play_to(&mut self, length: Duration) {
        let end = later(self.origin, length);
        while !self.is_gone {
            match self.settle() {
                Some(at) if at <= end => self.now = at,
                _ => break,
            }
        }
        self.now = end;
    }

    /// Milliseconds since the beginning.
    pub(crate) fn millis(&self, at: Timestamp) -> i64 {
        at.as_millisecond() - self.origin.as_millisecond()
    }

    /// Asks for the pod's deletion.
    pub(crate) fn delete(&mut self, grace: i64) {
        let deadline = later(self.now, Duration::from_secs(grace.unsigned_abs()));
        self.pod.metadata.deletion_timestamp = Some(crate::time::stored(deadline));
        self.pod.metadata.deletion_grace_period_seconds = Some(grace);
    }

    /// The pod in a few words: phase, readiness, restarts, state of the first container.
    pub(crate) fn words(&self) -> String {
        let status = &self.pod.status;
        let container = &status.container_statuses[0];
        let ready = status.condition("Ready").map_or("?", |condition| condition.status.as_str());
        let state = container.state.clone().unwrap_or_default();
        let state = match (state.waiting, state.running, state.terminated) {
            (Some(waiting), _, _) => waiting.reason.unwrap_or_default(),
            (_, Some(_), _) => "running".into(),
            (_, _, Some(end)) => format!("{} {}", end.reason.unwrap_or_default(), end.exit_code),
            _ => "nothing".into(),
        };
        let phase = status.phase.as_deref().unwrap_or_default();
        format!("{phase} ready={ready} restarts={} {state}", container.restart_count)
    }

    /// Takes a change the way the API server does, times cut to whole seconds by way of JSON.
    fn apply(&mut self, change: StatusChange) {
        self.writes += 1;
        let written = serde_json::to_value(&change).unwrap();
        let mut status: super::StatusView = serde_json::from_value(written).unwrap();
        let kept = |old: &&k8s_openapi::api::core::v1::PodCondition| status.condition(&old.type_).is_none();
        let others: Vec<_> = self.pod.status.conditions.iter().filter(kept).cloned().collect();
        status.conditions.extend(others);
        self.pod.status = status;
    }

    /// When a condition last changed.
    pub(crate) fn since(&self, condition: &str) -> Option<Time> {
        self.pod.status.condition(condition)?.last_transition_time.clone()
    }
}
