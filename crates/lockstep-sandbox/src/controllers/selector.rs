//! Selectors over labels.

use std::collections::BTreeMap;

use serde_json::Value;

use super::read::{entries, list, text};

/// What labels have to be like.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    /// One nobody knows: nothing fulfils it.
    Unknown,
}

impl Selector {
    /// A `LabelSelector`. One that is not there selects nothing, an empty one everything.
    pub(super) fn read(selector: &Value) -> Option<Self> {
        if !selector.is_object() {
            return None;
        }
        let equal = Self::equal(&selector["matchLabels"]).requirements;
        let other = Self::expressions(&selector["matchExpressions"]).requirements;
        Some(Self { requirements: equal.into_iter().chain(other).collect() })
    }

    /// Each of these labels must have this value.
    pub(super) fn equal(labels: &Value) -> Self {
        let requirements = entries(labels).map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![text(value).to_owned()],
        });
        Self { requirements: requirements.collect() }
    }

    /// A list of key, operator and values.
    pub(super) fn expressions(expressions: &Value) -> Self {
        let requirements = list(expressions).iter().map(|expression| Requirement {
            key: text(&expression["key"]).to_owned(),
            operator: Operator::read(text(&expression["operator"])),
            values: list(&expression["values"]).iter().map(|value| text(value).to_owned()).collect(),
        });
        Self { requirements: requirements.collect() }
    }

    /// Requires also this of a label.
    pub(super) fn add(&mut self, key: &str, operator: &str, value: &str) {
        let (operator, values) = (Operator::read(operator), vec![value.to_owned()]);
        self.requirements.push(Requirement { key: key.to_owned(), operator, values });
    }

    /// It requires nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels of an object are like this.
    pub(super) fn selects(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.requirements.iter().all(|required| required.holds(labels[&required.key].as_str()))
    }

    /// Whether labels are like this.
    pub(super) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|required| required.holds(labels.get(&required.key).map(String::as_str)))
    }
}

impl Operator {
    fn read(name: &str) -> Self {
        match name {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            _ => Self::Unknown,
        }
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let among = |value: &str| self.values.iter().any(|wanted| wanted == value);
        match self.operator {
            Operator::In => value.is_some_and(among),
            Operator::NotIn => !value.is_some_and(among),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => self.compare(value, |value, bound| value > bound),
            Operator::Lt => self.compare(value, |value, bound| value < bound),
            Operator::Unknown => false,
        }
    }

    fn compare(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| bound.parse().ok());
        let value = value.and_then(|value| value.parse().ok());
        value.zip(bound).is_some_and(|(value, bound)| holds(value, bound))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_selectors_select() {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("n".to_owned(), "7".to_owned())]);
        for (expression, matches) in [
            (json!({"key": "a", "operator": "In", "values": ["0", "1"]}), true),
            (json!({"key": "a", "operator": "In", "values": ["0"]}), false),
            (json!({"key": "b", "operator": "In", "values": ["0"]}), false),
            (json!({"key": "a", "operator": "NotIn", "values": ["1"]}), false),
            (json!({"key": "b", "operator": "NotIn", "values": ["1"]}), true),
            (json!({"key": "a", "operator": "Exists"}), true),
            (json!({"key": "b", "operator": "Exists"}), false),
            (json!({"key": "b", "operator": "DoesNotExist"}), true),
            (json!({"key": "a", "operator": "DoesNotExist"}), false),
            (json!({"key": "n", "operator": "Gt", "values": ["6"]}), true),
            (json!({"key": "n", "operator": "Gt", "values": ["7"]}), false),
            (json!({"key": "n", "operator": "Lt", "values": ["8"]}), true),
            (json!({"key": "n", "operator": "Lt", "values": ["x"]}), false),
            (json!({"key": "b", "operator": "Lt", "values": ["8"]}), false),
            (json!({"key": "a", "operator": "Like"}), false),
        ] {
            let selector = Selector::read(&json!({"matchExpressions": [expression]})).expect("a selector");
            assert_eq!(selector.matches(&labels), matches, "{expression}");
        }
        assert_eq!(Selector::read(&Value::Null), None);
        let everything = Selector::read(&json!({})).expect("a selector");
        assert!(everything.is_empty() && everything.matches(&labels));
        let both =
            json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]});
        assert!(!Selector::read(&both).expect("a selector").matches(&labels));
    }
}
