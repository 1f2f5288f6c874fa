//! Changing objects that are there: what every update goes through, however it is written.

pub(super) mod owners;

use std::sync::Arc;

use serde_json::Value;

use crate::apply::{Managers, Operation};
use crate::refusal::{Cause, Refusal};
use crate::request::Writes;

use super::admission::Question;
use super::create::{check_place, text};
use super::decode::check_custom_kind;
use super::render::{Look, Response};
use super::routes::Target;
use super::{Step, Turn, catalogue};

impl Turn<'_> {
    pub(super) fn replace(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?.of_part(target);
        let writes = Writes::read(&self.request.query, "UpdateOptions")?;
        let mut object = self.object_of_body(&target.kind, writes.fields)?;
        self.check_name(target, &object)?;
        let live = match self.stored(target) {
            Err(_) if is_created_by_update(target) => {
                let object = self.create_by_update(target, object, writes)?;
                return Ok(look.one(201, object, &self.server.catalogue, self.now));
            }
            live => {
                live?;
                self.live_to_write(target, writes.dry_run)?
            }
        };
        check_identity(target, &live, &object, writes.dry_run)?;
        check_custom_kind(&object, &target.kind)?;
        object["kind"] = Value::from(&*target.kind.kind);
        self.set_defaults(target, &mut object);
        let managers = owners::of_update(&live, &object);
        carry(&live, &mut object);
        let object = self.owned(target, &live, object, &managers)?;
        let stored = self.update(target, &live, object, writes, "UpdateOptions")?;
        Ok(look.one(200, stored, &self.server.catalogue, self.now))
    }

    /// Some kinds are created by whoever replaces what is not there.
    pub(super) fn create_by_update(
        &mut self,
        target: &Target,
        mut object: Value,
        writes: Writes,
    ) -> Step<Arc<Value>> {
        let none = serde_json::json!({"metadata": {"uid": ""}});
        let uid = text(&object["metadata"]["uid"]);
        if !uid.is_empty() {
            check_identity(target, &none, &object, writes.dry_run)?;
        }
        let version =
            object["metadata"].as_object_mut().and_then(|metadata| metadata.remove("resourceVersion"));
        let created = self.create_object(target, object, writes, Operation::Update)?;
        Ok(tried(created, version.filter(|_| writes.dry_run)))
    }

    /// The name of an object is the one of the path.
    pub(super) fn check_name(&self, target: &Target, object: &Value) -> Step<()> {
        check_place(target, &object["metadata"])?;
        let wanted = target.name.as_deref().unwrap_or_default();
        let named = object["metadata"]["name"].as_str().unwrap_or_default();
        if named.is_empty() {
            let why = format!(
                "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
            );
            return Err(Refusal::bad_request(why).into());
        }
        if named != wanted {
            let why =
                format!("the name of the object ({named}) does not match the name on the URL ({wanted})");
            return Err(Refusal::bad_request(why).into());
        }
        Ok(())
    }

    /// The way of every update: admission, the kind's own rules, webhooks, the store.
    pub(super) fn update(
        &mut self,
        target: &Target,
        live: &Arc<Value>,
        object: Value,
        writes: Writes,
        options: &'static str,
    ) -> Step<Arc<Value>> {
        let name = target.name.clone().unwrap_or_default();
        let options = self.options(options);
        let question = |object| Question {
            target,
            operation: "UPDATE",
            name: &name,
            object,
            old: live,
            options: options.clone(),
            dry_run: writes.dry_run,
        };
        let mut object = object;
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if version.is_empty() {
            if !is_updated_blindly(target) {
                let why = "Invalid value: 0: must be specified for an update";
                let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", why);
                return Err(Refusal::invalid(target.about(&name), vec![cause]).into());
            }
            object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        }
        self.admit(target, &mut object, Some(live))?;
        let mut object = self.mutated(&question(&object))?;
        let mut causes = self.allocate(target, &mut object, Some(live));
        self.prepare_update(target, &mut object, live);
        causes.extend(self.wrong_at_update(target, &object, live));
        if !causes.is_empty() {
            let causes = if target.kind.schema.is_some() { said_once(causes) } else { causes };
            return Err(Refusal::invalid(target.about_kind(&name), causes).into());
        }
        self.agreed(&question(&object))?;
        self.keep_update(target, live, object, writes.dry_run)
    }

    /// Stores what changed. What did not is not written; what was only kept by its finalizers goes.
    fn keep_update(
        &mut self,
        target: &Target,
        live: &Arc<Value>,
        mut object: Value,
        dry_run: bool,
    ) -> Step<Arc<Value>> {
        let key = self.key(target, target.name.as_deref().unwrap_or_default());
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        if owners::same_but_for_times(&object, live) {
            object = Value::clone(live);
        }
        if is_finished(&object, target) && object != **live && !dry_run {
            self.forget_kind(&key);
            self.server.store.remove(&key);
            return Ok(Arc::new(object));
        }
        self.keep_changed(target, key, live, object, dry_run)
    }

    /// A definition that goes takes its kind with it, and all objects of that kind.
    pub(super) fn forget_kind(&mut self, key: &crate::store::Key) {
        if *key.resource == *catalogue::DEFINITIONS {
            let objects = self.server.store.list(&key.name, None).map(|(key, _)| key.clone());
            for object in objects.collect::<Vec<_>>() {
                self.server.store.remove(&object);
            }
            self.server.catalogue.forget(&key.name);
        }
    }
}

/// What two rules of a built-in kind say is said once.
fn said_once(causes: Vec<Cause>) -> Vec<Cause> {
    let mut said: Vec<Cause> = Vec::with_capacity(causes.len());
    for cause in causes {
        if !said.contains(&cause) {
            said.push(cause);
        }
    }
    said
}

/// A version that cannot be comes back from a trial.
pub(super) fn tried(created: Arc<Value>, version: Option<Value>) -> Arc<Value> {
    let Some(version) = version else { return created };
    let mut tried = Value::clone(&created);
    tried["metadata"]["resourceVersion"] = version;
    Arc::new(tried)
}

/// Kinds that an update creates where there is nothing to update.
pub(super) fn is_created_by_update(target: &Target) -> bool {
    const KINDS: &[&str] = &[
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "events",
        "leases.coordination.k8s.io",
        "limitranges",
        "rolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "services",
    ];
    KINDS.contains(&&*target.kind.resource)
}

/// Kinds that may be updated by whoever does not know their version.
fn is_updated_blindly(target: &Target) -> bool {
    const NOT: &[&str] = &[
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "poddisruptionbudgets.policy",
        "podgroups.scheduling.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "workloads.scheduling.k8s.io",
    ];
    target.kind.schema.is_some() && !NOT.contains(&&*target.kind.resource)
}

/// An object on its way out that nobody holds any longer.
fn is_finished(object: &Value, target: &Target) -> bool {
    let metadata = &object["metadata"];
    let held = metadata["finalizers"].as_array().is_some_and(|held| !held.is_empty());
    let grace = metadata["deletionGracePeriodSeconds"].as_u64().unwrap_or(0);
    let namespace = &*target.kind.resource == "namespaces"
        && object["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
    metadata.get("deletionTimestamp").is_some() && !held && grace == 0 && !namespace
}

/// The object that is written is the one that was read.
pub(super) fn check_identity(
    target: &Target,
    live: &Value,
    object: &Value,
    dry_run: bool,
) -> Result<(), Refusal> {
    let name = target.name.as_deref().unwrap_or_default();
    let (was, is) = (&live["metadata"], &object["metadata"]);
    let uid = text(&is["uid"]);
    if !uid.is_empty() && was["uid"] != uid.as_str() {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: UID in precondition: {uid}, UID in object meta: {}",
            registry_key(target, name, dry_run),
            text(&was["uid"]),
        );
        return Err(Refusal::conflict(target.about(name), &why));
    }
    let version = text(&is["resourceVersion"]);
    if !version.is_empty() && version != "0" && was["resourceVersion"] != version.as_str() {
        return Err(Refusal::modified(target.about(name)));
    }
    Ok(())
}

/// Where a real server would keep it: some of its sentences say so.
fn registry_key(target: &Target, name: &str, dry_run: bool) -> String {
    let kind = &target.kind;
    let group = if kind.schema.is_none() { format!("{}/", kind.of.group) } else { String::new() };
    let space = if kind.namespaced { format!("{}/", target.space()) } else { String::new() };
    let plural = match &*kind.resource {
        "services" => "services/specs",
        "nodes" => "minions",
        _ => &kind.plural,
    };
    // Trials are told before anybody says where the registry lies.
    let root = if dry_run { "" } else { "/registry" };
    format!("{root}/{group}{plural}/{space}{name}")
}

/// What only a server gives is what it was, whatever is written.
pub(super) fn carry(live: &Value, object: &mut Value) {
    for key in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let is_given = object["metadata"].get(key).is_some_and(|given| !given.is_null());
        if is_given {
            continue;
        }
        match live["metadata"].get(key) {
            Some(value) => object["metadata"][key] = value.clone(),
            None => {
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove(key);
                }
            }
        }
    }
    match (live["metadata"].get("namespace"), object["metadata"].get("namespace")) {
        (Some(namespace), None) => object["metadata"]["namespace"] = namespace.clone(),
        // What lies in no namespace may name any.
        (None, Some(_)) => {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("namespace");
            }
        }
        _ => {}
    }
}

/// Managed fields of an object.
pub(super) fn managers(object: &Value) -> Managers {
    Managers::read(&object["metadata"]["managedFields"]).unwrap_or_default()
}
