//! What makes a pod one of Kthena's: its name, its labels, its environment, its service.
//!
//! Part of every role's revision: a change here rolls every ModelServing there is.

use std::collections::BTreeMap;

use lockstep_api::Identity;

/// The label with the name of the ModelServing.
pub(super) const NAME: &str = "modelserving.volcano.sh/name";
/// The label with the name of the role.
pub(super) const ROLE: &str = "modelserving.volcano.sh/role";
/// The label with the name of the role and the ordinal of the replica.
pub(super) const ROLE_ID: &str = "modelserving.volcano.sh/role-id";
/// The label of entry pods.
pub(super) const ENTRY: &str = "modelserving.volcano.sh/entry";

/// The variables every container gets, whatever its template says of them.
pub(super) const ENVIRONMENT: [(&str, &str); 3] =
    [("GROUP_SIZE", "{size}"), ("ENTRY_ADDRESS", "{leader}.{namespace}"), ("WORKER_INDEX", "{index}")];

const LABELS: [(&str, &str); 6] = [
    (NAME, "{set}"),
    ("modelserving.volcano.sh/group-name", "{set}-{group}"),
    (ROLE, "{role}"),
    (ROLE_ID, "{role}-{instance}"),
    ("modelserving.volcano.sh/revision", "{setRevision}"),
    ("modelserving.volcano.sh/role-template-hash", "{revision}"),
];

/// What all pods have in common.
pub(super) fn of_set() -> Identity {
    Identity {
        pod_name: Some("{set}-{group}-{role}-{instance}-{index}".to_owned()),
        labels: map(&LABELS),
        env: map(&ENVIRONMENT),
        template_wins: true,
        // Only replicas with workers have a service.
        subdomain: Some(String::new()),
        ..Identity::default()
    }
}

/// Replicas with workers have a headless service, named as their entry pod and selecting it alone, so that workers
/// find it at ENTRY_ADDRESS.
pub(super) fn of_role(has_workers: bool) -> Option<Identity> {
    has_workers.then(|| Identity { subdomain: Some("{leader}".to_owned()), ..Identity::default() })
}

/// Entry pods say so.
pub(super) fn of_entry() -> Identity {
    Identity { labels: map(&[(ENTRY, "true")]), template_wins: true, ..Identity::default() }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
