//! Where a set lives: reading it and all that belongs to it, with errors a person can act on.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Error};
use lockstep_api::{KIND, label};

use super::revisions::Revisions;
use crate::input::cluster::ClusterArgs;
use crate::input::live_set::LiveSet;

/// Who writes: the field manager of everything this program changes.
pub const FIELD_MANAGER: &str = "lockstep-cli";

/// A namespace of a cluster.
#[derive(Clone)]
pub struct Home {
    client: Client,
    /// The namespace.
    pub namespace: String,
}

impl Home {
    /// Connects.
    pub async fn open(args: &ClusterArgs) -> Result<Self> {
        let (client, namespace) = args.client().await?;
        Ok(Self { client, namespace })
    }

    /// The sets of the namespace.
    pub fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(KIND, "lockstepsets"))
    }

    /// The sets of all namespaces.
    pub fn all_sets(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(KIND, "lockstepsets"))
    }

    /// The pods of the namespace.
    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// One set.
    pub async fn set(&self, name: &str) -> Result<LiveSet> {
        let found = self.sets().get(name).await.map_err(|error| self.explain(error, name))?;
        LiveSet::of(found)
    }

    /// The pods of a set.
    pub async fn pods_of(&self, name: &str) -> Result<Vec<Pod>> {
        let listed = self.pods().list(&of_set(name)).await;
        Ok(listed.map_err(plain).with_context(|| format!("cannot list the pods of {name}"))?.items)
    }

    /// The stored revisions of a set.
    pub async fn revisions(&self, set: &LiveSet) -> Result<Revisions> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&of_set(&set.name)).await.map_err(plain);
        let listed = listed.with_context(|| format!("cannot list the revisions of {}", set.name))?;
        Revisions::of(set, listed.items)
    }

    /// How large each role is scaled to; roles nobody scales are left out.
    pub async fn scales(&self, set: &LiveSet) -> Result<BTreeMap<String, u32>> {
        let resource = resource("RoleScale", "rolescales");
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let mut scales = BTreeMap::new();
        let roles = set.spec()["roles"].as_array().map(Vec::as_slice).unwrap_or_default();
        for role in roles.iter().filter_map(|role| role["name"].as_str()) {
            let name = format!("{}-{role}", set.name);
            // A cluster without the kind has nothing that is scaled.
            let found = api.get_opt(&name).await.map_err(plain);
            let found = found.with_context(|| format!("cannot read rolescale {name}"))?;
            let replicas = found.and_then(|scale| scale.data["spec"]["replicas"].as_u64());
            if let Some(replicas) = replicas.and_then(|n| u32::try_from(n).ok()) {
                scales.insert(role.to_owned(), replicas);
            }
        }
        Ok(scales)
    }

    /// An error of the API server about a set, in kubectl's words.
    pub fn explain(&self, error: Error, name: &str) -> anyhow::Error {
        match &error {
            Error::Api(status) if status.code == 404 && is_of_object(status) => {
                anyhow!("lockstepset {name:?} not found in namespace {:?}", self.namespace)
            }
            _ => explain_kind(error),
        }
    }
}

/// An error about the kind as a whole.
pub fn explain_kind(error: Error) -> anyhow::Error {
    match &error {
        Error::Api(status) if status.code == 404 => anyhow!(
            "the cluster does not know LockstepSets: the CRD lockstepsets.lockstep.dev is missing. \
             Run `lockstep install`"
        ),
        _ => plain(error),
    }
}

/// What the API server said, without the names of the library's types.
pub fn plain(error: Error) -> anyhow::Error {
    match error {
        Error::Api(status) => anyhow!("{}", status.message),
        other => anyhow!(other),
    }
}

/// A path that does not exist at all has no details.
fn is_of_object(status: &kube::core::Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

/// Everything of one set.
pub fn selector(name: &str) -> String {
    format!("{}={name}", label::SET)
}

fn of_set(name: &str) -> ListParams {
    ListParams::default().labels(&selector(name))
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("lockstep.dev", "v1alpha1", kind), plural)
}
