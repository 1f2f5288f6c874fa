//! Admission webhooks: whom to ask about a write, what to ask, and what becomes of their answers.

mod hooks;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cel::Program;
use crate::kinds::Kind;
use crate::patch;
use crate::refusal::Refusal;
use crate::selector::Selector;
use crate::store::Key;

use self::hooks::Hook;
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
    /// What mutating webhooks make of an object. Once one of them has changed it, everybody who wants to see what others
    /// made of it sees it a second time; there is no third.
    pub(super) fn mutated(&mut self, question: &Question<'_>) -> Step<Value> {
        let mut round = Round::default();
        let mut object = self.play(question, question.object.clone(), &mut round)?;
        if !round.changed {
            return Ok(object);
        }
        let before = object.clone();
        let old = Some(question.old).filter(|old| !old.is_null());
        self.admit(question.target, &mut object, old)?;
        if object != before {
            round.call_again();
        }
        round.is_second = true;
        self.play(question, object, &mut round)
    }

    /// Asks every mutating webhook whose turn it is.
    fn play(&mut self, question: &Question<'_>, mut object: Value, round: &mut Round) -> Step<Value> {
        for hook in self.hooks(Sort::Mutating) {
            let asked = Question { object: &object, options: question.options.clone(), ..*question };
            let Some(kind) = self.concerned(&hook, &asked)? else { continue };
            if !round.calls(&hook) {
                continue;
            }
            let Some((review, sent)) = self.ask(Sort::Mutating, &hook, &asked, &kind)? else { continue };
            if let Some(changed) =
                patched(&hook, &sent, &review["response"])?.filter(|changed| *changed != sent)
            {
                object = self.mended(question.target, &kind, changed)?;
                round.changed = true;
                round.call_again();
            }
            round.called(&hook);
        }
        Ok(object)
    }

    /// An object as a webhook left it in one version, in the version that was asked for.
    fn mended(&self, target: &Target, kind: &Arc<Kind>, mut object: Value) -> Step<Value> {
        if !object["metadata"].is_object() {
            return Err(Refusal::failure("a webhook has left no metadata").into());
        }
        // Evictions, bindings and scales are asked about at the kind they are for, and are none of it.
        if object["kind"] != *kind.kind {
            return Ok(object);
        }
        if let Some(why) = self.type_error(&object, kind) {
            return Err(Refusal::failure(why).into());
        }
        self.set_defaults(&Target { kind: Arc::clone(kind), ..target.clone() }, &mut object);
        self.seen_as(&target.kind, object)
    }

    /// An object in another version of its kind.
    fn seen_as(&self, kind: &Kind, object: Value) -> Step<Value> {
        match self.server.catalogue.custom_kind(kind) {
            Some(definition) if !object.is_null() => {
                self.server.in_version(definition, object, &kind.api_version(), self.told)
            }
            _ => Ok(object),
        }
    }

    /// Whether all validating webhooks agree.
    pub(super) fn agreed(&mut self, question: &Question<'_>) -> Step<()> {
        for hook in self.hooks(Sort::Validating) {
            if let Some(kind) = self.concerned(&hook, question)? {
                self.ask(Sort::Validating, &hook, question, &kind)?;
            }
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

    /// What a webhook says, and to what. A refusal ends the request; so does silence, if it says so.
    fn ask(
        &mut self,
        sort: Sort,
        hook: &Hook,
        question: &Question<'_>,
        kind: &Arc<Kind>,
    ) -> Step<Option<(Value, Value)>> {
        let name = hook.name();
        if question.dry_run && !matches!(hook.spec["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
            let message = format!("admission webhook {name:?} does not support dry run");
            return Err(Refusal::bad_request(message).into());
        }
        let object = self.seen_as(kind, question.object.clone())?;
        let old = self.seen_as(kind, question.old.clone())?;
        let asked = Question { object: &object, old: &old, options: question.options.clone(), ..*question };
        let (key, call) = self.call(sort, hook, &asked, kind);
        let answer = match self.told.of(&key) {
            None => return Err(Stop::Ask(Box::new(call))),
            Some(answer) => answer.clone().and_then(|review| readable(review, &call)),
        };
        match answer {
            Ok(review) => self.verdict(hook, review).map(|review| Some((review, object))),
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
        // Whoever refuses does not say that all is well.
        let code = code.filter(|code| *code >= 400).unwrap_or(400);
        Err(Refusal::denied(code, status, message).into())
    }

    /// Whether a webhook wants to know, and in which version.
    fn concerned(&self, hook: &Hook, question: &Question<'_>) -> Step<Option<Arc<Kind>>> {
        let target = question.target;
        // Nobody may lock themselves out of mending what locks them out.
        let configures = target.kind.of.group == "admissionregistration.k8s.io"
            && target.kind.plural.ends_with("webhookconfigurations");
        let others = self.server.catalogue.versions(&target.kind).filter(|other| other.of != target.kind.of);
        let versions: Vec<&Arc<Kind>> = std::iter::once(&target.kind).chain(others).collect();
        let Some(kind) = hook.wanted(&versions, question).filter(|_| !configures).cloned() else {
            return Ok(None);
        };
        if !self.namespace_chosen(hook, question) || !hook.selects(question) {
            return Ok(None);
        }
        Ok(self.conditions_hold(hook, question, &kind)?.then_some(kind))
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

    fn conditions_hold(&self, hook: &Hook, question: &Question<'_>, kind: &Kind) -> Step<bool> {
        let Some(conditions) = hook.spec["matchConditions"].as_array() else { return Ok(true) };
        let object = self.seen_as(kind, question.object.clone())?;
        let old = self.seen_as(kind, question.old.clone())?;
        let request = self.review_request(question, kind);
        for condition in conditions {
            let name = condition["name"].as_str().unwrap_or_default();
            let text = condition["expression"].as_str().unwrap_or_default();
            let variables = [("object", &object), ("oldObject", &old), ("request", &request)];
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

    fn call(&self, sort: Sort, hook: &Hook, question: &Question<'_>, kind: &Kind) -> (String, Call) {
        let mut request = self.review_request(question, kind);
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

    fn review_request(&self, question: &Question<'_>, seen: &Kind) -> Value {
        let Question { target, operation, name, object, old, options, dry_run } = question;
        let part = |kind: &Kind| match target.subresource.as_deref().and_then(|part| kind.subresource(part)) {
            Some(part) => json!({"group": part.kind.0, "version": part.kind.1, "kind": part.kind.2}),
            None => kind.coordinates(),
        };
        let resource = |kind: &Kind| json!({"group": kind.of.group, "version": kind.of.version, "resource": &*kind.plural});
        let user = &self.request.user;
        let mut request = json!({
            "kind": part(seen), "requestKind": part(&target.kind),
            "resource": resource(seen), "requestResource": resource(&target.kind),
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

/// Who has been asked about an object, and who is to be asked again.
#[derive(Debug, Default)]
struct Round {
    /// Somebody changed it.
    changed: bool,
    /// Only those who are to be asked again are asked.
    is_second: bool,
    again: Vec<Name>,
    called: Vec<Name>,
}

/// A webhook, by its configuration and its name.
type Name = (Arc<str>, String);

fn name_of(hook: &Hook) -> Name {
    (Arc::clone(&hook.configuration), hook.name().to_owned())
}

impl Round {
    /// It is the turn of a webhook. Whoever was not asked the first time is not asked the second time.
    fn calls(&self, hook: &Hook) -> bool {
        !self.is_second || self.again.contains(&name_of(hook))
    }

    /// It has been asked, and may have to be again.
    fn called(&mut self, hook: &Hook) {
        if hook.is_reinvoked() {
            self.called.push(name_of(hook));
        }
    }

    /// Those who have been asked so far are to be asked again.
    fn call_again(&mut self) {
        self.again.append(&mut self.called);
    }
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
