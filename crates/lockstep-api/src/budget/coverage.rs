//! Which pods a budget covers.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{ParseExpressionError, Selector, SelectorExt};

use super::made::is_target;
use super::owners::Chain;
use super::{PodUnavailableBudget, TargetRef};

/// Which pods of its namespace a budget covers.
#[derive(Debug, Clone, PartialEq)]
pub enum Coverage {
    /// Those with these labels.
    Labels(Selector),
    /// Those below this workload, by its API group, kind and name. Its version does not matter.
    Below(TargetRef),
    /// None: it names none.
    Nothing,
}

impl Coverage {
    /// What a budget covers. One that says both, which admission refuses, goes by its selector.
    pub fn of(budget: &PodUnavailableBudget) -> Result<Self, ParseExpressionError> {
        match (&budget.spec.selector, budget.target()) {
            (Some(selector), _) => Ok(Self::Labels(Selector::try_from(selector.clone())?)),
            (None, Some(target)) => Ok(Self::Below(target.clone())),
            (None, None) => Ok(Self::Nothing),
        }
    }

    /// Whether it may cover a pod, as far as the pod alone can tell.
    pub fn may_cover(&self, pod: &ObjectMeta) -> bool {
        match self {
            Self::Labels(selector) => match &pod.labels {
                Some(labels) => selector.matches(labels),
                None => selector.matches(&BTreeMap::new()),
            },
            Self::Below(_) => pod.owner_references.is_some(),
            Self::Nothing => false,
        }
    }

    /// Whether it covers a pod of its namespace.
    pub fn covers(&self, labels: &BTreeMap<String, String>, chain: &Chain) -> bool {
        match self {
            Self::Labels(selector) => selector.matches(labels),
            Self::Below(target) => chain.owners().iter().any(|owner| is_target(owner, target)),
            Self::Nothing => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use serde_json::{Value, json};

    use super::*;

    fn covers(spec: Value, labels: &Value) -> bool {
        let budget = PodUnavailableBudget {
            spec: serde_json::from_value(spec).unwrap(),
            ..PodUnavailableBudget::default()
        };
        let owner = OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: "llm".to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        };
        let pod = ObjectMeta { owner_references: Some(vec![owner]), ..ObjectMeta::default() };
        let labels = serde_json::from_value(labels.clone()).unwrap();
        Coverage::of(&budget).unwrap().covers(&labels, &Chain::climb(&pod, |_| None))
    }

    #[test]
    fn by_labels_or_by_workload() {
        let target = |api_version, kind, name| json!({"apiVersion": api_version, "kind": kind, "name": name});
        let labels = json!({"app": "llm"});
        for (spec, want) in [
            (json!({"selector": {"matchLabels": {"app": "llm"}}}), true),
            (json!({"selector": {"matchLabels": {"app": "web"}}}), false),
            (
                json!({"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["llm"]}]}}),
                true,
            ),
            (json!({"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}), false),
            (json!({"selector": {}}), true),
            (json!({"targetRef": target("apps/v1", "StatefulSet", "llm")}), true),
            (json!({"targetReference": target("apps/v1beta1", "StatefulSet", "llm")}), true),
            (json!({"targetRef": target("apps.kruise.io/v1", "StatefulSet", "llm")}), false),
            (json!({"targetRef": target("apps/v1", "StatefulSet", "web")}), false),
            (json!({}), false),
        ] {
            assert_eq!(covers(spec.clone(), &labels), want, "{spec}");
        }
    }
}
