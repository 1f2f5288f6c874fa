//! What a Work is to carry: the resource template, made ready for one cluster.

use lockstep_federation::interpret::Interpretation;
use lockstep_federation::work::{BINDING_NAME, BINDING_NAMESPACE, EXECUTION_SPACE, GENERATION, PERMANENT_ID};
use serde_json::{Value, json};

use crate::text;

/// It keeps a Work until its member has been told that it is gone.
pub const FINALIZER: &str = "karmada.io/execution-controller";

/// What is the API server's own, and not to be carried anywhere.
const ITS_OWN: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "ownerReferences",
    "finalizers",
];

/// The namespace of a cluster's Works.
pub fn space(cluster: &str) -> String {
    format!("{EXECUTION_SPACE}{cluster}")
}

/// The Work that brings a cluster its share, with the newest template and the user's own strategy.
pub fn made(kind: &Interpretation, template: &Value, binding: &Value, cluster: &str, share: u32) -> Value {
    let named = &binding["metadata"];
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {
            "name": named["name"], "namespace": space(cluster), "finalizers": [FINALIZER],
            "labels": {PERMANENT_ID: named["labels"][PERMANENT_ID]},
            "annotations": {BINDING_NAMESPACE: named["namespace"], BINDING_NAME: named["name"]},
        },
        "spec": {"workload": {"manifests": [manifest(kind, template, share)]}},
    })
}

fn manifest(kind: &Interpretation, template: &Value, share: u32) -> Value {
    let mut manifest = template.clone();
    let generation = &template["metadata"]["generation"];
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.retain(|name, _| !ITS_OWN.contains(&name.as_str()));
    }
    manifest["metadata"]["annotations"][GENERATION] = json!(generation.to_string());
    manifest["metadata"]["labels"]["karmada.io/managed"] = json!("true");
    kind.set_replicas(&mut manifest, share);
    manifest
}

/// A Work that stands, with what another brings. What others noted on it stays.
pub fn renewed(standing: &Value, made: &Value) -> Value {
    let mut work = standing.clone();
    work["spec"] = made["spec"].clone();
    for field in ["labels", "annotations"] {
        for (name, value) in made["metadata"][field].as_object().into_iter().flatten() {
            work["metadata"][field][name] = value.clone();
        }
    }
    work
}

/// The shares of a binding, by cluster.
pub fn shares(binding: &Value) -> impl Iterator<Item = (&str, u32)> {
    binding["spec"]["clusters"].as_array().into_iter().flatten().map(|it| {
        let share = it["replicas"].as_u64().and_then(|share| u32::try_from(share).ok());
        (text(&it["name"]), share.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_federation::interpret;
    use lockstep_federation::work::Work;

    #[test]
    fn a_work_is_read_as_karmadas_are() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 3},
            "metadata": {"name": "demo", "namespace": "web", "uid": "u1", "resourceVersion": "7", "generation": 3},
            "spec": {"replicas": 10},
        });
        let kind = interpret::of(&template).unwrap();
        let binding = crate::binding::made(kind, &template);
        let work = made(kind, &template, &binding, "east", 4);
        assert_eq!(
            (Work(&work).cluster(), Work(&work).binding()),
            (Some("east"), Some(("web", "demo-deployment")))
        );
        let manifest = Work(&work).manifest().unwrap();
        assert_eq!(lockstep_federation::stamp::generation(manifest), 3);
        assert_eq!((kind.replicas(manifest), manifest.get("status")), (4, None));
        assert_eq!(manifest["metadata"].get("uid"), None);
    }

    #[test]
    fn what_others_noted_on_a_work_stays() {
        let standing = json!({"metadata": {"annotations": {"mine": "yes", "theirs": "old"}}, "spec": 1});
        let made = json!({"metadata": {"annotations": {"theirs": "new"}}, "spec": 2});
        let renewed = renewed(&standing, &made);
        assert_eq!(
            renewed,
            json!({"metadata": {"annotations": {"mine": "yes", "theirs": "new"}}, "spec": 2})
        );
    }
}
