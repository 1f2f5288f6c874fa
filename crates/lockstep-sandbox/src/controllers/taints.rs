//! Taints, and who tolerates them.

use serde_json::Value;

use super::read::{list, text};

/// Keeps pods away from a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taint {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) effect: String,
}

/// Lets a pod be where a taint would keep it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toleration {
    key: String,
    value: String,
    operator: String,
    effect: String,
    /// For how long, where pods would be sent away.
    pub(super) seconds: Option<i64>,
}

impl Taint {
    pub(super) fn new(key: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), value: String::new(), effect: effect.to_owned() }
    }

    /// The taints of a node.
    pub(super) fn of(node: &Value) -> Vec<Self> {
        list(&node["spec"]["taints"]).iter().map(Self::read).collect()
    }

    pub(super) fn read(taint: &Value) -> Self {
        Self {
            key: text(&taint["key"]).to_owned(),
            value: text(&taint["value"]).to_owned(),
            effect: text(&taint["effect"]).to_owned(),
        }
    }

    /// It keeps new pods away.
    pub(super) fn keeps_away(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }

    /// One of these tolerates it.
    pub(super) fn is_tolerated(&self, tolerations: &[Toleration]) -> bool {
        tolerations.iter().any(|toleration| toleration.tolerates(self))
    }
}

impl Toleration {
    /// The tolerations of a pod.
    pub(super) fn of(pod: &Value) -> Vec<Self> {
        let read = |toleration: &Value| Self {
            key: text(&toleration["key"]).to_owned(),
            value: text(&toleration["value"]).to_owned(),
            operator: text(&toleration["operator"]).to_owned(),
            effect: text(&toleration["effect"]).to_owned(),
            seconds: toleration["tolerationSeconds"].as_i64(),
        };
        list(&pod["spec"]["tolerations"]).iter().map(read).collect()
    }

    /// It tolerates this taint.
    pub(super) fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        effect && key && self.accepts(&taint.value)
    }

    fn accepts(&self, value: &str) -> bool {
        let numbers = || self.value.parse::<i64>().ok().zip(value.parse::<i64>().ok());
        match self.operator.as_str() {
            "" | "Equal" => self.value == value,
            "Exists" => true,
            "Gt" => numbers().is_some_and(|(bound, value)| value > bound),
            "Lt" => numbers().is_some_and(|(bound, value)| value < bound),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_tolerates_what() {
        let taint = Taint::read(&json!({"key": "a", "value": "1", "effect": "NoSchedule"}));
        for (toleration, tolerates) in [
            (json!({"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}), true),
            (json!({"key": "a", "value": "1"}), true),
            (json!({"key": "a", "value": "2"}), false),
            (json!({"key": "a", "operator": "Exists"}), true),
            (json!({"key": "a", "operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"operator": "Exists"}), true),
            (json!({"key": "b", "operator": "Exists"}), false),
            (json!({"key": "a", "operator": "Gt", "value": "0"}), true),
            (json!({"key": "a", "operator": "Lt", "value": "1"}), false),
        ] {
            let pod = json!({"spec": {"tolerations": [toleration]}});
            assert_eq!(taint.is_tolerated(&Toleration::of(&pod)), tolerates, "{toleration}");
        }
    }
}
