//! Whether a member answers, as a condition of its Cluster.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;

use crate::agent::Agent;
use crate::{MANAGER, cluster_kind};

/// How often a member is asked, and how long it may take.
const BEAT: Duration = Duration::from_secs(1);

/// A member that has not answered for so long is not ready.
const SILENCE: Duration = Duration::from_secs(3);

/// Looks for ever.
pub async fn run(agent: Agent) {
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

async fn tell(agent: &Agent, ready: bool) -> kube::Result<()> {
    let (status, reason) = if ready { ("True", "ClusterReady") } else { ("False", "ClusterNotReachable") };
    let condition = json!({"type": "Ready", "status": status, "reason": reason});
    let api: Api<DynamicObject> = Api::all_with(agent.host.clone(), &cluster_kind());
    let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let status = json!({"status": {"conditions": [condition]}});
    api.patch_status(&agent.member.name, &how, &Patch::Merge(&status)).await.map(drop)
}
