//! What can be wrong with a definition, in the order a real server tells it.

use serde_json::Value;

use super::{Names, conversion, dump, list, says, schemas, standing, text, there};
use crate::refusal::Cause;
use crate::schema::Schema;
use crate::schema::names::{label_1035, subdomain};
use crate::schema::words::{self, Path};

/// What is wrong with a new definition.
pub(super) fn new(crd: &Value) -> Vec<Cause> {
    let mut causes = name(crd);
    causes.extend(spec(&crd["spec"]));
    causes.extend(stored_versions(crd));
    if let Some((_, reason @ ("MissingAnnotation" | "InvalidAnnotation"), message)) = standing::approval(crd)
    {
        let at = Path::new("metadata.annotations").key(standing::APPROVAL);
        let annotation = &crd["metadata"]["annotations"][standing::APPROVAL];
        causes.push(match reason {
            "MissingAnnotation" => words::required(&at, &message),
            _ => words::invalid(&at, annotation, &message),
        });
    }
    causes.extend(preserves_unknown(crd));
    causes
}

/// What is wrong with a definition that replaces another.
pub(super) fn update(crd: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = spec(&crd["spec"]);
    let established = list(&old["status"], "conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let fixed: &[&str] = match established {
        true => &["/scope", "/names/kind", "/group", "/names/plural"],
        false => &["/group", "/names/plural"],
    };
    for pointer in fixed {
        let value = |crd: &Value| crd["spec"].pointer(pointer).cloned().unwrap_or_default();
        if value(crd) != value(old) {
            let at = Path::new("spec").child(&pointer.trim_start_matches('/').replace('/', "."));
            causes.push(words::invalid(&at, &value(crd), "field is immutable"));
        }
    }
    causes.extend(stored_versions(crd));
    if !says(&old["spec"], "preserveUnknownFields") {
        causes.extend(preserves_unknown(crd));
    }
    causes
}

fn name(crd: &Value) -> Vec<Cause> {
    let (name, spec) = (text(&crd["metadata"], "name"), &crd["spec"]);
    let mut problems = subdomain(name);
    if name != format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group")) {
        problems.push(r#"must be spec.names.plural+"."+spec.group"#.to_owned());
    }
    let at = Path::new("metadata.name");
    if name.is_empty() {
        return vec![words::required(&at, "name or generateName is required")];
    }
    problems.iter().map(|problem| words::invalid(&at, &name.into(), problem)).collect()
}

fn preserves_unknown(crd: &Value) -> Option<Cause> {
    let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
               instead";
    let at = Path::new("spec.preserveUnknownFields");
    says(&crd["spec"], "preserveUnknownFields").then(|| words::invalid(&at, &true.into(), why))
}

/// Versions that objects are stored in stay, until somebody has moved the objects.
fn stored_versions(crd: &Value) -> Vec<Cause> {
    let at = Path::new("status.storedVersions");
    let stored = list(&crd["status"], "storedVersions");
    if stored.is_empty() {
        return vec![words::invalid(&at, &Value::Null, "must have at least one stored version")];
    }
    let versions = list(&crd["spec"], "versions");
    let storage = versions.iter().filter(|version| says(version, "storage")).map(|version| &version["name"]);
    let missing = storage.filter(|name| !stored.contains(name)).map(|name| {
        let why = format!("must have the storage version {}", name.as_str().unwrap_or_default());
        words::invalid(&at, &stored.to_vec().into(), &why)
    });
    let gone = stored.iter().enumerate().filter(|(_, name)| !versions.iter().any(|v| v["name"] == **name));
    let gone = gone.map(|(index, name)| {
        let version = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {version} was previously a storage version, and must remain in \
             spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
             {version} from status.storedVersions"
        );
        words::invalid(&at.index(index), name, &why)
    });
    missing.chain(gone).collect()
}

fn spec(spec: &Value) -> Vec<Cause> {
    let at = Path::new("spec");
    let versions = list(spec, "versions");
    let mut causes: Vec<Cause> = group(&at, text(spec, "group")).into_iter().collect();
    causes.extend(one_of(&at.child("scope"), text(spec, "scope"), &["Cluster", "Namespaced"]));
    for (index, version) in versions.iter().enumerate() {
        if there(&version["schema"], "openAPIV3Schema").is_none() {
            let at = at.child("versions").index(index).child("schema.openAPIV3Schema");
            causes.push(words::required(&at, ""));
        }
    }
    // What is the same in all versions is spoken of as if it stood above them.
    let shared = |key: &str| versions.windows(2).all(|pair| there(&pair[0], key) == there(&pair[1], key));
    let status = |version: &Value| there(&version["subresources"], "status").is_some();
    for (index, version) in versions.iter().enumerate() {
        let at = at.child("versions").index(index);
        let problems = label_1035(text(version, "name"));
        if !problems.is_empty() {
            causes.push(words::invalid(
                &at.child("name"),
                &text(version, "name").into(),
                &problems.join(","),
            ));
        }
        causes.extend(deprecation(&at, version));
        if !shared("schema") {
            causes.extend(schemas::check(&at.child("schema"), version, status(version)));
        }
        causes.extend(parts(&at, version, |key| !shared(key)));
    }
    causes.extend(all_versions(&at, versions, shared));
    let names = Names::read(&spec["names"]);
    causes.extend(names.missing(&at.child("names")));
    causes.extend(names.wrong(&at.child("names")));
    if let Some(first) = versions.first() {
        if shared("schema") {
            causes.extend(schemas::check(&at.child("validation"), first, versions.iter().any(status)));
        }
        causes.extend(parts(&at, first, shared));
    }
    causes.extend(conversion::check(&at.child("conversion"), &spec["conversion"]));
    causes
}

fn group(at: &Path, group: &str) -> Option<Cause> {
    let at = at.child("group");
    let problems = subdomain(group);
    if group.is_empty() {
        return Some(words::required(&at, ""));
    }
    if !problems.is_empty() {
        return Some(words::invalid(&at, &group.into(), &problems.join(",")));
    }
    let why = "should be a domain with at least one dot";
    (!group.contains('.')).then(|| words::invalid(&at, &group.into(), why))
}

/// A word that must be one of these.
pub(super) fn one_of(at: &Path, word: &str, accepted: &[&str]) -> Option<Cause> {
    match word {
        "" => Some(words::required(at, "")),
        word if accepted.contains(&word) => None,
        word => {
            let accepted: Vec<String> = accepted.iter().map(|one| (*one).to_owned()).collect();
            Some(words::not_supported(at, &word.into(), &accepted))
        }
    }
}

/// What concerns all versions together.
fn all_versions(at: &Path, versions: &[Value], shared: impl Fn(&str) -> bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut wrong = |why: &str| {
        let shown = format!("Invalid value: {}: {why}", dump::versions(versions, &shared));
        let field = at.child("versions").to_string();
        causes.push(Cause { reason: "FieldValueInvalid", message: shown, field });
    };
    let names: std::collections::BTreeSet<&str> =
        versions.iter().map(|version| text(version, "name")).collect();
    if names.len() != versions.len() {
        wrong("must contain unique version names");
    }
    if versions.iter().filter(|version| says(version, "storage")).count() != 1 {
        wrong("must have exactly one version marked as storage version");
    }
    if let Some(first) = versions.first().map(|first| text(first, "name")).filter(|first| !first.is_empty()) {
        let problems = label_1035(first);
        if !problems.is_empty() {
            causes.push(words::invalid(&at.child("version"), &first.into(), &problems.join(",")));
        }
    }
    causes
}

fn deprecation(at: &Path, version: &Value) -> Vec<Cause> {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return Vec::new() };
    let mut problems: Vec<String> = Vec::new();
    if !says(version, "deprecated") {
        problems.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            problems.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            problems.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, letter)| letter.is_control()) {
            let what = "must only contain printable UTF-8 characters; non-printable character found at index";
            problems.push(format!("{what} {index}"));
        }
    }
    let at = at.child("deprecationWarning");
    problems.iter().map(|problem| words::invalid(&at, &warning.into(), problem)).collect()
}

/// Subresources, columns and selectable fields.
fn parts(at: &Path, version: &Value, here: impl Fn(&str) -> bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if here("subresources") {
        causes.extend(scale(&at.child("subresources"), &version["subresources"]["scale"]));
    }
    if here("additionalPrinterColumns") {
        for (index, one) in list(version, "additionalPrinterColumns").iter().enumerate() {
            causes.extend(column(&at.child("additionalPrinterColumns").index(index), one));
        }
    }
    if here("selectableFields") {
        causes.extend(selectable(&at.child("selectableFields"), version));
    }
    causes
}

fn simple_path(at: &Path, path: &str) -> Option<Cause> {
    let why = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| words::invalid(at, &path.into(), why))
}

fn scale(at: &Path, scale: &Value) -> Vec<Cause> {
    if scale.is_null() {
        return Vec::new();
    }
    let mut causes = Vec::new();
    for (key, below, needed) in [
        ("specReplicasPath", &[".spec."][..], true),
        ("statusReplicasPath", &[".status."], true),
        ("labelSelectorPath", &[".spec.", ".status."], false),
    ] {
        let (at, path) = (at.child("scale").child(key), text(scale, key));
        if path.is_empty() {
            causes.extend(needed.then(|| words::required(&at, "")));
        } else if let Some(cause) = simple_path(&at, path) {
            causes.push(cause);
        } else if !below.iter().any(|below| path.starts_with(below)) {
            let parts: Vec<&str> = below.iter().map(|below| below.trim_end_matches('.')).collect();
            let either = if parts.len() > 1 { "either " } else { "" };
            let why = format!("should be a json path under {either}{}", parts.join(" or "));
            causes.push(words::invalid(&at, &path.into(), &why));
        }
    }
    causes
}

fn column(at: &Path, column: &Value) -> Vec<Cause> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut causes = Vec::new();
    if text(column, "name").is_empty() {
        causes.push(words::required(&at.child("name"), ""));
    }
    let (kind, one_of) = (text(column, "type"), format!("must be one of {}", TYPES.join(",")));
    if kind.is_empty() {
        causes.push(words::required(&at.child("type"), &one_of));
    } else if !TYPES.contains(&kind) {
        causes.push(words::invalid(&at.child("type"), &kind.into(), &one_of));
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let one_of = format!("must be one of {}", FORMATS.join(","));
        causes.push(words::invalid(&at.child("format"), &format.into(), &one_of));
    }
    let (at, path) = (at.child("JSONPath"), text(column, "jsonPath"));
    match path {
        "" => causes.push(words::required(&at, "")),
        path => causes.extend(simple_path(&at, path)),
    }
    causes
}

fn selectable(at: &Path, version: &Value) -> Vec<Cause> {
    const MOST: u64 = 8;
    let schema = Schema::read_without_rules(&version["schema"]["openAPIV3Schema"]);
    let mut causes = Vec::new();
    let mut known: Vec<Path> = Vec::new();
    for (index, field) in list(version, "selectableFields").iter().enumerate() {
        let (at, path) = (at.index(index).child("jsonPath"), text(field, "jsonPath"));
        if path.is_empty() {
            causes.push(words::required(&at, ""));
            continue;
        }
        let (place, found) = match schema.field_path(path, false) {
            Ok(found) => found,
            Err(error) => {
                causes.push(words::invalid(&at, &path.into(), &format!("is an invalid path: {error}")));
                continue;
            }
        };
        if place.as_str().split('.').next() == Some("metadata") {
            causes.push(words::invalid(&at, &path.into(), "must not point to fields in metadata"));
        }
        if !matches!(found.type_name.as_str(), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                       with formats are allowed.";
            causes.push(words::invalid(&at, &path.into(), why));
        }
        if known.contains(&place) {
            causes.push(words::duplicate(&at, &path.into()));
        } else {
            known.push(place);
        }
    }
    let number = u64::try_from(known.len()).unwrap_or(u64::MAX);
    causes.extend((number > MOST).then(|| words::too_many(at, number, MOST)));
    causes
}
