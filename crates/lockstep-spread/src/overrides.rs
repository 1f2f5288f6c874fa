//! What is different in one cluster: OverridePolicies of the namespace, as far as tests need them. Values that are
//! replaced, and images from another registry.

use serde_json::{Value, json};

use crate::text;

/// Where a Work says what was made different. As with Karmada it stays when the policy is gone.
const RECORD: &str = "policy.karmada.io/applied-overrides";

/// What policies say of a template in a cluster, in their order: the policy's name, and what it makes different.
pub fn of<'a>(
    policies: impl Iterator<Item = &'a Value>,
    template: &Value,
    cluster: &str,
) -> Vec<(&'a str, &'a Value)> {
    let mut overrides = Vec::new();
    for policy in policies.filter(|it| is_for(it, template)) {
        for rule in all(&policy["spec"]["overrideRules"]) {
            if all(&rule["targetCluster"]["clusterNames"]).any(|it| it == cluster) {
                overrides.push((text(&policy["metadata"]["name"]), &rule["overriders"]));
            }
        }
    }
    overrides
}

fn is_for(policy: &Value, template: &Value) -> bool {
    let named = |it: &Value| it["kind"] == template["kind"] && it["name"] == template["metadata"]["name"];
    policy["metadata"]["namespace"] == template["metadata"]["namespace"]
        && all(&policy["spec"]["resourceSelectors"]).any(named)
}

fn all(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Makes a Work's manifest different, and says so.
pub fn apply(work: &mut Value, overrides: &[(&str, &Value)]) {
    if overrides.is_empty() {
        return;
    }
    let manifest = &mut work["spec"]["workload"]["manifests"][0];
    for (_, overriders) in overrides {
        for item in overriders["plaintext"].as_array().into_iter().flatten() {
            if let Some(place) = manifest.pointer_mut(text(&item["path"])) {
                *place = item["value"].clone();
            }
        }
        for item in overriders["imageOverrider"].as_array().into_iter().flatten() {
            let containers = manifest["spec"]["template"]["spec"]["containers"].as_array_mut();
            for container in containers.into_iter().flatten() {
                let image = format!("{}/{}", text(&item["value"]), text(&container["image"]));
                container["image"] = json!(image);
            }
        }
    }
    let item = |(name, overriders): &(&str, &Value)| json!({"policyName": name, "overriders": overriders});
    let items: Vec<Value> = overrides.iter().map(item).collect();
    work["metadata"]["annotations"][RECORD] = json!(json!(items).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_is_different() {
        let template = json!({"kind": "Deployment", "metadata": {"name": "demo", "namespace": "web"}});
        let policy = |cluster: &str, of: &str| {
            json!({
                "metadata": {"name": "own", "namespace": "web"},
                "spec": {
                    "resourceSelectors": [{"kind": "Deployment", "name": of}],
                    "overrideRules": [{"targetCluster": {"clusterNames": [cluster]}, "overriders": {
                        "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 3}],
                        "imageOverrider": [{"component": "Registry", "operator": "add", "value": "here"}],
                    }}],
                },
            })
        };
        for (policy, different) in [
            (policy("east", "demo"), true),
            (policy("west", "demo"), false),
            (policy("east", "other"), false),
        ] {
            let containers = json!([{"image": "a:1"}]);
            let spec = json!({"replicas": 9, "template": {"spec": {"containers": containers}}});
            let mut work = json!({
                "metadata": {"annotations": {}}, "spec": {"workload": {"manifests": [{"spec": spec}]}},
            });
            apply(&mut work, &of([&policy].into_iter(), &template, "east"));
            let made = &work["spec"]["workload"]["manifests"][0]["spec"];
            let (replicas, image) = if different { (3, "here/a:1") } else { (9, "a:1") };
            assert_eq!(made["replicas"], replicas);
            assert_eq!(made["template"]["spec"]["containers"][0]["image"], image);
            assert_eq!(work["metadata"]["annotations"].get(RECORD).is_some(), different);
        }
    }
}
