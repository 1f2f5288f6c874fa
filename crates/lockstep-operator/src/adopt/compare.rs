//! A pod that runs against the pod that would be built for its place.
//!
//! By containment: everything that would be built must be there with the same value; what is there besides is
//! defaulted, injected or the other operator's. What identity templates give is weighed more lightly: a container that
//! started without one of our variables never needed it, but one that has another value was made for something else.

use std::fmt;

use lockstep_api::Identity;
use serde_json::{Map, Value};

use super::environment::effective;
use crate::quantity;

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What is not as it would be built: the pod was made from another template.
    pub differs: Vec<Difference>,
    /// What identity templates would add, and it does without.
    pub lacks: Vec<String>,
}

/// A place at which two pods differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Where, below `spec`.
    pub path: String,
    /// What would be built.
    pub wanted: String,
    /// What is there; nothing if there is nothing.
    pub found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Some(found) => write!(f, "{} is {found}, would be {}", self.path, self.wanted),
            None => write!(f, "{} is missing, would be {}", self.path, self.wanted),
        }
    }
}

/// What every pod may have and no template decides: who holds it back, and what it is called.
const NOT_COMPARED: [&str; 3] = ["schedulingGates", "hostname", "subdomain"];

/// Compares a pod that runs with the one that would be built. Of `volumes` the other operator has its own: a pod that
/// has one of them needs none of ours.
pub fn compare(built: &Value, running: &Value, identity: &Identity, volumes: &[&str]) -> Comparison {
    let built = &without_volumes(built, running, volumes);
    let mut eye = Eye { built, running, identity, found: Comparison::default() };
    let spec = built["spec"].as_object().cloned().unwrap_or_default();
    for (key, wanted) in spec.iter().filter(|(key, _)| !NOT_COMPARED.contains(&key.as_str())) {
        match key.as_str() {
            "containers" | "initContainers" => eye.containers(key, wanted),
            _ => eye.below(key, wanted, &running["spec"][key]),
        }
    }
    for key in ["hostname", "subdomain"] {
        eye.name(key);
    }
    eye.found
}

fn without_volumes(built: &Value, running: &Value, volumes: &[&str]) -> Value {
    let has = |name: &&&str| {
        running["spec"]["volumes"].as_array().into_iter().flatten().any(|it| it["name"] == ***name)
    };
    let theirs: Vec<&&str> = volumes.iter().filter(has).collect();
    let drop_from = |list: Option<&mut Value>| {
        if let Some(items) = list.and_then(Value::as_array_mut) {
            items.retain(|item| !theirs.iter().any(|name| item["name"] == ***name));
        }
    };
    let mut built = built.clone();
    drop_from(built.pointer_mut("/spec/volumes"));
    for list in ["/spec/containers", "/spec/initContainers"] {
        let containers = built.pointer_mut(list).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(|it| drop_from(it.get_mut("volumeMounts")));
    }
    built
}

struct Eye<'a> {
    built: &'a Value,
    running: &'a Value,
    identity: &'a Identity,
    found: Comparison,
}

impl Eye<'_> {
    fn differ(&mut self, path: &str, wanted: &Value, found: &Value) {
        let difference = Difference {
            path: path.to_owned(),
            wanted: shown(wanted),
            found: (!found.is_null()).then(|| shown(found)),
        };
        self.found.differs.push(difference);
    }

    /// A pod of another name in DNS is another one to all others; one of none is found by nobody, and never was.
    fn name(&mut self, key: &str) {
        let (wanted, found) = (&self.built["spec"][key], &self.running["spec"][key]);
        if is_void(wanted) || wanted == found {
            return;
        }
        if is_void(found) {
            self.found.lacks.push(key.to_owned());
        } else {
            self.differ(key, wanted, found);
        }
    }

    fn containers(&mut self, list: &str, wanted: &Value) {
        for wanted in wanted.as_array().into_iter().flatten() {
            let name = wanted["name"].as_str().unwrap_or_default();
            let path = format!("{list}[{name}]");
            let all = self.running["spec"][list].as_array();
            let Some(found) = all.into_iter().flatten().find(|it| it["name"] == name) else {
                self.differ(&path, &wanted["image"], &Value::Null);
                continue;
            };
            let fields = wanted.as_object().cloned().unwrap_or_default();
            for (key, wanted) in fields.iter().filter(|(key, _)| *key != "env") {
                self.below(&format!("{path}.{key}"), wanted, &found[key]);
            }
            self.environment(&path, wanted, found);
        }
    }

    fn environment(&mut self, path: &str, wanted: &Value, found: &Value) {
        let gives = effective(wanted, self.built);
        let has = effective(found, self.running);
        for variable in wanted["env"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().unwrap_or_default();
            let theirs = found["env"].as_array().into_iter().flatten().rfind(|it| it["name"] == name);
            let path = format!("{path}.env[{name}]");
            match theirs {
                None if self.identity.env.contains_key(name) => self.found.lacks.push(path),
                None => self.differ(&path, variable, &Value::Null),
                Some(theirs) => {
                    let same = gives.get(name).is_some_and(|value| has.get(name) == Some(value));
                    if !same && !contains(variable, theirs) {
                        let text = |known: Option<&String>, raw: &Value| {
                            known.map_or_else(|| raw.clone(), |value| Value::from(value.as_str()))
                        };
                        let (wanted, found) = (text(gives.get(name), variable), text(has.get(name), theirs));
                        self.differ(&path, &wanted, &found);
                    }
                }
            }
        }
    }

    /// Whatever is no container.
    fn below(&mut self, path: &str, wanted: &Value, found: &Value) {
        if is_void(wanted) || wanted == found {
            return;
        }
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(found)) => self.fields(path, wanted, found),
            (Value::Array(wanted), Value::Array(found)) => self.items(path, wanted, found),
            _ if is_amount(path) && quantity::is_same(wanted, found) => {}
            _ => self.differ(path, wanted, found),
        }
    }

    fn fields(&mut self, path: &str, wanted: &Map<String, Value>, found: &Map<String, Value>) {
        for (key, wanted) in wanted {
            self.below(&format!("{path}.{key}"), wanted, found.get(key).unwrap_or(&Value::Null));
        }
    }

    /// Lists of plain values are compared as they stand: the order of arguments matters. Of others each item has to be
    /// there, by its key if it has one.
    fn items(&mut self, path: &str, wanted: &[Value], found: &[Value]) {
        if !wanted.iter().all(Value::is_object) {
            if wanted != found {
                self.differ(path, &Value::from(wanted), &Value::from(found));
            }
            return;
        }
        for wanted in wanted {
            match key_of(wanted) {
                Some((key, value)) => {
                    let found = found.iter().find(|it| it[key] == *value).unwrap_or(&Value::Null);
                    self.below(&format!("{path}[{}]", plain(value)), wanted, found);
                }
                None if found.iter().any(|found| contains(wanted, found)) => {}
                None => self.differ(path, wanted, &Value::Null),
            }
        }
    }
}

/// Whether everything that is wanted is there.
fn contains(wanted: &Value, found: &Value) -> bool {
    let nobody = (Value::Null, Value::Null, Identity::default());
    let mut eye =
        Eye { built: &nobody.0, running: &nobody.1, identity: &nobody.2, found: Comparison::default() };
    eye.below("", wanted, found);
    eye.found.differs.is_empty()
}

/// The field that tells items of a list apart. A port may have a name, but is known by its number; one volume may be
/// mounted twice.
fn key_of(item: &Value) -> Option<(&'static str, &Value)> {
    let keys = ["containerPort", "mountPath", "devicePath", "name", "ip"];
    keys.into_iter().find_map(|key| Some((key, item.get(key)?)))
}

/// Whether a field holds an amount, which may be written in several ways.
fn is_amount(path: &str) -> bool {
    let field = path.rsplit('.').next().unwrap_or_default();
    path.contains("resources.") || path.starts_with("overhead.") || ["sizeLimit", "divisor"].contains(&field)
}

/// What says nothing.
fn is_void(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_void),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let text = plain(value);
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
