//! What the engine would see of a set now.

use std::collections::BTreeSet;

use anyhow::Result;
use lockstep_core::snapshot::Snapshot;
use lockstep_core::time::Time;
use lockstep_operator::observe::{History, SlimPod, Sources, snapshot};
use serde_json::Value;

use super::home::Home;
use crate::input::live_set::{LiveSet, now};
use crate::input::scales::Scales;

/// A set and everything a plan is made from.
pub struct Observed {
    /// The set.
    pub set: LiveSet,
    /// How large its roles are scaled to.
    pub scales: Scales,
    /// What is there.
    pub snapshot: Snapshot,
    /// When it was.
    pub now: Time,
}

impl Observed {
    /// Looks. Nothing stops the cluster meanwhile: the set is read first, so that the pods are never older than
    /// what is remembered of them.
    pub async fn look(home: &Home, name: &str) -> Result<Self> {
        let set = home.set(name).await?;
        let scales = home.scales(name).await?;
        let stored = home.stored(&set).await?;
        let mut pods = home.slim_pods_of(name).await?;
        let owner = set.object.metadata.uid.clone().unwrap_or_default();
        pods.retain(|pod| pod.owner.as_ref().is_some_and(|uid| uid.as_str() == owner));
        let memory = set.memory()?.unwrap_or_default();
        // Whether base gangs were placed is in the memory as well, from the first plan after they were.
        let sources = Sources { history: &History::read(&stored), memory: &memory, placed: &BTreeSet::new() };
        let snapshot = put_together(&mut pods, sources);
        Ok(Self { set, scales, snapshot, now: now() })
    }

    /// A state file that `lockstep plan --snapshot` reads.
    pub fn state_file(&self) -> Result<Value> {
        let mut value = serde_json::to_value(&self.snapshot)?;
        value["now"] = Value::from(self.now.0);
        Ok(value)
    }
}

fn put_together(pods: &mut [SlimPod], sources: Sources<'_>) -> Snapshot {
    pods.sort_by(|a, b| {
        let key = |pod: &SlimPod| (pod.place.clone(), pod.pod.member.clone(), pod.pod.index);
        key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name()))
    });
    snapshot(pods.iter().filter_map(|pod| Some((pod.place.as_ref()?, &pod.pod))), sources)
}
