//! The rules of a kind: those of built-in kinds, and those that come with a definition.

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::{self, Causes, Context, GroupKind, NameRule, Taken};
use crate::definition::{self, Definition};
use crate::fields::Fields;
use crate::kinds::Kind;
use crate::refusal::{Cause, Refusal};
use crate::store::Key;

use super::routes::Target;
use super::{Step, Turn, catalogue, custom};

/// Group and kind.
fn of(kind: &Kind) -> GroupKind<'_> {
    (&kind.of.group, &kind.kind)
}

/// What keeps a namespace is written here, by those who empty it.
fn is_finalize(target: &Target) -> bool {
    target.subresource.as_deref() == Some("finalize")
}

impl Turn<'_> {
    /// Why a body cannot be an object of the kind at all.
    pub(super) fn type_error(&self, object: &Value, kind: &Kind) -> Option<String> {
        let what = &kind.kind;
        let why = self.misread(object, kind)?;
        Some(format!("{what} in version {:?} cannot be handled as a {what}: {why}", kind.of.version))
    }

    /// What of an object is of another sort than it should be. Of custom kinds only the metadata is known so well.
    pub(super) fn misread(&self, object: &Value, kind: &Kind) -> Option<String> {
        let read = match &kind.schema {
            Some(_) => builtin::decode(of(kind), &mut object.clone()),
            None => builtin::decode_metadata(&mut object["metadata"].clone()),
        };
        read.err().map(|why| why.to_string())
    }

    /// Drops what the kind does not know. What was dropped, in the words of warnings.
    pub(super) fn prune(&self, object: &mut Value, kind: &Kind) -> Vec<String> {
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(schema), _) => {
                let found = crate::decoding::unknown_fields(object, schema);
                // What cannot be read was refused before.
                let _ = builtin::decode(of(kind), object);
                found
            }
            (None, Some(version)) => {
                // Of something else nobody knows what it is made of.
                let found = match object["kind"] == *kind.kind {
                    true => custom::prune(version, object),
                    false => Vec::new(),
                };
                // What cannot be read was refused before.
                let _ = builtin::decode_metadata(&mut object["metadata"]);
                found
            }
            (None, None) => Vec::new(),
        }
    }

    pub(super) fn set_defaults(&self, target: &Target, object: &mut Value) {
        let kind = &target.kind;
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => definition::set_defaults(object),
            (Some(_), _) => builtin::set_defaults(of(kind), object),
            (None, Some(version)) => version.schema.set_defaults(object),
            (None, None) => {}
        }
    }

    /// What stock admission adds on the way in.
    pub(super) fn admit(&self, target: &Target, object: &mut Value, old: Option<&Value>) -> Step<()> {
        let kind = &target.kind;
        if kind.schema.is_none() || target.subresource.is_some() {
            return Ok(());
        }
        let store = &self.server.store;
        let one = |resource: &str, name: &str| {
            store
                .get(&Key { resource: Arc::from(resource), namespace: Arc::from(""), name: Arc::from(name) })
                .cloned()
        };
        let classes: Arc<str> = Arc::from("priorityclasses.scheduling.k8s.io");
        let fallback = || {
            let defaults = store.list(&classes, None).filter(|(_, class)| class["globalDefault"] == true);
            defaults.min_by_key(|(_, class)| class["value"].as_i64()).map(|(_, class)| Arc::clone(class))
        };
        let context = Context {
            priority_class: &|name| one("priorityclasses.scheduling.k8s.io", name),
            default_priority_class: &fallback,
            node: &|name| one("nodes", name),
        };
        // Whoever has no name yet is called by what it begins with.
        let named =
            |key: &str| object["metadata"][key].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let name = named("name").or_else(|| named("generateName")).unwrap_or_default();
        builtin::admit(of(kind), object, old, &context)
            .map_err(|why| Refusal::forbidden(target.about(&name), &why.to_string()).into())
    }

    /// Gives services their addresses.
    pub(super) fn allocate(&self, target: &Target, object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
        if &*target.kind.resource != "services" || target.subresource.is_some() {
            return Vec::new();
        }
        let mine = object["metadata"]["uid"].clone();
        let others = || {
            let all = self.server.store.list(&target.kind.resource, None);
            all.map(|(_, service)| service).filter(|service| service["metadata"]["uid"] != mine)
        };
        let ports = |service: &Value, port: i64| {
            let ports = service["spec"]["ports"].as_array();
            ports.is_some_and(|ports| ports.iter().any(|found| found["nodePort"] == port))
        };
        let taken = Taken {
            address: &|address| others().any(|service| service["spec"]["clusterIP"] == address),
            node_port: &|port| others().any(|service| ports(service, port)),
        };
        builtin::allocate(object, old, &taken).err().unwrap_or_default()
    }

    pub(super) fn prepare_create(&self, target: &Target, object: &mut Value) {
        let kind = &target.kind;
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => {
                object["metadata"]["generation"] = Value::from(1);
                object["status"] = self.standing(object);
            }
            (Some(_), _) => builtin::prepare_create(of(kind), object, self.now),
            (None, Some(version)) => custom::prepare_create(version, object),
            (None, None) => {}
        }
    }

    pub(super) fn prepare_update(&self, target: &Target, object: &mut Value, live: &Value) {
        let kind = &target.kind;
        let status = target.subresource.as_deref() == Some("status");
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => {
                self.prepare_definition(object, live, status);
            }
            (Some(_), _) if status => builtin::prepare_status_update(of(kind), object, live),
            (Some(_), _) if is_finalize(target) => builtin::prepare_finalize(object, live),
            (Some(_), _) => builtin::prepare_update(of(kind), object, live),
            (None, Some(_)) if status => custom::prepare_status_update(object, live),
            (None, Some(version)) => custom::prepare_update(version, object, live),
            (None, None) => {}
        }
        if kind.schema.is_none() || &*kind.resource == catalogue::DEFINITIONS {
            builtin::keep_metadata(object, live);
        }
    }

    fn prepare_definition(&self, object: &mut Value, live: &Value, status: bool) {
        if status {
            object["spec"] = live["spec"].clone();
            return;
        }
        let generation = live["metadata"]["generation"].as_u64().unwrap_or(1);
        let changed = object["spec"] != live["spec"];
        object["metadata"]["generation"] = Value::from(generation + u64::from(changed));
        object["status"] = live["status"].clone();
        if changed {
            object["status"] = self.standing(object);
        }
    }

    /// How a definition stands among the others.
    fn standing(&self, crd: &Value) -> Value {
        let resource: Arc<str> = Arc::from(catalogue::DEFINITIONS);
        let all = self.server.store.list(&resource, None);
        let others: Vec<&Value> = all
            .map(|(_, other)| &**other)
            .filter(|other| other["metadata"]["name"] != crd["metadata"]["name"])
            .collect();
        definition::status(crd, &others, self.now)
    }

    pub(super) fn wrong_at_creation(&self, target: &Target, object: &Value) -> Vec<Cause> {
        let kind = &target.kind;
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => {
                Definition::read(object).err().unwrap_or_default()
            }
            (Some(_), _) => builtin::validate_create(of(kind), object),
            (None, Some(version)) => {
                let mut causes = Causes::default();
                let metadata = &object["metadata"];
                builtin::validate_metadata(metadata, kind.namespaced, NameRule::Subdomain, &mut causes);
                version.validate_after(Vec::from(causes), object, None)
            }
            (None, None) => Vec::new(),
        }
    }

    pub(super) fn wrong_at_update(&self, target: &Target, object: &Value, live: &Value) -> Vec<Cause> {
        let kind = &target.kind;
        let status = target.subresource.as_deref() == Some("status");
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => match status {
                true => Vec::new(),
                false => Definition::read_update(object, live).err().unwrap_or_default(),
            },
            (Some(_), _) if status => builtin::validate_status_update(of(kind), object, live),
            (Some(_), _) if is_finalize(target) => builtin::validate_finalize(object, live),
            (Some(_), _) => builtin::validate_update(of(kind), object, live),
            (None, Some(version)) => {
                let mut causes = Causes::default();
                let (new, old) = (&object["metadata"], &live["metadata"]);
                builtin::validate_common_update(new, old, kind.namespaced, &mut causes);
                // Two look at it, and both tell what they find.
                builtin::validate_metadata_update(new, old, &mut causes);
                let metadata = Vec::from(causes);
                match status {
                    true => version.validate_status_after(metadata, object, live),
                    false => version.validate_after(metadata, object, Some(live)),
                }
            }
            (None, None) => Vec::new(),
        }
    }

    /// What a writer of the object cannot write of it, or what a writer of its status cannot.
    pub(super) fn reset_fields(&self, target: &Target) -> Fields {
        let kind = &target.kind;
        let status = target.subresource.as_deref() == Some("status");
        let has_status = kind.subresource("status").is_some();
        let names: &[&[&str]] = match (status, of(kind)) {
            (true, ("", "Pod")) => {
                &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
            }
            (true, ("apps", "Deployment")) => &[&["spec"], &["metadata", "labels"]],
            (true, _) if kind.schema.is_none() => &[&["spec"], &["metadata"]],
            (true, _) => &[&["spec"]],
            (false, _) if has_status => &[&["status"]],
            (false, _) => &[],
        };
        let mut fields = Fields::default();
        for path in names {
            let place =
                path.iter().fold(&mut fields, |fields, name| fields.at(crate::fields::Element::field(name)));
            place.set_member();
        }
        fields
    }
}
