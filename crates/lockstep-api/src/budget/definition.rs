//! The CustomResourceDefinition of PodUnavailableBudgets, as Kruise's users know it.

use k8s_openapi::Resource;
use serde_json::{Value, json};

use super::{PodUnavailableBudget, PodUnavailableBudgetSpec, PodUnavailableBudgetStatus};
use crate::bounds::LONGEST_LIST;
use crate::crd::definition::{Column, Definition, schema};
use crate::crd::rules::{self, Rule};
use crate::crd::structural;

/// The name of the definition.
pub const NAME: &str = "podunavailablebudgets.policy.kruise.io";

pub use crate::crd::MADE_BY;

const SPEC: &str = "/properties/spec";
const EXPRESSION: &str = "/properties/spec/properties/selector/properties/matchExpressions/items";

/// The definition.
pub fn definition() -> Value {
    let mut definition = Definition {
        group: PodUnavailableBudget::GROUP,
        kind: PodUnavailableBudget::KIND,
        singular: "podunavailablebudget",
        plural: PodUnavailableBudget::URL_PATH_SEGMENT,
        short: "pub",
        columns: vec![
            Column::number("Total", ".status.totalReplicas", "Units that are expected."),
            Column::number("Available", ".status.currentAvailable", "Units that are available."),
            Column::number("Desired", ".status.desiredAvailable", "Units that must stay available."),
            Column::number("Allowed", ".status.unavailableAllowed", "Units that may be taken away now."),
            Column::age(),
        ],
        selectable: &[],
        scale: false,
        schema: whole(),
    }
    .to_json();
    definition["metadata"]["labels"] = json!({MADE_BY.0: MADE_BY.1});
    definition
}

/// Whether a definition of the kind is our own.
pub fn is_ours(definition: &Value) -> bool {
    definition["metadata"]["labels"][MADE_BY.0] == MADE_BY.1
}

fn whole() -> Value {
    let mut schema = schema(
        PodUnavailableBudget::API_VERSION,
        "At most so many units of a service unavailable on purpose, whoever asks: a drain, an eviction, a scale-in, a \
         rollout or a person.",
        (
            "Which pods, how they make up units, and how many of those may be gone.",
            structural::of::<PodUnavailableBudgetSpec>(),
        ),
        (
            "What it counts and has promised, written by the operator.",
            structural::without_defaults::<PodUnavailableBudgetStatus>(),
        ),
    );
    let properties = &mut schema["properties"]["spec"]["properties"];
    properties["protectOperations"]["maxItems"] = json!(3);
    properties["protectOperations"]["x-kubernetes-list-type"] = json!("set");
    properties["selector"]["properties"]["matchExpressions"]["maxItems"] = json!(LONGEST_LIST);
    rules::add(&mut schema, &rules());
    schema
}

fn rules() -> Vec<Rule> {
    let rule = |at, cel, says, field| Rule { at, cel, says, field };
    vec![
        rule(
            SPEC,
            "has(self.selector) || has(self.targetRef) || has(self.targetReference)",
            "needs one of selector, targetRef and targetReference: which pods it covers",
            None,
        ),
        rule(
            SPEC,
            "!has(self.targetRef) || !has(self.selector)",
            "selector says already which pods are covered; only one of them is accepted",
            Some(".targetRef"),
        ),
        rule(
            SPEC,
            "!has(self.targetReference) || !has(self.selector) && !has(self.targetRef)",
            "selector or targetRef says already which pods are covered; only one of them is accepted",
            Some(".targetReference"),
        ),
        rule(
            SPEC,
            "has(self.maxUnavailable) || has(self.minAvailable)",
            "needs maxUnavailable, minAvailable or both: how many may be gone",
            None,
        ),
        rule(
            EXPRESSION,
            "self.operator in ['In', 'NotIn'] == (has(self.values) && size(self.values) > 0)",
            "In and NotIn need one value or more; Exists and DoesNotExist take none",
            Some(".values"),
        ),
    ]
}
