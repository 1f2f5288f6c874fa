//! What a namespace holds that budgets count: pods, and whose they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, GroupVersionKind, ListParams};
use kube::discovery::oneshot::pinned_kind;
use kube::{Api, Client, Error};
use lockstep_api::budget::{Chain, Found, Owner, PodUnavailableBudget, Sight, Standing, Surroundings};
use serde_json::Value;

use crate::input::objects::{is_missing, plainly};

/// A kind as owner references name it: its group with version, and its name.
type Kind = (String, String);

/// The pods of a namespace and whose they are.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The version at which they were listed.
    pub version: u64,
    pods: Vec<Pod>,
    owners: BTreeMap<(Kind, String), Arc<Standing>>,
    /// The kinds that were asked for, and whether they could be listed: then an owner that is not here is gone.
    asked: BTreeMap<Kind, bool>,
}

/// The budgets of a namespace, or of all; nothing if the cluster does not know the kind.
pub async fn budgets(client: &Client, namespace: Option<&str>) -> Result<Option<Vec<PodUnavailableBudget>>> {
    let api: Api<PodUnavailableBudget> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    match api.list(&ListParams::default()).await {
        Ok(listed) => Ok(Some(listed.items)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(plainly(error)).context("cannot list the PodUnavailableBudgets"),
    }
}

impl Gathered {
    /// Reads a namespace for these budgets of it. They are read first: what they promised may be gone by now, and
    /// must not be counted as still standing.
    pub async fn of(client: &Client, namespace: &str, budgets: &[PodUnavailableBudget]) -> Result<Self> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let listed =
            pods.list(&ListParams::default()).await.map_err(plainly).context("cannot list the pods")?;
        let version = listed.metadata.resource_version.as_deref().and_then(|text| text.parse().ok());
        let mut gathered = Self::from_pods(listed.items, version.unwrap_or_default());
        loop {
            let unknown = gathered.unknown(budgets);
            if unknown.is_empty() {
                return Ok(gathered);
            }
            for kind in unknown {
                match list(client, namespace, &kind).await? {
                    Some(objects) => gathered.take(&kind, objects),
                    None => drop(gathered.asked.insert(kind, false)),
                }
            }
        }
    }

    /// Pods alone, whose owners are yet to be found. A pod may be an owner itself.
    pub fn from_pods(pods: Vec<Pod>, version: u64) -> Self {
        let kind: Kind = ("v1".to_owned(), "Pod".to_owned());
        let objects = pods.iter().map(|pod| (pod.metadata.clone(), Value::Null)).collect();
        let mut gathered = Self { pods, version, ..Self::default() };
        gathered.take(&kind, objects);
        gathered
    }

    /// Takes in all objects of a kind.
    pub fn take(&mut self, kind: &Kind, objects: Vec<(ObjectMeta, Value)>) {
        for (metadata, data) in objects {
            let standing = Standing::of((&kind.0, &kind.1), &metadata, &data);
            self.owners.insert((kind.clone(), standing.owner.name.clone()), Arc::new(standing));
        }
        self.asked.insert(kind.clone(), true);
    }

    /// The kinds of owners that were not asked for yet: of those above pods, and of those that budgets remember.
    fn unknown(&self, budgets: &[PodUnavailableBudget]) -> BTreeSet<Kind> {
        let mut owners = BTreeSet::new();
        for pod in &self.pods {
            self.chain(pod, &mut owners);
        }
        let ledgers = budgets.iter().filter_map(|budget| budget.lower().ok());
        owners.extend(
            ledgers
                .flat_map(|budget| budget.state.memory.0.into_keys())
                .filter_map(|key| Owner::of_key(&key)),
        );
        owners.iter().map(kind).filter(|kind| !self.asked.contains_key(kind)).collect()
    }

    fn standing(&self, owner: &Owner) -> Option<&Arc<Standing>> {
        let found = self.owners.get(&(kind(owner), owner.name.clone()));
        found.filter(|it| owner.uid.is_empty() || it.owner.uid == owner.uid)
    }
}

fn kind(owner: &Owner) -> Kind {
    (owner.api_version.clone(), owner.kind.clone())
}

impl Surroundings for Gathered {
    type Pod = Pod;

    fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter()
    }

    fn chain(&self, pod: &Pod, missing: &mut BTreeSet<Owner>) -> Chain {
        Chain::climb(&pod.metadata, |owner| {
            if !self.asked.contains_key(&kind(owner)) {
                missing.insert(owner.clone());
            }
            self.standing(owner).map(|standing| Found::from(&standing.metadata))
        })
    }

    fn sight(&self, owner: &Owner) -> Option<Sight> {
        let listed = self.asked.get(&kind(owner))?;
        Some(match self.standing(owner) {
            Some(standing) => Sight::Stands(Arc::clone(standing)),
            None if *listed => Sight::Gone,
            None => Sight::Opaque,
        })
    }
}

/// All objects of a kind in a namespace; nothing if it cannot be read, because nobody serves it or we may not.
async fn list(client: &Client, namespace: &str, kind: &Kind) -> Result<Option<Vec<(ObjectMeta, Value)>>> {
    let (group, version) = kind.0.split_once('/').unwrap_or(("", &kind.0));
    let wanted = GroupVersionKind::gvk(group, version, &kind.1);
    let Ok((resource, _)) = pinned_kind(client, &wanted).await else { return Ok(None) };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    match api.list(&ListParams::default()).await {
        Ok(listed) => Ok(Some(listed.items.into_iter().map(|it| (it.metadata, it.data)).collect())),
        Err(Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
        Err(error) => Err(plainly(error)).with_context(|| format!("cannot list {}", resource.plural)),
    }
}
