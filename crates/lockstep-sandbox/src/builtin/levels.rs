//! Resources of pods as a whole, and the quality of service they add up to.

use serde_json::Value;

use super::access::{at, entries, has, list, made, put, text};
use super::quantity::Quantity;

/// What a pod may ask for as a whole.
fn for_pods(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

/// Fills in the resources of a pod as a whole, where it gives some of them.
pub(super) fn fill(spec: &mut Value) {
    let given = |field| !at(spec, &["resources", field]).as_object().is_none_or(serde_json::Map::is_empty);
    if !given("requests") && !given("limits") {
        return;
    }
    let missing = |spec: &Value, field: &str, resource: &str| !has(at(spec, &["resources", field]), resource);
    for (resource, sum) in sums(spec, "limits") {
        if resource.starts_with("hugepages-") && missing(spec, "requests", &resource) {
            set(spec, "limits", &resource, sum);
        }
    }
    for (resource, sum) in sums(spec, "requests") {
        if matches!(resource.as_str(), "cpu" | "memory") {
            set(spec, "requests", &resource, sum);
        }
    }
    let limits: Vec<(String, Value)> = entries(at(spec, &["resources"]), "limits")
        .filter(|(resource, _)| for_pods(resource))
        .map(|(resource, amount)| (resource.to_owned(), amount.clone()))
        .collect();
    for (resource, amount) in limits {
        if missing(spec, "requests", &resource) {
            put(made(made(spec, "resources"), "requests"), &resource, amount);
        }
    }
    limit(spec);
}

/// What all containers limit, the pod as a whole limits, if it asks for it.
fn limit(spec: &mut Value) {
    let containers = || list(spec, "initContainers").iter().chain(list(spec, "containers"));
    let limited = |resource: &str| containers().all(|of| has(at(of, &["resources", "limits"]), resource));
    let mut limits = Vec::new();
    for (resource, sum) in sums(spec, "limits").into_iter().filter(|(resource, _)| limited(resource)) {
        let asked = quantity(at(spec, &["resources", "requests", &resource]));
        if let Some(asked) = asked.filter(|_| for_pods(&resource)) {
            limits.push((resource, asked.max(sum)));
        }
    }
    for (resource, amount) in limits {
        set(spec, "limits", &resource, amount);
    }
}

fn set(spec: &mut Value, field: &str, resource: &str, amount: Quantity) {
    let resources = made(made(spec, "resources"), field);
    if !has(resources, resource) {
        put(resources, resource, amount.to_string());
    }
}

/// What the containers ask for together: those that run side by side, or the one that runs before them, if that is more.
pub(super) fn sums(spec: &Value, field: &str) -> Vec<(String, Quantity)> {
    let mut sums: std::collections::BTreeMap<String, Quantity> = std::collections::BTreeMap::new();
    let amounts = |container: &Value| {
        let amounts = entries(at(container, &["resources"]), field);
        let read = amounts.filter_map(|(resource, amount)| Some((resource.to_owned(), quantity(amount)?)));
        read.collect::<Vec<_>>()
    };
    let stays = |container: &&Value| text(container, "restartPolicy") == "Always";
    let beside = list(spec, "containers").iter().chain(list(spec, "initContainers").iter().filter(stays));
    for (resource, amount) in beside.flat_map(amounts) {
        let sum = sums.get(&resource).map_or(amount.clone(), |sum| sum.plus(&amount));
        sums.insert(resource, sum);
    }
    let before = list(spec, "initContainers").iter().filter(|container| !stays(container));
    for (resource, amount) in before.flat_map(amounts) {
        let more = sums.get(&resource).is_none_or(|sum| *sum < amount);
        if more {
            sums.insert(resource, amount);
        }
    }
    sums.into_iter().collect()
}

fn quantity(amount: &Value) -> Option<Quantity> {
    amount.as_str().and_then(|amount| Quantity::read(amount).ok())
}

/// The quality of service of a pod: `Guaranteed`, `Burstable` or `BestEffort`.
pub(super) fn quality(spec: &Value) -> &'static str {
    let whole = at(spec, &["resources"]);
    let given = |field| entries(whole, field).next().is_some();
    if given("requests") || given("limits") {
        return of_resources(whole);
    }
    let containers = list(spec, "initContainers").iter().chain(list(spec, "containers"));
    let mut found = None;
    for container in containers {
        let quality = of_resources(at(container, &["resources"]));
        if quality == "Burstable" || found.is_some_and(|found| found != quality) {
            return "Burstable";
        }
        found = Some(quality);
    }
    found.unwrap_or("BestEffort")
}

fn of_resources(resources: &Value) -> &'static str {
    let amount =
        |field: &str, resource: &str| quantity(at(resources, &[field, resource])).filter(|it| !it.is_zero());
    let of = |resource: &str| match (amount("requests", resource), amount("limits", resource)) {
        (None, None) => "BestEffort",
        (request, limit) if request == limit => "Guaranteed",
        _ => "Burstable",
    };
    if of("cpu") == of("memory") { of("cpu") } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn qualities_of_service() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        for (resources, quality) in [
            (json!([{}]), "BestEffort"),
            (json!([{"requests": {"cpu": "0"}}]), "BestEffort"),
            (json!([{"requests": {"example.com/x": "1"}, "limits": {"example.com/x": "1"}}]), "BestEffort"),
            (json!([{"requests": both, "limits": {"cpu": "1000m", "memory": "1024Mi"}}]), "Guaranteed"),
            (json!([{"requests": both, "limits": both}, {}]), "Burstable"),
            (json!([{"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}]), "Burstable"),
            (json!([{"requests": {"cpu": "1"}}]), "Burstable"),
        ] {
            let containers: Vec<Value> =
                resources.as_array().into_iter().flatten().map(|of| json!({"resources": of})).collect();
            assert_eq!(super::quality(&json!({"containers": containers})), quality, "{resources}");
        }
    }

    #[test]
    fn a_pod_as_a_whole() {
        let mut spec = json!({
            "resources": {"limits": {"cpu": "4", "memory": "1Gi"}},
            "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
            "containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "500m"}}}],
        });
        fill(&mut spec);
        assert_eq!(spec["resources"]["requests"], json!({"cpu": "3", "memory": "1Gi"}));
        assert_eq!(super::quality(&spec), "Burstable");
    }
}
