//! The conditions a kubelet keeps on a pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, PodCondition};

use super::view::PodView;
use crate::time::stored;

/// What the conditions follow from.
pub(crate) struct Facts<'a> {
    pub pod: &'a PodView,
    pub phase: &'static str,
    pub containers: &'a [ContainerStatus],
    pub sidecars: Vec<&'a ContainerStatus>,
    pub now: Timestamp,
}

/// Whether something holds, and why not.
struct Verdict {
    holds: bool,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Verdict {
    fn plain(holds: bool) -> Self {
        Self { holds, reason: None, message: None }
    }

    fn because(holds: bool, reason: &'static str) -> Self {
        Self { holds, reason: Some(reason), message: None }
    }
}

impl Facts<'_> {
    /// The kubelet's conditions, with the times of their last change.
    pub(crate) fn conditions(&self) -> Vec<PodCondition> {
        let mut conditions = vec![
            self.condition("PodReadyToStartContainers", Verdict::plain(!self.is_over())),
            self.condition("Initialized", self.initialized()),
            self.condition("ContainersReady", self.containers_ready()),
            self.condition("Ready", self.ready()),
        ];
        // The scheduler says so itself; pods that were bound without it have only the kubelet.
        if self.pod.status.condition("PodScheduled").is_none_or(|found| found.status != "True") {
            conditions.push(self.condition("PodScheduled", Verdict::plain(true)));
        }
        conditions
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, "Succeeded" | "Failed")
    }

    fn initialized(&self) -> Verdict {
        if self.phase == "Succeeded" { Verdict::because(true, "PodCompleted") } else { Verdict::plain(true) }
    }

    fn containers_ready(&self) -> Verdict {
        match self.phase {
            "Succeeded" => return Verdict::because(false, "PodCompleted"),
            "Failed" => return Verdict::because(false, "PodFailed"),
            _ => {}
        }
        let all = self.sidecars.iter().copied().chain(self.containers);
        let unready: Vec<_> = all.filter(|status| !status.ready).map(|status| status.name.as_str()).collect();
        if unready.is_empty() {
            return Verdict::plain(true);
        }
        let message = Some(format!("containers with unready status: [{}]", unready.join(" ")));
        Verdict { holds: false, reason: Some("ContainersNotReady"), message }
    }

    fn ready(&self) -> Verdict {
        let containers = self.containers_ready();
        if !containers.holds {
            return containers;
        }
        let complaints: Vec<_> = self
            .pod
            .spec
            .readiness_gates
            .iter()
            .filter_map(|gate| self.closed(&gate.condition_type))
            .collect();
        if complaints.is_empty() {
            return Verdict::plain(true);
        }
        let message = Some(complaints.join(", "));
        Verdict { holds: false, reason: Some("ReadinessGatesNotReady"), message }
    }

    fn closed(&self, gate: &str) -> Option<String> {
        match self.pod.status.condition(gate) {
            None => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
            Some(found) if found.status == "True" => None,
            Some(found) => Some(format!(
                "the status of pod readiness gate \"{gate}\" is not \"True\", but {}",
                found.status
            )),
        }
    }

    fn condition(&self, kind: &str, verdict: Verdict) -> PodCondition {
        let status = if verdict.holds { "True" } else { "False" };
        let before = self.pod.status.condition(kind).filter(|before| before.status == status);
        let since = before.and_then(|before| before.last_transition_time.clone());
        PodCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: verdict.reason.map(str::to_owned),
            message: verdict.message,
            last_transition_time: Some(since.unwrap_or_else(|| stored(self.now))),
            observed_generation: self.pod.metadata.generation,
            last_probe_time: None,
        }
    }
}
