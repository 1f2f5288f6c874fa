//! Deleting objects: at once, with grace, or once their finalizers are gone.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::refusal::{Cause, Refusal};
use crate::request::{Writes, meta};
use crate::store::Key;

use super::admission::Question;
use super::create::text;
use super::read::{Choice, list_metadata};
use super::render::{Body, Look, Response};
use super::routes::Target;
use super::{Step, Stop, Turn, decode, written};

/// How to delete.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub grace: Option<u64>,
    pub policy: Option<String>,
    pub uid: Option<String>,
    pub version: Option<String>,
    pub dry_run: bool,
    /// Dependents are to go, in the words of old.
    pub cascade: bool,
}

impl Options {
    /// As webhooks are told.
    fn told(&self) -> Value {
        let mut told = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        let preconditions = [("uid", &self.uid), ("resourceVersion", &self.version)];
        for (name, value) in
            preconditions.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
        {
            told["preconditions"][name] = json!(value);
        }
        if let Some(grace) = self.grace {
            told["gracePeriodSeconds"] = json!(grace);
        }
        if let Some(policy) = &self.policy {
            told["propagationPolicy"] = json!(policy);
        }
        if self.dry_run {
            told["dryRun"] = json!(["All"]);
        }
        told
    }
}

/// Kinds whose deletion shows what is gone, not only that it is.
const SHOWN: &[&str] = &["Pod", "Service", "ServiceAccount", "ResourceQuota", "PodTemplate"];

/// Namespaces that no cluster can do without.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Turn<'_> {
    pub(super) fn delete(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?;
        let options = self.delete_options()?;
        let live = self.live(target)?;
        let gone = self.delete_object(target, &live, &options)?;
        let object = Arc::clone(gone.object());
        let shown = matches!(gone, Gone::Later(_)) || SHOWN.contains(&&*target.kind.kind);
        if shown {
            let later = options.cascade && matches!(gone, Gone::Later(_));
            let code = if later { 202 } else { 200 };
            // What is only about to go is shown as it is stored.
            let look = Look { part: matches!(gone, Gone::Later(_)), ..look };
            return Ok(look.one(code, object, &self.server.catalogue, self.now));
        }
        let mut details =
            json!({"name": target.name, "kind": &*target.kind.plural, "uid": live["metadata"]["uid"]});
        if !target.kind.of.group.is_empty() {
            details["group"] = Value::from(target.kind.of.group.as_str());
        }
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        });
        Ok(Response::new(200, Body::Made(status)))
    }

    pub(super) fn delete_many(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?;
        let options = self.delete_options()?;
        let choice = Choice::read(&target.kind, &self.server.catalogue, &self.request.query)?;
        let revision = self.server.store.revision();
        let chosen = self.chosen(target, &choice)?;
        let before = self.may_ask(target).then(|| self.server.clone());
        let deleted = chosen.iter().try_for_each(|(key, object)| {
            let one = Target {
                name: Some(key.name.to_string()),
                namespace: target.kind.namespaced.then(|| key.namespace.to_string()),
                ..target.clone()
            };
            self.delete_object(&one, object, &options).map(drop)
        });
        if let (Err(Stop::Ask(_)), Some(before)) = (&deleted, before) {
            // All of it is thought through again once a webhook has been asked.
            *self.server = before;
        }
        deleted?;
        let gone = chosen.into_iter().map(|(_, object)| object).collect();
        let metadata = list_metadata(&target.kind, revision, look.is_plain());
        Ok(look.list(gone, metadata, &self.server.catalogue, self.now))
    }

    fn delete_options(&self) -> Step<Options> {
        let query = &self.request.query;
        let body = match self.request.body.is_empty() {
            true => json!({}),
            false => self.delete_body()?,
        };
        let said = |key: &str| {
            let in_query = query.get(key).map(str::to_owned);
            in_query.or_else(|| body[key].as_str().map(str::to_owned)).filter(|said| !said.is_empty())
        };
        let mut options = read_options(&body);
        options.dry_run |= Writes::read(query, "DeleteOptions")?.dry_run;
        options.policy = said("propagationPolicy").or(options.policy);
        if let Some(grace) = query.number("gracePeriodSeconds")? {
            options.grace = Some(seconds(grace));
        }
        let orphan = match query.get("orphanDependents") {
            Some(said) => Some(said == "true"),
            None => body["orphanDependents"].as_bool(),
        };
        check_policy(options.policy.as_deref(), orphan)?;
        options.cascade = orphan == Some(false);
        if let Some(orphan) = orphan {
            options.policy = Some(if orphan { "Orphan" } else { "Background" }.to_owned());
        }
        Ok(options)
    }

    fn delete_body(&self) -> Result<Value, Refusal> {
        let body = match self.request.media_type() {
            "" | "application/json" => decode::read_json(&self.request.body).map_err(Refusal::bad_request)?,
            _ => decode::value(self.request, "DeleteOptions")?,
        };
        let said = |key: &str| body[key].as_str().filter(|said| !said.is_empty());
        if let Some(kind) = said("kind").filter(|kind| *kind != "DeleteOptions") {
            let version = said("apiVersion").unwrap_or("meta.k8s.io/v1");
            return Err(Refusal::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )));
        }
        let grace = &body["gracePeriodSeconds"];
        if !grace.is_null() && !grace.is_i64() {
            let found = super::typed::json_sort(grace);
            return Err(Refusal::bad_request(format!(
                "json: cannot unmarshal {found} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
            )));
        }
        Ok(body)
    }

    /// Deletes an object, or begins to.
    pub(super) fn delete_object(
        &mut self,
        target: &Target,
        live: &Arc<Value>,
        options: &Options,
    ) -> Step<Gone> {
        let name = target.name.clone().unwrap_or_default();
        if target.kind.kind.as_ref() == "Namespace" && IMMORTAL.contains(&name.as_str()) {
            return Err(Refusal::forbidden(target.about(&name), "this namespace may not be deleted").into());
        }
        self.may_go(target, live, options)?;
        let question = Question {
            target,
            operation: "DELETE",
            name: &name,
            object: &Value::Null,
            old: live,
            options: options.told(),
            dry_run: options.dry_run,
        };
        self.mutated(&question)?;
        self.agreed(&question)?;
        self.delete_unasked(target, live, options)
    }

    /// Whether an object is the one that is meant, and can be kept once more until it is gone.
    fn may_go(&self, target: &Target, live: &Arc<Value>, options: &Options) -> Step<()> {
        check_preconditions(target, live, options)?;
        if !options.dry_run {
            self.check_storable(target, live)?;
        }
        Ok(())
    }

    /// Deletes an object, or begins to, without asking webhooks: whoever evicts has asked for that.
    pub(super) fn delete_unasked(
        &mut self,
        target: &Target,
        live: &Arc<Value>,
        options: &Options,
    ) -> Step<Gone> {
        let name = target.name.clone().unwrap_or_default();
        self.may_go(target, live, options)?;
        let is_namespace = &*target.kind.resource == "namespaces";
        let key = self.key(target, &name);
        let grace = grace(target, live, options);
        let mut object = Value::clone(live);
        // Namespaces understand the words of old in their own way.
        let policy =
            if is_namespace && options.cascade { Some("Foreground") } else { options.policy.as_deref() };
        let finalizers = finalizers(live, policy);
        let held =
            !finalizers.is_empty() || is_namespace && !is_going(live) || is_held_namespace(target, live);
        if live["metadata"].get("deletionTimestamp").is_some() {
            return self.delete_again(target, &key, live, finalizers, held, options);
        }
        if !held && grace == 0 {
            if is_graceful(target) {
                // What could have had time is marked first, even if it has none.
                mark(&mut object, self.now, 0);
                object = Value::clone(&*self.keep_of(target, key.clone(), object, options.dry_run)?);
            }
            return Ok(self.remove(&key, object, options.dry_run));
        }
        if is_namespace {
            // The first deletion of a namespace only begins it, with no word about grace.
            object["metadata"]["deletionTimestamp"] = Value::from(written(self.now));
            object["status"]["phase"] = Value::from("Terminating");
        } else {
            mark(&mut object, self.now, grace);
        }
        set_finalizers(&mut object, finalizers);
        Ok(Gone::Later(self.keep_of(target, key, object, options.dry_run)?))
    }

    /// A second deletion can only hurry the first. What has no time left is held by its finalizers alone, and those
    /// may change once more.
    fn delete_again(
        &mut self,
        target: &Target,
        key: &Key,
        live: &Arc<Value>,
        finalizers: Vec<Value>,
        held: bool,
        options: &Options,
    ) -> Step<Gone> {
        if &*target.kind.resource == "namespaces" && is_held_namespace(target, live) {
            return Ok(Gone::Later(Arc::clone(live)));
        }
        let before = live["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or(0);
        let has_time = is_graceful(target) && before > 0;
        let sooner = options.grace.filter(|grace| *grace < before);
        let mut object = Value::clone(live);
        let left = match sooner {
            // It is on its way already.
            None if has_time => return Ok(Gone::Later(Arc::clone(live))),
            Some(grace) if has_time => hurry(&mut object, self.now, grace),
            _ => 0,
        };
        set_finalizers(&mut object, finalizers);
        if held && !is_graceful(target) {
            object["metadata"]["deletionGracePeriodSeconds"] = Value::from(0);
        }
        if !held && left == 0 {
            // What only its finalizers kept goes as it stands; what is to go sooner is told so first.
            let last = match has_time {
                true => Value::clone(&*self.keep_of(target, key.clone(), object, options.dry_run)?),
                false => Value::clone(live),
            };
            return Ok(self.remove(key, last, options.dry_run));
        }
        Ok(Gone::Later(self.keep_changed(target, key.clone(), live, object, options.dry_run)?))
    }

    fn remove(&mut self, key: &Key, object: Value, dry_run: bool) -> Gone {
        if dry_run {
            return Gone::Now(Arc::new(object));
        }
        self.forget_kind(key);
        self.server.store.remove(key);
        let mut object = object;
        object["metadata"]["resourceVersion"] = Value::from(self.server.store.revision().to_string());
        Gone::Now(Arc::new(object))
    }
}

/// What became of an object.
#[derive(Debug)]
pub(crate) enum Gone {
    Now(Arc<Value>),
    Later(Arc<Value>),
}

impl Gone {
    pub fn object(&self) -> &Arc<Value> {
        match self {
            Self::Now(object) | Self::Later(object) => object,
        }
    }
}

/// A number of seconds; one below zero stands for a second.
fn seconds(said: i64) -> u64 {
    u64::try_from(said).unwrap_or(1)
}

/// Reads `DeleteOptions`.
pub(super) fn read_options(body: &Value) -> Options {
    let preconditions = &body["preconditions"];
    let said = |value: &Value| value.as_str().filter(|said| !said.is_empty()).map(str::to_owned);
    Options {
        grace: body["gracePeriodSeconds"].as_i64().map(seconds),
        policy: said(&body["propagationPolicy"]),
        uid: said(&preconditions["uid"]),
        version: said(&preconditions["resourceVersion"]),
        dry_run: body["dryRun"].as_array().is_some_and(|stages| !stages.is_empty()),
        cascade: false,
    }
}

fn check_policy(policy: Option<&str>, orphan: Option<bool>) -> Result<(), Refusal> {
    let mut causes = Vec::new();
    let Some(policy) = policy else { return Ok(()) };
    if orphan.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let message = format!("Invalid value: {policy:?}: {why}");
        causes.push(Cause::new("FieldValueInvalid", "propagationPolicy", &message));
    }
    if !["Foreground", "Background", "Orphan"].contains(&policy) {
        let supported = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
        let message = format!("Unsupported value: {policy:?}: {supported}");
        causes.push(Cause::new("FieldValueNotSupported", "propagationPolicy", &message));
    }
    if causes.is_empty() { Ok(()) } else { Err(Refusal::invalid(meta("DeleteOptions"), causes)) }
}

pub(super) fn check_preconditions(target: &Target, live: &Value, options: &Options) -> Result<(), Refusal> {
    if &*target.kind.resource == "namespaces" {
        return check_namespace_preconditions(target, live, options);
    }
    let name = target.name.as_deref().unwrap_or_default();
    let metadata = &live["metadata"];
    let about = target.about_kind(name);
    if let Some(uid) = &options.uid
        && metadata["uid"] != uid.as_str()
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            text(&metadata["uid"]),
        );
        return Err(Refusal::conflict(about, &why));
    }
    if let Some(version) = &options.version
        && metadata["resourceVersion"] != version.as_str()
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            text(&metadata["resourceVersion"]),
        );
        return Err(Refusal::conflict(about, &why));
    }
    Ok(())
}

/// Namespaces are deleted in words of their own.
fn check_namespace_preconditions(target: &Target, live: &Value, options: &Options) -> Result<(), Refusal> {
    let name = target.name.as_deref().unwrap_or_default();
    let pairs = [("UID", &options.uid, "uid"), ("ResourceVersion", &options.version, "resourceVersion")];
    for (word, wanted, key) in pairs {
        let found = text(&live["metadata"][key]);
        if let Some(wanted) = wanted.as_ref().filter(|wanted| **wanted != found) {
            let why = format!(
                "Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {found}"
            );
            return Err(Refusal::conflict(target.about(name), &why));
        }
    }
    Ok(())
}

fn is_going(live: &Value) -> bool {
    live["metadata"].get("deletionTimestamp").is_some()
}

/// Only pods are given time.
fn is_graceful(target: &Target) -> bool {
    &*target.kind.resource == "pods"
}

/// How many seconds an object has. A pod nobody runs has none.
fn grace(target: &Target, live: &Value, options: &Options) -> u64 {
    if !is_graceful(target) {
        return 0;
    }
    let spec = &live["spec"];
    let unbound = spec["nodeName"].as_str().is_none_or(str::is_empty);
    let over = matches!(live["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if unbound || over {
        return 0;
    }
    options.grace.or_else(|| spec["terminationGracePeriodSeconds"].as_u64()).unwrap_or(30)
}

fn mark(object: &mut Value, now: jiff::Timestamp, grace: u64) {
    let seconds = SignedDuration::from_secs(i64::try_from(grace).unwrap_or(i64::MAX));
    let time = now.checked_add(seconds).unwrap_or(now);
    let metadata = &mut object["metadata"];
    metadata["deletionTimestamp"] = Value::from(written(time));
    metadata["deletionGracePeriodSeconds"] = Value::from(grace);
    if let Some(generation) = metadata["generation"].as_u64().filter(|generation| *generation > 0) {
        metadata["generation"] = Value::from(generation + 1);
    }
}

/// Gives an object on its way out less time than it had, counted from when it was told to go. Returns how much: what
/// was given some and has used it up has a second.
fn hurry(object: &mut Value, now: jiff::Timestamp, grace: u64) -> u64 {
    let metadata = &mut object["metadata"];
    let before = metadata["deletionGracePeriodSeconds"].as_u64().unwrap_or(0);
    let due = metadata["deletionTimestamp"].as_str().and_then(|time| time.parse().ok()).unwrap_or(now);
    let sooner = SignedDuration::from_secs(i64::try_from(before.saturating_sub(grace)).unwrap_or(0));
    let due = due.checked_sub(sooner).unwrap_or(due);
    let (due, left) = if due < now { (now, grace.min(1)) } else { (due, grace) };
    metadata["deletionTimestamp"] = Value::from(written(due));
    metadata["deletionGracePeriodSeconds"] = Value::from(left);
    left
}

/// What holds an object: what held it before, and what the policy of its deletion adds or takes away.
fn finalizers(live: &Value, policy: Option<&str>) -> Vec<Value> {
    const POLICIES: [&str; 2] = ["orphan", "foregroundDeletion"];
    let held = live["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let Some(policy) = policy else { return held };
    let own = held.into_iter().filter(|name| !POLICIES.iter().any(|policy| name == policy));
    let added = match policy {
        "Orphan" => Some(Value::from("orphan")),
        "Foreground" => Some(Value::from("foregroundDeletion")),
        _ => None,
    };
    own.chain(added).collect()
}

fn set_finalizers(object: &mut Value, finalizers: Vec<Value>) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    match finalizers.is_empty() {
        true => drop(metadata.remove("finalizers")),
        false => drop(metadata.insert("finalizers".to_owned(), Value::from(finalizers))),
    }
}

/// A namespace stays until somebody has emptied it.
fn is_held_namespace(target: &Target, live: &Value) -> bool {
    &*target.kind.resource == "namespaces"
        && live["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty())
}
