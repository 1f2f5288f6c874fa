//! What the user asks for: the resource template and its ResourceBinding.

use std::collections::BTreeMap;

use lockstep_core::align::{SplitMode, Target, Wish};
use serde_json::Value;

use crate::interpret::{Interpretation, Interpreter, count};

/// What is asked for: the template's own strategy over the binding's clusters, in its order.
pub fn wish(kind: &Interpretation, template: &Value, binding: &Value, split: SplitMode) -> Wish {
    Wish {
        held: BTreeMap::new(),
        kind: kind.like,
        template: kind.template_hash(template),
        strategy: kind.rolling_strategy(template),
        split,
        clusters: clusters(binding),
    }
}

/// The binding's clusters. Where the scheduler gives no numbers, each has all of the replicas.
pub fn clusters(binding: &Value) -> Vec<Target> {
    let all = binding["spec"]["replicas"].clone();
    let clusters = binding["spec"]["clusters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let target = |it: &Value| {
        let replicas = it.get("replicas").filter(|it| !it.is_null()).unwrap_or(&all);
        Some(Target { cluster: it["name"].as_str()?.to_owned(), replicas: count(replicas) })
    };
    clusters.iter().filter_map(target).collect()
}

/// The resource template a binding is of: its API version, kind, namespace and name.
pub fn resource(binding: &Value) -> Option<(&str, &str, &str, &str)> {
    let resource = &binding["spec"]["resource"];
    let text = |name: &str| resource[name].as_str();
    Some((text("apiVersion")?, text("kind")?, text("namespace")?, text("name")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret;
    use serde_json::json;

    #[test]
    fn the_proposals_first_story() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"},
            "spec": {"replicas": 10, "strategy": {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 1}}},
        });
        let binding = json!({"spec": {"replicas": 10, "clusters": [
            {"name": "cluster-1", "replicas": 4}, {"name": "cluster-2", "replicas": 6},
        ]}});
        let kind = interpret::of(&template).unwrap();
        let wish = wish(kind, &template, &binding, SplitMode::Sequential);
        let told: Vec<_> = wish.clusters.iter().map(|it| (it.cluster.as_str(), it.replicas)).collect();
        assert_eq!(told, [("cluster-1", 4), ("cluster-2", 6)]);
        assert_eq!(wish.strategy.max_surge, Some(lockstep_core::number::IntOrPercent::Int(1)));
    }

    #[test]
    fn duplicated_placement_gives_everybody_everything() {
        let binding = json!({"spec": {"replicas": 3, "clusters": [{"name": "a"}, {"name": "b"}]}});
        assert_eq!(clusters(&binding).iter().map(|it| it.replicas).collect::<Vec<_>>(), [3, 3]);
    }
}
