//! What a pod shows of itself, and of why it was deleted.

use k8s_openapi::api::core::v1 as k8s;
use lockstep_core::model::{Spec, StrategyKind};
use lockstep_core::simulate::trace::Subject;
use lockstep_core::snapshot::Pod;
use lockstep_core::time::Time;

use crate::pods::{has_condition, is_ready};

/// What is known of an instance that is deleted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// It is at its target.
    pub updated: bool,
    /// A pod of it failed or restarted.
    pub broke: bool,
    /// Its group is taken down as a whole.
    pub torn_down: bool,
}

/// A controller does not say why it deletes; what it deleted does.
pub(super) fn why_deleted(spec: &Spec, of: &Subject, shown: Shown) -> &'static str {
    let Some(role) = spec.role(&of.role) else { return "RoleRemoved" };
    let Shown { updated, broke, torn_down } = shown;
    let recreates = spec.strategy.kind == StrategyKind::GroupRecreate;
    match () {
        () if of.group >= spec.replicas && (torn_down || of.instance < role.replicas) => "GroupRemoved",
        // What is too much, or had crashed once, goes down with its group.
        () if torn_down => "Recreate",
        () if of.instance >= role.replicas => "Excess",
        () if broke => "Restart",
        () if recreates => "Recreate",
        () if updated => "Repair",
        () => "Update",
    }
}

/// Evicted, drained, or taken by its node: not the workload's controller.
pub(crate) fn disrupted(pod: &k8s::Pod) -> bool {
    has_condition(pod, "DisruptionTarget")
}

/// A pod as the engine would see it. Times are those at which the recorder saw things.
pub(super) fn view(pod: &k8s::Pod, before: Option<&Pod>, now: Time) -> Pod {
    let status = pod.status.as_ref();
    let spec = pod.spec.as_ref();
    let ready = is_ready(pod);
    let was_ready = before.and_then(|pod| pod.ready);
    Pod {
        uid: pod.metadata.uid.as_deref().unwrap_or_default().into(),
        created: before.map_or(now, |pod| pod.created),
        bound: spec.and_then(|spec| spec.node_name.as_ref()).map(|_| now),
        ready: ready.then(|| was_ready.unwrap_or(now)),
        unready: if ready { None } else { was_ready.map(|_| now).or(before.and_then(|pod| pod.unready)) },
        failed: status
            .and_then(|status| status.phase.as_deref())
            .is_some_and(|phase| matches!(phase, "Failed" | "Succeeded")),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        restarts: status.map_or(0, restarts),
        gated: spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty()),
        ..Pod::default()
    }
}

fn restarts(status: &k8s::PodStatus) -> u32 {
    let counts = status.container_statuses.iter().flatten().map(|container| container.restart_count);
    u32::try_from(counts.sum::<i32>()).unwrap_or_default()
}
