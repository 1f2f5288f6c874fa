//! From one cluster to the next: which clusters' turn has not come, and when it will.

use std::collections::BTreeMap;

use lockstep_api::federation::{FederationPolicySpec, MemberStatus};
use lockstep_core::align::Target;
use lockstep_core::time::Time;

/// Who has to wait, and until when somebody has to look again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pace {
    /// Clusters whose turn has not come, and why.
    pub held: BTreeMap<String, String>,
    /// When the next turn comes, if only time is missing.
    pub wake: Option<Time>,
}

/// Puts the clusters that a policy names first, in its order.
pub fn order(policy: &FederationPolicySpec, clusters: &mut [Target]) {
    let place = |cluster: &str| policy.cluster_order.iter().position(|it| it == cluster);
    clusters.sort_by_key(|it| place(&it.cluster).unwrap_or(usize::MAX));
}

/// Who has to wait. `before` is what was last known of every cluster, for this very template.
pub fn pace(policy: &FederationPolicySpec, clusters: &[Target], before: &[MemberStatus], now: Time) -> Pace {
    let known = |cluster: &str| before.iter().find(|it| it.cluster == cluster);
    let degraded = before.iter().find(|it| it.complete_since.is_some() && !it.complete);
    if let Some(degraded) = degraded.filter(|_| policy.stop_when_degraded.unwrap_or(true)) {
        let why = format!("nothing begins while {}, which had arrived, is short of pods", degraded.cluster);
        return hold(clusters.iter().filter(|it| it.cluster != degraded.cluster), known, &why, None);
    }
    if !policy.goes_one_by_one() {
        return Pace::default();
    }
    let wait = policy.bake_time.map_or(0, |it| it.0.0) + policy.pause_between_clusters.map_or(0, |it| it.0.0);
    for (i, cluster) in clusters.iter().enumerate() {
        let later = || clusters.iter().skip(i + 1);
        let since = known(&cluster.cluster).filter(|it| it.complete).and_then(|it| it.complete_since);
        let Some(since) = since else {
            let why = format!("waits until {} has arrived", cluster.cluster);
            return hold(later(), known, &why, None);
        };
        let turn = Time(since.saturating_add(wait));
        if now < turn {
            let why = format!("waits until {} has stood for {}s", cluster.cluster, wait / 1000);
            return hold(later(), known, &why, Some(turn));
        }
    }
    Pace::default()
}

/// Those that have not begun wait.
fn hold<'a>(
    clusters: impl Iterator<Item = &'a Target>,
    known: impl Fn(&str) -> Option<&'a MemberStatus>,
    why: &str,
    wake: Option<Time>,
) -> Pace {
    let begun = |it: &Target| known(&it.cluster).is_some_and(|it| it.updated > 0 || it.complete);
    let held = clusters.filter(|it| !begun(it)).map(|it| (it.cluster.clone(), why.to_owned()));
    Pace { held: held.collect(), wake }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(json: serde_json::Value) -> FederationPolicySpec {
        serde_json::from_value(json).unwrap()
    }

    fn clusters() -> Vec<Target> {
        ["a", "b", "c"].map(|it| Target { cluster: it.to_owned(), replicas: 4 }).into()
    }

    fn member(cluster: &str, updated: u32, complete_since: Option<u64>, complete: bool) -> MemberStatus {
        let cluster = cluster.to_owned();
        MemberStatus { cluster, updated, complete_since, complete, ..MemberStatus::default() }
    }

    fn held(policy: &FederationPolicySpec, before: &[MemberStatus], now: u64) -> (String, Option<u64>) {
        let pace = pace(policy, &clusters(), before, Time(now));
        (pace.held.into_keys().collect(), pace.wake.map(|it| it.0))
    }

    #[test]
    fn one_cluster_after_the_other_each_watched_for_a_while() {
        let policy = policy(serde_json::json!({"bakeTime": "10s", "pauseBetweenClusters": "5s"}));
        let rows = [
            (vec![], 0, ("bc", None)),
            (vec![member("a", 2, None, false)], 5, ("bc", None)),
            (vec![member("a", 4, Some(1000), true)], 9000, ("bc", Some(16_000))),
            (vec![member("a", 4, Some(1000), true)], 16_000, ("c", None)),
            // What has begun goes on.
            (vec![member("a", 4, Some(1000), true), member("c", 1, None, false)], 16_000, ("", None)),
        ];
        for (before, now, (who, wake)) in rows {
            assert_eq!(held(&policy, &before, now), (who.to_owned(), wake), "{before:?} at {now}");
        }
    }

    #[test]
    fn a_cluster_that_was_good_and_is_not_stops_the_others() {
        let before = [member("a", 3, Some(1000), false)];
        assert_eq!(held(&policy(serde_json::json!({})), &before, 0), ("bc".to_owned(), None));
        let goes_on = policy(serde_json::json!({"stopWhenDegraded": false}));
        assert_eq!(held(&goes_on, &before, 0), (String::new(), None));
    }

    #[test]
    fn clusters_that_are_named_go_first() {
        let mut clusters = clusters();
        order(&policy(serde_json::json!({"clusterOrder": ["c", "nowhere"]})), &mut clusters);
        assert_eq!(clusters.iter().map(|it| it.cluster.as_str()).collect::<String>(), "cab");
    }
}
