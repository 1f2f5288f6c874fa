//! Refusals, in the words and codes of a real API server.

use serde_json::{Map, Value, json};

use crate::apply::Conflict;

/// Why a request is refused: a `Status` object.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    details: Map<String, Value>,
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
        format!("{}{dot}{} {:?}", self.what, self.group, self.name)
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

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Map::new() }
    }

    fn about(mut self, about: About<'_>) -> Self {
        self.details = about.details();
        self
    }

    /// There is no such object.
    pub fn not_found(about: About<'_>) -> Self {
        Self::new(404, "NotFound", format!("{} not found", about.shown())).about(about)
    }

    /// There is no such path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
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
        let line = |conflict: &Conflict| {
            let by_update = match conflict.who.operation {
                crate::apply::Operation::Apply => String::new(),
                crate::apply::Operation::Update => format!(" at {}", conflict.time),
            };
            format!("conflict with {:?} using {}{by_update}", conflict.who.manager, conflict.who.api_version)
        };
        let number = conflicts.len();
        let plural = if number == 1 { "" } else { "s" };
        let shown = conflicts.iter().map(|conflict| format!("{}: {}", line(conflict), conflict.field));
        let shown: Vec<String> = shown.collect();
        let message = format!("Apply failed with {number} conflict{plural}: {}", shown.join("\n"));
        let causes = conflicts.iter().map(|conflict| Cause {
            reason: "FieldManagerConflict",
            message: line(conflict),
            field: conflict.field.clone(),
        });
        Self::new(409, "Conflict", message).because(causes)
    }

    /// The object is wrong. `about` names its kind.
    pub fn invalid(about: About<'_>, causes: Vec<Cause>) -> Self {
        let lines: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
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
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
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

    /// A budget or a limit says: not now.
    pub fn too_many_requests(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        Self::new(429, "TooManyRequests", message).because(causes)
    }

    fn because(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        self.details.insert("causes".to_owned(), Value::from(causes));
        self
    }

    /// As it is sent.
    pub fn object(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_empty() {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Operation, Who};

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
        assert_eq!(refusal.message, r#"Apply failed with 1 conflict: conflict with "a" using v1: .spec.x"#);
        let cause = json!({
            "reason": "FieldManagerConflict", "message": r#"conflict with "a" using v1"#, "field": ".spec.x",
        });
        assert_eq!(refusal.object()["details"]["causes"], json!([cause]));
    }
}
