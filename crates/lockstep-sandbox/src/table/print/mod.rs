//! The cells of the built-in kinds.

mod access;
mod event;
mod network;
mod node;
mod plain;
mod pod;
pub mod scale;
mod storage;
mod workload;

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

/// Makes the cells of an object, at a time.
pub type MakeCells = fn(&Value, Timestamp) -> Vec<Value>;

/// How the objects of a built-in kind are shown.
#[derive(Clone, Copy)]
pub struct Printer {
    /// The cells of an object, all of them: clients leave out what they find too wide.
    pub cells: MakeCells,
    /// What is to be known of a row besides its cells.
    pub conditions: fn(&Value) -> Option<Value>,
    /// A table without rows has no list of rows at all.
    pub no_rows_are_null: bool,
}

impl fmt::Debug for Printer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Printer")
    }
}

const fn of(cells: MakeCells) -> Printer {
    Printer { cells, conditions: |_| None, no_rows_are_null: false }
}

/// Name and time of creation.
pub const DEFAULT: Printer = Printer { no_rows_are_null: true, ..of(plain::default) };

/// A resource that a real server shows so.
pub const SHOWN_BY_DEFAULT: &str = "roles.rbac.authorization.k8s.io";

/// The printers, by resource.
pub const PRINTERS: &[(&str, Printer)] = &[
    ("configmaps", of(plain::config_map)),
    ("endpoints", of(network::endpoints)),
    ("events", of(event::core)),
    ("namespaces", of(plain::namespace)),
    ("nodes", of(node::node)),
    ("persistentvolumeclaims", of(storage::claim)),
    ("persistentvolumes", of(storage::volume)),
    ("pods", Printer { conditions: pod::conditions, ..of(pod::pod) }),
    ("podtemplates", of(workload::pod_template)),
    ("replicationcontrollers", of(workload::replication_controller)),
    ("resourcequotas", of(plain::quota)),
    ("secrets", of(plain::secret)),
    ("serviceaccounts", of(plain::name_and_age)),
    ("services", of(network::service)),
    ("controllerrevisions.apps", of(workload::controller_revision)),
    ("daemonsets.apps", of(workload::daemon_set)),
    ("deployments.apps", of(workload::deployment)),
    ("replicasets.apps", of(workload::replica_set)),
    ("statefulsets.apps", of(workload::stateful_set)),
    ("cronjobs.batch", of(workload::cron_job)),
    ("jobs.batch", of(workload::job)),
    ("events.events.k8s.io", of(event::new)),
    ("endpointslices.discovery.k8s.io", of(network::endpoint_slice)),
    ("ingresses.networking.k8s.io", of(network::ingress)),
    ("ingressclasses.networking.k8s.io", of(network::ingress_class)),
    ("networkpolicies.networking.k8s.io", of(network::policy)),
    ("poddisruptionbudgets.policy", of(plain::disruption_budget)),
    ("leases.coordination.k8s.io", of(plain::lease)),
    ("podgroups.scheduling.k8s.io", of(plain::pod_group)),
    ("priorityclasses.scheduling.k8s.io", of(plain::priority_class)),
    ("workloads.scheduling.k8s.io", of(plain::name_and_age)),
    ("runtimeclasses.node.k8s.io", of(plain::runtime_class)),
    ("clusterrolebindings.rbac.authorization.k8s.io", of(access::binding)),
    ("rolebindings.rbac.authorization.k8s.io", of(access::binding)),
    ("mutatingwebhookconfigurations.admissionregistration.k8s.io", of(plain::webhooks)),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", of(plain::webhooks)),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        Printer { no_rows_are_null: true, ..of(plain::definition) },
    ),
];

/// The printer of a resource, if it has one of its own.
pub fn printer(resource: &str) -> Option<&'static Printer> {
    PRINTERS.iter().find(|(name, _)| *name == resource).map(|(_, printer)| printer)
}

#[cfg(test)]
fn noon() -> Timestamp {
    "2026-01-02T12:00:00Z".parse().expect("a time")
}
