//! Webhooks, and what they want to know of.

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::Kind;
use crate::selector::Selector;

use super::Question;

/// One webhook of a configuration.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    pub configuration: Arc<str>,
    pub spec: Value,
}

impl Hook {
    pub fn name(&self) -> &str {
        self.spec["name"].as_str().unwrap_or_default()
    }

    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.spec["rules"].as_array().into_iter().flatten()
    }

    /// It is asked again if others change what it has seen.
    pub fn is_reinvoked(&self) -> bool {
        self.spec["reinvocationPolicy"] == "IfNeeded"
    }

    /// Which of these versions of a kind it wants to see, the first of which was asked for. Whoever is not exact is told
    /// of every version, in one that it names.
    pub fn wanted<'a>(&self, versions: &[&'a Arc<Kind>], question: &Question<'_>) -> Option<&'a Arc<Kind>> {
        let asked =
            versions.first().filter(|kind| self.rules().any(|rule| rule_matches(rule, kind, question)));
        if asked.is_some() || self.spec["matchPolicy"] == "Exact" {
            return asked.copied();
        }
        self.rules().find_map(|rule| versions.iter().find(|kind| rule_matches(rule, kind, question)).copied())
    }

    /// The object is one of those it wants to know about.
    pub fn selects(&self, question: &Question<'_>) -> bool {
        let Some(selector) = Selector::of_object(&self.spec["objectSelector"]) else { return true };
        let chosen = |object: &Value| object.is_object() && selector.selects(&object["metadata"]["labels"]);
        selector.is_empty() || chosen(question.object) || chosen(question.old)
    }
}

fn names(list: &Value, wanted: &str) -> bool {
    let mut listed = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    listed.any(|listed| listed == "*" || listed == wanted)
}

fn rule_matches(rule: &Value, kind: &Kind, question: &Question<'_>) -> bool {
    let scope = match rule["scope"].as_str() {
        Some("Namespaced") => kind.namespaced,
        Some("Cluster") => !kind.namespaced,
        _ => true,
    };
    scope
        && names(&rule["operations"], question.operation)
        && names(&rule["apiGroups"], &kind.of.group)
        && names(&rule["apiVersions"], &kind.of.version)
        && rule_names_resource(&rule["resources"], &kind.plural, question.target.subresource.as_deref())
}

fn rule_names_resource(resources: &Value, plural: &str, part: Option<&str>) -> bool {
    let mut listed = resources.as_array().into_iter().flatten().filter_map(Value::as_str);
    listed.any(|listed| match (listed.split_once('/'), part) {
        (None, None) => listed == "*" || listed == plural,
        (None, Some(_)) => false,
        (Some((resource, listed)), part) => {
            (resource == "*" || resource == plural) && (listed == "*" || part == Some(listed))
        }
    })
}
