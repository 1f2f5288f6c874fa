//! Who asks for a rollout to be aligned: the resource template itself, or a policy of its namespace.

use std::collections::BTreeMap;

use lockstep_api::federation::{FederationPolicy, FederationPolicySpec};
use serde_json::Value;

use crate::interpret::Interpretation;
use crate::{ALIGNED, ROLLOUT};

/// What is asked of a workload's rollout; nothing if nobody asks. Of several policies the first by name counts. A
/// template can ask by itself, and can keep out of what a policy asks.
pub fn of(
    workload: &Value,
    kind: &Interpretation,
    policies: &[FederationPolicy],
) -> Option<FederationPolicySpec> {
    let said = workload["metadata"]["annotations"][ROLLOUT].as_str();
    let labels = labels(workload);
    let mut selecting = policies.iter().filter(|it| it.spec.selects(&kind.kind, &labels));
    let policy = selecting.next().map(|it| it.spec.clone());
    match said {
        None => policy,
        Some(ALIGNED) => Some(policy.unwrap_or_default()),
        Some(_) => None,
    }
}

fn labels(workload: &Value) -> BTreeMap<String, String> {
    let labels = workload["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret;
    use serde_json::json;

    #[test]
    fn a_template_asks_or_a_policy_does() {
        let policy = |spec: Value| FederationPolicy {
            spec: serde_json::from_value(spec).unwrap(),
            ..FederationPolicy::default()
        };
        let web = json!({"selector": {"matchLabels": {"app": "web"}}});
        let rows = [
            (json!({}), vec![], false),
            (json!({"annotations": {ROLLOUT: "aligned"}}), vec![], true),
            (json!({"labels": {"app": "web"}}), vec![policy(web.clone())], true),
            (json!({"labels": {"app": "db"}}), vec![policy(web.clone())], false),
            (json!({"labels": {"app": "web"}, "annotations": {ROLLOUT: "alone"}}), vec![policy(web)], false),
            (json!({}), vec![policy(json!({"kinds": ["CloneSet"]}))], false),
            (json!({}), vec![policy(json!({"kinds": ["Deployment"]}))], true),
        ];
        for (metadata, policies, asked) in rows {
            let workload = json!({"metadata": metadata});
            let found = of(&workload, &interpret::built_in()[0], &policies);
            assert_eq!(found.is_some(), asked, "{workload} {policies:?}");
        }
    }
}
