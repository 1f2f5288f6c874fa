//! Rules that tell many pods how to behave.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;

/// One rule: which pods, and how they behave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which pods; all if left out.
    #[serde(default)]
    pub selector: LabelSelector,
    /// Only pods of this node; of every node if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How they behave.
    #[serde(default)]
    pub behaviour: Behaviour,
}

/// A list of rules; the first that fits a pod holds. The pod's own annotations go before it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Rule>", into = "Vec<Rule>")]
pub struct Profile {
    rules: Vec<(Selector, Rule)>,
}

/// A rule whose selector means nothing.
#[derive(Debug, thiserror::Error)]
#[error("rule {index} of the profile has a selector that cannot be read: {reason}")]
pub struct BadSelector {
    /// Which rule, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Profile {
    /// A profile of these rules, in this order.
    pub fn new(rules: Vec<Rule>) -> Result<Self, BadSelector> {
        let read = |(index, rule): (usize, Rule)| {
            let selector = Selector::try_from(rule.selector.clone())
                .map_err(|reason| BadSelector { index, reason: reason.to_string() })?;
            Ok((selector, rule))
        };
        let rules = rules.into_iter().enumerate().map(read).collect::<Result<_, BadSelector>>()?;
        Ok(Self { rules })
    }

    /// How a pod with these labels on this node behaves, `own` being what its annotations say.
    pub fn behaviour(&self, labels: &BTreeMap<String, String>, node: &str, own: Behaviour) -> Behaviour {
        let fits = |(selector, rule): &&(Selector, Rule)| {
            rule.node.as_deref().is_none_or(|on| on == node) && selector.matches(labels)
        };
        match self.rules.iter().find(fits) {
            Some((_, rule)) => own.or(&rule.behaviour),
            None => own,
        }
    }
}

impl TryFrom<Vec<Rule>> for Profile {
    type Error = BadSelector;

    fn try_from(rules: Vec<Rule>) -> Result<Self, BadSelector> {
        Self::new(rules)
    }
}

impl From<Profile> for Vec<Rule> {
    fn from(profile: Profile) -> Self {
        profile.rules.into_iter().map(|(_, rule)| rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Image;

    const PROFILE: &str = r#"[
        {"selector": {"matchLabels": {"revision": "b"}}, "node": "n1", "behaviour": {"crashes": 1}},
        {"selector": {"matchExpressions": [{"key": "revision", "operator": "In", "values": ["b", "c"]}]},
         "behaviour": {"image": "missing"}},
        {"behaviour": {"crashes": 9}}
    ]"#;

    fn crashes(n: u32) -> Behaviour {
        Behaviour { crashes: Some(n), ..Behaviour::default() }
    }

    #[test]
    fn the_first_rule_that_fits_holds_and_annotations_go_before_it() {
        let profile: Profile = serde_json::from_str(PROFILE).unwrap();
        let missing = Behaviour { image: Some(Image::Missing), ..Behaviour::default() };
        for (revision, node, own, expected) in [
            ("b", "n1", Behaviour::default(), crashes(1)),
            ("b", "n2", Behaviour::default(), missing.clone()),
            ("c", "n1", Behaviour::default(), missing.clone()),
            ("a", "n1", Behaviour::default(), crashes(9)),
            ("a", "n1", crashes(5), crashes(5)),
            ("c", "n1", crashes(5), crashes(5).or(&missing)),
        ] {
            let labels = BTreeMap::from([("revision".to_owned(), revision.to_owned())]);
            assert_eq!(profile.behaviour(&labels, node, own), expected, "{revision} on {node}");
        }
    }

    #[test]
    fn a_profile_is_data() {
        let profile: Profile = serde_json::from_str(PROFILE).unwrap();
        let again = serde_json::from_str(&serde_json::to_string(&profile).unwrap()).unwrap();
        assert_eq!(profile, again);
    }

    #[test]
    fn a_selector_without_meaning_is_refused() {
        let text = r#"[{}, {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}]"#;
        let complaint = serde_json::from_str::<Profile>(text).unwrap_err().to_string();
        assert!(complaint.contains("rule 1 of the profile"), "{complaint}");
    }
}
