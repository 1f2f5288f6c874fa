//! What happened to pods and to their budget, in the order in which it happened: all versions are of one store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, ResourceExt};
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_feed::{Seen, versioned};
use lockstep_testkit::pods::is_ready;
use tokio::task::JoinSet;

/// How many lines are told.
const TOLD: usize = 120;

/// Lines by version.
#[derive(Clone, Default)]
pub struct Chronicle(Arc<Mutex<BTreeMap<(u64, &'static str), String>>>);

impl Chronicle {
    /// Begins to write.
    pub fn begin(client: &Client, namespace: &str, tasks: &mut JoinSet<()>) -> Self {
        let chronicle = Self::default();
        let pods = versioned(Api::<Pod>::namespaced(client.clone(), namespace), None);
        tasks.spawn(chronicle.clone().write("pod", pods.map(|seen| line(&seen, pod))));
        let budgets = versioned(Api::<PodUnavailableBudget>::namespaced(client.clone(), namespace), None);
        tasks.spawn(chronicle.clone().write("budget", budgets.map(|seen| line(&seen, budget))));
        chronicle
    }

    async fn write(self, what: &'static str, lines: impl futures::Stream<Item = Option<(u64, String)>>) {
        let mut lines = std::pin::pin!(lines);
        while let Some(line) = lines.next().await {
            if let Some((version, text)) = line {
                self.0.lock().expect("not poisoned").insert((version, what), text);
            }
        }
    }

    /// The last of it.
    pub fn end(&self) -> String {
        let lines = self.0.lock().expect("not poisoned");
        let told = lines.iter().skip(lines.len().saturating_sub(TOLD));
        told.map(|((version, _), text)| format!("{version} {text}\n")).collect()
    }
}

fn line<K>(seen: &Seen<K>, tell: impl Fn(&K) -> String) -> Option<(u64, String)> {
    match seen {
        Seen::Applied(object, version) => Some((*version, tell(object))),
        Seen::Deleted(object, version) => Some((*version, format!("{} is gone", tell(object)))),
        Seen::Listed(..) | Seen::Reached(_) => None,
    }
}

/// Enough of a UID to tell it from others.
fn short(uid: &str) -> &str {
    uid.get(..8).unwrap_or(uid)
}

fn pod(pod: &Pod) -> String {
    let leaves = if pod.metadata.deletion_timestamp.is_some() { ", leaves" } else { "" };
    let ready = if is_ready(pod) { "ready" } else { "not ready" };
    format!("{} {}: {ready}{leaves}", pod.name_any(), short(&pod.uid().unwrap_or_default()))
}

fn budget(budget: &PodUnavailableBudget) -> String {
    let writer = budget.managed_fields().iter().max_by_key(|it| it.time.as_ref().map(|time| time.0));
    let writer = writer.and_then(|it| it.manager.clone()).unwrap_or_default();
    let Ok(lowered) = budget.lower() else { return "a ledger that cannot be read".to_owned() };
    let promises = lowered.state.promises.values().map(|it| {
        let (paid, shared) = (if it.paid { "paid" } else { "free" }, if it.shared { " shared" } else { "" });
        format!("{} {} {paid}{shared} {:?}", it.pod, short(&it.uid.to_string()), it.operation)
    });
    let status = budget.status.clone().unwrap_or_default();
    format!(
        "budget by {writer}: {} of {} available, {} may go; rests on {}; promises: {}",
        status.current_available,
        status.total_replicas,
        status.unavailable_allowed,
        lowered.state.rests_on.0,
        promises.collect::<Vec<_>>().join(", "),
    )
}
