//! Where a set lives: reading it and all that belongs to it, with errors a person can act on.

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ApiResource, ListParams};
use kube::core::{DynamicObject, GroupVersionKind, TypeMeta};
use kube::{Api, Client, Error, ResourceExt};
use lockstep_api::label;
use lockstep_api::role_scale::RoleScale;
use lockstep_operator::observe::SlimPod;
use lockstep_operator::set::resource;
use serde_json::json;

use super::revisions::Revisions;
use crate::input::cluster::ClusterArgs;
use crate::input::live_set::LiveSet;
use crate::input::scales::Scales;

/// Who writes: the field manager of everything this program changes.
pub const FIELD_MANAGER: &str = "lockstep-cli";

/// What starts an operator where none runs.
const STARTER: &str = "lockstep install";

/// A namespace of a cluster.
#[derive(Clone)]
pub struct Home {
    client: Client,
    /// The namespace.
    pub namespace: String,
    /// The command that starts an operator, should none run.
    pub starter: String,
}

impl Home {
    /// Connects.
    pub async fn open(args: &ClusterArgs) -> Result<Self> {
        let (client, namespace) = args.client().await?;
        Ok(Self { client, namespace, starter: STARTER.to_owned() })
    }

    /// A namespace of a cluster that is connected already.
    pub fn of(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), starter: STARTER.to_owned() }
    }

    /// The same, where an operator is started in another way than usual.
    pub fn started_by(self, starter: Option<String>) -> Self {
        Self { starter: starter.unwrap_or(self.starter), ..self }
    }

    /// How large the roles of the namespace are scaled to, each in an object of its own.
    pub fn role_scales(&self) -> Api<RoleScale> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The sets of the namespace.
    pub fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource())
    }

    /// The sets of all namespaces.
    pub fn all_sets(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource())
    }

    /// Where the object that a set is made from lives, and what kubectl calls its kind.
    pub fn maker(&self, set: &LiveSet) -> Option<(Api<DynamicObject>, String)> {
        set.maker()?;
        let owner = set.object.owner_references().iter().find(|owner| owner.controller == Some(true))?;
        let of = json!({"apiVersion": owner.api_version, "kind": owner.kind});
        let (_, kind) = lockstep_dialects::of(&of)?;
        let gvk = GroupVersionKind::try_from(TypeMeta {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
        });
        let resource = ApiResource::from_gvk_with_plural(&gvk.ok()?, kind.plural);
        let api = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        Some((api, format!("{}.{}", kind.plural, kind.group)))
    }

    /// The nodes of the cluster.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
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

    /// The pods of a set as the operator reads them.
    pub async fn slim_pods_of(&self, name: &str) -> Result<Vec<SlimPod>> {
        let api: Api<SlimPod> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&of_set(name)).await;
        Ok(listed.map_err(plain).with_context(|| format!("cannot list the pods of {name}"))?.items)
    }

    /// The objects that store revisions of a set. Those of an earlier set of the same name are not this set's.
    pub async fn stored(&self, set: &LiveSet) -> Result<Vec<ControllerRevision>> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&of_set(&set.name)).await.map_err(plain);
        let mut listed = listed.with_context(|| format!("cannot list the revisions of {}", set.name))?.items;
        listed.retain(|stored| belongs(stored, set));
        Ok(listed)
    }

    /// The stored revisions of a set.
    pub async fn revisions(&self, set: &LiveSet) -> Result<Revisions> {
        Revisions::of(self.stored(set).await?, set.status.revision.stable.as_deref())
    }

    /// How large each role is scaled to.
    pub async fn scales(&self, name: &str) -> Result<Scales> {
        match self.role_scales().list(&of_set(name)).await {
            Ok(listed) => Ok(Scales::of(&listed.items)),
            // A cluster without the kind has nothing that is scaled.
            Err(Error::Api(status)) if status.code == 404 => Ok(Scales::default()),
            Err(error) => Err(plain(error).context(format!("cannot list the scales of {name}"))),
        }
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

/// Whether what is stored is of this set, and not of an earlier one of the same name.
pub fn belongs(stored: &ControllerRevision, set: &LiveSet) -> bool {
    stored.owner_references().iter().any(|owner| Some(&owner.uid) == set.object.metadata.uid.as_ref())
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
