//! How many: the same question to every kind that can be scaled.
//!
//! A scale is an object of its own for as long as it is written: whoever owns the number of the whole owns it in the
//! scale, and whoever owns it in the scale afterwards owns it in the whole.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::apply::{Entry, Managers, Operation, Who};
use crate::builtin;
use crate::fields::{Element, Fields};
use crate::kinds::{self, Kind};
use crate::refusal::{About, Cause, Refusal};
use crate::request::Writes;
use crate::server::modify::{check_identity, managers, owners};
use crate::server::patching::Sort;
use crate::server::render::{Look, Response};
use crate::server::routes::Target;
use crate::server::{Step, Turn, custom};
use crate::table::Columns;

/// What a number is called that is not there, while it is patched: the smallest there is.
const NOT_THERE: i64 = -2_147_483_648;

impl Turn<'_> {
    pub(super) fn scale(&mut self, target: &Target, verb: &str) -> Step<Response> {
        let paths = self.scale_paths(&target.kind);
        let part = Target { kind: Arc::new(kinds::scale(&target.kind)), ..target.clone() };
        let look = Look::of(&part.kind, self.request)?.with_columns(self.scale_columns(&target.kind));
        let scale = match verb {
            "get" => {
                let live = self.live(target)?;
                if target.kind.schema.is_none() && find(&live, &paths.wished).is_null() {
                    let why = format!("the spec replicas field {:?} does not exist", paths.shown());
                    return Err(Refusal::internal(why).into());
                }
                shown(&live, &paths)
            }
            "update" => self.replace_scale(target, &part, &paths)?,
            _ => self.patch_scale(target, &part, &paths)?,
        };
        Ok(look.one(200, Arc::new(scale), &self.server.catalogue, self.now))
    }

    fn replace_scale(&mut self, target: &Target, part: &Target, paths: &ScalePaths) -> Step<Value> {
        let writes = Writes::read(&self.request.query, "UpdateOptions")?;
        let wished = self.object_of_body(&part.kind, writes.fields)?;
        self.check_name(part, &wished)?;
        let live = self.live_to_write(target, writes.dry_run)?;
        check_number(target, &wished)?;
        check_identity(target, &live, &wished, writes.dry_run)?;
        let now = self.scale_of(&live, target, paths);
        let owners = owners::of_update(&now, &wished);
        let wished = self.owned(part, &now, wished, &owners)?;
        self.rescale(target, &live, &wished, paths, writes, "UpdateOptions")
    }

    fn patch_scale(&mut self, target: &Target, part: &Target, paths: &ScalePaths) -> Step<Value> {
        let sort = self.sort(&target.kind)?;
        let writes = self.patch_options(sort)?;
        let patch = if sort == Sort::Apply { Value::Null } else { self.patch_body()? };
        let live = self.live_to_write(target, writes.dry_run)?;
        let mut now = self.scale_of(&live, target, paths);
        if target.kind.schema.is_none() && find(&live, &paths.wished).is_null() {
            now["spec"]["replicas"] = Value::from(NOT_THERE);
        }
        let wished = match sort {
            Sort::Apply => {
                let applied = self.applied_body(part, writes.fields)?;
                let wished = owners::applied(self, part, &now, &applied, self.request.query.says("force"))?;
                self.check_name(part, &applied)?;
                wished
            }
            sort => {
                let wished = self.patched_object(part, sort, &now, &patch, writes.fields)?;
                let owners = owners::of_update(&now, &wished);
                self.owned(part, &now, wished, &owners)?
            }
        };
        check_number(target, &wished)?;
        self.check_version(target, &live, &wished)?;
        if wished["spec"]["replicas"] == NOT_THERE {
            let why = format!("the spec replicas field {:?} cannot be empty", paths.shown());
            return Err(Refusal::bad_request(why).into());
        }
        self.rescale(target, &live, &wished, paths, writes, "PatchOptions")
    }

    /// Writes a scale to the whole it belongs to.
    fn rescale(
        &mut self,
        target: &Target,
        live: &Arc<Value>,
        wished: &Value,
        paths: &ScalePaths,
        writes: Writes,
        options: &'static str,
    ) -> Step<Value> {
        let replicas = wished["spec"]["replicas"].as_i64().unwrap_or(0);
        let mut object = Value::clone(live);
        put(&mut object, &paths.wished, Value::from(replicas));
        let owners = self.owners_of_whole(live, &managers(wished), target);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            match owners.is_empty() {
                true => drop(metadata.remove("managedFields")),
                false => drop(metadata.insert("managedFields".to_owned(), owners.write())),
            }
        }
        let stored = self.update(&target.whole(), live, object, writes, options)?;
        Ok(shown(&stored, paths))
    }

    /// The scale of an object, with those who own its number.
    fn scale_of(&self, live: &Value, target: &Target, paths: &ScalePaths) -> Value {
        let mut scale = shown(live, paths);
        // It was made here, and can be read.
        let _ = builtin::decode(("autoscaling", "Scale"), &mut scale);
        let owners = managers(live);
        let owns = |entry: &&Entry| {
            let path = self.replicas_in(&target.kind, &entry.who.api_version).flatten();
            path.is_some_and(|path| has(&entry.fields, &path))
        };
        let entry = |entry: &Entry| Entry {
            who: Who { api_version: VERSION.to_owned(), ..entry.who.clone() },
            time: entry.time.clone(),
            fields: only(&number()),
        };
        let entries: Vec<Entry> = owners.entries().iter().filter(owns).map(entry).collect();
        if !entries.is_empty() {
            scale["metadata"]["managedFields"] = Managers::from(entries).write();
        }
        scale
    }

    /// Who owns what of an object whose scale is owned like this. Whoever applied the number keeps it with all the rest
    /// they own; whoever wrote it otherwise is from now on known for it apart from the rest.
    fn owners_of_whole(&self, live: &Value, scale: &Managers, target: &Target) -> Managers {
        let mut of_scale: Vec<Entry> = scale.entries().to_vec();
        let mut owners = Vec::new();
        for mut entry in managers(live).entries().iter().cloned() {
            let Some(path) = self.replicas_in(&target.kind, &entry.who.api_version) else { continue };
            if let Some(path) = path.filter(|path| has(&entry.fields, path)) {
                let applied = |other: &Entry| {
                    let Who { manager, operation, subresource, .. } = &other.who;
                    *operation == Operation::Apply
                        && (manager, operation, subresource)
                            == (&entry.who.manager, &entry.who.operation, &entry.who.subresource)
                };
                match of_scale.iter().position(applied) {
                    Some(index) => drop(of_scale.remove(index)),
                    None => entry.fields = entry.fields.difference(&only(&path)),
                }
            }
            owners.push(entry);
        }
        let version = target.kind.api_version();
        let path = self.replicas_in(&target.kind, &version).flatten().unwrap_or_default();
        let numbered = of_scale.into_iter().filter(|entry| has(&entry.fields, &number()));
        owners.extend(numbered.map(|entry| Entry {
            who: Who { api_version: version.clone(), ..entry.who },
            // When it was is not known here.
            time: String::new(),
            fields: only(&path),
        }));
        owners.retain(|entry| !entry.fields.is_empty());
        Managers::from(owners)
    }

    /// Where a version of a kind keeps the number; nothing in it if that version cannot be scaled, and nothing at all if
    /// there is no such version.
    fn replicas_in(&self, kind: &Kind, api_version: &str) -> Option<Option<Vec<String>>> {
        match self.server.catalogue.custom_kind(kind) {
            Some(definition) => {
                let version = definition.of_api_version(api_version)?;
                Some(version.scale.as_ref().map(|scale| parts(&scale.spec_replicas)))
            }
            None => (kind.api_version() == api_version).then(|| Some(number())),
        }
    }

    fn scale_paths(&self, kind: &Kind) -> ScalePaths {
        let scale = self.server.catalogue.custom(kind).and_then(|version| version.scale.as_ref());
        match scale {
            Some(scale) => ScalePaths {
                wished: parts(&scale.spec_replicas),
                found: parts(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(parts),
            },
            None => ScalePaths { wished: number(), found: parts("status.replicas"), selector: None },
        }
    }

    fn scale_columns(&self, kind: &Kind) -> Columns {
        match self.server.catalogue.custom(kind) {
            Some(version) => Columns::custom_scale(&custom::scale(version)),
            None => Columns::scale(),
        }
    }
}

/// There are no fewer than none. Custom kinds tell that in words of their own.
fn check_number(target: &Target, wished: &Value) -> Result<(), Refusal> {
    let replicas = wished["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas >= 0 || target.kind.schema.is_none() {
        return Ok(());
    }
    let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
    let cause = Cause::new("FieldValueInvalid", "spec.replicas", &message);
    let name = target.name.as_deref().unwrap_or_default();
    Err(Refusal::invalid(About { group: "autoscaling", what: "Scale", name }, vec![cause]))
}

/// The version of scales.
const VERSION: &str = "autoscaling/v1";

/// Where a scale keeps its number.
fn number() -> Vec<String> {
    parts("spec.replicas")
}

fn parts(path: &str) -> Vec<String> {
    path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Where the numbers of a scale lie.
struct ScalePaths {
    wished: Vec<String>,
    found: Vec<String>,
    /// The selector, as a text; nothing where it is a structure in the spec.
    selector: Option<Vec<String>>,
}

impl ScalePaths {
    /// Where the number is, as a definition says it.
    fn shown(&self) -> String {
        format!(".{}", self.wished.join("."))
    }
}

/// One field.
fn only(path: &[String]) -> Fields {
    let mut fields = Fields::default();
    path.iter().fold(&mut fields, |fields, part| fields.at(Element::field(part))).set_member();
    fields
}

fn has(fields: &Fields, path: &[String]) -> bool {
    let found = path.iter().try_fold(fields, |fields, part| fields.child(&Element::field(part)));
    found.is_some_and(Fields::is_member)
}

fn find<'a>(object: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(object, |value, part| &value[part.as_str()])
}

fn put(object: &mut Value, path: &[String], value: Value) {
    let place = path.iter().fold(object, |place, part| {
        if !place.is_object() {
            *place = json!({});
        }
        &mut place[part.as_str()]
    });
    *place = value;
}

/// The scale of an object.
fn shown(object: &Value, paths: &ScalePaths) -> Value {
    let metadata = &object["metadata"];
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Value = kept
        .into_iter()
        .filter_map(|key| metadata.get(key).map(|value| (key.to_owned(), value.clone())))
        .collect();
    let selector = match &paths.selector {
        Some(path) => find(object, path).as_str().unwrap_or_default().to_owned(),
        None => selector_text(&object["spec"]["selector"]),
    };
    let mut status = json!({"replicas": find(object, &paths.found).as_i64().unwrap_or(0)});
    if !selector.is_empty() {
        status["selector"] = Value::from(selector);
    }
    let mut spec = json!({});
    if let Some(replicas) = find(object, &paths.wished).as_i64().filter(|replicas| *replicas != 0) {
        spec["replicas"] = Value::from(replicas);
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status,
    })
}

/// A selector as a text.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut values: Vec<&str> = values.collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        });
    }
    parts.sort();
    parts.join(",")
}
