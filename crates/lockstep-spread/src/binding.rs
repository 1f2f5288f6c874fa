//! What a ResourceBinding is to say: of which resource it is, and over which clusters it goes.

use serde_json::{Value, json};

use crate::divide::divide;
use crate::text;
use lockstep_federation::interpret::Interpretation;
use lockstep_federation::work::PERMANENT_ID;

/// The policy that places a resource template: of those that name it the first.
pub fn policy_of<'a>(template: &Value, mut policies: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    let metadata = &template["metadata"];
    let selects = |selector: &Value| {
        selector["apiVersion"] == template["apiVersion"]
            && selector["kind"] == template["kind"]
            && (text(&selector["name"]).is_empty() || selector["name"] == metadata["name"])
    };
    policies.find(|policy| {
        let selectors = policy["spec"]["resourceSelectors"].as_array();
        policy["metadata"]["namespace"] == metadata["namespace"]
            && selectors.is_some_and(|selectors| selectors.iter().any(selects))
    })
}

/// What the binding of a resource template is called.
pub fn name(template: &Value) -> String {
    format!("{}-{}", text(&template["metadata"]["name"]), text(&template["kind"]).to_lowercase())
}

/// The binding of a resource template that has none yet. It goes with the template.
pub fn made(kind: &Interpretation, template: &Value) -> Value {
    let metadata = &template["metadata"];
    let owner = json!({
        "apiVersion": template["apiVersion"], "kind": template["kind"],
        "name": metadata["name"], "uid": metadata["uid"], "controller": true,
    });
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "name": name(template), "namespace": metadata["namespace"],
            "labels": {PERMANENT_ID: metadata["uid"]}, "ownerReferences": [owner],
        },
    });
    described(kind, template, &binding)
}

/// The binding with what it is of. Which clusters it goes to is somebody else's business, and comes later.
pub fn described(kind: &Interpretation, template: &Value, binding: &Value) -> Value {
    let metadata = &template["metadata"];
    let mut binding = binding.clone();
    binding["spec"]["resource"] = json!({
        "apiVersion": template["apiVersion"], "kind": template["kind"],
        "namespace": metadata["namespace"], "name": metadata["name"],
        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
    });
    binding["spec"]["replicas"] = json!(kind.replicas(template));
    binding
}

/// The binding with its clusters: by weight, or everything to everybody where the policy divides nothing.
pub fn scheduled(policy: &Value, binding: &Value) -> Value {
    let placement = &policy["spec"]["placement"];
    let replicas =
        binding["spec"]["replicas"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or_default();
    let names: Vec<&str> = names(&placement["clusterAffinity"]["clusterNames"]).collect();
    let divided = placement["replicaScheduling"]["replicaSchedulingType"] == "Divided";
    let shares = if divided {
        let weights: Vec<u32> =
            names.iter().map(|name| weight(&placement["replicaScheduling"], name)).collect();
        divide(replicas, &weights)
    } else {
        vec![replicas; names.len()]
    };
    let clusters: Vec<Value> = names
        .into_iter()
        .zip(shares)
        .filter(|(_, share)| *share > 0)
        .map(|(name, share)| json!({"name": name, "replicas": share}))
        .collect();
    let mut binding = binding.clone();
    binding["spec"]["clusters"] = json!(clusters);
    binding
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The weight of a cluster; where no weights are given all weigh the same.
fn weight(scheduling: &Value, cluster: &str) -> u32 {
    let Some(weights) = scheduling["weightPreference"]["staticWeightList"].as_array() else { return 1 };
    let of =
        weights.iter().find(|it| names(&it["targetCluster"]["clusterNames"]).any(|name| name == cluster));
    let weight = of.and_then(|it| it["weight"].as_u64());
    weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_federation::interpret;

    fn policy(scheduling: Value) -> Value {
        json!({
            "metadata": {"namespace": "web"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "demo"}],
                "placement": {"clusterAffinity": {"clusterNames": ["a", "b", "c"]}, "replicaScheduling": scheduling},
            },
        })
    }

    fn template() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "demo", "namespace": "web", "uid": "u1", "resourceVersion": "7"},
            "spec": {"replicas": 10},
        })
    }

    #[test]
    fn replicas_are_divided_as_the_policy_says() {
        let weighted = json!({"replicaSchedulingType": "Divided", "weightPreference": {"staticWeightList": [
            {"targetCluster": {"clusterNames": ["a"]}, "weight": 4}, {"targetCluster": {"clusterNames": ["c"]}, "weight": 6},
        ]}});
        let binding = made(interpret::of(&template()).unwrap(), &template());
        for (scheduling, clusters) in [
            (weighted, json!([{"name": "a", "replicas": 4}, {"name": "c", "replicas": 6}])),
            (
                json!({"replicaSchedulingType": "Divided"}),
                json!([{"name": "a", "replicas": 4}, {"name": "b", "replicas": 3}, {"name": "c", "replicas": 3}]),
            ),
            (
                Value::Null,
                json!([{"name": "a", "replicas": 10}, {"name": "b", "replicas": 10}, {"name": "c", "replicas": 10}]),
            ),
        ] {
            assert_eq!(scheduled(&policy(scheduling), &binding)["spec"]["clusters"], clusters);
        }
    }

    #[test]
    fn a_policy_places_what_it_names() {
        let all = [policy(Value::Null)];
        assert!(policy_of(&template(), all.iter()).is_some());
        for (field, other) in [("name", "else"), ("namespace", "else")] {
            let mut template = template();
            template["metadata"][field] = json!(other);
            assert!(policy_of(&template, all.iter()).is_none(), "{field}");
        }
    }
}
