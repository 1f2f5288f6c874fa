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
#[serde(transparent)]
pub struct Profile {
    /// The rules in order.
    pub rules: Vec<Rule>,
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

/// A profile whose selectors have been understood.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    rules: Vec<(Selector, Option<String>, Behaviour)>,
}

impl Rules {
    pub(crate) fn new(profile: Profile) -> Result<Self, BadSelector> {
        let read = |(index, rule): (usize, Rule)| {
            let selector = Selector::try_from(rule.selector)
                .map_err(|reason| BadSelector { index, reason: reason.to_string() })?;
            Ok((selector, rule.node, rule.behaviour))
        };
        let rules = profile.rules.into_iter().enumerate().map(read).collect::<Result<_, BadSelector>>()?;
        Ok(Self { rules })
    }

    /// How a pod with these labels on this node behaves, `own` being what its annotations say.
    pub(crate) fn behaviour(
        &self,
        labels: &BTreeMap<String, String>,
        node: &str,
        own: Behaviour,
    ) -> Behaviour {
        let fits = |(selector, on, _): &&(Selector, Option<String>, Behaviour)| {
            on.as_deref().is_none_or(|on| on == node) && selector.matches(labels)
        };
        match self.rules.iter().find(fits) {
            Some((_, _, behaviour)) => own.or(behaviour),
            None => own,
        }
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
        let rules = Rules::new(serde_json::from_str(PROFILE).unwrap()).unwrap();
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
            assert_eq!(rules.behaviour(&labels, node, own), expected, "{revision} on {node}");
        }
    }

    #[test]
    fn a_selector_without_meaning_is_refused() {
        let text = r#"[{}, {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}]"#;
        let complaint = Rules::new(serde_json::from_str(text).unwrap()).unwrap_err();
        assert_eq!(complaint.index, 1);
    }
}
