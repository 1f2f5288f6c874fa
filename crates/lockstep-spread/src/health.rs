//! A member as the host knows it: a Cluster, and as its condition whether it answers.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;
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
    let (mut heard, mut said) = (None, None);
    loop {
        let answer = tokio::time::timeout(BEAT, agent.member.client.apiserver_version()).await;
        if matches!(answer, Ok(Ok(_))) {
            heard = Some(Instant::now());
        }
        let ready = heard.is_some_and(|heard| heard.elapsed() <= SILENCE);
        if said != Some(ready) && tell(&agent, ready).await.is_ok() {
            said = Some(ready);
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

async fn tell(agent: &Agent, ready: bool) -> kube::Result<()> {
    let (status, reason) = if ready { ("True", "ClusterReady") } else { ("False", "ClusterNotReachable") };
    let condition = json!({"type": "Ready", "status": status, "reason": reason});
    let api: Api<DynamicObject> = Api::all_with(agent.host.clone(), &cluster_kind());
    let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let status = json!({"status": {"conditions": [condition]}});
    api.patch_status(&agent.member.name, &how, &Patch::Merge(&status)).await.map(drop)
}
