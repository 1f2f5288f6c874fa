//! Pod templates: what the ModelServing as a whole says about every pod.

use serde_json::{Value, json};

use super::identity::{ENVIRONMENT, NAME};
use super::spec::Spec;
use crate::Findings;

/// A pod template with what holds for all pods put in. `at` is where it was written.
pub(super) fn complete(
    template: &Value,
    name: &str,
    spec: &Spec,
    at: &str,
    found: &mut Findings<'_>,
) -> Value {
    let mut template = template.clone();
    let Some(pod) = template.get_mut("spec").filter(|pod| pod.is_object()) else { return template };
    if let Some(scheduler) = &spec.scheduler_name {
        pod["schedulerName"] = json!(scheduler);
    }
    if let Some(constraints) = spec.topology_spread_constraints.as_ref().filter(|list| !list.is_empty()) {
        let own = pod["topologySpreadConstraints"].as_array().cloned().unwrap_or_default();
        let common = constraints.iter().map(|constraint| selecting(constraint, name));
        pod["topologySpreadConstraints"] = Value::Array(own.into_iter().chain(common).collect());
    }
    for list in ["containers", "initContainers"] {
        let containers = pod.get_mut(list).and_then(Value::as_array_mut);
        for (i, container) in containers.into_iter().flatten().enumerate() {
            without_ours(container, &format!("{at}.spec.{list}[{i}]"), found);
        }
    }
    template
}

/// A constraint that selects nothing is about all pods of the ModelServing.
fn selecting(constraint: &Value, name: &str) -> Value {
    let mut constraint = constraint.clone();
    if constraint["labelSelector"].is_null() {
        constraint["labelSelector"] = json!({"matchLabels": {NAME: name}});
    }
    constraint
}

/// Variables that every container gets cannot be set by it.
fn without_ours(container: &mut Value, at: &str, found: &mut Findings<'_>) {
    let Some(variables) = container.get_mut("env").and_then(Value::as_array_mut) else { return };
    let ours = |variable: &Value| ENVIRONMENT.iter().any(|(name, _)| variable["name"] == *name);
    for (i, variable) in variables.iter().enumerate().filter(|(_, variable)| ours(variable)) {
        let name = variable["name"].as_str().unwrap_or_default();
        found.warn(format!("{at}.env[{i}]"), format!("has no effect: {name} is given to every container"));
    }
    variables.retain(|variable| !ours(variable));
}
