//! A member as the host knows it: a Cluster, which version it is, and as its condition whether it answers.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::agent::Agent;
use crate::kinds::namespaces;
use crate::work::space;
use crate::{MANAGER, cluster_kind, text};

/// How often a member is asked, and how long it may take.
const BEAT: Duration = Duration::from_secs(1);

/// A member that has not answered for so long is not ready.
const SILENCE: Duration = Duration::from_secs(3);

/// Tells the host of a member, and whether it answers, for ever.
pub async fn run(agent: Agent) {
    while let Err(error) = join(&agent).await {
        tracing::debug!(%error, name = agent.member.name, "cannot join yet");
        tokio::time::sleep(BEAT).await;
    }
    let (mut heard, mut version, mut said) = (None, None, None);
    loop {
        let answer = tokio::time::timeout(BEAT, agent.member.client.apiserver_version()).await;
        if let Ok(Ok(answer)) = answer {
            heard = Some(Instant::now());
            version = Some(answer.git_version);
        }
        let ready = heard.is_some_and(|heard| heard.elapsed() <= SILENCE);
        let now = status(ready, version.as_deref());
        if said.as_ref() != Some(&now) && tell(&agent, &now).await.is_ok() {
            said = Some(now);
        }
        tokio::time::sleep(BEAT).await;
    }
}

async fn join(agent: &Agent) -> kube::Result<()> {
    let name = &agent.member.name;
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space(name)}});
    let cluster = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
    });
    for (kind, object) in [(namespaces(), space), (cluster_kind(), cluster)] {
        let api: Api<DynamicObject> = Api::all_with(agent.host.clone(), &kind);
        let how = PatchParams::apply(MANAGER).force();
        api.patch(text(&object["metadata"]["name"]), &how, &Patch::Apply(&object)).await?;
    }
    Ok(())
}

/// One that is silent keeps the version that it had.
fn status(ready: bool, version: Option<&str>) -> Value {
    let (status, reason, message) = match ready {
        true => ("True", "ClusterReady", "it answers"),
        false => ("False", "ClusterNotReachable", "it does not answer"),
    };
    let condition = json!({"type": "Ready", "status": status, "reason": reason, "message": message});
    let mut status = json!({"conditions": [condition]});
    if let Some(version) = version {
        status["kubernetesVersion"] = json!(version);
    }
    status
}

async fn tell(agent: &Agent, status: &Value) -> kube::Result<()> {
    let api: Api<DynamicObject> = Api::all_with(agent.host.clone(), &cluster_kind());
    let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let status = json!({"status": status});
    api.patch_status(&agent.member.name, &how, &Patch::Merge(&status)).await.map(drop)
}
