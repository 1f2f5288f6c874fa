//! Patches: JSON, merge and strategic ones, and server-side apply.

use std::sync::Arc;

use serde_json::Value;

use crate::apply::Operation;
use crate::decoding;
use crate::kinds::Kind;
use crate::patch::{self, StrategicError};
use crate::refusal::{About, Cause, Refusal};
use crate::request::{FieldValidation, Writes, meta};

use super::create::text;
use super::decode::{self, check_custom_kind};
use super::modify::{carry, is_created_by_update, owners, tried};
use super::render::{Look, Response};
use super::routes::Target;
use super::{Step, Turn, typed};

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Turn<'_> {
    pub(super) fn patch(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?.of_part(target);
        let (stored, created) = self.patch_object(target)?;
        let code = if created { 201 } else { 200 };
        Ok(look.one(code, stored, &self.server.catalogue, self.now))
    }

    /// Carries a patch out on an object or on a part of it.
    fn patch_object(&mut self, target: &Target) -> Step<(Arc<Value>, bool)> {
        let sort = self.sort(&target.kind)?;
        let writes = self.patch_options(sort)?;
        if sort == Sort::Apply {
            return self.apply(target, writes);
        }
        let patch = self.patch_body()?;
        let live = self.live_to_write(target, writes.dry_run)?;
        let mut object = self.patched_object(target, sort, &live, &patch, writes.fields)?;
        self.set_defaults(target, &mut object);
        self.check_version(target, &live, &object)?;
        let managers = owners::of_update(&live, &object);
        carry(&live, &mut object);
        let object = self.owned(target, &live, object, &managers)?;
        let stored = self.update(target, &live, object, writes, "PatchOptions")?;
        Ok((stored, false))
    }

    pub(super) fn sort(&self, kind: &Kind) -> Result<Sort, Refusal> {
        match self.request.media_type() {
            "application/json-patch+json" => Ok(Sort::Json),
            "application/merge-patch+json" => Ok(Sort::Merge),
            "application/strategic-merge-patch+json" if kind.schema.is_some() => Ok(Sort::Strategic),
            "application/strategic-merge-patch+json" => Err(no_such_custom_patch()),
            "application/apply-patch+yaml" => Ok(Sort::Apply),
            _ if kind.schema.is_none() => Err(no_such_custom_patch()),
            _ => Err(Refusal::no_such_patch()),
        }
    }

    pub(super) fn patch_options(&self, sort: Sort) -> Result<Writes, Refusal> {
        let query = &self.request.query;
        let said = |name: &str| query.get(name).is_some_and(|value| !value.is_empty());
        let cause = match sort {
            Sort::Apply if !said("fieldManager") => Cause::new(
                "FieldValueRequired",
                "fieldManager",
                "Required value: is required for apply patch",
            ),
            Sort::Json | Sort::Merge | Sort::Strategic if query.says("force") => Cause::new(
                "FieldValueForbidden",
                "force",
                "Forbidden: may not be specified for non-apply patch",
            ),
            _ => return Writes::read(query, "PatchOptions"),
        };
        Err(Refusal::invalid(meta("PatchOptions"), vec![cause]))
    }

    pub(super) fn patch_body(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.request.body).map_err(|_| Refusal::bad_request("invalid JSON patch"))
    }

    /// What a patch makes of an object, if that is still an object of its kind.
    pub(super) fn patched_object(
        &mut self,
        target: &Target,
        sort: Sort,
        live: &Value,
        patch: &Value,
        fields: FieldValidation,
    ) -> Step<Value> {
        let mut object = self.patched(target, sort, live, patch, fields == FieldValidation::Ignore)?;
        self.readable(target, &mut object, sort, patch, fields)?;
        self.check_name(target, &object)?;
        Ok(object)
    }

    /// What a patch makes of an object. Nobody looks at it first who is `blind` to fields nobody knows.
    fn patched(
        &self,
        target: &Target,
        sort: Sort,
        live: &Value,
        body: &Value,
        blind: bool,
    ) -> Result<Value, Refusal> {
        let undecodable = |wanted: &str, prefix: &str| {
            let found = typed::json_sort(body);
            Refusal::bad_request(format!(
                "{prefix}json: cannot unmarshal {found} into Go value of type {wanted}"
            ))
        };
        match sort {
            Sort::Json if !body.is_array() => {
                Err(undecodable("[]handlers.jsonPatchOp", "error decoding patch: "))
            }
            Sort::Json => patch::json(live, body).map_err(|_| Refusal::unprocessable_patch()),
            Sort::Merge if body.is_array() && blind => Ok(body.clone()),
            Sort::Merge if !body.is_object() && blind => Err(Refusal::bad_request("Invalid JSON Patch")),
            Sort::Merge if !body.is_object() => {
                Err(undecodable("map[string]interface {}", "error decoding patch: "))
            }
            Sort::Merge => Ok(patch::merge(live, body)),
            _ if !body.is_object() => Err(undecodable("map[string]interface {}", "")),
            _ => {
                let kind = &target.kind;
                patch::strategic(live, body, &kind.shape, &kind.shapes).map_err(|error| match error {
                    StrategicError::Directive { word, map } => {
                        let map = typed::go_map(&Value::Object(map));
                        Refusal::failure(format!("unknown patch type: {word} in map: {map}"))
                    }
                    other => Refusal::failure(other.to_string()),
                })
            }
        }
    }

    /// What came out is still an object of its kind.
    fn readable(
        &mut self,
        target: &Target,
        object: &mut Value,
        sort: Sort,
        body: &Value,
        fields: FieldValidation,
    ) -> Step<()> {
        let kind = &target.kind;
        let raw = match sort {
            Sort::Strategic => typed::go_map(body),
            _ => object.to_string(),
        };
        let wrong = |why: &str| {
            let message = format!("Invalid value: {raw:?}: {why}");
            let cause = Cause { reason: "FieldValueInvalid", message, field: "patch".to_owned() };
            Refusal::invalid(About { group: "", what: "", name: "" }, vec![cause])
        };
        if !object.is_object() {
            let why = decode::read_json(&self.request.body).err().unwrap_or_default();
            return Err(wrong(&why).into());
        }
        if sort == Sort::Strategic {
            // Such patches cannot say that an object is something else.
            object["apiVersion"] = Value::from(kind.api_version());
            object["kind"] = Value::from(&*kind.kind);
        }
        let (version, named) = (text(&object["apiVersion"]), text(&object["kind"]));
        if kind.schema.is_none() && version == kind.api_version() && !named.is_empty() {
            check_custom_kind(object, kind)?;
        }
        if kind.schema.is_none()
            && version != kind.api_version()
            && named == *kind.kind
            && !version.is_empty()
        {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            let about = About { group, what: &kind.kind, name: target.name.as_deref().unwrap_or_default() };
            let message = format!("Invalid value: {version:?}: must be {}", kind.api_version());
            let cause = Cause::new("FieldValueInvalid", "apiVersion", &message);
            return Err(Refusal::invalid(about, vec![cause]).into());
        }
        if version != kind.api_version() || named != *kind.kind {
            let why = format!(
                "no kind {named:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            );
            return Err(match kind.schema {
                Some(_) => {
                    let refused = self.check_kind(object, kind, fields).err().map(|refusal| refusal.message);
                    let words = refused.as_ref().and_then(|words| words.split_once(": "));
                    wrong(words.map_or(&why, |(_, words)| words)).into()
                }
                None => self.check_kind(object, kind, fields).err().unwrap_or_else(|| wrong(&why)).into(),
            });
        }
        if let Some(why) = self.type_error(object, kind) {
            let why = why.split(": ").skip(1).collect::<Vec<_>>().join(": ");
            let restored = (sort == Sort::Strategic).then(|| unrestorable(&why)).flatten();
            return Err(wrong(&restored.unwrap_or(why)).into());
        }
        let mut found = match sort {
            Sort::Json | Sort::Strategic => Vec::new(),
            _ => decoding::duplicate_fields(&self.request.body),
        };
        found.extend(self.prune(object, kind));
        match fields {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                self.warnings.extend(found);
                Ok(())
            }
            FieldValidation::Strict if found.is_empty() => Ok(()),
            FieldValidation::Strict => {
                let why = format!("strict decoding error: {}", found.join(", "));
                Err(wrong(&why).into())
            }
        }
    }

    pub(super) fn check_version(&self, target: &Target, live: &Value, object: &Value) -> Step<()> {
        let name = target.name.as_deref().unwrap_or_default();
        let version = text(&object["metadata"]["resourceVersion"]);
        if !version.is_empty() && version.parse::<u64>().is_err() {
            let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
            return Err(Refusal::failure(why).into());
        }
        if !version.is_empty() && live["metadata"]["resourceVersion"] != version.as_str() {
            return Err(Refusal::modified(target.about(name)).into());
        }
        Ok(())
    }

    /// Server-side apply. What is not there is created.
    fn apply(&mut self, target: &Target, writes: Writes) -> Step<(Arc<Value>, bool)> {
        if target.subresource.is_some() && !is_created_by_update(target) {
            self.stored(target)?;
        }
        let live = match self.stored(target) {
            Ok(_) => Ok(self.live_to_write(target, writes.dry_run)?),
            Err(refusal) => Err(refusal),
        };
        let applied = self.applied_body(target, writes.fields)?;
        let force = self.request.query.says("force");
        let live = match live {
            Ok(live) => live,
            Err(_) if target.subresource.is_none() || is_created_by_update(target) => {
                return self.apply_new(target, &applied, writes, force).map(|object| (object, true));
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let mut object = owners::applied(self, target, &live, &applied, force)?;
        self.check_name(target, &applied)?;
        self.convertible(target, &applied, &object)?;
        if target.kind.schema.is_some() {
            self.prune(&mut object, &target.kind);
        }
        // Whoever changes nothing of an object in one version does not fill it with the defaults of that one.
        if !owners::same_but_for_owners(&object, &live) {
            self.set_defaults(target, &mut object);
        }
        self.check_version(target, &live, &object)?;
        carry(&live, &mut object);
        let stored = self.update(target, &live, object, writes, "PatchOptions")?;
        Ok((stored, false))
    }

    /// What came out of an apply can be read at all.
    fn convertible(&self, target: &Target, applied: &Value, object: &Value) -> Step<()> {
        let kind = &target.kind;
        // The metadata of custom kinds is read with more patience.
        let misread = kind.schema.as_ref().and_then(|_| self.misread(object, kind));
        let Some(why) = misread else { return Ok(()) };
        let named = |key: &str| text(&applied["metadata"][key]);
        let of = format!("{}/{}, Kind={}", kind.of.group, kind.of.version, kind.kind);
        Err(Refusal::failure(format!(
            "failed to convert new object ({}/{}; {of}) to proper version: unable to convert unstructured object to \
             {of}: {why}",
            named("namespace"),
            named("name"),
        ))
        .into())
    }

    fn apply_new(
        &mut self,
        target: &Target,
        applied: &Value,
        writes: Writes,
        force: bool,
    ) -> Step<Arc<Value>> {
        let name = target.name.as_deref().unwrap_or_default();
        let metadata = &applied["metadata"];
        let given = |key: &str| metadata[key].as_str().filter(|given| !given.is_empty());
        if let Some(uid) = given("uid") {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Refusal::conflict(target.about(name), &why).into());
        }
        let live = self.blank(target);
        let mut object = owners::applied(self, target, &live, applied, force)?;
        self.check_name(target, applied)?;
        self.convertible(target, applied, &object)?;
        let version =
            object["metadata"].as_object_mut().and_then(|metadata| metadata.remove("resourceVersion"));
        let created = self.create_object(target, object, writes, Operation::Apply)?;
        Ok(tried(created, version.filter(|_| writes.dry_run)))
    }

    /// The body of an apply: always an object of the kind itself, under its own name.
    pub(super) fn applied_body(&mut self, target: &Target, fields: FieldValidation) -> Step<Value> {
        let undecodable = |why: String| Refusal::bad_request(format!("error decoding patch: {why}"));
        let applied = decode::read_yaml(&self.request.body)
            .map_err(|why| Refusal::bad_request(format!("error encoding patch: {why}")))?;
        if !applied.is_object() {
            let found = typed::json_sort(&applied);
            let into = "Go value of type map[string]interface {}";
            let why = format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into {into}"
            );
            return Err(undecodable(why).into());
        }
        let kind = &target.kind;
        let (version, named) = (text(&applied["apiVersion"]), text(&applied["kind"]));
        if version != kind.api_version() || named != *kind.kind {
            let (group, version) = version.split_once('/').unwrap_or(("", &version));
            let why = format!("invalid object type: {group}/{version}, Kind={named}");
            return Err(Refusal::bad_request(why).into());
        }
        if applied["metadata"].get("managedFields").is_some_and(|managed| !managed.is_null()) {
            return Err(Refusal::bad_request("metadata.managedFields must be nil").into());
        }
        if let Some(why) = typed::misfit(&applied, kind) {
            let metadata = &applied["metadata"];
            let at = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
            let of = format!("{}/{}, Kind={}", kind.of.group, kind.of.version, kind.kind);
            let why = format!("failed to create typed patch object ({at}; {of}): {why}");
            return Err(Refusal::failure(why).into());
        }
        if fields == FieldValidation::Strict {
            let duplicates = decoding::duplicate_fields(&self.request.body);
            if let [first, ..] = duplicates.as_slice() {
                return Err(undecodable(format!("strict decoding error: {first}")).into());
            }
        }
        Ok(applied)
    }
}

/// Why a value cannot be restored, where a strategic patch made it: such objects are read by another hand, which has
/// its own words for what others cannot unmarshal.
fn unrestorable(why: &str) -> Option<String> {
    let (found, place) = why.strip_prefix("json: cannot unmarshal ")?.split_once(" into ")?;
    let (_, wanted) = place.rsplit_once(" of type ")?;
    let found = match found.split(' ').next()? {
        "number" => "int64",
        "array" => "slice",
        "object" => "map",
        other => other,
    };
    Some(match wanted {
        "string" if found == "int64" => format!("cannot convert {found} to {wanted}"),
        "string" | "bool" | "int32" | "int64" => format!("unrecognized type: {wanted}"),
        wanted if wanted.starts_with("map[") => format!("cannot restore map from {found}"),
        wanted if wanted.starts_with("[]") => format!("cannot restore slice from {found}"),
        _ => format!("cannot restore struct from: {found}"),
    })
}

/// How custom kinds may be patched.
fn no_such_custom_patch() -> Refusal {
    Refusal::unsupported_media_type(&[
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    ])
}
