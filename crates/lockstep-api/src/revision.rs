//! What a role's revision is made of.

use lockstep_core::revision::Revision;
use serde_json::{Value, json};

use crate::identity::Identity;
use crate::lockstep_set::{LockstepSet, Member, Role};

/// The revision of a role: the hash of its [`content`].
pub fn of(set: &LockstepSet, role: &Role) -> Revision {
    Revision::of(&content(set, role))
}

/// Everything that makes a pod of the role what it is, as the user gave it, and nothing else: member names,
/// counts, pod templates and identity templates. Anything put in here later rolls pods on upgrade.
pub fn content(set: &LockstepSet, role: &Role) -> Value {
    let member = |member: Member| {
        let identity = member.identity.as_ref().map(templates);
        json!({
            "name": member.name,
            "count": member.count,
            "template": member.template,
            "identity": identity,
        })
    };
    let members: Vec<Value> = role.parts().into_iter().map(member).collect();
    let identity = Identity::joined(set.spec.identity.as_ref(), role.identity.as_ref());
    json!({"members": members, "identity": identity.as_ref().map(templates)})
}

/// An identity, field by field: what is added to the type later is not in every hash at once.
fn templates(identity: &Identity) -> Value {
    let mut templates = json!({
        "podName": identity.pod_name,
        "hostname": identity.hostname,
        "subdomain": identity.subdomain,
        "labels": identity.labels,
        "annotations": identity.annotations,
        "env": identity.env,
    });
    if !identity.resource_claims.is_empty() {
        templates["resourceClaims"] = json!(identity.resource_claims);
    }
    if identity.template_wins {
        templates["templateWins"] = json!(true);
    }
    templates
}
