//! The rules of a kind: those of built-in kinds, and those that come with a definition.

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::{self, Context, GroupKind, Taken};
use super::shim as definition;
use crate::fields::Fields;
use crate::kinds::Kind;
use crate::refusal::{Cause, Refusal};
use crate::store::Key;

use super::routes::Target;
use super::{Step, Turn, catalogue};

/// Group and kind.
fn of(kind: &Kind) -> GroupKind<'_> {
    (&kind.of.group, &kind.kind)
}

impl Turn<'_> {
    /// Why a body cannot be an object of the kind at all.
    pub(super) fn type_error(&self, object: &Value, kind: &Kind) -> Option<String> {
        let what = &kind.kind;
        match &kind.schema {
            Some(_) => {
                let why = builtin::decode(of(kind), &mut object.clone()).err()?;
                Some(format!("{what} in version {:?} cannot be handled as a {what}: {why}", kind.of.version))
            }
            None => None,
        }
    }

    /// Drops what the kind does not know. What was dropped, in the words of warnings.
    pub(super) fn prune(&self, object: &mut Value, kind: &Kind) -> Vec<String> {
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(schema), _) => {
                let found = definition::unknown_fields(object, schema);
                // What cannot be read was refused before.
                let _ = builtin::decode(of(kind), object);
                found
            }
            (None, Some(version)) => version.prune(object),
            (None, None) => Vec::new(),
        }
    }

    pub(super) fn set_defaults(&self, target: &Target, object: &mut Value) {
        let kind = &target.kind;
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => definition::set_defaults(object),
            (Some(_), _) => builtin::set_defaults(of(kind), object),
            (None, Some(version)) => version.set_defaults(object),
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
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
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
                object["status"] = self.server.catalogue.definition_status(object, self.now);
            }
            (Some(_), _) => builtin::prepare_create(of(kind), object, self.now),
            (None, Some(version)) => version.prepare_create(object),
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
            (Some(_), _) => builtin::prepare_update(of(kind), object, live),
            (None, Some(version)) if status => version.prepare_status_update(object, live),
            (None, Some(version)) => version.prepare_update(object, live),
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
            let fresh = self.server.catalogue.definition_status(object, self.now);
            object["status"]["acceptedNames"] = fresh["acceptedNames"].clone();
            let mut versions = live["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
            for version in fresh["storedVersions"].as_array().into_iter().flatten() {
                if !versions.contains(version) {
                    versions.push(version.clone());
                }
            }
            object["status"]["storedVersions"] = Value::from(versions);
        }
    }

    pub(super) fn wrong_at_creation(&self, target: &Target, object: &Value) -> Vec<Cause> {
        let kind = &target.kind;
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => definition::validate(object, None),
            (Some(_), _) => definition::validate_create(of(kind), object),
            (None, Some(version)) => {
                let mut causes = definition::validate_metadata(&object["metadata"], kind.namespaced, None);
                causes.extend(version.schema.validate(object, None));
                causes
            }
            (None, None) => Vec::new(),
        }
    }

    pub(super) fn wrong_at_update(&self, target: &Target, object: &Value, live: &Value) -> Vec<Cause> {
        let kind = &target.kind;
        let status = target.subresource.as_deref() == Some("status");
        match (&kind.schema, self.server.catalogue.custom(kind)) {
            (Some(_), _) if &*kind.resource == catalogue::DEFINITIONS => {
                if status { Vec::new() } else { definition::validate(object, Some(live)) }
            }
            (Some(_), _) if status => definition::validate_update(of(kind), object, live),
            (Some(_), _) => definition::validate_update(of(kind), object, live),
            (None, Some(version)) => {
                let old = Some(&live["metadata"]);
                let mut causes = definition::validate_metadata(&object["metadata"], kind.namespaced, old);
                causes.extend(match status {
                    true => version.schema.validate_status(object, live),
                    false => version.schema.validate(object, Some(live)),
                });
                causes
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
            (true, _) => &[&["spec"]],
            (false, _) if has_status => &[&["status"]],
            (false, _) => &[],
        };
        let mut fields = Fields::default();
        for path in names {
            let place = path
                .iter()
                .fold(&mut fields, |fields, name| fields.at(crate::fields::Element::field(name)));
            place.set_member();
        }
        fields
    }
}
