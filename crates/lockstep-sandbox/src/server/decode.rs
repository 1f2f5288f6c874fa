//! Bodies: JSON, YAML or protobuf, and whether they are what the path says.

use serde_json::Value;

use crate::decoding;
use crate::kinds::Kind;
use crate::protobuf;
use crate::refusal::{About, Cause, Refusal};
use crate::request::{FieldValidation, Method, Request};

use super::create::text;
use super::{Step, Turn};

const ACCEPTED: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The value of a body, whatever it is written in.
pub(crate) fn value(request: &Request, kind: &str) -> Result<Value, Refusal> {
    match request.media_type() {
        "" | "application/json" => json(&request.body, kind),
        "application/yaml" => yaml(&request.body, kind),
        "application/vnd.kubernetes.protobuf" => protobuf::decode(&request.body)
            .map_err(|error| unrecognized(kind, &format!("{error} ({})", summary(&request.body)))),
        _ => Err(Refusal::unsupported_media_type(ACCEPTED)),
    }
}

fn unrecognized(kind: &str, why: &str) -> Refusal {
    Refusal::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"))
}

/// The beginning of a body, for those who want to know what could not be read.
fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    let cut = &body[..body.len().min(MOST)];
    let rest = if body.len() > MOST { " ..." } else { "" };
    match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] => format!("{}{rest}", String::from_utf8_lossy(cut)),
        _ => format!("{}{rest}", cut.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

fn json(body: &[u8], kind: &str) -> Result<Value, Refusal> {
    read_json(body).map_err(|why| unrecognized(kind, &format!("{why} ({})", summary(body))))
}

/// A map; or why it is none, in Go's words.
pub(crate) fn read_json(body: &[u8]) -> Result<Value, String> {
    let unread = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    match serde_json::from_slice::<Value>(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(other) => {
            let sort = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Number(_) => "number",
                Value::Bool(_) => "bool",
                _ => return Ok(Value::Object(serde_json::Map::new())),
            };
            let into = "Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                        \"json:\\\"kind,omitempty\\\"\" }";
            Err(unread(format!("json: cannot unmarshal {sort} into {into}")))
        }
        Err(error) => Err(unread(decoding::syntax_error(body).unwrap_or_else(|| error.to_string()))),
    }
}

fn yaml(body: &[u8], kind: &str) -> Result<Value, Refusal> {
    let json = read_yaml(body).and_then(|value| read_json(value.to_string().as_bytes()));
    json.map_err(|why| unrecognized(kind, &format!("{why} ({})", summary(body))))
}

/// What stands in a body of YAML, the last of several fields of one name; or why it is none. The place is named as Go
/// names it, the words are those of another reader.
pub(crate) fn read_yaml(body: &[u8]) -> Result<Value, String> {
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(&String::from_utf8_lossy(body), options).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().map_or(1, |place| place.line());
        let words = error.to_string();
        let words = words.rsplit_once("column ").map_or(&*words, |(_, words)| words);
        format!("yaml: line {line}: {}", words.split_once(": ").map_or(words, |(_, words)| words))
    })
}

/// The first field of a body of YAML that is there twice.
fn duplicate_in_yaml(body: &[u8]) -> Vec<String> {
    let read: Result<Value, _> = serde_saphyr::from_str(&String::from_utf8_lossy(body));
    let Err(error) = read else { return Vec::new() };
    let line = error.location().map_or(1, |place| place.line());
    let words = error.without_snippet().to_string();
    let found = words.split_once("duplicate mapping key: ").map(|(_, rest)| rest);
    let field = found.and_then(|rest| rest.split(',').next());
    let told = |field| format!("yaml: unmarshal errors:\n  line {line}: key {field:?} already set in map");
    field.map(told).into_iter().collect()
}

impl Turn<'_> {
    /// The object of a body. What it does not say about itself, the path says.
    pub(super) fn object_of_body(&mut self, kind: &Kind, fields: FieldValidation) -> Step<Value> {
        let mut object = value(self.request, &kind.kind)?;
        let written = match self.request.media_type() {
            "" | "application/json" => match &kind.schema {
                Some(schema) => decoding::strict_problems(&self.request.body, schema),
                None => decoding::duplicate_fields(&self.request.body),
            },
            "application/yaml" => duplicate_in_yaml(&self.request.body),
            _ => Vec::new(),
        };
        let other = text(&object["apiVersion"]);
        let other = self.server.catalogue.in_version(kind, &other).filter(|other| other.of != kind.of);
        if let Some(other) = other.filter(|_| kind.schema.is_none() && object["kind"] == *kind.kind).cloned()
        {
            // It is read as what it says it is before anybody says that it should be something else.
            self.known_fields(&mut object, &other, fields, written.clone())?;
        }
        self.check_kind(&object, kind, fields)?;
        self.known_fields(&mut object, kind, fields, written)?;
        if self.request.method == Method::Post {
            check_custom_kind(&object, kind)?;
        }
        object["apiVersion"] = Value::from(kind.api_version());
        if kind.schema.is_some() {
            object["kind"] = Value::from(&*kind.kind);
        }
        Ok(object)
    }

    /// Drops what the kind does not know, and says so or refuses it, after what is wrong with how it was written.
    pub(super) fn known_fields(
        &mut self,
        object: &mut Value,
        kind: &Kind,
        fields: FieldValidation,
        written: Vec<String>,
    ) -> Step<()> {
        if let Some(error) = self.type_error(object, kind) {
            return Err(Refusal::bad_request(error).into());
        }
        let wiped = kind.schema.is_some()
            && object["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty);
        let mut found = written;
        let unknown = self.prune(object, kind);
        found.extend(unknown.into_iter().filter(|field| !found.contains(field)).collect::<Vec<_>>());
        if wiped {
            // An empty list is not nothing: it says that nobody owns anything. So does one empty entry.
            object["metadata"]["managedFields"] = serde_json::json!([{}]);
        }
        if found.is_empty() || fields == FieldValidation::Ignore {
            return Ok(());
        }
        if fields == FieldValidation::Warn {
            self.warnings.extend(found);
            return Ok(());
        }
        let (what, version) = (object["kind"].as_str().unwrap_or(&kind.kind), &kind.of.version);
        let found = found.join(", ");
        let message = format!(
            "{what} in version {version:?} cannot be handled as a {what}: strict decoding error: {found}"
        );
        Err(Refusal::bad_request(message).into())
    }

    /// It says that it is what the path says. Built-in kinds need not say anything.
    pub(super) fn check_kind(
        &self,
        object: &Value,
        kind: &Kind,
        fields: FieldValidation,
    ) -> Result<(), Refusal> {
        let said = |key: &str| object[key].as_str().unwrap_or_default();
        let (version, named, wanted) = (said("apiVersion"), said("kind"), &*kind.kind);
        let wanted_version = kind.api_version();
        if kind.schema.is_none() {
            if named.is_empty() {
                let body = String::from_utf8_lossy(&self.request.body);
                let why = format!("Object 'Kind' is missing in '{body}'");
                return Err(match fields {
                    FieldValidation::Ignore => Refusal::bad_request(format!(
                        "{wanted} in version {:?} cannot be handled as a {wanted}: {why}",
                        kind.of.version
                    )),
                    _ => unrecognized(wanted, &format!("{why} ({})", summary(&self.request.body))),
                });
            }
            if version != wanted_version {
                return Err(Refusal::bad_request(format!(
                    "the API version in the data ({version}) does not match the expected API version ({wanted_version})"
                )));
            }
            return Ok(());
        }
        let named = if named.is_empty() { wanted } else { named };
        let version = if version.is_empty() { &wanted_version } else { version };
        if named == wanted && version == wanted_version {
            return Ok(());
        }
        let short = version.rsplit('/').next().unwrap_or_default();
        let why = match self.server.catalogue.of(version, named) {
            Some(_) => {
                let group = match kind.of.group.split('.').next() {
                    None | Some("") => "core",
                    Some(group) => group,
                };
                format!("converting ({short}.{named}) to ({group}.{wanted}): unknown conversion")
            }
            None => format!(
                "no kind {named:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            ),
        };
        let message = format!("{named} in version {short:?} cannot be handled as a {wanted}: {why}");
        Err(Refusal::bad_request(message))
    }
}

/// An object of a custom kind that calls itself something else.
pub(super) fn check_custom_kind(object: &Value, kind: &Kind) -> Result<(), Refusal> {
    let said = object["kind"].as_str().unwrap_or_default();
    if kind.schema.is_some() || said == &*kind.kind {
        return Ok(());
    }
    let message = format!("Invalid value: {said:?}: must be {}", kind.kind);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let about = About { group: &kind.of.group, what: said, name };
    Err(Refusal::invalid(about, vec![Cause::new("FieldValueInvalid", "kind", &message)]))
}
