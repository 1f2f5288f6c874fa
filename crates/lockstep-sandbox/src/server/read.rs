//! Reading one object, or a list.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::base64;
use crate::builtin;
use crate::decoding;
use crate::kinds::Kind;
use crate::refusal::{Cause, Refusal};
use crate::request::{Query, meta};
use crate::selector::Selector;
use crate::store::{Key, TooOld};

use super::render::{Look, Response};
use super::routes::Target;
use super::{Catalogue, Step, Turn};

/// Which objects are meant.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub labels: Selector,
    pub fields: Selector,
}

impl Choice {
    pub fn read(kind: &Kind, catalogue: &Catalogue, query: &Query) -> Result<Self, Refusal> {
        let labels = Selector::read(query.get("labelSelector").unwrap_or_default())?;
        let fields = Selector::of_fields(query.get("fieldSelector").unwrap_or_default())?;
        check_list_options(query)?;
        for key in fields.keys() {
            check_field(kind, catalogue, key)?;
        }
        Ok(Self { labels, fields })
    }

    pub fn chooses(&self, kind: &Kind, object: &Value) -> bool {
        self.labels.selects_object(object) && self.chooses_by_fields(kind, object)
    }

    fn chooses_by_fields(&self, kind: &Kind, object: &Value) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        let found: Vec<(&str, String)> =
            self.fields.keys().map(|key| (key, field(kind, object, key))).collect();
        self.fields
            .holds(|key| found.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str()))
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

/// The value of a field, as selectors compare it.
fn field(kind: &Kind, object: &Value, key: &str) -> String {
    if kind.schema.is_some()
        && let Some(found) = builtin::selectable((&kind.of.group, &kind.kind), object).get(key)
    {
        return found.clone();
    }
    let found = key.split('.').fold(object, |value, part| &value[part]);
    match found {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn check_field(kind: &Kind, catalogue: &Catalogue, field: &str) -> Result<(), Refusal> {
    let Some(version) = catalogue.custom(kind) else {
        let of = (kind.of.group.as_str(), &*kind.kind);
        return builtin::check_field(of, field).map_err(|unknown| Refusal::bad_request(unknown.to_string()));
    };
    let always = ["metadata.name", "metadata.namespace"];
    if always.contains(&field)
        || version.selectable.iter().any(|known| known.trim_start_matches('.') == field)
    {
        return Ok(());
    }
    Err(Refusal::bad_request(format!("field label not supported: {field}")))
}

/// Which state of things is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// As it stands.
    Now,
    /// As it stood then.
    Exactly(u64),
}

impl Turn<'_> {
    /// Where an object lies.
    pub(super) fn key(&self, target: &Target, name: &str) -> Key {
        Key {
            resource: Arc::clone(&target.kind.resource),
            namespace: Arc::from(target.space()),
            name: Arc::from(name),
        }
    }

    /// An object as it is stored.
    pub(super) fn stored(&self, target: &Target) -> Result<Arc<Value>, Refusal> {
        let name = target.name.as_deref().unwrap_or_default();
        if matches!(name, "." | "..") {
            let why = format!("Name parameter invalid: {name:?}: may not be '{name}'");
            return Err(Refusal::bad_request(why));
        }
        let found = self.server.store.get(&self.key(target, name)).cloned();
        found.ok_or_else(|| Refusal::not_found(target.about(name)))
    }

    pub(super) fn get(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?.of_part(target);
        let object = self.live(target)?;
        Ok(look.one(200, object, &self.server.catalogue, self.now))
    }

    pub(super) fn list(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of_many(&target.kind, self.request)?;
        let query = &self.request.query;
        let limit = query.number("limit")?.filter(|limit| *limit > 0);
        let choice = Choice::read(&target.kind, &self.server.catalogue, query)?;
        let from = query.get("continue").filter(|token| !token.is_empty()).map(Token::read).transpose()?;
        let as_of = match &from {
            Some(token) => AsOf::Exactly(token.revision),
            None => self.as_of()?,
        };
        let page =
            self.page_of(target, &choice, as_of, from.map(|token| token.after), limit, look.is_plain())?;
        Ok(look.list(page.items, page.metadata, &self.server.catalogue, self.now))
    }

    fn as_of(&self) -> Result<AsOf, Refusal> {
        let query = &self.request.query;
        let matching = query.get("resourceVersionMatch").unwrap_or_default();
        let revision = read_revision(query.get("resourceVersion").unwrap_or_default())?;
        let current = self.server.store.revision();
        match (revision, matching) {
            (Some(revision), _) if revision > current => Err(Refusal::too_large_version(revision, current)),
            (Some(revision), "Exact") if revision > 0 => Ok(AsOf::Exactly(revision)),
            // A limit without saying how the version is meant asks for just that version.
            (Some(revision), "") if revision > 0 && query.get("limit").is_some_and(|limit| limit != "0") => {
                Ok(AsOf::Exactly(revision))
            }
            _ => Ok(AsOf::Now),
        }
    }

    fn page_of(
        &self,
        target: &Target,
        choice: &Choice,
        as_of: AsOf,
        after: Option<String>,
        limit: Option<i64>,
        plain: bool,
    ) -> Step<Page> {
        let store = &self.server.store;
        let (kind, namespace) = (&target.kind, target.namespace.as_deref());
        let revision = match as_of {
            AsOf::Now => store.revision(),
            AsOf::Exactly(revision) => revision,
        };
        let everything: Vec<(Key, Arc<Value>)> = match as_of {
            AsOf::Now => {
                let all = store.list(&kind.resource, namespace);
                all.map(|(key, object)| (key.clone(), Arc::clone(object))).collect()
            }
            AsOf::Exactly(revision) => {
                store.list_at(revision, &kind.resource, namespace).map_err(|TooOld { .. }| match after {
                    Some(_) => Refusal::expired(CONTINUE_EXPIRED),
                    None => Refusal::expired("The resourceVersion for the provided list is too old."),
                })?
            }
        };
        let everything = self.all_converted(everything, kind)?;
        let place = |key: &Key| format!("{}/{}", key.namespace, key.name);
        // One that is named is looked up, not looked for.
        let one = choice.fields.only("metadata.name");
        let one = one.filter(|_| namespace.is_some() || !kind.namespaced);
        let named = |key: &Key| one.is_none_or(|one| *key.name == *one);
        let later = |key: &Key| after.as_ref().is_none_or(|after| place(key) > *after);
        let most = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let mut left = everything.into_iter().filter(|(key, _)| named(key) && later(key));
        let taken: Vec<(Key, Arc<Value>)> =
            left.by_ref().filter(|(_, object)| choice.chooses(kind, object)).take(most).collect();
        // Whether any of the others is chosen is not known before they are asked for.
        let left = left.count();
        let mut metadata = list_metadata(kind, revision, plain);
        if left > 0 {
            let after = taken.last().map(|(key, _)| place(key)).unwrap_or_default();
            metadata["continue"] = Value::from(Token { revision, after }.write());
            if choice.is_everything() {
                metadata["remainingItemCount"] = Value::from(left);
            }
        }
        Ok(Page { items: taken.into_iter().map(|(_, object)| object).collect(), metadata })
    }

    /// All objects that are chosen, as they stand.
    pub(super) fn chosen(&self, target: &Target, choice: &Choice) -> Step<Vec<(Key, Arc<Value>)>> {
        let all = self.server.store.list(&target.kind.resource, target.namespace.as_deref());
        let all = all.map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
        let mut all = self.all_converted(all, &target.kind)?;
        all.retain(|(_, object)| choice.chooses(&target.kind, object));
        Ok(all)
    }

    /// All these objects in the version that was asked for.
    fn all_converted(&self, all: Vec<(Key, Arc<Value>)>, kind: &Kind) -> Step<Vec<(Key, Arc<Value>)>> {
        let objects: Vec<&Arc<Value>> = all.iter().map(|(_, object)| object).collect();
        self.server.ask_for(&objects, kind, self.told)?;
        all.into_iter().map(|(key, object)| Ok((key, self.converted(&object, kind)?))).collect()
    }
}

/// The metadata of a list. Lists of custom kinds always say where they go on, be it nowhere.
pub(super) fn list_metadata(kind: &Kind, revision: u64, plain: bool) -> Value {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if kind.schema.is_none() && plain {
        metadata["continue"] = Value::from("");
    }
    metadata
}

struct Page {
    items: Vec<Arc<Value>>,
    metadata: Value,
}

const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. \
     You can start a new list without the continue parameter, or use the continue token in this response to retrieve \
     the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
     were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Where a list goes on.
struct Token {
    revision: u64,
    after: String,
}

impl Token {
    fn read(text: &str) -> Result<Self, Refusal> {
        let wrong = |why: &str| {
            Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = base64::decode_url(text)
            .map_err(|at| wrong(&format!("illegal base64 data at input byte {at}")))?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| wrong(&decoding::syntax_error(&bytes).unwrap_or_default()))?;
        let version = value["v"].as_str().unwrap_or_default();
        let (revision, after) = (value["rv"].as_u64().unwrap_or_default(), value["start"].as_str());
        match (version, revision, after) {
            ("meta.k8s.io/v1", 0, _) => {
                Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))
            }
            ("meta.k8s.io/v1", revision, Some(after)) if !after.is_empty() => {
                Ok(Self { revision, after: after.trim_end_matches('\0').to_owned() })
            }
            ("meta.k8s.io/v1", ..) => Err(wrong("encoded start key empty (version meta.k8s.io/v1)")),
            (other, ..) => Err(wrong(&format!("server does not recognize this encoded version {other}"))),
        }
    }

    fn write(&self) -> String {
        let start = format!("{}\0", self.after);
        let token = json!({"v": "meta.k8s.io/v1", "rv": self.revision, "start": start});
        base64::encode_url(token.to_string().as_bytes())
    }
}

/// Reads a version; none if none is named.
pub(super) fn read_revision(text: &str) -> Result<Option<u64>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Refusal::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: \
             invalid syntax"
        ))
    })
}

fn check_list_options(query: &Query) -> Result<(), Refusal> {
    if query.says("watch") {
        return Ok(());
    }
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    let revision = query.get("resourceVersion").unwrap_or_default();
    let forbidden = |message: &str| Cause::new("FieldValueForbidden", "resourceVersionMatch", message);
    let mut causes = Vec::new();
    match matching {
        "" => {}
        "Exact" | "NotOlderThan" => {
            if revision.is_empty() {
                causes.push(forbidden(
                    "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if query.get("continue").is_some_and(|token| !token.is_empty()) {
                causes.push(forbidden(
                    "Forbidden: resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if matching == "Exact" && revision == "0" {
                let message =
                    "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(forbidden(message));
            }
        }
        other => {
            let message =
                format!(r#"Unsupported value: {other:?}: supported values: "Exact", "NotOlderThan", """#);
            causes.push(Cause::new("FieldValueNotSupported", "resourceVersionMatch", &message));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(Refusal::invalid(meta("ListOptions"), causes)) }
}
