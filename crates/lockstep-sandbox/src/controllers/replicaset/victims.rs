//! Which pods go first when there are too many.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::controllers::read::{self, list, number, text};

/// Smaller goes first.
type Rank = (bool, u8, bool, i64, Reverse<usize>, i64, Reverse<i64>, i64, String);

/// Where a pod stands: those without a node go first, then those that do not run, are not ready, cost less, share
/// their node with more of their like, are ready for less long, were restarted more often, are younger.
pub(super) fn rank(pod: &Value, like_it: &BTreeMap<String, usize>, now: Timestamp) -> Rank {
    let node = text(&pod["spec"]["nodeName"]);
    let phase = match text(&pod["status"]["phase"]) {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let ready = read::condition(pod, "Ready").filter(|condition| condition["status"] == "True");
    let ready_for = ready.map_or(0, |ready| age(&ready["lastTransitionTime"], now));
    let cost = text(&pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"]);
    let restarts = list(&pod["status"]["containerStatuses"]).iter();
    (
        !node.is_empty(),
        phase,
        ready.is_some(),
        cost.parse().unwrap_or_default(),
        Reverse(like_it.get(node).copied().unwrap_or_default()),
        ready_for,
        Reverse(restarts.map(|one| number(&one["restartCount"])).max().unwrap_or_default()),
        age(&pod["metadata"]["creationTimestamp"], now),
        read::uid(pod).to_owned(),
    )
}

/// How old, as a power of two: small differences do not count.
fn age(since: &Value, now: Timestamp) -> i64 {
    let Some(since) = read::time(since) else { return -1 };
    let age = now.duration_since(since).as_nanos();
    if age > 0 { i64::from(age.ilog2()) } else { -1 }
}
