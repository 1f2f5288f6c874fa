//! One line of an audit log.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

use crate::proxy::{Request, Verb};

/// A request that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it arrived.
    pub time: Timestamp,
    /// When it was answered.
    pub answered: Timestamp,
    /// Who asked, as the API server knows them.
    pub user: String,
    /// What was asked.
    pub request: Request,
    /// The HTTP status of the answer.
    pub status: u16,
}

impl Entry {
    /// Reads a line; nothing for other stages of a request than its answer.
    pub(super) fn parse(line: &[u8]) -> Result<Option<Self>, serde_json::Error> {
        let line: Line = serde_json::from_slice(line)?;
        Ok((line.stage == "ResponseComplete").then(|| line.into_entry()))
    }

    /// Whether it was carried out.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it ends this pod, or would if it were carried out. A delete of many may have spared it, by a
    /// selector that the log does not tell.
    pub(super) fn ends(&self, namespace: &str, pod: &str) -> bool {
        let request = &self.request;
        let pods = request.resource == "pods" && request.group.is_empty() && request.namespace == namespace;
        pods && match (request.verb, request.subresource.as_str()) {
            (Verb::Delete, "") | (Verb::Create, "eviction") => request.name == pod,
            (Verb::DeleteCollection, "") => true,
            _ => false,
        }
    }
}

/// As `audit.k8s.io/v1` has it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Object,
    #[serde(default)]
    response_status: Status,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
}

#[derive(Deserialize, Default)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    api_group: String,
    api_version: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    code: u16,
}

impl Line {
    fn into_entry(self) -> Entry {
        let object = self.object_ref;
        let request = Request {
            verb: Verb::parse(&self.verb),
            group: object.api_group,
            version: object.api_version,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            user_agent: self.user_agent,
        };
        let (time, answered) = (self.request_received_timestamp.0, self.stage_timestamp.0);
        Entry { time, answered, user: self.user.username, request, status: self.response_status.code }
    }
}
