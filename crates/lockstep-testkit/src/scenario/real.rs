//! Playing a scenario on a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{
    ApiResource, DynamicObject, EvictParams, GroupVersionKind, Patch, PatchParams, Preconditions,
};
use kube::runtime::wait::await_condition;
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::trace::{End, Subject};
use lockstep_kubelet::annotations::PREFIX;
use serde_json::json;
use tokio::time::Instant;

use super::{Happening, Played, Scenario, ScenarioError, Verdict, deeds};
use crate::cluster::{ClusterError, new_namespace};
use crate::recorder::{Recorder, Sights};
use crate::workload::{Kind, Workload};

const MANAGER: &str = "lockstep-testkit";

/// How long a controller may take to see a change and the recorder to see a strike, if they have no more time.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn play(scenario: &Scenario, ground: &Ground) -> Result<Verdict, ScenarioError> {
    let stage = Stage::set(scenario, ground).await?;
    let played = stage.perform(scenario).await;
    // Whatever became of it, nothing stays behind.
    stage.clear().await?;
    Ok(scenario.verdict(played?))
}

/// What a scenario needs of a cluster.
#[derive(Clone)]
pub(crate) struct Ground {
    /// What it is called.
    pub world: &'static str,
    /// A client with all rights.
    pub client: kube::Client,
    /// The label of its nodes.
    pub stand_in: String,
    /// Manners are to be minded.
    pub guest: bool,
    /// What operators can know, where that can be seen.
    pub sights: Option<Sights>,
}

/// A namespace of its own on the cluster.
struct Stage {
    ground: Ground,
    namespace: String,
    behaviour: BTreeMap<String, String>,
    /// How long the controller may take to see a change, and a strike to meet somebody.
    patience: Duration,
}

impl Stage {
    async fn set(scenario: &Scenario, ground: &Ground) -> Result<Self, ScenarioError> {
        let ground = ground.clone();
        let namespace = new_namespace(&ground.client, scenario.given.name()).await?;
        let (shortest, longest) = scenario.starts_in;
        let behaviour = BTreeMap::from([
            (annotation("ready-after"), format!("{}ms..{}ms", shortest.as_millis(), longest.as_millis())),
            (annotation("terminates-after"), format!("{}ms", scenario.terminates_in.as_millis())),
        ]);
        Ok(Self { ground, namespace, behaviour, patience: PATIENCE.max(scenario.limit) })
    }

    async fn perform(&self, scenario: &Scenario) -> Result<Played, ScenarioError> {
        let given = self.dressed(&scenario.given)?;
        let Ground { client, sights, .. } = self.ground.clone();
        let mut recorder = Recorder::start(client, &self.namespace, &given, sights).await;
        self.change(&recorder, &given).await?;
        let started = self.settle(&mut recorder, scenario, &[End::Complete], Instant::now()).await?;
        if started != End::Complete {
            let (name, waited) = (scenario.given.name().to_owned(), scenario.limit);
            return Err(ScenarioError::NeverReady { name, waited });
        }
        let began = Instant::now();
        let mut happenings = scenario.happenings.clone();
        happenings.sort_by_key(|(after, _)| *after);
        for (after, happening) in &happenings {
            tokio::time::sleep_until(began + *after).await;
            match happening {
                Happening::Change(workload) => self.change(&recorder, &self.dressed(workload)?).await?,
                Happening::Strike { of, blow } => self.strike(&mut recorder, of, *blow).await?,
                Happening::Abort => deeds::abort(&self.sets(), scenario.given.name()).await?,
                Happening::Node { name, gone } => deeds::node(&self.ground.client, name, *gone).await?,
            }
        }
        let end = self.settle(&mut recorder, scenario, &scenario.ends, began).await?;
        let (events, interruptions) = recorder.finish(end);
        Ok(Played { world: self.ground.world, events, end, interruptions })
    }

    /// Waits for the end, letting pauses pass if somebody does. What is stalled and should not be may yet go on.
    async fn settle(
        &self,
        recorder: &mut Recorder,
        scenario: &Scenario,
        ends: &[End],
        began: Instant,
    ) -> Result<End, ScenarioError> {
        loop {
            let left = scenario.limit.saturating_sub(began.elapsed());
            let end = recorder.until_settled(left).await;
            match end {
                _ if left.is_zero() || ends.contains(&end) => return Ok(end),
                End::Stuck => {}
                // Nothing to promote: the controller has been told and has not said so yet.
                End::Paused if scenario.promotes => {
                    deeds::promote(&self.sets(), scenario.given.name()).await?;
                }
                _ => return Ok(end),
            }
        }
    }

    fn sets(&self) -> Api<DynamicObject> {
        let resource = resource_of(Kind::LockstepSet);
        Api::namespaced_with(self.ground.client.clone(), &self.namespace, &resource)
    }

    /// Applies a manifest and waits until its controller has seen it.
    async fn change(&self, recorder: &Recorder, workload: &Workload) -> Result<(), ScenarioError> {
        recorder.wish(workload);
        let resource = resource_of(workload.kind());
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.ground.client.clone(), &self.namespace, &resource);
        let name = workload.name();
        let parameters = PatchParams::apply(MANAGER).force();
        let applied = api.patch(name, &parameters, &Patch::Apply(workload.manifest())).await;
        let wanted = applied.map_err(ClusterError::api(format!("apply {name}")))?.metadata.generation;
        let known = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["observedGeneration"].as_i64() >= wanted)
        };
        // A watch that breaks is begun again: the API server may be busy, or be restarted on purpose.
        let seen = async { while await_condition(api.clone(), name, known).await.is_err() {} };
        if tokio::time::timeout(self.patience, seen).await.is_err() {
            return Err(ScenarioError::NeverReady { name: name.to_owned(), waited: self.patience });
        }
        recorder.wish_is_known(wanted.unwrap_or_default());
        Ok(())
    }

    fn dressed(&self, workload: &Workload) -> Result<Workload, ScenarioError> {
        Ok(workload.dressed(&self.ground.stand_in, &self.behaviour)?)
    }

    async fn clear(&self) -> Result<(), ScenarioError> {
        let namespaces: Api<Namespace> = Api::all(self.ground.client.clone());
        let deleted = namespaces.delete(&self.namespace, &Default::default()).await;
        deleted.map_err(ClusterError::api(format!("delete namespace {}", self.namespace)))?;
        if self.ground.guest {
            // The nodes go next, and then nobody would end its pods.
            let gone = await_condition(namespaces, &self.namespace, |it: Option<&Namespace>| it.is_none());
            let _ = tokio::time::timeout(PATIENCE, gone).await;
        }
        Ok(())
    }

    /// Strikes an instance and waits until the recorder has seen it: an end before that would be none.
    async fn strike(&self, recorder: &mut Recorder, of: &Subject, blow: Blow) -> Result<(), ScenarioError> {
        let missed = |reason| ScenarioError::Missed { blow, of: of.clone(), reason };
        let pods: Api<Pod> = Api::namespaced(self.ground.client.clone(), &self.namespace);
        let struck = recorder.until_stands(of, self.patience).await;
        if struck.is_empty() {
            return Err(missed("no pod of it stands"));
        }
        for (uid, name) in &struck {
            match blow {
                Blow::Evict => {
                    recorder.blame_the_world(uid);
                    evict(&pods, name, uid).await
                }
                Blow::Crash => crash(&pods, name, uid).await,
                Blow::Fail => fail(&pods, name, uid).await,
            }
            .map_err(ClusterError::api(format!("{blow:?} {name}")))?;
        }
        let seen = recorder.until_struck(&struck, self.patience).await;
        if seen { Ok(()) } else { Err(missed("nothing came of it")) }
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
        Kind::LockstepSet => ("lockstep.dev", "v1alpha1", "LockstepSet", "lockstepsets"),
    };
    let kind = GroupVersionKind::gvk(group, version, kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

async fn evict(pods: &Api<Pod>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let mut parameters = EvictParams::default();
    let preconditions = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    parameters.delete_options.get_or_insert_default().preconditions = Some(preconditions);
    pods.evict(name, &parameters).await.map(drop)
}

/// The containers exit once, and the kubelet starts them again.
async fn crash(pods: &Api<Pod>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let status = pods.get_status(name).await?.status.unwrap_or_default();
    let restarts = status.container_statuses.iter().flatten().map(|it| it.restart_count).max().unwrap_or(0);
    let once_more = (restarts + 1).to_string();
    let annotations = json!({annotation("crash-after"): "0s", annotation("crashes"): once_more});
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
