//! What there is to begin with: definitions, objects, what they own, and who looks after them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Client, ResourceExt};
use lockstep_dialects::{Dialect, Kind, Served, World, definition};
use lockstep_operator::dialects::served;
use serde_json::{Value, json};

use crate::input::objects::{is_missing, plainly};

/// What else the originals make beside pods. Some of it is taken over by name, the rest is left.
const BESIDE: [Kind; 5] = [
    beside("", "v1", "Service", "services"),
    beside("", "v1", "ConfigMap", "configmaps"),
    beside("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    beside("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups"),
    beside("scheduler.grove.io", "v1alpha1", "PodGang", "podgangs"),
];

const fn beside(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Kind {
    // A version that is known here lives as long as the program.
    let versions: &'static [&'static str] = match version.as_bytes() {
        b"v1" => &["v1"],
        b"v2" => &["v2"],
        b"v1beta1" => &["v1beta1"],
        _ => &["v1alpha1"],
    };
    Kind { group, versions, kind, plural, namespaced: true, becomes_set: false }
}

/// What there is to begin with.
pub struct Site {
    /// In whose words.
    pub dialect: &'static dyn Dialect,
    /// The definitions of its kinds that are there, and whether each is ours.
    pub definitions: BTreeMap<String, bool>,
    /// Whether the cluster knows our sets.
    pub knows_sets: bool,
    /// The objects that become sets.
    pub objects: Vec<Value>,
    /// Objects of the dialect's other kinds.
    pub read_beside: Vec<Value>,
    /// What may stand between objects and pods.
    pub between: Vec<Value>,
    /// What may stand beside them.
    pub beside: Vec<Value>,
    /// The pods of the namespaces that have objects.
    pub pods: Vec<Value>,
    /// Our sets.
    pub sets: Vec<Value>,
    /// Deployments.
    pub deployments: Vec<Deployment>,
    /// Configurations of webhooks.
    pub webhooks: Vec<Value>,
    /// Gangs the cluster knows.
    pub served: Served,
}

impl Site {
    /// Reads everything.
    pub async fn look(client: &Client, dialect: &'static dyn Dialect) -> Result<Self> {
        let reader = Reader(client);
        let definitions = reader.definitions(dialect).await?;
        let (mut objects, mut read_beside) = (Vec::new(), Vec::new());
        for kind in dialect.kinds() {
            let found = reader.all(kind).await?;
            if kind.becomes_set { &mut objects } else { &mut read_beside }.extend(found);
        }
        let (mut between, mut beside) = (Vec::new(), Vec::new());
        for kind in dialect.original().between {
            between.extend(reader.all(kind).await?);
        }
        let namespaces: BTreeSet<&str> = objects.iter().map(namespace).collect();
        between.retain(|it| namespaces.contains(namespace(it)));
        let mut pods = Vec::new();
        for namespace in &namespaces {
            pods.extend(reader.pods(namespace).await?);
            for kind in &BESIDE {
                beside.extend(reader.of(kind, Some(namespace)).await?);
            }
        }
        let (sets, knows_sets) = reader.sets().await?;
        let deployments = Api::<Deployment>::all(client.clone()).list(&ListParams::default()).await;
        let deployments = deployments.map_err(plainly).context("cannot list deployments")?.items;
        let webhooks = reader.webhooks().await?;
        let served = served::ask(client).await;
        Ok(Self {
            dialect,
            definitions,
            knows_sets,
            read_beside,
            between,
            beside,
            pods,
            sets,
            deployments,
            webhooks,
            served,
            objects,
        })
    }

    /// What a dialect reads beside an object.
    pub fn world(&self, object: &Value) -> World {
        let near = |it: &&Value| namespace(it).is_empty() || namespace(it) == namespace(object);
        World {
            objects: self.read_beside.iter().filter(near).cloned().collect(),
            served: self.served,
            partial: false,
        }
    }

    /// What is in the namespace of an object.
    pub fn near(all: &[Value], object: &Value) -> Vec<Value> {
        let here = namespace(object);
        all.iter().filter(|it| namespace(it) == here).cloned().collect()
    }
}

/// The namespace of an object.
pub fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The UID of an object.
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Reads from a cluster.
pub struct Reader<'a>(pub &'a Client);

impl Reader<'_> {
    async fn definitions(&self, dialect: &dyn Dialect) -> Result<BTreeMap<String, bool>> {
        let mut found = BTreeMap::new();
        let (label, us) = definition::MADE_BY;
        for definition in dialect.definitions() {
            let (api, name) = crate::input::objects::api(self.0, &definition)?;
            let read = api.get_opt(&name).await.map_err(plainly);
            if let Some(there) = read.with_context(|| format!("cannot read definition {name}"))? {
                found.insert(name, there.labels().get(label).is_some_and(|who| who == us));
            }
        }
        Ok(found)
    }

    /// The objects of a kind in all namespaces.
    async fn all(&self, kind: &Kind) -> Result<Vec<Value>> {
        self.of(kind, None).await
    }

    /// The objects of a kind, in the first of its versions that is served; none if none is.
    async fn of(&self, kind: &Kind, namespace: Option<&str>) -> Result<Vec<Value>> {
        for version in kind.versions {
            let gvk = GroupVersionKind::gvk(kind.group, version, kind.kind);
            let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
            match self.list(&resource, namespace).await {
                Ok(found) => return Ok(found),
                Err(error) if is_missing(&error) => {}
                Err(error) => {
                    return Err(plainly(error)).with_context(|| format!("cannot list {}", kind.plural));
                }
            }
        }
        Ok(Vec::new())
    }

    /// The pods of a namespace.
    pub async fn pods(&self, namespace: &str) -> Result<Vec<Value>> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
        let listed = self.list(&resource, Some(namespace)).await.map_err(plainly);
        listed.with_context(|| format!("cannot list the pods of namespace {namespace}"))
    }

    async fn sets(&self) -> Result<(Vec<Value>, bool)> {
        match self.list(&lockstep_operator::set::resource(), None).await {
            Ok(sets) => Ok((sets, true)),
            Err(error) if is_missing(&error) => Ok((Vec::new(), false)),
            Err(error) => Err(plainly(error)).context("cannot list LockstepSets"),
        }
    }

    async fn webhooks(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
            let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            let listed = self.list(&ApiResource::from_gvk(&gvk), None).await.map_err(plainly);
            all.extend(listed.with_context(|| format!("cannot list {kind}s"))?);
        }
        Ok(all)
    }

    /// Lists say of what kind they are, not their items.
    async fn list(&self, resource: &ApiResource, namespace: Option<&str>) -> Result<Vec<Value>, kube::Error> {
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, resource),
            None => Api::all_with(self.0.clone(), resource),
        };
        let whole = |mut object: DynamicObject| {
            object.metadata.managed_fields = None;
            let mut value = serde_json::to_value(object).unwrap_or_default();
            value["apiVersion"] = json!(resource.api_version);
            value["kind"] = json!(resource.kind);
            value
        };
        Ok(api.list(&ListParams::default()).await?.items.into_iter().map(whole).collect())
    }
}
