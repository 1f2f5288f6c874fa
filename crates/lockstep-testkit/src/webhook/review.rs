//! What an API server asks a webhook, and what it may be told.

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an API server is about to do (`admission.k8s.io/v1`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// This question.
    pub uid: String,
    /// The kind of the object.
    pub kind: Kind,
    /// The resource it is reached by.
    pub resource: Resource,
    /// The subresource, such as `eviction`; empty without one.
    #[serde(default)]
    pub sub_resource: String,
    /// The object; empty while the API server still has to make up its name.
    #[serde(default)]
    pub name: String,
    /// Its namespace; empty without one.
    #[serde(default)]
    pub namespace: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// Who wants it.
    #[serde(default)]
    pub user_info: User,
    /// The object as it will be; null on a delete.
    #[serde(default)]
    pub object: Value,
    /// The object as it is; null on a create.
    #[serde(default)]
    pub old_object: Value,
    /// Nothing will be stored.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of the request, such as preconditions of a delete.
    #[serde(default)]
    pub options: Value,
}

/// A kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// Its API group; empty for the core.
    #[serde(default)]
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its name, such as `Pod`.
    pub kind: String,
}

/// A resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its API group; empty for the core.
    #[serde(default)]
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its name, plural, such as `pods`.
    pub resource: String,
}

/// Who wants something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    /// The name.
    pub username: String,
    /// The groups.
    pub groups: Vec<String>,
}

/// What a webhook says.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    verdict: Verdict,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    Allow,
    Deny { code: u16, message: String },
    Patch(Value),
    Hang,
    Break,
}

/// What is sent back.
#[derive(Debug)]
pub(super) enum Answer {
    Review(Value),
    Nothing,
    Break,
}

impl Decision {
    fn new(verdict: Verdict) -> Self {
        Self { verdict, warnings: Vec::new() }
    }

    /// Let it happen.
    pub fn allow() -> Self {
        Self::new(Verdict::Allow)
    }

    /// Refuse it with an HTTP status and a reason for people.
    pub fn deny(code: u16, message: &str) -> Self {
        Self::new(Verdict::Deny { code, message: message.to_owned() })
    }

    /// Let it happen with changes, a list of JSON patch operations (RFC 6902). For mutating webhooks only.
    pub fn patch(operations: Value) -> Self {
        Self::new(Verdict::Patch(operations))
    }

    /// Say nothing until the API server gives up.
    pub fn hang() -> Self {
        Self::new(Verdict::Hang)
    }

    /// Break the connection.
    pub fn break_connection() -> Self {
        Self::new(Verdict::Break)
    }

    /// With a warning to the client.
    pub fn warn(mut self, warning: &str) -> Self {
        self.warnings.push(warning.to_owned());
        self
    }

    /// The review that says so.
    pub(super) fn review(self, uid: &str) -> Answer {
        let mut response = json!({"uid": uid, "allowed": true});
        match self.verdict {
            Verdict::Allow => {}
            Verdict::Deny { code, message } => {
                response["allowed"] = false.into();
                response["status"] = json!({"code": code, "message": message});
            }
            Verdict::Patch(operations) => {
                response["patchType"] = "JSONPatch".into();
                response["patch"] = json!(ByteString(operations.to_string().into_bytes()));
            }
            Verdict::Hang => return Answer::Nothing,
            Verdict::Break => return Answer::Break,
        }
        if !self.warnings.is_empty() {
            response["warnings"] = self.warnings.into();
        }
        let version = "admission.k8s.io/v1";
        Answer::Review(json!({"apiVersion": version, "kind": "AdmissionReview", "response": response}))
    }
}

/// Reads the question of a review.
pub(super) fn read(body: &[u8]) -> Result<AdmissionRequest, serde_json::Error> {
    #[derive(Deserialize)]
    struct Review {
        request: AdmissionRequest,
    }
    serde_json::from_slice::<Review>(body).map(|review| review.request)
}
