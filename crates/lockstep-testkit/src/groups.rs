//! Groups of pods that serve together, counted at every instant that a watch shows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt};
use lockstep_feed::{Seen, versioned};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::pods::is_ready;

/// What is counted.
#[derive(Debug, Clone)]
pub struct Groups {
    /// The pods, by a label selector.
    pub selector: String,
    /// The label whose value tells groups apart.
    pub label: String,
    /// How many groups there are.
    pub count: u32,
    /// How many pods of a group must be ready.
    pub ready: u32,
}

/// The pods that stand: the group of each, and whether it serves.
#[derive(Debug, Default)]
struct Standing(BTreeMap<String, (String, bool)>);

impl Standing {
    fn see(&mut self, pod: &Pod, groups: &Groups) {
        let group = pod.labels().get(&groups.label).cloned().unwrap_or_default();
        let serves = is_ready(pod) && pod.metadata.deletion_timestamp.is_none();
        self.0.insert(pod.name_any(), (group, serves));
    }

    /// How many groups are unavailable.
    fn missing(&self, groups: &Groups) -> u32 {
        let mut ready: BTreeMap<&str, u32> = BTreeMap::new();
        for (group, serves) in self.0.values() {
            *ready.entry(group).or_default() += u32::from(*serves);
        }
        let whole = ready.values().filter(|count| **count >= groups.ready).count();
        groups.count.saturating_sub(u32::try_from(whole).unwrap_or(u32::MAX))
    }
}

/// Watches groups, and knows how many were unavailable at once. What happens before all of them have been available
/// once does not count.
#[derive(Debug)]
pub struct Judge {
    missing: watch::Receiver<u32>,
    worst: Arc<AtomicU32>,
    task: JoinHandle<()>,
}

impl Judge {
    /// Watches.
    pub fn start(pods: Api<Pod>, groups: Groups) -> Self {
        Self::start_with(pods, groups, |_| {})
    }

    /// Watches, and says which pods are gone, after they have been counted out.
    pub fn start_with(pods: Api<Pod>, groups: Groups, gone: impl Fn(&Pod) + Send + 'static) -> Self {
        let (told, missing) = watch::channel(groups.count);
        let worst = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&worst);
        let task = tokio::spawn(async move {
            let mut standing = Standing::default();
            let mut began = false;
            let mut events = versioned(pods, Some(groups.selector.clone())).boxed();
            while let Some(seen) = events.next().await {
                let mut left = None;
                match seen {
                    Seen::Listed(all, _) => {
                        standing = Standing::default();
                        all.iter().for_each(|pod| standing.see(pod, &groups));
                    }
                    Seen::Applied(pod, _) => standing.see(&pod, &groups),
                    Seen::Deleted(pod, _) => {
                        standing.0.remove(&pod.name_any());
                        left = Some(pod);
                    }
                    Seen::Reached(_) => continue,
                }
                let now = standing.missing(&groups);
                began |= now == 0;
                if began {
                    counted.fetch_max(now, Ordering::Relaxed);
                }
                told.send_replace(now);
                left.iter().for_each(&gone);
            }
        });
        Self { missing, worst, task }
    }

    /// Waits until all groups are available. Says whether they became so in time.
    pub async fn whole(&self, patience: Duration) -> bool {
        let mut missing = self.missing.clone();
        let waited = tokio::time::timeout(patience, missing.wait_for(|missing| *missing == 0)).await;
        matches!(waited, Ok(Ok(_)))
    }

    /// The most that were unavailable at once.
    pub fn worst(&self) -> u32 {
        self.worst.load(Ordering::Relaxed)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_group_counts_while_enough_of_it_serves() {
        let groups = Groups { selector: String::new(), label: "group".to_owned(), count: 2, ready: 2 };
        let mut standing = Standing::default();
        let mut see = |name: &str, group: &str, ready: &str, leaving: bool| {
            let mut pod = json!({
                "metadata": {"name": name, "labels": {"group": group}},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            });
            if leaving {
                pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            standing.see(&serde_json::from_value(pod).unwrap(), &groups);
            standing.missing(&groups)
        };
        let missing = [
            see("a-0", "a", "True", false),
            see("a-1", "a", "True", false),
            see("b-0", "b", "True", false),
            see("b-1", "b", "False", false),
            see("b-1", "b", "True", false),
            see("a-0", "a", "True", true),
            see("a-0", "a", "True", false),
        ];
        assert_eq!(missing, [2, 1, 1, 1, 0, 1, 0]);
        standing.0.remove("b-0");
        assert_eq!(standing.missing(&groups), 1);
    }
}
