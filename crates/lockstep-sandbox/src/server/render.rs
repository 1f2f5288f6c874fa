//! Answers, in the form the client asked for.

use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::table::{self, Columns, Heads, Include};

use super::Catalogue;
use super::routes::Target;

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The HTTP code.
    pub code: u16,
    /// What it says.
    pub body: Body,
    /// Written as YAML, not as JSON.
    pub yaml: bool,
    /// The media type, where it is not the plain one.
    pub media_type: Option<&'static str>,
    /// What the client is told besides.
    pub warnings: Vec<String>,
    /// When to ask again, in seconds.
    pub retry_after: Option<u64>,
}

/// What an answer says.
#[derive(Debug, Clone)]
pub enum Body {
    /// Not a word.
    Nothing,
    /// A text.
    Text(String),
    /// What is neither text nor JSON.
    Bytes(&'static [u8]),
    /// An object made for the answer.
    Made(Value),
    /// An object as it is stored.
    Stored(Arc<Value>),
    /// Many objects.
    List(List),
}

/// A list of objects.
#[derive(Debug, Clone)]
pub struct List {
    /// What stands around the items.
    pub head: Value,
    /// The items.
    pub items: Vec<Arc<Value>>,
    /// Items of built-in kinds do not say again what they are.
    pub bare: bool,
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => to.serialize_unit(),
            Self::Text(text) => text.serialize(to),
            Self::Bytes(bytes) => bytes.serialize(to),
            Self::Made(value) => value.serialize(to),
            Self::Stored(value) => value.serialize(to),
            Self::List(list) => list.serialize(to),
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (key, value) in self.head.as_object().into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("items", &Items(self))?;
        map.end()
    }
}

struct Items<'a>(&'a List);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut items = to.serialize_seq(Some(self.0.items.len()))?;
        for item in &self.0.items {
            if self.0.bare {
                items.serialize_element(&Bare(item))?
            } else {
                items.serialize_element(&**item)?
            }
        }
        items.end()
    }
}

/// An object without its kind.
struct Bare<'a>(&'a Value);

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.as_object().into_iter().flatten();
        to.collect_map(fields.filter(|(key, _)| !matches!(key.as_str(), "kind" | "apiVersion")))
    }
}

impl Response {
    /// A plain answer.
    pub fn new(code: u16, body: Body) -> Self {
        Self { code, body, yaml: false, media_type: None, warnings: Vec::new(), retry_after: None }
    }

    /// A refusal.
    pub fn refused(refusal: &Refusal, request: &Request) -> Self {
        let mut response = Self::new(refusal.code, Body::Made(refusal.object()));
        response.yaml = Format::read(&request.accept).is_ok_and(|format| format.yaml);
        response.retry_after = refusal.retry_after();
        response
    }

    /// Nobody answers here.
    pub fn no_page() -> Self {
        Self::new(404, Body::Text("404 page not found\n".to_owned()))
    }

    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// What a refusal says; nothing for anything else.
    pub fn message(&self) -> String {
        match &self.body {
            Body::Made(status) => status["message"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        }
    }

    /// The bytes of its body, and their media type.
    pub fn bytes(&self) -> (Vec<u8>, &'static str) {
        match &self.body {
            Body::Nothing => (Vec::new(), ""),
            Body::Text(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
            Body::Bytes(bytes) => (bytes.to_vec(), self.media_type.unwrap_or("application/octet-stream")),
            body if self.yaml => (yaml(body).into_bytes(), "application/yaml"),
            body => {
                let mut bytes = serde_json::to_vec(body).unwrap_or_default();
                bytes.push(b'\n');
                (bytes, self.media_type.unwrap_or("application/json"))
            }
        }
    }
}

fn yaml(body: &Body) -> String {
    serde_saphyr::to_string(body).unwrap_or_default()
}

/// The forms a real server knows. Protobuf is not written here: its clients accept JSON as well.
pub(super) const FORMS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// In what form objects are to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    Objects,
    Table,
    Metadata,
}

/// What a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub shown: As,
    pub yaml: bool,
}

impl Format {
    /// The first of the accepted forms that is known here.
    pub fn read(accept: &str) -> Result<Self, Refusal> {
        let plain = Self { shown: As::Objects, yaml: false };
        if accept.trim().is_empty() {
            return Ok(plain);
        }
        let mut is_known = false;
        for form in accept.split(',') {
            let mut parts = form.split(';').map(str::trim);
            let yaml = match parts.next() {
                Some("application/json" | "*/*" | "application/*") => false,
                Some("application/yaml") => true,
                Some("application/vnd.kubernetes.protobuf") => {
                    is_known = true;
                    continue;
                }
                _ => continue,
            };
            is_known = true;
            let pairs: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
            let says = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            let shown = match (says("as"), says("v"), says("g")) {
                (None, ..) => As::Objects,
                (Some("Table"), Some("v1"), Some("meta.k8s.io")) => As::Table,
                (
                    Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                    Some("v1"),
                    Some("meta.k8s.io"),
                ) => As::Metadata,
                _ => continue,
            };
            return Ok(Self { shown, yaml });
        }
        match is_known {
            true => Err(Refusal::no_such_form()),
            false => Err(Refusal::not_acceptable(FORMS)),
        }
    }

    /// The same for lists, which know more forms: those of watches.
    pub fn of_list(accept: &str) -> Result<Self, Refusal> {
        let watches = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        Self::read(accept).map_err(|refusal| match refusal.message.starts_with("406") {
            true => Refusal::not_acceptable(&format!("{FORMS}, {watches}")),
            false => refusal,
        })
    }
}

/// How one client is to be shown objects of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub kind: Arc<Kind>,
    pub format: Format,
    pub include: Include,
    /// The columns of tables, where they are not those of the kind.
    pub columns: Option<Columns>,
    /// A part is shown: what is stored.
    pub part: bool,
}

impl Look {
    pub fn of(kind: &Arc<Kind>, request: &Request) -> Result<Self, Refusal> {
        let include = request.query.get("includeObject").and_then(Include::read).unwrap_or_default();
        let format = Format::read(&request.accept).map_err(|refusal| match kind.schema {
            Some(_) => refusal,
            None => Refusal::no_such_form(),
        })?;
        Ok(Self { kind: Arc::clone(kind), format, include, columns: None, part: false })
    }

    /// The same, for whoever asks for a part.
    pub fn of_part(self, target: &Target) -> Self {
        Self { part: target.subresource.is_some(), ..self }
    }

    /// The same, with other columns in tables.
    pub fn with_columns(self, columns: Columns) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// An object as whoever asks for it reads it; events show what is stored.
    fn as_read(&self, object: Arc<Value>) -> Arc<Value> {
        if self.part || &*self.kind.resource != "services" || !crate::builtin::is_read_otherwise(&object) {
            return object;
        }
        let mut object = Value::clone(&object);
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove("internalTrafficPolicy");
        }
        Arc::new(object)
    }

    /// The same for a client that reads or watches many.
    pub fn of_many(kind: &Arc<Kind>, request: &Request) -> Result<Self, Refusal> {
        Format::of_list(&request.accept)?;
        Self::of(kind, request)
    }

    /// Objects are shown as they are.
    pub fn is_plain(&self) -> bool {
        self.format.shown == As::Objects
    }

    /// One object.
    pub fn one(&self, code: u16, object: Arc<Value>, catalogue: &Catalogue, now: Timestamp) -> Response {
        let object = self.as_read(object);
        let body = match self.format.shown {
            As::Objects => Body::Stored(object),
            As::Metadata => Body::Made(table::partial(&object)),
            As::Table => {
                let columns = self.columns(catalogue);
                Body::Made(table::table_of_one(&columns, &object, now, self.include, Heads::Shown))
            }
        };
        Response { yaml: self.format.yaml, ..Response::new(code, body) }
    }

    /// Many objects. `metadata` is that of the list.
    pub fn list(
        &self,
        items: Vec<Arc<Value>>,
        metadata: Value,
        catalogue: &Catalogue,
        now: Timestamp,
    ) -> Response {
        let items: Vec<Arc<Value>> = items.into_iter().map(|item| self.as_read(item)).collect();
        let body = match self.format.shown {
            As::Objects => {
                let head = json!({
                    "kind": &*self.kind.list_kind, "apiVersion": self.kind.api_version(), "metadata": metadata,
                });
                Body::List(List { head, items, bare: self.kind.schema.is_some() })
            }
            As::Metadata => Body::Made(table::partial_list(items.iter().map(|item| &**item), metadata)),
            As::Table => {
                let (columns, items) = (self.columns(catalogue), items.iter().map(|item| &**item));
                Body::Made(table::table(&columns, items, now, self.include, metadata))
            }
        };
        Response { yaml: self.format.yaml, ..Response::new(200, body) }
    }

    /// An object in an event. Only the first table names its columns.
    pub fn in_event(&self, object: &Arc<Value>, catalogue: &Catalogue, now: Timestamp, first: bool) -> Value {
        match self.format.shown {
            As::Objects => Value::clone(object),
            As::Metadata => table::partial(object),
            As::Table => {
                let heads = if first { Heads::Shown } else { Heads::Left };
                table::table_of_one(&self.columns(catalogue), object, now, self.include, heads)
            }
        }
    }

    fn columns(&self, catalogue: &Catalogue) -> Columns {
        if let Some(columns) = &self.columns {
            return columns.clone();
        }
        match catalogue.custom(&self.kind) {
            Some(version) => Columns::custom(&super::custom::columns(version)),
            None => Columns::built_in(&self.kind.of.group, &self.kind.plural),
        }
    }
}
