//! Restarts: when a pod of an instance fails, and how long to wait before trying again.

use crate::model::{Member, Restart};
use crate::snapshot::{Instance, Memory, Pod, RestartMemory};
use crate::time::{Millis, Time};
use crate::unit::Layout;

/// When the next attempt may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Now.
    Now,
    /// Not before this.
    At(Time),
}

/// The first attempt at once, then `base * 2^n` after the last one, capped.
pub fn due(memory: Option<&RestartMemory>, policy: &Restart, now: Time) -> Due {
    let Some(known) = memory.filter(|known| known.count > 0) else { return Due::Now };
    let next = known.last + policy.base_delay.doubled(known.count - 1, policy.max_delay);
    if next <= now { Due::Now } else { Due::At(next) }
}

/// How long an instance must be ready for its failures to be forgotten: longer than the longest delay.
pub fn quiet(policy: &Restart) -> Millis {
    policy.max_delay + policy.base_delay
}

/// What becomes of an instance that failed, if it is left time to recover by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Its time is over, or it has none.
    None,
    /// It may still be ready again.
    Until(Time),
    /// It is ready again.
    Done,
}

/// Whether an instance that failed recovers by itself.
pub fn recovery(instance: &Instance, policy: &Restart, now: Time) -> Recovery {
    let standing = || instance.pods.iter().filter(|pod| !pod.terminating);
    if policy.grace == Millis(0) {
        return Recovery::None;
    }
    if standing().all(Pod::is_ready) {
        return Recovery::Done;
    }
    let since = standing().filter(|pod| !pod.is_ready()).filter_map(|pod| pod.unready).min();
    match since.map(|since| since + policy.grace) {
        Some(until) if until > now => Recovery::Until(until),
        _ => Recovery::None,
    }
}

/// What an instance has come through by itself is no failure any more.
pub fn forgive(instance: &Instance, memory: &mut Memory) {
    for pod in instance.pods.iter().filter(|pod| pod.restarts > 0) {
        memory.baselines.insert(pod.uid.clone(), pod.restarts);
    }
}

/// Counts one more attempt.
pub fn remember(memory: &mut Memory, key: &str, now: Time) {
    let known = memory.restarts.entry(key.to_owned()).or_default();
    known.count = known.count.saturating_add(1);
    known.last = now;
}

/// Whether every member had its minimum ready at some time.
fn was_ready(instance: &Instance, layout: Layout<'_>) -> bool {
    let standing = || instance.pods.iter().filter(|pod| !pod.terminating);
    let Some(members) = layout else { return standing().all(|pod| pod.was_ready()) };
    members.iter().all(|Member { name, min_available, .. }| {
        let of_member = standing().filter(|pod| members.len() == 1 || pod.member == *name);
        of_member.filter(|pod| pod.was_ready()).count() >= *min_available as usize
    })
}

/// Whether a pod failed or restarted since the instance was ready. Restarts before that, and those of pods
/// that were there before the memory began, become the baseline.
pub fn failed(instance: &Instance, layout: Layout<'_>, memory: &mut Memory) -> bool {
    if instance.pods.iter().all(|pod| pod.terminating || (!pod.failed && pod.restarts == 0)) {
        return false;
    }
    let began = memory.since.unwrap_or_default();
    let ready_once = was_ready(instance, layout);
    let mut failed = false;
    for pod in instance.pods.iter().filter(|pod| !pod.terminating) {
        failed |= pod.failed && ready_once;
        if pod.restarts == 0 {
            continue;
        }
        let first_seen = pod.created < began && !memory.baselines.contains_key(&pod.uid);
        if !ready_once || first_seen {
            memory.baselines.insert(pod.uid.clone(), pod.restarts);
        }
        failed |= pod.restarts > memory.baselines.get(&pod.uid).copied().unwrap_or(0);
    }
    failed
}

/// Whether [`failed`] would say so, without remembering anything: the instance is about to be replaced.
pub fn will_be_replaced(instance: &Instance, layout: Layout<'_>, memory: &Memory) -> bool {
    let restarted = |pod: &Pod| {
        let known = memory.baselines.get(&pod.uid).copied();
        let from_birth = pod.created >= memory.since.unwrap_or_default();
        pod.restarts > known.unwrap_or(if from_birth { 0 } else { pod.restarts })
    };
    let mut standing = instance.pods.iter().filter(|pod| !pod.terminating);
    standing.any(|pod| pod.failed || (pod.restarts > 0 && restarted(pod))) && was_ready(instance, layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{MemberName, Uid};

    #[test]
    fn lws_1048_a_crashing_group_backs_off() {
        let policy = Restart::default();
        let mut memory = Memory::default();
        let mut now = Time(0);
        let mut attempts = 0;
        // Ninety seconds of crashing as fast as it can.
        while now <= Time(90_000) {
            if due(memory.restarts.get("0/r/0"), &policy, now) == Due::Now {
                remember(&mut memory, "0/r/0", now);
                attempts += 1;
            }
            now = now + Millis(100);
        }
        assert_eq!(attempts, 3, "at once, after 30 s, after another 60 s");
        assert_eq!(due(memory.restarts.get("0/r/0"), &policy, now), Due::At(Time(210_000)));
    }

    fn instance(ready: bool, restarts: u32) -> Instance {
        let pod = Pod {
            uid: Uid::new("u1"),
            ready: ready.then_some(Time(5)),
            created: Time(3),
            restarts,
            ..Pod::default()
        };
        Instance { instance: 0, pods: vec![pod] }
    }

    #[test]
    fn restarts_before_the_first_ready_are_no_failure() {
        let members = [Member { name: MemberName::new("m"), count: 1, min_available: 1 }];
        let mut memory = Memory { since: Some(Time(1)), ..Memory::default() };
        assert!(!failed(&instance(false, 2), Some(&members), &mut memory));
        assert!(!failed(&instance(true, 2), Some(&members), &mut memory), "the two it had before");
        assert!(failed(&instance(true, 3), Some(&members), &mut memory));
    }

    #[test]
    fn a_pod_older_than_the_memory_starts_from_what_is_seen_first() {
        let members = [Member { name: MemberName::new("m"), count: 1, min_available: 1 }];
        let mut memory = Memory { since: Some(Time(4)), ..Memory::default() };
        assert!(!failed(&instance(true, 7), Some(&members), &mut memory));
        assert!(failed(&instance(true, 8), Some(&members), &mut memory));
        memory = Memory { since: Some(Time(1)), ..Memory::default() };
        assert!(failed(&instance(true, 1), Some(&members), &mut memory), "known from birth");
    }
}
