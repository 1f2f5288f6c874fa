//! How soon somebody acts on what happened, from the audit log.
//!
//! In a rollout that readiness limits, a window of `w` pods may be away: the first `w` deletes need nothing, and
//! every later one needs one more pod to have become ready. So the n-th readiness allows the delete number
//! `w + n`, whatever the order of the names, and the time between the two is that of the controller (and of the
//! API server, on both ways).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::writes::{KUBELET, of_kind, seconds};
use crate::audit::Audit;
use crate::proxy::{Verb, Which};

/// Times, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub samples: usize,
    /// Half of them are not longer.
    pub p50: f64,
    /// Ninety-nine of a hundred are not longer.
    pub p99: f64,
    /// The longest.
    pub longest: f64,
}

impl Spread {
    /// Of these times in seconds.
    pub fn of(times: &[f64]) -> Self {
        let mut times: Vec<f64> = times.iter().map(|time| time * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        let rank = |part: f64| {
            let rank = (times.len() as f64 * part).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self { samples: times.len(), p50: rank(0.5), p99: rank(0.99), longest: rank(1.0) }
    }
}

/// How long each step waited for the one who rolls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reactions {
    /// From a pod's readiness to the delete it allowed, in seconds.
    pub ready_to_delete: Vec<f64>,
    /// From a pod's end to the create that takes its place, in seconds.
    pub gone_to_create: Vec<f64>,
}

impl Reactions {
    /// Reads the log of one rollout: by whom, where, and how many pods could be away at a time.
    pub fn read(audit: &Audit, namespace: &str, agent: &str, window: usize) -> Self {
        let by = |verb, what, who| {
            of_kind(audit, &Which::verbs([verb]).of(what).namespace(namespace).user_agent(who))
        };
        let deletes: Vec<Timestamp> =
            by(Verb::Delete, "pods", agent).iter().map(|entry| entry.time).collect();
        let mut lives: BTreeMap<&str, Life> = BTreeMap::new();
        let mut read = Self::default();
        for entry in by(Verb::Delete, "pods", KUBELET) {
            lives.entry(&entry.request.name).or_default().gone = Some(entry.answered);
        }
        // Only writes after the create speak of the new pod.
        let creates = by(Verb::Create, "pods", agent);
        for entry in &creates {
            let life = lives.entry(&entry.request.name).or_default();
            life.created = Some(entry.time);
            read.gone_to_create.extend(life.gone.map(|gone| seconds(gone, entry.time).max(0.0)));
        }
        for entry in by(Verb::Patch, "pods/status", KUBELET) {
            if let Some(life) = lives.get_mut(entry.request.name.as_str())
                && life.created.is_some_and(|created| entry.time >= created)
            {
                life.ready = Some(entry.answered);
            }
        }
        let mut ready: Vec<Timestamp> = lives.values().filter_map(|life| life.ready).collect();
        ready.sort();
        let allowed = ready.iter().zip(deletes.iter().skip(window));
        read.ready_to_delete = allowed.map(|(ready, delete)| seconds(*ready, *delete).max(0.0)).collect();
        read
    }
}

/// When a name's old pod was gone, and its new one was created and last changed, which is when it became ready.
#[derive(Debug, Default)]
struct Life {
    gone: Option<Timestamp>,
    created: Option<Timestamp>,
    ready: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::figures::writes::Writes;

    /// A log of `agent verb target pod milliseconds`, each answered a millisecond after it arrived.
    fn log(lines: &[(&str, &str, &str, &str, u32)]) -> Audit {
        let line = |(agent, verb, target, name, at): &(&str, &str, &str, &str, u32)| {
            let (resource, subresource) = target.split_once('/').unwrap_or((target, ""));
            let stamp = |at: u32| format!("2026-01-01T00:00:00.{at:03}000Z");
            let entry = json!({
                "stage": "ResponseComplete", "verb": verb, "userAgent": agent,
                "objectRef": {"resource": resource, "subresource": subresource, "namespace": "x", "name": name},
                "responseStatus": {"code": 200},
                "requestReceivedTimestamp": stamp(*at), "stageTimestamp": stamp(at + 1),
            });
            format!("{entry}\n")
        };
        let text: String = lines.iter().map(line).collect();
        Audit::parse(text.as_bytes()).unwrap()
    }

    /// Two pods, one away at a time.
    fn rollout() -> Audit {
        log(&[
            ("mine", "delete", "pods", "a", 0),
            ("lockstep-kubelet", "patch", "pods/status", "a", 2),
            ("lockstep-kubelet", "delete", "pods", "a", 10),
            ("mine", "create", "pods", "a", 14),
            ("lockstep-kubelet", "patch", "pods/status", "a", 20),
            ("lockstep-kubelet", "patch", "pods/status", "a", 100),
            ("mine", "delete", "pods", "b", 107),
            ("lockstep-kubelet", "delete", "pods", "b", 110),
            ("mine", "create", "pods", "b", 113),
            ("lockstep-kubelet", "patch", "pods/status", "b", 200),
            ("mine", "patch", "lockstepsets/status", "web", 201),
            ("mine", "create", "events", "web.1", 202),
            ("somebody", "create", "pods", "c", 203),
        ])
    }

    #[test]
    fn readiness_is_matched_with_the_delete_it_allows() {
        let read = Reactions::read(&rollout(), "x", "mine", 1);
        let millis = |times: &[f64]| times.iter().map(|time| (time * 1000.0).round()).collect::<Vec<_>>();
        assert_eq!(millis(&read.ready_to_delete), [6.0]);
        assert_eq!(millis(&read.gone_to_create), [3.0, 2.0]);
        assert!(Reactions::read(&rollout(), "x", "mine", 2).ready_to_delete.is_empty());
    }

    #[test]
    fn writes_are_counted_by_agent_and_events_apart() {
        let writes = Writes::count(&rollout(), "x", &["mine"]);
        let expected = Writes { creates: 2, deletes: 2, beside: 1, events: 1, refused: 0 };
        assert_eq!(writes, expected);
        assert_eq!(writes.per_pod(2), 2.5);
        assert_eq!(Writes::count(&rollout(), "y", &["mine"]), Writes::default());
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let times: Vec<f64> = (1..=200).rev().map(|n| f64::from(n) / 1000.0).collect();
        let spread = Spread::of(&times);
        assert_eq!((spread.samples, spread.p50, spread.p99, spread.longest), (200, 100.0, 198.0, 200.0));
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
