//! What people do to a set that rolls, and what becomes of nodes.

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use lockstep_core::model::Spec;
use lockstep_core::snapshot::Memory;
use lockstep_core::time::Time;
use lockstep_core::verbs;
use lockstep_kubelet::annotations::GONE;
use serde::Deserialize;
use serde_json::json;

use super::ScenarioError;
use crate::cluster::ClusterError;
use crate::workload::Workload;

/// Sends a set back to where it last stood complete, unless that is where it is going.
pub(super) async fn abort(sets: &Api<DynamicObject>, name: &str) -> Result<(), ScenarioError> {
    let abort = |spec: &Spec, memory: &mut Memory| {
        let there = memory.complete.as_ref().is_none_or(|complete| complete.revision == spec.revision());
        let back = memory.overridden.as_ref().is_some_and(|known| known.spec == spec.revision());
        if !there && !back {
            verbs::abort(spec, memory);
        }
        !there && !back
    };
    change(sets, name, abort).await
}

/// Lets the pauses that hold a set now pass, if any do.
pub(super) async fn promote(sets: &Api<DynamicObject>, name: &str) -> Result<(), ScenarioError> {
    change(sets, name, |spec, memory| verbs::promote(spec, memory, None, Time(0)) > 0).await
}

/// Changes what a set remembers, begun again whenever somebody else was faster; `change` says whether it did.
async fn change(
    sets: &Api<DynamicObject>,
    name: &str,
    change: impl Fn(&Spec, &mut Memory) -> bool,
) -> Result<(), ScenarioError> {
    loop {
        let mut set = sets.get(name).await.map_err(ClusterError::api(format!("get {name}")))?;
        let workload = Workload::read(&json!(set).to_string())?;
        let mut memory = Memory::deserialize(&set.data["status"]["memory"]).unwrap_or_default();
        if !change(workload.spec(), &mut memory) {
            return Ok(());
        }
        set.data["status"]["memory"] = json!(memory);
        match sets.replace_status(name, &PostParams::default(), &set).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(ClusterError::api(format!("write the status of {name}"))(error).into()),
        }
    }
}

/// A node falls silent, or comes back.
pub(super) async fn node(client: &kube::Client, name: &str, gone: bool) -> Result<(), ScenarioError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let body = json!({"metadata": {"annotations": {GONE: gone.then_some("true")}}});
    let patched = nodes.patch(name, &PatchParams::default(), &Patch::Merge(body)).await;
    patched.map(drop).map_err(|error| ClusterError::api(format!("mark {name}"))(error).into())
}
