//! The kinds that are served: built-in ones, with what a real API server says about them, and custom ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::facts;
use crate::path::GroupVersion;
use crate::shape::{Shape, Shapes};

/// A resource that is served, in one version.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Group and version.
    pub of: GroupVersion,
    /// The kind.
    pub kind: Arc<str>,
    /// The kind of a list of them.
    pub list_kind: Arc<str>,
    /// The resource: `pods`.
    pub plural: Arc<str>,
    /// The resource with its group, as objects are stored under: `pods`, `deployments.apps`.
    pub resource: Arc<str>,
    /// The name of one: `pod`.
    pub singular: String,
    /// Short names.
    pub short: Vec<String>,
    /// What `kubectl get all` and the like find.
    pub categories: Vec<String>,
    /// Lies in a namespace.
    pub namespaced: bool,
    /// What may be done with it.
    pub verbs: Vec<String>,
    /// What parts of its objects have paths of their own.
    pub subresources: Vec<Subresource>,
    /// The version objects are stored in.
    pub stored: String,
    /// What its objects are made of.
    pub shape: Shape,
    /// The shapes that one names.
    pub shapes: Arc<Shapes>,
    /// The name of its schema, for built-in kinds.
    pub schema: Option<Arc<str>>,
}

/// A part of an object with a path of its own.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// The last part of the path: `status`.
    pub name: String,
    /// Group, version and kind of what is read and written there.
    pub kind: (String, String, String),
    /// What may be done with it.
    pub verbs: Vec<String>,
}

/// Which built-in resources are served. Kinds that nobody here would look after are left out: an object that lies
/// there and never becomes anything is worse than an error.
const SERVED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "bindings",
            "configmaps",
            "events",
            "namespaces",
            "nodes",
            "pods",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    ("admissionregistration.k8s.io", &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]),
    ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ("apps", &["controllerrevisions", "deployments", "replicasets"]),
    ("authentication.k8s.io", &["selfsubjectreviews", "tokenreviews"]),
    (
        "authorization.k8s.io",
        &[
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        ],
    ),
    ("coordination.k8s.io", &["leases"]),
    ("events.k8s.io", &["events"]),
    ("policy", &["poddisruptionbudgets"]),
    ("rbac.authorization.k8s.io", &["clusterrolebindings", "clusterroles", "rolebindings", "roles"]),
    ("scheduling.k8s.io", &["podgroups", "priorityclasses"]),
];

/// Parts of objects that are answered by nobody here: they need containers.
const NOT_SERVED: &[&str] =
    &["attach", "exec", "log", "portforward", "proxy", "ephemeralcontainers", "resize"];

/// The built-in kinds.
pub fn built_in() -> Vec<Kind> {
    let names = schema_names();
    let shapes = built_in_shapes();
    let groups = ["core", "groups"].map(|part| items(&facts::discovery()[part]));
    let mut kinds = Vec::new();
    for group in groups.into_iter().flatten() {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        let Some((_, served)) = SERVED.iter().find(|(group, _)| *group == name) else { continue };
        for version in group["versions"].as_array().into_iter().flatten() {
            let of = GroupVersion { group: name.to_owned(), version: text(&version["version"]) };
            for resource in version["resources"].as_array().into_iter().flatten() {
                if resource["resource"].as_str().is_some_and(|plural| served.contains(&plural)) {
                    kinds.push(read(&of, resource, &names, &shapes));
                }
            }
        }
    }
    kinds
}

/// Whether objects of a built-in kind lie in namespaces. Kinds nobody knows do.
pub fn is_namespaced(group: &str, kind: &str) -> bool {
    static WIDE: std::sync::OnceLock<Vec<(String, Arc<str>)>> = std::sync::OnceLock::new();
    let wide = WIDE.get_or_init(|| {
        let wide = built_in().into_iter().filter(|kind| !kind.namespaced);
        wide.map(|kind| (kind.of.group, kind.kind)).collect()
    });
    !wide.iter().any(|(known, name)| known == group && **name == *kind)
}

/// The shapes of the built-in kinds. Reading them takes a while, so it is done once.
pub fn built_in_shapes() -> Arc<Shapes> {
    static READ: std::sync::OnceLock<Arc<Shapes>> = std::sync::OnceLock::new();
    Arc::clone(READ.get_or_init(|| Arc::new(Shapes::read(facts::schemas()))))
}

fn items(list: &Value) -> Vec<&Value> {
    list["items"].as_array().into_iter().flatten().collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// The names of schemas by group, version and kind.
fn schema_names() -> BTreeMap<(String, String, String), Arc<str>> {
    let mut names = BTreeMap::new();
    for (name, schema) in facts::schemas() {
        // What many groups share (DeleteOptions, WatchEvent) says so many times; it is no kind that is kept.
        if let Some([one]) = schema["x-kubernetes-group-version-kind"].as_array().map(Vec::as_slice) {
            let of = (text(&one["group"]), text(&one["version"]), text(&one["kind"]));
            names.insert(of, Arc::from(name.as_str()));
        }
    }
    names
}

fn read(
    of: &GroupVersion,
    resource: &Value,
    names: &BTreeMap<(String, String, String), Arc<str>>,
    shapes: &Arc<Shapes>,
) -> Kind {
    let kind = text(&resource["responseKind"]["kind"]);
    let plural: Arc<str> = Arc::from(text(&resource["resource"]));
    let schema = names.get(&(of.group.clone(), of.version.clone(), kind.clone())).cloned();
    let subresources = resource["subresources"].as_array().into_iter().flatten();
    let subresources = subresources.map(|part| subresource(of, part));
    Kind {
        // Events are the same objects in both groups.
        resource: if &*plural == "events" { Arc::clone(&plural) } else { resource_of(&plural, &of.group) },
        list_kind: Arc::from(format!("{kind}List")),
        kind: Arc::from(kind),
        plural,
        singular: text(&resource["singularResource"]),
        short: texts(&resource["shortNames"]),
        categories: texts(&resource["categories"]),
        namespaced: resource["scope"] == "Namespaced",
        verbs: texts(&resource["verbs"]),
        subresources: subresources.filter(|part| !NOT_SERVED.contains(&part.name.as_str())).collect(),
        stored: of.version.clone(),
        shape: schema.clone().map_or(Shape::Any, Shape::Named),
        shapes: Arc::clone(shapes),
        schema,
        of: of.clone(),
    }
}

fn subresource(of: &GroupVersion, part: &Value) -> Subresource {
    let kind = &part["responseKind"];
    let or = |found: String, other: &str| if found.is_empty() { other.to_owned() } else { found };
    let version = or(text(&kind["version"]), &of.version);
    let group = if text(&kind["version"]).is_empty() { of.group.clone() } else { text(&kind["group"]) };
    Subresource {
        name: text(&part["subresource"]),
        kind: (group, version, text(&kind["kind"])),
        verbs: texts(&part["verbs"]),
    }
}

/// The kind that is read and written where a kind is scaled.
pub fn scale(of: &Kind) -> Kind {
    let schema: Arc<str> = Arc::from("io.k8s.api.autoscaling.v1.Scale");
    Kind {
        of: GroupVersion { group: "autoscaling".to_owned(), version: "v1".to_owned() },
        kind: Arc::from("Scale"),
        list_kind: Arc::from(""),
        subresources: Vec::new(),
        shape: Shape::Named(Arc::clone(&schema)),
        shapes: built_in_shapes(),
        schema: Some(schema),
        ..of.clone()
    }
}

/// `pods`, `deployments.apps`.
pub fn resource_of(plural: &str, group: &str) -> Arc<str> {
    if group.is_empty() { Arc::from(plural) } else { Arc::from(format!("{plural}.{group}")) }
}

impl Kind {
    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        self.of.to_string()
    }

    /// A part of its objects.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|part| part.name == name)
    }

    /// It may be done with it.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|allowed| allowed == verb)
    }

    /// Group, version and kind, as they stand in reviews and schemas.
    pub fn coordinates(&self) -> Value {
        json!({"group": self.of.group, "version": self.of.version, "kind": &*self.kind})
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_resource_is_there_once_with_its_shape() {
        let kinds = built_in();
        let all: BTreeSet<_> = kinds.iter().map(|kind| (kind.of.clone(), kind.plural.clone())).collect();
        assert_eq!(all.len(), kinds.len());
        let served: usize = SERVED.iter().map(|(_, plurals)| plurals.len()).sum();
        assert_eq!(served, kinds.len(), "{all:?}");
        let shapeless: Vec<_> = kinds.iter().filter(|kind| kind.schema.is_none()).collect();
        assert!(shapeless.is_empty(), "{shapeless:?}");
    }

    #[test]
    fn how_kinds_are_named() {
        let kinds = built_in();
        let of = |plural: &str, group: &str| {
            let found = kinds.iter().find(|kind| (&*kind.plural, &*kind.of.group) == (plural, group));
            let found = found.expect("served");
            (found.resource.to_string(), found.api_version(), found.singular.clone())
        };
        let named = |resource: &str, version: &str, one: &str| {
            (resource.to_owned(), version.to_owned(), one.to_owned())
        };
        assert_eq!(of("pods", ""), named("pods", "v1", "pod"));
        assert_eq!(of("deployments", "apps"), named("deployments.apps", "apps/v1", "deployment"));
        assert_eq!(of("events", "events.k8s.io"), named("events", "events.k8s.io/v1", "event"));
    }
}
