//! A control plane with an operator on it, and sets for it to roll.

use std::path::Path;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use lockstep_kubelet::NodeGroup;
use lockstep_kubelet::annotations::{PREFIX, STAND_IN};
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterError};
use crate::operator::Operator;

/// How long a rollout may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many pods a node takes.
const PODS_PER_NODE: u32 = 110;

/// The one role of the sets that are measured.
const ROLE: &str = "web";

/// A set of single pods.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many pods.
    pub pods: u32,
    /// How many may be away at a time.
    pub window: u32,
    /// How long a pod takes to be ready; nothing: it is at once.
    pub ready_after: Option<&'a str>,
}

impl Shape<'_> {
    /// The pod template, with an image that tells revisions apart.
    pub fn template(&self, stand_in: &str, image: &str) -> Value {
        let annotations = match self.ready_after {
            Some(time) => json!({format!("{PREFIX}ready-after"): time}),
            None => json!({}),
        };
        json!({
            "metadata": {"annotations": annotations},
            "spec": {
                "containers": [{"name": "main", "image": image}],
                "nodeSelector": {STAND_IN: stand_in},
                "tolerations": [{"key": STAND_IN, "operator": "Exists"}],
            },
        })
    }

    fn manifest(&self, stand_in: &str, image: &str) -> Value {
        json!({
            "apiVersion": lockstep_api::API_VERSION,
            "kind": lockstep_api::KIND,
            "metadata": {"name": self.name},
            "spec": {"roles": [{
                "name": ROLE,
                "replicas": self.pods,
                "updateStrategy": {"maxUnavailable": self.window},
                "template": self.template(stand_in, image),
            }]},
        })
    }
}

/// A control plane with an operator on it.
pub struct Stage {
    /// The control plane.
    pub cluster: Cluster,
    /// The operator.
    pub operator: Operator,
}

impl Stage {
    /// Starts both, with room for so many pods. A first small set is rolled out, so that everybody is awake.
    pub async fn set(program: &Path, pods: u32) -> Result<Self, ClusterError> {
        let nodes = NodeGroup::new("node", pods.div_ceil(PODS_PER_NODE) + 1).with_capacity("cpu", "1000");
        let cluster =
            Cluster::builder().our_own("what a real control plane takes").nodes(nodes).start().await?;
        let operator = cluster.operator(&program.display().to_string(), &[]).await?;
        let stage = Self { cluster, operator };
        let namespace = stage.cluster.new_namespace("first").await?;
        let first = Shape { name: "first", pods: 1, window: 1, ready_after: None };
        stage.roll_out(&namespace, &first, "v1").await?;
        Ok(stage)
    }

    /// Applies a set and waits until it says that it is complete.
    pub async fn roll_out(
        &self,
        namespace: &str,
        shape: &Shape<'_>,
        image: &str,
    ) -> Result<(), ClusterError> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.cluster.client(), namespace, &resource());
        let manifest = shape.manifest(self.cluster.stand_in(), image);
        let parameters = PatchParams::apply("lockstep-figures").force();
        let applied = api.patch(shape.name, &parameters, &Patch::Apply(manifest)).await;
        let applied = applied.map_err(ClusterError::api(format!("apply {}", shape.name)))?;
        let generation = applied.metadata.generation;
        let complete = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| {
                let status = &object.data["status"];
                let role = status["roles"].get(0).unwrap_or(&Value::Null);
                status["observedGeneration"].as_i64() == generation
                    && status["rollout"]["phase"] == "Complete"
                    && role["updatedReady"].as_u64() == Some(u64::from(shape.pods))
            })
        };
        // A watch that breaks is begun again: the API server may be busy, or not know our kinds for a moment.
        let complete = async { while await_condition(api.clone(), shape.name, complete).await.is_err() {} };
        let waited = tokio::time::timeout(PATIENCE, complete).await;
        waited.map_err(ClusterError::access("see a rollout complete"))
    }
}

/// Our kind.
pub fn resource() -> ApiResource {
    let (group, version) = lockstep_api::API_VERSION.split_once('/').unwrap_or_default();
    let kind = GroupVersionKind::gvk(group, version, lockstep_api::KIND);
    ApiResource::from_gvk_with_plural(&kind, "lockstepsets")
}
