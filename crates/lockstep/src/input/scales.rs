//! How large each role is scaled to, beside the numbers of the spec.

use std::collections::BTreeMap;

use lockstep_api::role_scale::RoleScale;
use lockstep_operator::set::{ScaleKnown, read_scale};
use serde_json::{Value, json};

/// The scales of a set's roles, by the roles' names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scales(BTreeMap<String, ScaleKnown>);

impl Scales {
    /// Reads the objects of a set.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a RoleScale>) -> Self {
        let read = objects.into_iter().map(read_scale);
        Self(read.map(|scale| (scale.role.to_string(), scale)).collect())
    }

    /// Gives the roles of a spec the sizes they have. A number that was changed in the spec since it was last
    /// taken over stands over the scale, as it does for the operator.
    pub fn apply(&self, spec: &mut Value) {
        for role in spec["roles"].as_array_mut().into_iter().flatten() {
            let Some(scale) = role["name"].as_str().and_then(|name| self.0.get(name)) else { continue };
            let written = role.get("replicas").map_or(Some(1), Value::as_u64);
            if written == scale.taken_over.map(u64::from)
                && let Some(fields) = role.as_object_mut()
            {
                fields.insert("replicas".to_owned(), json!(scale.replicas));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_counts_until_the_spec_says_another_number() {
        let scale = |role: &str, taken_over: &str| -> RoleScale {
            let annotations = json!({"lockstep.dev/replicas-of-spec": taken_over});
            serde_json::from_value(json!({
                "apiVersion": "lockstep.dev/v1alpha1", "kind": "RoleScale",
                "metadata": {"name": role, "annotations": annotations},
                "spec": {"set": "llama", "role": role, "replicas": 7},
            }))
            .unwrap()
        };
        let scales = [scale("decode", "2"), scale("prefill", "1"), scale("router", "4"), scale("gone", "1")];
        let mut spec = json!({"roles": [
            {"name": "decode", "replicas": 2}, {"name": "prefill"}, {"name": "router", "replicas": 5},
            {"name": "cache", "replicas": 3},
        ]});
        Scales::of(&scales).apply(&mut spec);
        let sizes: Vec<u64> =
            spec["roles"].as_array().unwrap().iter().map(|role| role["replicas"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [7, 7, 5, 3]);
    }
}
