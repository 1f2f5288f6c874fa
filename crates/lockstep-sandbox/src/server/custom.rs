//! Custom kinds: what a definition makes of objects in one of its versions.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::facts;
use crate::kinds::{Kind, Subresource, resource_of};
use crate::path::GroupVersion;
use crate::schema::Schema;
use crate::shape::{Shape, Shapes};

/// One version of a custom kind.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its name.
    pub name: String,
    /// What its objects may be.
    pub schema: Schema,
    /// The schema as it was written.
    pub written: Value,
    /// Status has a path of its own.
    pub status: bool,
    /// Where the numbers of the scale lie, if it has one.
    pub scale: Option<ScalePaths>,
    /// `additionalPrinterColumns`.
    pub columns: Vec<Value>,
    /// By which fields its objects can be selected.
    pub selectable: Vec<String>,
    /// What clients of it are told.
    pub warning: Option<String>,
}

/// Where the numbers of a scale lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// How many are wished for.
    pub wished: Vec<String>,
    /// How many there are.
    pub found: Vec<String>,
    /// The selector, as a text.
    pub selector: Option<Vec<String>>,
}

/// A custom kind, in all its versions.
#[derive(Debug, Clone)]
pub struct Custom {
    /// Its group.
    pub group: String,
    /// `plural`, `singular`, `kind` and the like.
    pub names: Value,
    /// It lies in namespaces.
    pub namespaced: bool,
    /// The versions that are served.
    pub versions: Vec<Version>,
    /// The version objects are stored in.
    pub stored: String,
    /// `conversion`.
    pub conversion: Value,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn path(value: &Value) -> Vec<String> {
    let path = value.as_str().unwrap_or_default();
    path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

impl Custom {
    /// Reads a definition that was accepted.
    pub fn read(crd: &Value) -> Self {
        let spec = &crd["spec"];
        let all = || spec["versions"].as_array().into_iter().flatten();
        let stored = all().find(|version| version["storage"] == true);
        Self {
            group: text(&spec["group"]),
            names: spec["names"].clone(),
            namespaced: spec["scope"] == "Namespaced",
            versions: all().filter(|version| version["served"] == true).map(Version::read).collect(),
            stored: stored.map(|version| text(&version["name"])).unwrap_or_default(),
            conversion: spec["conversion"].clone(),
        }
    }

    /// A version.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The kinds it adds, one for each version.
    pub fn kinds(&self) -> Vec<Kind> {
        self.versions.iter().map(|version| self.kind(version)).collect()
    }

    fn kind(&self, version: &Version) -> Kind {
        let texts = |key: &str| {
            let listed = self.names[key].as_array().into_iter().flatten();
            listed.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let kind = text(&self.names["kind"]);
        let singular = text(&self.names["singular"]);
        let list_kind = text(&self.names["listKind"]);
        let or = |said: String, other: String| if said.is_empty() { other } else { said };
        let plural = text(&self.names["plural"]);
        let (shape, shapes) = version.shape();
        Kind {
            of: GroupVersion { group: self.group.clone(), version: version.name.clone() },
            list_kind: Arc::from(or(list_kind, format!("{kind}List"))),
            resource: resource_of(&plural, &self.group),
            plural: Arc::from(plural),
            singular: or(singular, kind.to_lowercase()),
            kind: Arc::from(kind),
            short: texts("shortNames"),
            categories: texts("categories"),
            namespaced: self.namespaced,
            verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
                .map(str::to_owned)
                .to_vec(),
            subresources: self.subresources(version),
            stored: self.stored.clone(),
            shape,
            shapes,
            schema: None,
        }
    }

    fn subresources(&self, version: &Version) -> Vec<Subresource> {
        let verbs = || ["get", "patch", "update"].map(str::to_owned).to_vec();
        let status = version.status.then(|| Subresource {
            name: "status".to_owned(),
            kind: (self.group.clone(), version.name.clone(), text(&self.names["kind"])),
            verbs: verbs(),
        });
        let scale = version.scale.as_ref().map(|_| Subresource {
            name: "scale".to_owned(),
            kind: ("autoscaling".to_owned(), "v1".to_owned(), "Scale".to_owned()),
            verbs: verbs(),
        });
        scale.into_iter().chain(status).collect()
    }
}

impl Version {
    fn read(version: &Value) -> Self {
        let written = version["schema"]["openAPIV3Schema"].clone();
        let parts = &version["subresources"];
        let scale = parts.get("scale").filter(|scale| scale.is_object()).map(|scale| ScalePaths {
            wished: path(&scale["specReplicasPath"]),
            found: path(&scale["statusReplicasPath"]),
            selector: scale.get("labelSelectorPath").map(path).filter(|path| !path.is_empty()),
        });
        let name = text(&version["name"]);
        let selectable = version["selectableFields"].as_array().into_iter().flatten();
        Self {
            schema: Schema::read(&written),
            status: parts.get("status").is_some_and(Value::is_object),
            scale,
            columns: version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
            selectable: selectable.map(|field| path(&field["jsonPath"]).join(".")).collect(),
            warning: (version["deprecated"] == true).then(|| {
                let said = version["deprecationWarning"].as_str().map(str::to_owned);
                said.unwrap_or_else(|| format!("{name} is deprecated"))
            }),
            written,
            name,
        }
    }

    /// The shape of its objects: theirs below, that of every object above.
    fn shape(&self) -> (Shape, Arc<Shapes>) {
        const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
        let mut schemas: Map<String, Value> = facts::schemas()
            .iter()
            .filter(|(name, _)| name.starts_with(META))
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        let mut whole = self.written.clone();
        if !whole.is_object() {
            whole = json!({});
        }
        let reference = format!("#/components/schemas/{META}ObjectMeta");
        if whole.get("properties").is_some() {
            whole["properties"]["metadata"] = json!({"$ref": reference});
            for key in ["apiVersion", "kind"] {
                whole["properties"][key] = json!({"type": "string"});
            }
        }
        schemas.insert("this".to_owned(), whole);
        (Shape::Named(Arc::from("this")), Arc::new(Shapes::read(&schemas)))
    }

    /// Drops what nobody described.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let metadata = object.get("metadata").cloned();
        let dropped = self.schema.prune(object);
        if let (Some(metadata), Some(object)) = (metadata, object.as_object_mut()) {
            object.insert("metadata".to_owned(), metadata);
        }
        dropped
    }

    /// Fills in what nobody said.
    pub fn set_defaults(&self, object: &mut Value) {
        self.schema.set_defaults(object);
    }

    /// Nobody creates a status, where that has a path of its own.
    pub fn prepare_create(&self, object: &mut Value) {
        if self.status
            && let Some(object) = object.as_object_mut()
        {
            object.remove("status");
        }
        object["metadata"]["generation"] = Value::from(1);
    }

    /// The status stays, and the generation tells whether anything else changed.
    pub fn prepare_update(&self, object: &mut Value, live: &Value) {
        if self.status
            && let Some(object) = object.as_object_mut()
        {
            match live.get("status") {
                Some(status) => drop(object.insert("status".to_owned(), status.clone())),
                None => drop(object.remove("status")),
            }
        }
        let generation = live["metadata"]["generation"].as_u64().unwrap_or(1);
        let changed = below(object) != below(live);
        object["metadata"]["generation"] = Value::from(generation + u64::from(changed));
    }

    /// Nothing but the status changes.
    pub fn prepare_status_update(&self, object: &mut Value, live: &Value) {
        let mut kept = live.clone();
        match object.get("status") {
            Some(status) => kept["status"] = status.clone(),
            None => {
                if let Some(kept) = kept.as_object_mut() {
                    kept.remove("status");
                }
            }
        }
        match object["metadata"].get("managedFields") {
            Some(managed) => kept["metadata"]["managedFields"] = managed.clone(),
            None => {
                if let Some(metadata) = kept["metadata"].as_object_mut() {
                    metadata.remove("managedFields");
                }
            }
        }
        *object = kept;
    }
}

/// All of an object but its metadata.
fn below(object: &Value) -> Map<String, Value> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| *key != "metadata").map(|(key, value)| (key.clone(), value.clone())).collect()
}
