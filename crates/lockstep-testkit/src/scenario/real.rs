//! Playing a scenario on a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{
    ApiResource, DynamicObject, EvictParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions,
};
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::{End, Subject};
use lockstep_kubelet::annotations::PREFIX;
use serde_json::json;
use tokio::time::Instant;

use super::{Happening, Scenario, ScenarioError, Verdict};
use crate::cluster::{Cluster, ClusterError};
use crate::recorder::Recorder;
use crate::workload::{Kind, Workload};

const MANAGER: &str = "lockstep-testkit";

pub(super) async fn play(scenario: &Scenario, cluster: &Cluster) -> Result<Verdict, ScenarioError> {
    let stage = Stage::set(scenario, cluster).await?;
    let mut recorder = Recorder::start(cluster.client(), &stage.namespace, &scenario.given).await;
    recorder.wish(&scenario.given);
    stage.apply(&scenario.given).await?;
    if recorder.until_settled(scenario.limit).await != End::Complete {
        let (name, waited) = (scenario.given.name().to_owned(), scenario.limit);
        return Err(ScenarioError::NeverReady { name, waited });
    }
    let began = Instant::now();
    let mut happenings = scenario.happenings.clone();
    happenings.sort_by_key(|(after, _)| *after);
    for (after, happening) in &happenings {
        tokio::time::sleep_until(began + *after).await;
        match happening {
            Happening::Change(workload) => {
                recorder.wish(workload);
                stage.apply(workload).await?;
            }
            Happening::Strike { of, blow } => stage.strike(&recorder, of, *blow).await?,
        }
    }
    let left = scenario.limit.saturating_sub(began.elapsed());
    let end = recorder.until_settled(left).await;
    let (events, _) = recorder.finish(end);
    stage.clear().await?;
    Ok(scenario.verdict("cluster", events, end))
}

/// A namespace of its own on the cluster.
struct Stage {
    client: kube::Client,
    namespace: String,
    behaviour: BTreeMap<String, String>,
}

impl Stage {
    async fn set(scenario: &Scenario, cluster: &Cluster) -> Result<Self, ScenarioError> {
        let client = cluster.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let generate_name = Some(format!("{}-", scenario.given.name()));
        let metadata = ObjectMeta { generate_name, ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let made = namespaces.create(&PostParams::default(), &namespace).await;
        let made = made.map_err(ClusterError::api("create a namespace"))?;
        let (shortest, longest) = scenario.starts_in;
        let behaviour = BTreeMap::from([
            (annotation("ready-after"), format!("{}ms..{}ms", shortest.as_millis(), longest.as_millis())),
            (annotation("terminates-after"), format!("{}ms", scenario.terminates_in.as_millis())),
        ]);
        Ok(Self { client, namespace: made.metadata.name.unwrap_or_default(), behaviour })
    }

    async fn clear(&self) -> Result<(), ScenarioError> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let deleted = namespaces.delete(&self.namespace, &Default::default()).await;
        deleted.map_err(ClusterError::api(format!("delete namespace {}", self.namespace)))?;
        Ok(())
    }

    async fn apply(&self, workload: &Workload) -> Result<(), ScenarioError> {
        let resource = resource_of(workload.kind());
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let manifest = workload.to_apply(&self.behaviour);
        let parameters = PatchParams::apply(MANAGER).force();
        let applied = api.patch(workload.name(), &parameters, &Patch::Apply(manifest)).await;
        applied.map_err(ClusterError::api(format!("apply {}", workload.name())))?;
        Ok(())
    }

    async fn strike(&self, recorder: &Recorder, of: &Subject, blow: Blow) -> Result<(), ScenarioError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        for (uid, name) in recorder.pods_of(of) {
            recorder.blame_the_world(&uid);
            match blow {
                Blow::Evict => evict(&pods, &name, &uid).await,
                Blow::Crash => crash(&pods, &name, &uid).await,
                Blow::Fail => fail(&pods, &name, &uid).await,
            }
            .map_err(ClusterError::api(format!("{blow:?} {name}")))?;
        }
        Ok(())
    }
}

/// An annotation the kubelet stand-in understands.
fn annotation(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn resource_of(kind: Kind) -> ApiResource {
    let (group, version, kind, plural) = match kind {
        Kind::StatefulSet => ("apps", "v1", "StatefulSet", "statefulsets"),
        Kind::Deployment => ("apps", "v1", "Deployment", "deployments"),
        Kind::LockstepSet => ("lockstep.dev", "v1alpha1", "LockstepSet", "locksteps"),
    };
    ApiResource::from_gvk_with_plural(&kube::api::GroupVersionKind::gvk(group, version, kind), plural)
}

async fn evict(pods: &Api<Pod>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let mut parameters = EvictParams::default();
    let preconditions = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    parameters.delete_options.get_or_insert_default().preconditions = Some(preconditions);
    pods.evict(name, &parameters).await.map(drop)
}

/// The containers exit once, and the kubelet starts them again.
async fn crash(pods: &Api<Pod>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let annotations = json!({annotation("crash-after"): "0s", annotation("crashes"): "1"});
    let patch = json!({"metadata": {"uid": uid, "annotations": annotations}});
    pods.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// The pod ends for good, as when its node runs out of memory.
async fn fail(pods: &Api<Pod>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let conditions = json!([{"type": "Ready", "status": "False", "reason": "PodFailed"}]);
    let status = json!({"phase": "Failed", "reason": "Evicted", "conditions": conditions});
    let patch = json!({"metadata": {"uid": uid}, "status": status});
    pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await.map(drop)
}
