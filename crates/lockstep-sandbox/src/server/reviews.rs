//! Questions that are answered and not kept: who am I, what may I do.

use serde_json::{Value, json};

use super::render::{Body, Response};
use super::routes::Target;
use super::{Step, Turn, decode};

impl Turn<'_> {
    /// Whoever is here may do everything.
    pub(super) fn review(&mut self, target: &Target) -> Step<Response> {
        let mut review = decode::value(self.request, &target.kind.kind)?;
        review["apiVersion"] = Value::from(target.kind.api_version());
        review["kind"] = Value::from(&*target.kind.kind);
        if !review["metadata"].is_object() {
            review["metadata"] = json!({});
        }
        let user = &self.request.user;
        review["status"] = match &*target.kind.kind {
            "SelfSubjectReview" => json!({"userInfo": {"username": user.name, "groups": user.groups}}),
            "SelfSubjectRulesReview" => json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            }),
            "TokenReview" => json!({"authenticated": false, "user": {}}),
            _ => json!({"allowed": true}),
        };
        Ok(Response::new(201, Body::Made(review)))
    }
}
