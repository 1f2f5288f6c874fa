//! Creating objects.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::apply::{Managers, Operation};
use crate::builtin;
use crate::refusal::{About, Refusal};
use crate::request::Writes;
use crate::store::Key;

use super::admission::Question;
use super::modify::owners;
use super::render::{Look, Response};
use super::routes::Target;
use super::{Step, Turn, written};

impl Turn<'_> {
    pub(super) fn create(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?;
        let writes = Writes::read(&self.request.query, "CreateOptions")?;
        let object = self.object_of_body(&target.kind, writes.fields)?;
        let object = self.create_object(target, object, writes, Operation::Update)?;
        Ok(look.one(201, object, &self.server.catalogue, self.now))
    }

    /// Creates an object that is already known to be of its kind.
    pub(super) fn create_object(
        &mut self,
        target: &Target,
        mut object: Value,
        writes: Writes,
        operation: Operation,
    ) -> Step<Arc<Value>> {
        self.place(target, &mut object)?;
        self.set_defaults(target, &mut object);
        if operation == Operation::Update {
            let live = self.blank(target);
            let managers = owners::of_update(&live, &object);
            object = self.owned(target, &live, object, &managers)?;
        }
        self.check_namespace(target, &text(&object["metadata"]["name"]))?;
        self.admit(target, &mut object, None)?;
        let options = self.options("CreateOptions");
        let name = text(&object["metadata"]["name"]);
        let question = Question {
            target,
            operation: "CREATE",
            name: &name,
            object: &object,
            old: &Value::Null,
            options: options.clone(),
            dry_run: writes.dry_run,
        };
        let mut object = self.mutated(&question)?;
        self.fill(target, &mut object);
        let unallocated = self.allocate(target, &mut object, None);
        let name = text(&object["metadata"]["name"]);
        if !unallocated.is_empty() {
            return Err(Refusal::invalid(target.about_kind(&name), unallocated).into());
        }
        self.prepare_create(target, &mut object);
        let causes = self.wrong_at_creation(target, &object);
        if !causes.is_empty() {
            return Err(Refusal::invalid(target.about_kind(&name), causes).into());
        }
        let question = Question {
            target,
            operation: "CREATE",
            name: &name,
            object: &object,
            old: &Value::Null,
            options,
            dry_run: writes.dry_run,
        };
        self.agreed(&question)?;
        let key = self.key(target, &name);
        if !writes.dry_run {
            // What cannot be stored is not even compared with what is.
            self.check_storable(target, &object)?;
        }
        if self.server.store.get(&key).is_some() {
            return Err(self.taken(target, &key).into());
        }
        self.keep_of(target, key, object, writes.dry_run)
    }

    /// The name is taken, be it by something that is about to go.
    fn taken(&self, target: &Target, key: &Key) -> Refusal {
        let mut refusal = Refusal::already_exists(target.about(&key.name));
        let going = |found: &Arc<Value>| found["metadata"].get("deletionTimestamp").is_some();
        if self.server.store.get(key).is_some_and(going) {
            refusal.message = format!("object is being deleted: {}", refusal.message);
        }
        refusal
    }

    /// An object of a kind before anybody wrote anything.
    pub(super) fn blank(&self, target: &Target) -> Value {
        let kind = &target.kind;
        let mut blank = json!({});
        if kind.schema.is_some() {
            // Nothing is read, so nothing can be misread.
            let _ = builtin::decode((&kind.of.group, &kind.kind), &mut blank);
        }
        blank["apiVersion"] = Value::from(kind.api_version());
        blank["kind"] = Value::from(&*kind.kind);
        blank
    }

    /// Puts an object where the path says.
    fn place(&self, target: &Target, object: &mut Value) -> Step<()> {
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        let metadata = &mut object["metadata"];
        if metadata["resourceVersion"].as_str().is_some_and(|version| !version.is_empty() && version != "0") {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::failure(message).into());
        }
        check_place(target, metadata)?;
        let server =
            ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.retain(|key, value| !server.contains(&key.as_str()) && !value.is_null());
            match &target.namespace {
                Some(namespace) => {
                    drop(metadata.insert("namespace".to_owned(), Value::from(namespace.as_str())))
                }
                None => drop(metadata.remove("namespace")),
            }
        }
        Ok(())
    }

    /// Gives an object what only a server gives.
    fn fill(&self, target: &Target, object: &mut Value) {
        let seed = self.server.settings.seed;
        let next = self.told.occasion(self.server.store.revision() + 1);
        let metadata = &mut object["metadata"];
        metadata["uid"] = Value::from(identity(seed, &format!("uid {next}")));
        metadata["creationTimestamp"] = Value::from(written(self.now));
        if text(&metadata["name"]).is_empty() {
            let prefix = text(&metadata["generateName"]);
            if !prefix.is_empty() {
                let free = |name: &String| self.server.store.get(&self.key(target, name)).is_none();
                let candidates = (0..8).map(|attempt| {
                    let prefix: String = prefix.chars().take(58).collect();
                    format!("{prefix}{}", suffix(seed, &format!("name {next} {attempt}")))
                });
                if let Some(name) = candidates.into_iter().find(free) {
                    metadata["name"] = Value::from(name);
                }
            }
        }
    }

    /// Nothing is created in a namespace that is not there, or on its way out.
    fn check_namespace(&self, target: &Target, name: &str) -> Step<()> {
        let Some(namespace) = target.namespace.as_deref().filter(|_| target.kind.namespaced) else {
            return Ok(());
        };
        let key =
            Key { resource: Arc::from("namespaces"), namespace: Arc::from(""), name: Arc::from(namespace) };
        let about = About { group: "", what: "namespaces", name: namespace };
        let found = self.server.store.get(&key).ok_or_else(|| Refusal::not_found(about))?;
        if found["metadata"].get("deletionTimestamp").is_some() {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let cause = format!("namespace {namespace} is being terminated");
            let refusal = Refusal::forbidden(target.about(name), &why);
            return Err(refusal.with_cause_at("NamespaceTerminating", &cause, "metadata.namespace").into());
        }
        Ok(())
    }

    /// An object with who owns what of it, after somebody wrote it in any way but apply.
    pub(super) fn owned(
        &self,
        target: &Target,
        live: &Value,
        object: Value,
        managers: &Managers,
    ) -> Step<Value> {
        let who = owners::who(self.request, target, Operation::Update);
        owners::updated(self, target, live, object, managers, &who)
    }

    /// The options of a request, as webhooks are told.
    pub(super) fn options(&self, kind: &str) -> Value {
        let query = &self.request.query;
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(value) = query.get(name) {
                options[name] = Value::from(value);
            }
        }
        if query.says("force") {
            options["force"] = Value::from(true);
        }
        let dry_run = query.all("dryRun");
        if !dry_run.is_empty() {
            options["dryRun"] = Value::from(dry_run);
        }
        options
    }
}

/// The namespace an object names is the one of the path.
pub(super) fn check_place(target: &Target, metadata: &Value) -> Result<(), Refusal> {
    let named = metadata["namespace"].as_str().unwrap_or_default();
    if target.kind.namespaced && !named.is_empty() && named != target.space() {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(message));
    }
    Ok(())
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn digest(seed: u64, of: &str) -> [u8; 32] {
    Sha256::new().chain_update(seed.to_be_bytes()).chain_update(of).finalize().into()
}

/// An identity nobody else has; the same for the same seed and occasion.
pub(super) fn identity(seed: u64, occasion: &str) -> String {
    let digest = digest(seed, occasion);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    // As random identities look: version 4, variant 8.
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// The end of a generated name: five signs that make no words.
fn suffix(seed: u64, occasion: &str) -> String {
    const SIGNS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = digest(seed, occasion);
    digest.iter().take(5).map(|byte| char::from(SIGNS[usize::from(*byte) % SIGNS.len()])).collect()
}
