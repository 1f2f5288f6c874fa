//! Questions to webhooks, and what is known of their answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::conversion;

/// A question to a webhook.
#[derive(Debug, Clone)]
pub struct Call {
    /// What it is about.
    pub(super) about: Subject,
    /// The webhook, as it is named in messages: that of a conversion is named like the definition.
    pub name: String,
    /// `clientConfig` of the configuration: a URL, or a service, and whom to trust.
    pub client: Value,
    /// How many seconds it has.
    pub timeout: u64,
    /// What is sent: a review.
    pub body: Value,
}

/// What a question is about. The same question has the same key.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    /// Whether something may be written, and how.
    Admission(String),
    /// How objects look in another version: a key for each of them.
    Conversion(Vec<String>),
}

/// What is known about a request from elsewhere: what webhooks have said to it, by the key of the question, and by what
/// it can be told from all others.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// A review or a converted object, or why there is none.
    said: BTreeMap<String, Result<Value, String>>,
    occasion: String,
}

impl Told {
    /// Nothing yet, about a request that has a number nobody else's has. What is made up for it (identities, names)
    /// stays the same however often it is thought through.
    pub fn about(occasion: String) -> Self {
        Self { occasion, ..Self::default() }
    }

    /// Keeps an answer.
    pub fn tell(&mut self, call: &Call, answer: Result<Value, String>) {
        match &call.about {
            Subject::Admission(key) => drop(self.said.insert(key.clone(), answer)),
            Subject::Conversion(keys) => {
                self.said.extend(keys.iter().cloned().zip(conversion::converted(&call.body, answer)));
            }
        }
    }

    pub(super) fn of(&self, key: &str) -> Option<&Result<Value, String>> {
        self.said.get(key)
    }

    /// What is made up for this request is made from this, or from the revision where it has no number.
    pub(super) fn occasion(&self, revision: u64) -> String {
        match self.occasion.as_str() {
            "" => revision.to_string(),
            numbered => numbered.to_owned(),
        }
    }
}
