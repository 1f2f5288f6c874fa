//! Admission webhooks: whom to ask about a write, what to ask, and what becomes of their answers.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cel::Program;
use crate::patch;
use crate::refusal::Refusal;
use crate::selector::Selector;
use crate::store::Key;

use super::routes::Target;
use super::told::{Call, Subject};
use super::{Step, Stop, Turn};

/// What is asked about.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub target: &'a Target,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'static str,
    pub name: &'a str,
    /// What is to be stored; nothing for deletions.
    pub object: &'a Value,
    /// What stands.
    pub old: &'a Value,
    pub options: Value,
    pub dry_run: bool,
}

/// Which webhooks: those that may change objects are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Mutating,
    Validating,
}

impl Sort {
    fn resource(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            Self::Validating => "validatingwebhookconfigurations.admissionregistration.k8s.io",
        }
    }
}

impl Turn<'_> {
    /// What mutating webhooks make of an object.
    pub(super) fn mutated(&mut self, question: &Question<'_>) -> Step<Value> {
        let mut object = question.object.clone();
        for hook in self.hooks(Sort::Mutating) {
            let asked = Question { object: &object, options: question.options.clone(), ..*question };
            let Some(review) = self.ask(Sort::Mutating, &hook, &asked)? else { continue };
            if let Some(changed) = patched(&hook, &object, &review["response"])? {
                object = changed;
            }
        }
        Ok(object)
    }

    /// Whether all validating webhooks agree.
    pub(super) fn agreed(&mut self, question: &Question<'_>) -> Step<()> {
        for hook in self.hooks(Sort::Validating) {
            self.ask(Sort::Validating, &hook, question)?;
        }
        Ok(())
    }

    /// Somebody may have to be asked about a kind.
    pub(super) fn may_ask(&self, target: &Target) -> bool {
        let definition = self.server.catalogue.custom_kind(&target.kind);
        definition.is_some_and(|definition| definition.webhook.is_some())
            || [Sort::Mutating, Sort::Validating].iter().any(|sort| !self.hooks(*sort).is_empty())
    }

    fn hooks(&self, sort: Sort) -> Vec<Hook> {
        let resource: Arc<str> = Arc::from(sort.resource());
        let configurations = self.server.store.list(&resource, None);
        let hooks = configurations.flat_map(|(key, configuration)| {
            let hooks = configuration["webhooks"].as_array().into_iter().flatten();
            hooks.map(|hook| Hook { configuration: Arc::clone(&key.name), spec: hook.clone() })
        });
        hooks.collect()
    }

    /// What a webhook says, if it is asked at all. A refusal ends the request; so does silence, if it says so.
    fn ask(&mut self, sort: Sort, hook: &Hook, question: &Question<'_>) -> Step<Option<Value>> {
        if !self.concerns(hook, question)? {
            return Ok(None);
        }
        let name = hook.name();
        if question.dry_run && !matches!(hook.spec["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
            let message = format!("admission webhook {name:?} does not support dry run");
            return Err(Refusal::bad_request(message).into());
        }
        let (key, call) = self.call(sort, hook, question);
        let answer = match self.told.of(&key) {
            None => return Err(Stop::Ask(Box::new(call))),
            Some(answer) => answer.clone().and_then(|review| readable(review, &call)),
        };
        match answer {
            Ok(review) => self.verdict(hook, review).map(Some),
            Err(_) if hook.spec["failurePolicy"] == "Ignore" => Ok(None),
            Err(why) => {
                let why = format!("failed calling webhook {name:?}: failed to call webhook: {why}");
                Err(Refusal::internal(why).into())
            }
        }
    }

    fn verdict(&mut self, hook: &Hook, review: Value) -> Step<Value> {
        let response = &review["response"];
        let warnings = response["warnings"].as_array().into_iter().flatten();
        self.warnings.extend(warnings.filter_map(Value::as_str).map(str::to_owned));
        if response["allowed"] == true {
            return Ok(review);
        }
        let status = &response["status"];
        let said = [&status["message"], &status["reason"]].into_iter().find_map(Value::as_str);
        let message = match said {
            Some(said) => format!("admission webhook {:?} denied the request: {said}", hook.name()),
            None => format!("admission webhook {:?} denied the request without explanation", hook.name()),
        };
        let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        Err(Refusal::denied(code.unwrap_or(403), status, message).into())
    }

    /// Whether a webhook wants to know.
    fn concerns(&self, hook: &Hook, question: &Question<'_>) -> Step<bool> {
        let target = question.target;
        // Nobody may lock themselves out of mending what locks them out.
        let configures = target.kind.of.group == "admissionregistration.k8s.io"
            && target.kind.plural.ends_with("webhookconfigurations");
        if configures || !hook.rules().any(|rule| rule_matches(rule, question, hook.is_exact())) {
            return Ok(false);
        }
        if !self.namespace_chosen(hook, question) || !object_chosen(hook, question) {
            return Ok(false);
        }
        self.conditions_hold(hook, question)
    }

    fn namespace_chosen(&self, hook: &Hook, question: &Question<'_>) -> bool {
        let Some(selector) = Selector::of_object(&hook.spec["namespaceSelector"]) else { return true };
        let target = question.target;
        if &*target.kind.resource == "namespaces" {
            let object = if question.object.is_null() { question.old } else { question.object };
            return selector.selects(&object["metadata"]["labels"]);
        }
        let Some(namespace) = target.namespace.as_deref() else { return true };
        let key =
            Key { resource: Arc::from("namespaces"), namespace: Arc::from(""), name: Arc::from(namespace) };
        let labels = self.server.store.get(&key).map(|found| found["metadata"]["labels"].clone());
        selector.selects(&labels.unwrap_or(Value::Null))
    }

    fn conditions_hold(&self, hook: &Hook, question: &Question<'_>) -> Step<bool> {
        let conditions = hook.spec["matchConditions"].as_array().into_iter().flatten();
        let request = self.review_request(question);
        for condition in conditions {
            let name = condition["name"].as_str().unwrap_or_default();
            let text = condition["expression"].as_str().unwrap_or_default();
            let variables = [("object", question.object), ("oldObject", question.old), ("request", &request)];
            let held = Program::compile(text)
                .map_err(|problem| problem.shown(text))
                .and_then(|program| program.eval(&variables));
            match held {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Ok(false),
                Ok(_) | Err(_) if hook.spec["failurePolicy"] == "Ignore" => return Ok(false),
                other => {
                    let why = format!("expression '{text}' resulted in {other:?}");
                    let message = format!("failed to evaluate match condition {name:?}: {why}");
                    return Err(Refusal::internal(message).into());
                }
            }
        }
        Ok(true)
    }

    fn call(&self, sort: Sort, hook: &Hook, question: &Question<'_>) -> (String, Call) {
        let mut request = self.review_request(question);
        let key = format!("{sort:?} {} {} {request}", hook.configuration, hook.name());
        request["uid"] = Value::from(super::create::identity(self.server.settings.seed, &key));
        let body =
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request});
        let call = Call {
            about: Subject::Admission(key.clone()),
            name: hook.name().to_owned(),
            client: hook.spec["clientConfig"].clone(),
            timeout: hook.spec["timeoutSeconds"].as_u64().unwrap_or(10),
            body,
        };
        (key, call)
    }

    fn review_request(&self, question: &Question<'_>) -> Value {
        let Question { target, operation, name, object, old, options, dry_run } = question;
        let kind = match target.subresource.as_deref().and_then(|part| target.kind.subresource(part)) {
            Some(part) => json!({"group": part.kind.0, "version": part.kind.1, "kind": part.kind.2}),
            None => target.kind.coordinates(),
        };
        let of = &target.kind.of;
        let resource = json!({"group": of.group, "version": of.version, "resource": &*target.kind.plural});
        let user = &self.request.user;
        let mut request = json!({
            "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
            "operation": operation, "userInfo": {"username": user.name, "groups": user.groups},
            "object": object, "oldObject": old, "dryRun": dry_run, "options": options,
        });
        let texts = [
            ("name", Some(*name)),
            ("namespace", target.namespace.as_deref()),
            ("subResource", target.subresource.as_deref()),
            ("requestSubResource", target.subresource.as_deref()),
        ];
        for (key, text) in texts {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                request[key] = Value::from(text);
            }
        }
        request
    }
}

/// One webhook of a configuration.
struct Hook {
    configuration: Arc<str>,
    spec: Value,
}

impl Hook {
    fn name(&self) -> &str {
        self.spec["name"].as_str().unwrap_or_default()
    }

    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.spec["rules"].as_array().into_iter().flatten()
    }

    /// It wants to know of the versions it names only.
    fn is_exact(&self) -> bool {
        self.spec["matchPolicy"] == "Exact"
    }
}

fn names(list: &Value, wanted: &str) -> bool {
    let mut listed = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    listed.any(|listed| listed == "*" || listed == wanted)
}

fn rule_matches(rule: &Value, question: &Question<'_>, exact: bool) -> bool {
    let kind = &question.target.kind;
    let scope = match rule["scope"].as_str() {
        Some("Namespaced") => kind.namespaced,
        Some("Cluster") => !kind.namespaced,
        _ => true,
    };
    scope
        && names(&rule["operations"], question.operation)
        && names(&rule["apiGroups"], &kind.of.group)
        // Whoever is not exact is told of every version; there is one storage behind them.
        && (!exact || names(&rule["apiVersions"], &kind.of.version))
        && rule_names_resource(&rule["resources"], &kind.plural, question.target.subresource.as_deref())
}

fn rule_names_resource(resources: &Value, plural: &str, part: Option<&str>) -> bool {
    let mut listed = resources.as_array().into_iter().flatten().filter_map(Value::as_str);
    listed.any(|listed| match (listed.split_once('/'), part) {
        (None, None) => listed == "*" || listed == plural,
        (None, Some(_)) => false,
        (Some((resource, listed)), part) => {
            (resource == "*" || resource == plural) && (listed == "*" || part == Some(listed))
        }
    })
}

fn object_chosen(hook: &Hook, question: &Question<'_>) -> bool {
    let Some(selector) = Selector::of_object(&hook.spec["objectSelector"]) else { return true };
    let chosen = |object: &Value| object.is_object() && selector.selects(&object["metadata"]["labels"]);
    selector.is_empty() || chosen(question.object) || chosen(question.old)
}

fn readable(review: Value, call: &Call) -> Result<Value, String> {
    let response = review.get("response").and_then(Value::as_object).map(Map::len);
    match response {
        None => Err("webhook response: the review has no response".to_owned()),
        Some(_) if review["response"]["uid"] != call.body["request"]["uid"] => Err(format!(
            "expected response.uid={}, got {}",
            call.body["request"]["uid"], review["response"]["uid"]
        )),
        Some(_) => Ok(review),
    }
}

/// The object as a webhook changed it; nothing if it did not.
fn patched(hook: &Hook, object: &Value, response: &Value) -> Step<Option<Value>> {
    let Some(text) = response["patch"].as_str() else { return Ok(None) };
    let wrong =
        |why: String| Stop::from(Refusal::internal(format!("admission webhook {:?}: {why}", hook.name())));
    let bytes = crate::base64::decode(text).ok_or_else(|| wrong("the patch is no base64".to_owned()))?;
    let patch: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    patch::json(object, &patch).map(Some).map_err(|error| wrong(error.to_string()))
}
