//! Refusals, in the words and codes of a real API server.

use serde_json::{Map, Value, json};

use crate::apply::{Conflict, Operation, Who};
use crate::schema::words::quoted;

/// The reasons a webhook may give.
const KNOWN: &[&str] = &[
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotFound",
    "ServiceUnavailable",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
];

/// Why a request is refused: a `Status` object.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    details: Option<Map<String, Value>>,
    retry_after: Option<u64>,
}

/// What a refusal is about: a resource (`deployments` of `apps`) or a kind, and the name of an object.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The group; empty for the core.
    pub group: &'a str,
    /// The resource, or the kind where the words name that.
    pub what: &'a str,
    /// The object; empty for none.
    pub name: &'a str,
}

impl About<'_> {
    /// `deployments.apps "web"`.
    fn shown(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}{dot}{} {}", self.what, self.group, quoted(self.name))
    }

    fn details(&self) -> Map<String, Value> {
        let pairs = [("name", self.name), ("group", self.group), ("kind", self.what)];
        let told = pairs.into_iter().filter(|(_, text)| !text.is_empty());
        told.map(|(key, text)| (key.to_owned(), Value::from(text))).collect()
    }
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueRequired`, `FieldValueInvalid` and the like.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    /// Where.
    pub field: String,
}

impl Cause {
    /// A cause.
    pub fn new(reason: &'static str, field: &str, message: &str) -> Self {
        Self { reason, message: message.to_owned(), field: field.to_owned() }
    }
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, retry_after: None }
    }

    fn about(mut self, about: About<'_>) -> Self {
        self.details = Some(about.details());
        self
    }

    /// The words of whole servers, not of resources, come with empty details.
    fn generic(mut self) -> Self {
        self.details = Some(Map::new());
        self
    }

    /// In how many seconds it may be tried again.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// It may be tried again in so many seconds.
    pub fn after_seconds(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        let details = self.details.get_or_insert_with(Map::new);
        details.insert("retryAfterSeconds".to_owned(), Value::from(seconds));
        self
    }

    /// It is not allowed, for a reason that is said.
    pub fn forbidden(about: About<'_>, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("{} is forbidden: {why}", about.shown())).about(about)
    }

    /// With another code, reason and sentence: what a webhook says.
    pub fn told(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// With one more cause, beside those it has.
    pub fn with_cause(self, reason: &str, message: &str) -> Self {
        self.caused(json!({"reason": reason, "message": message}))
    }

    /// With one more cause, at a field.
    pub fn with_cause_at(self, reason: &str, message: &str, field: &str) -> Self {
        self.caused(json!({"reason": reason, "message": message, "field": field}))
    }

    fn caused(mut self, cause: Value) -> Self {
        let details = self.details.get_or_insert_with(Map::new);
        let causes = details.entry("causes").or_insert_with(|| Value::from(Vec::<Value>::new()));
        if let Some(causes) = causes.as_array_mut() {
            causes.push(cause);
        }
        self
    }

    /// What a webhook said, in its own words where it has some.
    pub fn denied(code: u16, status: &Value, message: String) -> Self {
        let reason = match status["reason"].as_str() {
            None if code == 403 => "Forbidden",
            None => "",
            Some(reason) => KNOWN.iter().find(|known| **known == reason).unwrap_or(&"Forbidden"),
        };
        let mut refusal = Self::new(code, reason, message);
        refusal.details = status["details"].as_object().cloned();
        refusal.retry_after = status["details"]["retryAfterSeconds"].as_u64().filter(|seconds| *seconds > 0);
        refusal
    }

    /// A patch that cannot be carried out on the object.
    pub fn unprocessable_patch() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message).generic()
    }

    /// Something went wrong that has no word of its own.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// Something went wrong on the way to somebody else.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let mut refusal = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        refusal.details = Some([("causes".to_owned(), json!([{"message": message}]))].into_iter().collect());
        refusal
    }

    /// None of the forms that are accepted is known here; these are.
    pub fn not_acceptable(known: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {known}");
        Self::new(406, "NotAcceptable", message).generic()
    }

    /// None of the forms that are accepted is known to those who serve custom kinds.
    pub fn no_such_form() -> Self {
        let known = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        Self::new(406, "NotAcceptable", format!("only the following media types are accepted: {known}"))
    }

    /// The body is larger than anybody's should be.
    pub fn too_large(most: usize) -> Self {
        let message = format!("Request entity too large: limit is {most}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The version that was asked for has not come yet.
    pub fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message)
            .generic()
            .with_cause("ResourceVersionTooLarge", "Too large resource version")
            .after_seconds(1)
    }

    /// Patches of this sort are not taken.
    pub fn no_such_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").generic()
    }

    /// There is no such object.
    pub fn not_found(about: About<'_>) -> Self {
        Self::new(404, "NotFound", format!("{} not found", about.shown())).about(about)
    }

    /// There is no such path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").generic()
    }

    /// The name is taken.
    pub fn already_exists(about: About<'_>) -> Self {
        Self::new(409, "AlreadyExists", format!("{} already exists", about.shown())).about(about)
    }

    /// Somebody else was faster, or a precondition does not hold.
    pub fn conflict(about: About<'_>, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}: {why}", about.shown());
        Self::new(409, "Conflict", message).about(about)
    }

    /// The object is not the one that was read.
    pub fn modified(about: About<'_>) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(about, why)
    }

    /// Others own what an apply would change.
    pub fn owned_by_others(conflicts: &[Conflict]) -> Self {
        let message = match conflicts {
            [only] => format!("Apply failed with 1 conflict: conflict with {}: {}", owner(only), only.field),
            several => {
                let mut lines: Vec<String> = Vec::new();
                let mut owners: Vec<(String, String)> =
                    several.iter().map(|conflict| (identifier(conflict), owner(conflict))).collect();
                owners.sort();
                owners.dedup();
                for (_, one) in owners {
                    lines.push(format!("conflicts with {one}:"));
                    let fields = several.iter().filter(|conflict| owner(conflict) == one);
                    lines.extend(fields.map(|conflict| format!("- {}", conflict.field)));
                }
                format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
            }
        };
        let causes = conflicts.iter().map(|conflict| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", owner(conflict)),
            field: conflict.field.clone(),
        });
        Self::new(409, "Conflict", message).because(causes)
    }

    /// The object is wrong. `about` names its kind.
    pub fn invalid(about: About<'_>, causes: Vec<Cause>) -> Self {
        let mut lines: Vec<String> = Vec::with_capacity(causes.len());
        for line in causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)) {
            // What is wrong for two reasons is said once.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let what = match lines.as_slice() {
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{} is invalid: {what}", about.shown());
        Self::new(422, "Invalid", message).about(about).because(causes)
    }

    /// The request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The method is not for this resource.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).generic()
    }

    /// The method is not for this resource, in the words of its own server.
    pub fn method_not_supported(about: About<'_>, message: String) -> Self {
        Self::new(405, "MethodNotAllowed", message).about(about)
    }

    /// The version that was asked for is forgotten.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Nobody here reads such bodies.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    fn because(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        if !causes.is_empty() {
            let details = self.details.get_or_insert_with(Map::new);
            details.insert("causes".to_owned(), Value::from(causes));
        }
        self
    }

    /// As it is sent.
    pub fn object(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = Value::from(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object(details.clone());
        }
        status
    }
}

/// What the owners of fields are sorted by: what they are written as, as a text.
fn identifier(conflict: &Conflict) -> String {
    let Who { manager, operation, subresource, api_version } = &conflict.who;
    let version = match operation {
        Operation::Apply => String::new(),
        Operation::Update => format!(",\"apiVersion\":{api_version:?}"),
    };
    let part = match subresource.as_str() {
        "" => String::new(),
        part => format!(",\"subresource\":{part:?}"),
    };
    format!("{{\"manager\":{manager:?},\"operation\":\"{operation:?}\"{version}{part}}}")
}

/// Who owns a field, as conflicts name them.
fn owner(conflict: &Conflict) -> String {
    let who = &conflict.who;
    let part = match who.subresource.as_str() {
        "" => String::new(),
        part => format!(" with subresource {part:?}"),
    };
    let version = match who.operation {
        Operation::Apply => String::new(),
        Operation::Update => format!(" using {}", who.api_version),
    };
    format!("{:?}{part}{version}", who.manager)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: About<'_> = About { group: "apps", what: "deployments", name: "web" };

    #[test]
    fn in_the_words_of_a_real_one() {
        assert_eq!(Refusal::not_found(WEB).message, r#"deployments.apps "web" not found"#);
        let pod = About { group: "", what: "pods", name: "x" };
        assert_eq!(Refusal::already_exists(pod).message, r#"pods "x" already exists"#);
        let details = json!({"name": "web", "group": "apps", "kind": "deployments"});
        assert_eq!(Refusal::not_found(WEB).object()["details"], details);
    }

    #[test]
    fn every_conflict_is_a_cause() {
        let who = Who {
            manager: "a".to_owned(),
            operation: Operation::Apply,
            subresource: String::new(),
            api_version: "v1".to_owned(),
        };
        let conflict = Conflict { who, time: "now".to_owned(), field: ".spec.x".to_owned() };
        let refusal = Refusal::owned_by_others(&[conflict]);
        assert_eq!(refusal.message, r#"Apply failed with 1 conflict: conflict with "a": .spec.x"#);
        let cause = json!({
            "reason": "FieldManagerConflict", "message": r#"conflict with "a""#, "field": ".spec.x",
        });
        assert_eq!(refusal.object()["details"]["causes"], json!([cause]));
    }
}
