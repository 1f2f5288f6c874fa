//! Which nodes a pod wants, and which other pods it wants near or apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::controllers::read::{self, list, text};
use crate::selector::Selector;

/// Labels, by key.
pub(super) type Labels = BTreeMap<String, String>;

/// What a node must be like.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeRule {
    labels: Selector,
    /// One of these must hold; none: no matter.
    terms: Option<Vec<NodeTerm>>,
}

#[derive(Debug, Clone)]
struct NodeTerm {
    labels: Selector,
    fields: Selector,
    /// The names it admits, if it tells them.
    names: Option<BTreeSet<String>>,
}

impl NodeTerm {
    /// A term that says nothing holds for no node.
    fn read(term: &Value) -> Option<Self> {
        let labels = Selector::expressions(&term["matchExpressions"]);
        let fields = Selector::expressions(&term["matchFields"]);
        let names = list(&term["matchFields"]).iter().filter(|field| field["operator"] == "In");
        let names =
            names.map(|field| list(&field["values"]).iter().map(|name| text(name).to_owned()).collect());
        let names = names.reduce(|one: BTreeSet<String>, other| &one & &other);
        (!labels.is_empty() || !fields.is_empty()).then_some(Self { labels, fields, names })
    }

    fn holds(&self, name: &str, labels: &Labels) -> bool {
        let field = Labels::from([("metadata.name".to_owned(), name.to_owned())]);
        (self.labels.is_empty() || self.labels.matches(labels))
            && (self.fields.is_empty() || self.fields.matches(&field))
    }
}

impl NodeRule {
    /// The selector and the required affinity of a pod.
    pub(super) fn read(spec: &Value) -> Self {
        let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let terms = required["nodeSelectorTerms"].as_array();
        Self {
            labels: Selector::equal(&spec["nodeSelector"]),
            terms: terms.map(|terms| terms.iter().filter_map(NodeTerm::read).collect()),
        }
    }

    /// Whether a node is like this.
    pub(super) fn admits(&self, name: &str, labels: &Labels) -> bool {
        self.labels.matches(labels)
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.holds(name, labels)))
    }

    /// The only nodes it can admit, if it names them.
    pub(super) fn names(&self) -> Option<BTreeSet<String>> {
        let terms = self.terms.as_ref().filter(|terms| !terms.is_empty())?;
        let names = terms.iter().map(|term| term.names.clone());
        names.collect::<Option<Vec<_>>>().map(|names| names.into_iter().flatten().collect())
    }
}

/// What a node should rather be like.
#[derive(Debug, Clone)]
pub(super) struct Preference {
    weight: i64,
    term: NodeTerm,
}

impl Preference {
    /// The preferred node affinity of a pod.
    pub(super) fn all(affinity: &Value) -> Vec<Self> {
        let preferred = list(&affinity["preferredDuringSchedulingIgnoredDuringExecution"]);
        let read = |preferred: &Value| {
            let term = NodeTerm::read(&preferred["preference"])?;
            Some(Self { weight: read::number(&preferred["weight"]), term })
        };
        preferred.iter().filter_map(read).collect()
    }

    /// How much this speaks for a node.
    pub(super) fn weight_of(&self, name: &str, labels: &Labels) -> i64 {
        if self.term.holds(name, labels) { self.weight } else { 0 }
    }
}

/// Other pods, and within what they are near.
#[derive(Debug, Clone)]
pub(super) struct Term {
    selector: Option<Selector>,
    namespaces: BTreeSet<String>,
    namespace_selector: Option<Selector>,
    /// Nodes with the same value of this label are one place.
    pub(super) topology: String,
}

impl Term {
    /// Reads a term of a pod in this namespace, with these labels.
    pub(super) fn read(term: &Value, namespace: &str, labels: &Labels) -> Self {
        let mut selector = Selector::of_object(&term["labelSelector"]);
        for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
            for key in list(&term[keys]).iter().map(text) {
                if let Some((selector, value)) = selector.as_mut().zip(labels.get(key)) {
                    selector.add(key, operator, value);
                }
            }
        }
        let mut namespaces: BTreeSet<String> =
            list(&term["namespaces"]).iter().map(|name| text(name).to_owned()).collect();
        let namespace_selector = Selector::of_object(&term["namespaceSelector"]);
        if namespaces.is_empty() && namespace_selector.is_none() {
            namespaces.insert(namespace.to_owned());
        }
        let topology = text(&term["topologyKey"]).to_owned();
        Self { selector, namespaces, namespace_selector, topology }
    }

    /// Whether it means a pod with these labels, in a namespace with those.
    pub(super) fn means(&self, namespace: &str, of_namespace: Option<&Labels>, labels: &Labels) -> bool {
        let nothing = Labels::new();
        let there = self.namespaces.contains(namespace)
            || self
                .namespace_selector
                .as_ref()
                .is_some_and(|selector| selector.matches(of_namespace.unwrap_or(&nothing)));
        there && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}
