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

/// How often a change is tried anew while Karmada writes.
const ATTEMPTS: usize = 30;

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

    /// Changes the resource template, if what it wishes for is still what was read. While it rolls Karmada writes its
    /// status all the time.
    async fn change(&self, change: impl Fn(&Interpretation, &mut Value)) -> Result<()> {
        let ours = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let api = templates(&self.client, &self.namespace, &self.rollout.spec.resource)?;
        let wish = |it: &DynamicObject| (it.metadata.uid.clone(), it.metadata.generation);
        let mut standing = self.template.clone();
        for _ in 0..ATTEMPTS {
            let mut template = serde_json::to_value(&standing)?;
            change(self.kind()?, &mut template);
            let template: DynamicObject = serde_json::from_value(template)?;
            match api.replace(self.name(), &ours, &template).await {
                Err(Error::Api(refused)) if refused.code == 409 => {
                    standing = api.get(self.name()).await.map_err(plain)?;
                    if wish(&standing) != wish(&self.template) {
                        return Err(plain(Error::Api(refused)));
                    }
                }
                answer => return answer.map(drop).map_err(plain),
            }
        }
        bail!("{} changed {ATTEMPTS} times while it was being written; try again", self.called)
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

#[cfg(test)]
mod tests {
    use super::*;
    use kube::api::{Patch, PatchParams};
    use lockstep_sandbox::cluster::{Cluster, Setup};

    #[tokio::test]
    async fn a_status_that_came_in_between_refuses_nothing_and_another_wish_does() {
        let cluster =
            Cluster::start(Setup { without: vec!["deployment-controller".to_owned()], ..Setup::now() });
        let client = Client::new(cluster.service(), "default");
        let resource = ResourceRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
        };
        let api = templates(&client, "default", &resource).unwrap();
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            }},
        });
        let ours = PostParams::default();
        let template = api.create(&ours, &serde_json::from_value(deployment).unwrap()).await.unwrap();
        let rollout = json!({
            "apiVersion": "lockstep.dev/v1alpha1", "kind": "FederatedRollout", "metadata": {"name": "web"},
            "spec": {"resource": resource},
        });
        let spread = Spread {
            client,
            namespace: "default".to_owned(),
            called: "deployment/web".to_owned(),
            rollout: serde_json::from_value(rollout).unwrap(),
            template,
        };
        let status = Patch::Merge(json!({"status": {"observedGeneration": 1, "replicas": 1}}));
        api.patch_status("web", &PatchParams::default(), &status).await.unwrap();
        let pause = |_: &Interpretation, template: &mut Value| template["spec"]["paused"] = json!(true);
        spread.change(pause).await.unwrap();
        let now = api.get("web").await.unwrap();
        assert_eq!((&now.data["spec"]["paused"], &now.data["status"]["replicas"]), (&json!(true), &json!(1)));
        assert!(spread.change(pause).await.is_err(), "somebody wished for something else since it was read");
    }
}
