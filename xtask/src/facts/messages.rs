//! How objects look in protobuf: the messages of the kinds that are served.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::Modules;
use super::ask;
use super::go::{self, Struct, Tags};
use super::proto::{Field, File, Many};

/// What all kinds share: metadata, options, quantities.
const SHARED: &[&str] = &["pkg/apis/meta/v1", "pkg/api/resource", "pkg/runtime", "pkg/util/intstr"];

/// What belongs to every group and can be the body of a request.
const OF_EVERY_GROUP: &[&str] = &[
    "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Status",
];

/// Messages that are not written in JSON field by field; who reads them knows them by name.
const SPECIAL: &[&str] = &[
    "k8s.io.apimachinery.pkg.api.resource.Quantity",
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
    "k8s.io.apimachinery.pkg.runtime.RawExtension",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
];

/// Reads the modules. `packages` tells the package of each version that is served, `messages` the fields of all
/// messages such an object can hold.
pub fn read(modules: &Modules, discovery: &Value) -> Result<Value> {
    let mut known = Known::default();
    for folder in SHARED {
        known.add(&modules.folder("apimachinery")?.join(folder))?;
    }
    let served: BTreeSet<String> =
        ask::versions(discovery).map(|of| api_version(of.group, of.version)).collect();
    let mut packages = BTreeMap::new();
    for folder in packages_of(&modules.folder("api")?)? {
        let register = fs::read_to_string(folder.join("register.go")).unwrap_or_default();
        let version = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(group) = go::group_name(&register) else { continue };
        let package = known.add(&folder)?;
        if served.contains(&api_version(group, version)) {
            packages.insert(api_version(group, version), package);
        }
    }
    let messages = known.reached_from(&packages.values().map(String::as_str).collect())?;
    Ok(json!({"packages": packages, "messages": messages}))
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The folders `{group}/{version}` that have messages.
fn packages_of(api: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for group in subfolders(api)? {
        folders.extend(
            subfolders(&group)?.into_iter().filter(|folder| folder.join("generated.proto").is_file()),
        );
    }
    folders.sort();
    Ok(folders)
}

fn subfolders(of: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(of).with_context(|| format!("cannot read {}", of.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// All messages there are, and the structs they are made from, by full name.
#[derive(Default)]
struct Known {
    messages: BTreeMap<String, Vec<Field>>,
    structs: BTreeMap<String, Struct>,
}

impl Known {
    /// Adds those of a folder, and tells its package.
    fn add(&mut self, folder: &Path) -> Result<String> {
        let text =
            |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
        let file = File::read(&text(&folder.join("generated.proto"))?)?;
        let full = |name: String| format!("{}.{name}", file.package);
        self.messages.extend(file.messages.into_iter().map(|(name, fields)| (full(name), fields)));
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "go") {
                let found = go::structs(&text(&path)?);
                self.structs.extend(found.into_iter().map(|(name, fields)| (full(name), fields)));
            }
        }
        Ok(file.package)
    }

    /// The messages of some packages, and what they are made of. Nobody sends lists.
    fn reached_from(&self, packages: &BTreeSet<&str>) -> Result<Map<String, Value>> {
        let is_in =
            |name: &&String| name.rsplit_once('.').is_some_and(|(package, _)| packages.contains(package));
        let mut open: Vec<String> =
            self.messages.keys().filter(is_in).filter(|name| !name.ends_with("List")).cloned().collect();
        open.extend(OF_EVERY_GROUP.iter().map(|name| (*name).to_owned()));
        let mut reached = Map::new();
        while let Some(name) = open.pop() {
            if SPECIAL.contains(&name.as_str()) || reached.contains_key(&name) {
                continue;
            }
            let fields = self.messages.get(&name).with_context(|| format!("{name} is not known"))?;
            open.extend(
                fields.iter().filter(|field| field.kind.contains('.')).map(|field| field.kind.clone()),
            );
            reached.insert(name.clone(), self.shown(&name, fields)?);
        }
        Ok(reached)
    }

    /// The fields of a message; `{"items": …}` for one that is only a list.
    fn shown(&self, name: &str, fields: &[Field]) -> Result<Value> {
        match (self.structs.get(name), fields) {
            (Some(tags), _) => {
                let shown = fields.iter().map(|field| {
                    let tags = tags.get(&field.number);
                    let tags = tags.with_context(|| format!("nothing is said of {name}.{}", field.name))?;
                    Ok(shown(field, tags))
                });
                Ok(Value::Array(shown.collect::<Result<_>>()?))
            }
            (None, [items]) if items.name == "items" && items.many == Many::List => {
                Ok(json!({"items": items.kind}))
            }
            (None, []) => Ok(json!([])),
            (None, _) => bail!("{name} has no struct"),
        }
    }
}

/// What is not said is false.
fn shown(field: &Field, tags: &Tags) -> Value {
    let mut shown = json!({"number": field.number, "name": tags.json, "type": field.kind});
    let flags = [
        ("list", field.many == Many::List),
        ("map", field.many == Many::Map),
        ("pointer", tags.pointer),
        ("omitEmpty", tags.omit_empty),
        ("omitZero", tags.omit_zero),
    ];
    for (flag, _) in flags.into_iter().filter(|(_, set)| *set) {
        shown[flag] = json!(true);
    }
    shown
}
