//! What a role's revision is made of.

use lockstep_core::revision::Revision;
use serde_json::{Value, json};

use crate::lockstep_set::{LockstepSet, Role};

/// The revision of a role: the hash of its [`content`].
pub fn of(set: &LockstepSet, role: &Role) -> Revision {
    Revision::of(&content(set, role))
}

/// Everything that makes a pod of the role what it is, as the user gave it, and nothing else: member names,
/// counts, pod templates and identity templates. Anything put in here later rolls pods on upgrade.
pub fn content(set: &LockstepSet, role: &Role) -> Value {
    let members: Vec<Value> = role
        .parts()
        .into_iter()
        .map(|member| json!({"name": member.name, "count": member.count, "template": member.template}))
        .collect();
    let identity = set.spec.identity.as_ref().map(|identity| {
        json!({
            "podName": identity.pod_name,
            "hostname": identity.hostname,
            "subdomain": identity.subdomain,
            "labels": identity.labels,
            "annotations": identity.annotations,
            "env": identity.env,
        })
    });
    json!({"members": members, "identity": identity})
}
