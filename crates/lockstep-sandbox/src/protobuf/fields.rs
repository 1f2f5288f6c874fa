//! What messages there are and which fields they have.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::facts;

/// Where kinds come from that belong to every group.
const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1";

/// All messages, by name (`k8s.io.api.core.v1.Pod`).
#[derive(Debug)]
pub struct Messages {
    packages: BTreeMap<String, String>,
    messages: BTreeMap<String, Message>,
}

/// What a message is made of.
#[derive(Debug)]
pub enum Message {
    /// Fields.
    Fields(Vec<Field>),
    /// Nothing but a list of these, which is what it is in JSON.
    List(Kind),
}

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    /// Its number.
    pub number: u32,
    /// Its name in JSON; empty if its own fields take its place there.
    pub name: String,
    /// What it holds, or what each of its values is.
    pub kind: Kind,
    /// How many it holds.
    pub many: Many,
    /// It need not be there.
    pub pointer: bool,
    /// It is not written if it is empty.
    pub omit_empty: bool,
    /// It is not written if all of it is zero.
    pub omit_zero: bool,
}

/// How many values a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// A list.
    List,
    /// A map by texts.
    Map,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// A truth value.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A message of this name.
    Message(String),
}

impl Messages {
    /// Those of Kubernetes.
    pub fn known() -> &'static Self {
        static READ: OnceLock<Messages> = OnceLock::new();
        READ.get_or_init(|| Self::read(facts::messages()))
    }

    fn read(facts: &serde_json::Map<String, Value>) -> Self {
        let entries = |name: &str| facts.get(name).and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            packages: entries("packages")
                .map(|(version, package)| (version.clone(), text(package)))
                .collect(),
            messages: entries("messages").map(|(name, told)| (name.clone(), Message::read(told))).collect(),
        }
    }

    /// The message of this name.
    pub fn get(&self, name: &str) -> Option<&Message> {
        self.messages.get(name)
    }

    /// The name of the message of a kind. Options belong to every group, and to none.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<String> {
        let own = self.packages.get(api_version).map(|package| format!("{package}.{kind}"));
        let candidates = own.into_iter().chain([format!("{META}.{kind}")]);
        candidates.into_iter().find(|name| self.messages.contains_key(name))
    }
}

impl Message {
    fn read(told: &Value) -> Self {
        match told.get("items").and_then(Value::as_str) {
            Some(items) => Self::List(Kind::read(items)),
            None => Self::Fields(told.as_array().into_iter().flatten().map(Field::read).collect()),
        }
    }
}

impl Field {
    fn read(told: &Value) -> Self {
        let is = |flag: &str| told.get(flag) == Some(&Value::Bool(true));
        let text = |field: &str| told.get(field).and_then(Value::as_str).unwrap_or_default();
        let number = told.get("number").and_then(Value::as_u64);
        let many = match (is("list"), is("map")) {
            (true, _) => Many::List,
            (_, true) => Many::Map,
            _ => Many::One,
        };
        Self {
            number: number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default(),
            name: text("name").to_owned(),
            kind: Kind::read(text("type")),
            many,
            pointer: is("pointer"),
            omit_empty: is("omitEmpty"),
            omit_zero: is("omitZero"),
        }
    }
}

impl Kind {
    fn read(told: &str) -> Self {
        match told {
            "string" => Self::Text,
            "bytes" => Self::Bytes,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            message => Self::Message(message.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protobuf::special;

    #[test]
    fn messages_of_kinds() {
        let messages = Messages::known();
        for (version, kind, message) in [
            ("v1", "Pod", Some("k8s.io.api.core.v1.Pod")),
            ("rbac.authorization.k8s.io/v1", "Role", Some("k8s.io.api.rbac.v1.Role")),
            ("policy/v1", "Eviction", Some("k8s.io.api.policy.v1.Eviction")),
            ("policy/v1", "DeleteOptions", Some("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions")),
            ("meta.k8s.io/v1", "DeleteOptions", Some("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions")),
            ("apps/v1", "Pod", None),
        ] {
            assert_eq!(messages.of_kind(version, kind).as_deref(), message, "{version} {kind}");
        }
    }

    #[test]
    fn what_messages_are_made_of_is_known() {
        let messages = Messages::known();
        let all = messages.messages.values().flat_map(|message| match message {
            Message::Fields(fields) => fields.iter().map(|field| &field.kind).collect(),
            Message::List(kind) => vec![kind],
        });
        let mut seen = 0;
        for kind in all {
            if let Kind::Message(name) = kind {
                assert!(messages.get(name).is_some() || special::is_special(name), "{name}");
                seen += 1;
            }
        }
        assert!(seen > 500);
    }
}
