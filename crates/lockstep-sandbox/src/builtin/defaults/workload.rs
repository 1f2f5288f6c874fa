//! What is filled in of the kinds that make pods.

use serde_json::Value;

use super::pod::pod_spec;
use crate::builtin::access::{at, default, default_empty, has, list_mut, made, put, text};

fn template(spec: &mut Value) {
    pod_spec(made(made(spec, "template"), "spec"));
}

/// A Deployment.
pub(super) fn deployment(object: &mut Value) {
    let spec = made(object, "spec");
    default(spec, "replicas", 1);
    let strategy = made(spec, "strategy");
    default_empty(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = made(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", "25%");
        default(rolling, "maxSurge", "25%");
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    template(spec);
}

/// A ReplicaSet.
pub(super) fn replica_set(object: &mut Value) {
    let spec = made(object, "spec");
    default(spec, "replicas", 1);
    template(spec);
}

/// A StatefulSet.
pub(super) fn stateful_set(object: &mut Value) {
    let spec = made(object, "spec");
    default_empty(spec, "podManagementPolicy", "OrderedReady");
    let strategy = made(spec, "updateStrategy");
    if text(strategy, "type").is_empty() {
        put(strategy, "type", "RollingUpdate");
        made(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate" && has(strategy, "rollingUpdate") {
        let rolling = made(strategy, "rollingUpdate");
        default(rolling, "partition", 0);
        default(rolling, "maxUnavailable", 1);
    }
    let retention = made(spec, "persistentVolumeClaimRetentionPolicy");
    default_empty(retention, "whenDeleted", "Retain");
    default_empty(retention, "whenScaled", "Retain");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    template(spec);
    for claim in list_mut(spec, "volumeClaimTemplates") {
        put(claim, "apiVersion", "v1");
        put(claim, "kind", "PersistentVolumeClaim");
        default_empty(made(claim, "status"), "phase", "Pending");
        default(made(claim, "spec"), "volumeMode", "Filesystem");
    }
}

/// A DaemonSet.
pub(super) fn daemon_set(object: &mut Value) {
    let spec = made(object, "spec");
    let strategy = made(spec, "updateStrategy");
    default_empty(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = made(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", 1);
        default(rolling, "maxSurge", 0);
    }
    default(spec, "revisionHistoryLimit", 10);
    template(spec);
}

/// A Job.
pub(super) fn job(object: &mut Value) {
    job_spec(made(object, "spec"));
    // Without labels of its own, it bears those of its pods.
    let labels = at(object, &["spec", "template", "metadata", "labels"]).clone();
    if labels.is_object() && !has(at(object, &["metadata"]), "labels") {
        put(made(object, "metadata"), "labels", labels);
    }
}

fn job_spec(spec: &mut Value) {
    if !has(spec, "completions") && !has(spec, "parallelism") {
        put(spec, "completions", 1);
        put(spec, "parallelism", 1);
    }
    default(spec, "parallelism", 1);
    let most = if has(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    default(spec, "backoffLimit", most);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    let replacement = if has(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    default(spec, "podReplacementPolicy", replacement);
    default(spec, "manualSelector", false);
    template(spec);
}

/// A CronJob. The jobs it makes are filled in when they are made; only their pods are filled in here.
pub(super) fn cron_job(object: &mut Value) {
    let spec = made(object, "spec");
    default_empty(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    template(made(made(spec, "jobTemplate"), "spec"));
}
