//! Faults as data: which requests, and what happens to them.

use kube::core::Duration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{Request, Verb};

/// A fault, and the requests it happens to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which requests; all of them by default.
    #[serde(default)]
    pub which: Which,
    /// Lets the first of them pass.
    #[serde(default)]
    pub skip: u64,
    /// Happens so often at most; without it, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// What happens.
    pub fault: Fault,
}

impl Rule {
    /// A fault that happens to these requests, always.
    pub fn new(which: Which, fault: Fault) -> Self {
        Self { which, skip: 0, times: None, fault }
    }

    /// Only after so many requests.
    pub fn skip(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    /// Only so often.
    pub fn times(self, times: u64) -> Self {
        Self { times: Some(times), ..self }
    }
}

/// Which requests: all that fit every part that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Which {
    /// One of these; any if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<Verb>,
    /// This API group; empty for the core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// This resource, plural.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// This subresource; empty for the object itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// This namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// This object, or with a star at the end every object whose name starts like that. An object that is
    /// created without a name goes by its `generateName`; one that is created in protobuf, as Kubernetes' own
    /// controllers do, has no name here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user agent contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

impl Which {
    /// All requests.
    pub fn any() -> Self {
        Self::default()
    }

    /// These verbs, whatever they are about.
    pub fn verbs(verbs: impl IntoIterator<Item = Verb>) -> Self {
        Self { verbs: verbs.into_iter().collect(), ..Self::default() }
    }

    /// Every write.
    pub fn writes() -> Self {
        Self::verbs([Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection])
    }

    /// Of a resource, written as `pods` or `pods/eviction`; without the latter the objects themselves.
    pub fn of(self, resource: &str) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Self { resource: Some(resource.to_owned()), subresource: Some(subresource.to_owned()), ..self }
    }

    /// In an API group.
    pub fn group(self, group: &str) -> Self {
        Self { group: Some(group.to_owned()), ..self }
    }

    /// In a namespace.
    pub fn namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// One object, or with a star at the end all whose names start like that.
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// From clients that call themselves so, among other things.
    pub fn user_agent(self, part: &str) -> Self {
        Self { user_agent: Some(part.to_owned()), ..self }
    }

    /// Whether a request is one of them.
    pub fn fits(&self, request: &Request) -> bool {
        let same = |wanted: &Option<String>, have: &str| wanted.as_deref().is_none_or(|want| want == have);
        let named = |pattern: &str| match pattern.strip_suffix('*') {
            Some(prefix) => request.name.starts_with(prefix),
            None => request.name == pattern,
        };
        (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && same(&self.group, &request.group)
            && same(&self.resource, &request.resource)
            && same(&self.subresource, &request.subresource)
            && same(&self.namespace, &request.namespace)
            && self.name.as_deref().is_none_or(named)
            && self.user_agent.as_deref().is_none_or(|part| request.user_agent.contains(part))
    }
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// The request is sent on later. Delays add up, and other faults may follow.
    Delay(Duration),
    /// An error is answered; the request is never sent on.
    Refuse(Refusal),
    /// The request is carried out; then the connection is broken, so the client cannot know.
    LoseAnswer,
    /// The connection is broken; the request is never sent on.
    Drop,
    /// The request is sent on twice; the second answer counts.
    Duplicate,
    /// The request is carried out, and an error is answered nevertheless.
    FailApplied(Refusal),
    /// The stream of a watch stays open, but its events are held back and delivered in order once the rule is
    /// removed or the time is over. Watches that are open already are held as well.
    #[serde(rename_all = "camelCase")]
    HoldWatch {
        /// At most so long for one stream.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<Duration>,
    },
    /// The stream of a watch ends after so many more events; one that is open already, too.
    #[serde(rename_all = "camelCase")]
    CutWatch {
        /// How many; none ends it at once.
        after_events: u64,
    },
    /// The stream of a watch ends with an error event, `410 Expired`, as when the version it started from was
    /// compacted; one that is open already, too.
    GoneWatch,
}

impl Fault {
    /// Whether it happens to the stream of a watch, not to its request.
    pub fn is_of_streams(&self) -> bool {
        matches!(self, Self::HoldWatch { .. } | Self::CutWatch { .. } | Self::GoneWatch)
    }
}

/// An error as an API server answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// Kubernetes' word for it, such as `TooManyRequests` or `Conflict`.
    #[serde(default)]
    pub reason: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// Asks the client to wait so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

impl Refusal {
    /// An error with a status and its reason.
    pub fn new(status: u16, reason: &str) -> Self {
        let message = format!("refused by a fault: {reason}");
        Self { status, reason: reason.to_owned(), message, retry_after: None }
    }

    /// Asks to wait.
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The object an API server would answer.
    pub fn status_object(&self) -> Value {
        let mut status = json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
            "code": self.status, "reason": self.reason, "message": self.message,
        });
        if let Some(seconds) = self.retry_after {
            status["details"] = json!({"retryAfterSeconds": seconds});
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(verb: Verb, target: &str, namespace: &str, name: &str) -> Request {
        let (resource, subresource) = target.split_once('/').unwrap_or((target, ""));
        Request {
            verb,
            group: String::new(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            user_agent: "lockstep/0.1".to_owned(),
        }
    }

    #[test]
    fn every_part_narrows() {
        let evict = request(Verb::Create, "pods/eviction", "x", "web-0");
        let fits = [
            Which::any(),
            Which::writes(),
            Which::any().of("pods/eviction"),
            Which::any().group(""),
            Which::any().namespace("x"),
            Which::any().name("web-0"),
            Which::any().name("web-*"),
            Which::any().name("*"),
            Which::any().user_agent("lockstep"),
            Which { resource: Some("pods".to_owned()), ..Which::any() },
        ];
        let misses = [
            Which::verbs([Verb::Delete, Verb::Watch]),
            Which::any().of("pods"),
            Which::any().of("services/eviction"),
            Which::any().group("apps"),
            Which::any().namespace("y"),
            Which::any().namespace(""),
            Which::any().name("web"),
            Which::any().name("api-*"),
            Which::any().user_agent("kubectl"),
        ];
        assert!(fits.iter().all(|which| which.fits(&evict)));
        assert!(!misses.iter().any(|which| which.fits(&evict)));
    }

    #[test]
    fn rules_are_data() {
        let table = [
            (
                json!({"which": {"verbs": ["create"], "resource": "pods", "name": "web-*"}, "fault": "loseAnswer"}),
                Rule::new(
                    Which { resource: Some("pods".to_owned()), ..Which::verbs([Verb::Create]).name("web-*") },
                    Fault::LoseAnswer,
                ),
            ),
            (
                json!({"skip": 2, "times": 1, "fault": {"refuse": {"status": 429, "retryAfter": 3}}}),
                Rule::new(
                    Which::any(),
                    Fault::Refuse(Refusal {
                        status: 429,
                        reason: String::new(),
                        message: String::new(),
                        retry_after: Some(3),
                    }),
                )
                .skip(2)
                .times(1),
            ),
            (
                json!({"fault": {"delay": "200ms"}}),
                Rule::new(Which::any(), Fault::Delay(std::time::Duration::from_millis(200).into())),
            ),
            (
                json!({"fault": {"holdWatch": {"atMost": "5s"}}}),
                Rule::new(
                    Which::any(),
                    Fault::HoldWatch { at_most: Some(std::time::Duration::from_secs(5).into()) },
                ),
            ),
            (
                json!({"fault": {"cutWatch": {"afterEvents": 3}}}),
                Rule::new(Which::any(), Fault::CutWatch { after_events: 3 }),
            ),
            (json!({"fault": "goneWatch"}), Rule::new(Which::any(), Fault::GoneWatch)),
        ];
        for (data, rule) in table {
            assert_eq!(serde_json::from_value::<Rule>(data).unwrap(), rule);
            let again = serde_json::from_value::<Rule>(serde_json::to_value(&rule).unwrap());
            assert_eq!(again.unwrap(), rule);
        }
        assert!(serde_json::from_value::<Rule>(json!({"witch": {}, "fault": "drop"})).is_err());
    }
}
