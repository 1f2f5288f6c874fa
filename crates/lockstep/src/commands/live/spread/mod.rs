//! A workload that is spread over clusters: the verbs that a set has, on its resource template and its rollout, both on
//! Karmada's API server.

mod abort;
mod pause;
mod plan;
mod status;
mod why;

use anyhow::{Context, Result, anyhow, bail};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Client, Error};
use lockstep_api::federation::{FederatedRollout, ResourceRef};
use lockstep_federation::interpret::{self, Interpretation};
use lockstep_operator::federation::resource_of;
use serde_json::{Value, json};

pub use self::abort::abort;
pub use self::pause::pause;
pub use self::plan::plan;
pub use self::status::status;
pub use self::why::why;
use super::args::Workload;
use super::home::{FIELD_MANAGER, plain};
use crate::input::cluster::ClusterArgs;

/// A workload, and its rollout over clusters.
pub struct Spread {
    client: Client,
    namespace: String,
    /// How it is called on the command line: `deployment/web`.
    pub called: String,
    /// The rollout as it is.
    pub rollout: FederatedRollout,
    /// The resource template as it is.
    pub template: DynamicObject,
}

impl Spread {
    /// Finds what a command is about, where it says.
    pub async fn open(cluster: &ClusterArgs, workload: &Workload) -> Result<Self> {
        let (client, namespace) = cluster.client().await?;
        Self::find(client, namespace, workload).await
    }

    /// Finds it in a namespace.
    pub async fn find(client: Client, namespace: String, workload: &Workload) -> Result<Self> {
        let rollouts = rollouts(&client, &namespace);
        let listed = rollouts.list(&ListParams::default()).await.map_err(explain)?.items;
        let is_it = |it: &DynamicObject| match workload {
            Workload::Rollout(name) => it.metadata.name.as_ref() == Some(name),
            Workload::Template { kind, name } => {
                let of = &it.data["spec"]["resource"];
                of["kind"] == *kind && of["name"] == name.as_str()
            }
        };
        let Some(found) = listed.into_iter().find(is_it) else { bail!(missing(workload, &namespace)) };
        let rollout = read(found)?;
        let resource = &rollout.spec.resource;
        let template = templates(&client, &namespace, resource)?.get(&resource.name).await.map_err(plain)?;
        let called = format!("{}/{}", resource.kind.to_lowercase(), resource.name);
        Ok(Self { client, namespace, called, rollout, template })
    }

    fn kind(&self) -> Result<&'static Interpretation> {
        kind(&self.rollout.spec.resource)
    }

    fn name(&self) -> &str {
        &self.rollout.spec.resource.name
    }

    /// Changes the resource template, if it is still the one that was read.
    async fn change(&self, change: impl FnOnce(&Interpretation, &mut Value)) -> Result<()> {
        let mut template = serde_json::to_value(&self.template)?;
        change(self.kind()?, &mut template);
        let template: DynamicObject = serde_json::from_value(template)?;
        let ours = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let api = templates(&self.client, &self.namespace, &self.rollout.spec.resource)?;
        api.replace(self.name(), &ours, &template).await.map_err(plain)?;
        Ok(())
    }
}

/// Where the rollouts of a namespace are.
pub fn rollouts(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "FederatedRollout");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}

fn templates(client: &Client, namespace: &str, of: &ResourceRef) -> Result<Api<DynamicObject>> {
    Ok(Api::namespaced_with(client.clone(), namespace, &resource_of(kind(of)?)))
}

/// How objects of a kind are read.
fn kind(of: &ResourceRef) -> Result<&'static Interpretation> {
    let known = interpret::of(&json!({"apiVersion": of.api_version, "kind": of.kind}));
    known.with_context(|| format!("{} {} is not among the kinds that are built in", of.api_version, of.kind))
}

/// Reads one.
pub fn read(object: DynamicObject) -> Result<FederatedRollout> {
    let read = serde_json::to_value(object).and_then(serde_json::from_value);
    read.context("the FederatedRollout cannot be read")
}

/// The kind is missing where nobody looks after rollouts over clusters.
fn explain(error: Error) -> anyhow::Error {
    match &error {
        Error::Api(status) if status.code == 404 => anyhow!(
            "the API server does not know FederatedRollouts. Rollouts over clusters are looked after on Karmada's API \
             server, once `lockstep install --karmada` ran there: is this the one?"
        ),
        _ => plain(error),
    }
}

fn missing(workload: &Workload, namespace: &str) -> String {
    match workload {
        Workload::Rollout(name) => format!("federatedrollout {name:?} not found in namespace {namespace:?}"),
        Workload::Template { kind, name } => format!(
            "{} {name:?} has no rollout over clusters in namespace {namespace:?}: its annotation {}: {} asks for one, \
             or a FederationPolicy that selects it",
            kind.to_lowercase(),
            lockstep_federation::ROLLOUT,
            lockstep_federation::ALIGNED
        ),
    }
}
