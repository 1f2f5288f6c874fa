//! What a candidate does next: no clock, no network, only what it knows.

use std::time::Duration;

use tokio::time::Instant;

/// How patient everybody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long the others wait for a holder that has fallen silent.
    pub lease_duration: Duration,
    /// How long the holder is sure after a renewal.
    pub renew_deadline: Duration,
    /// How often the holder renews, and how long anybody waits after a failure.
    pub retry_period: Duration,
}

/// What is known of the Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Nothing: it was never read.
    Unknown,
    /// Nobody holds it, or it does not exist and nobody was seen to hold it.
    Free,
    /// We hold it.
    Ours,
    /// Somebody else holds it, or did when somebody removed it.
    Theirs {
        /// When we first saw it as it is.
        since: Instant,
        /// How long its holder may be silent.
        duration: Duration,
    },
}

/// What we know of ourselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// If we lead: when our last successful renewal began.
    pub renewed: Option<Instant>,
    /// After a failure: not before then.
    pub retry_at: Option<Instant>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Read the Lease.
    Look,
    /// Write our name into it.
    Acquire,
    /// Write our name into it again.
    Renew,
    /// Nothing, until then or until the Lease changes.
    Wait(Instant),
    /// We led, and cannot be sure any more: stop acting.
    Unsure,
}

/// Decides what a candidate does next.
pub fn decide(now: Instant, record: Record, own: Own, timing: &Timing) -> Decision {
    let retry_at = own.retry_at.unwrap_or(now);
    if let Some(renewed) = own.renewed {
        let sure_until = renewed + timing.renew_deadline;
        if record != Record::Ours || now >= sure_until {
            return Decision::Unsure;
        }
        let next = retry_at.max(renewed + timing.retry_period);
        return if now >= next { Decision::Renew } else { Decision::Wait(next.min(sure_until)) };
    }
    let free_at = match record {
        Record::Unknown if now >= retry_at => return Decision::Look,
        Record::Unknown => return Decision::Wait(retry_at),
        // Ours from a term that is over: nobody else took it, and our next write shows whether somebody does.
        Record::Free | Record::Ours => now,
        Record::Theirs { since, duration } => since + duration,
    };
    let at = free_at.max(retry_at);
    if now >= at { Decision::Acquire } else { Decision::Wait(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    #[test]
    fn who_does_what_when() {
        let zero = Instant::now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let leads = |renewed, retry: Option<u64>| Own { renewed: Some(at(renewed)), retry_at: retry.map(at) };
        let waits = |retry: Option<u64>| Own { renewed: None, retry_at: retry.map(at) };
        let theirs =
            |since, duration| Record::Theirs { since: at(since), duration: Duration::from_secs(duration) };
        let wait = |until| Decision::Wait(at(until));
        let table = [
            // A candidate.
            (0, Record::Unknown, waits(None), Decision::Look),
            (3, Record::Unknown, waits(Some(5)), wait(5)),
            (5, Record::Unknown, waits(Some(5)), Decision::Look),
            (0, Record::Free, waits(None), Decision::Acquire),
            (0, Record::Free, waits(Some(2)), wait(2)),
            (9, Record::Ours, waits(None), Decision::Acquire),
            (0, theirs(0, 15), waits(None), wait(15)),
            (14, theirs(0, 15), waits(None), wait(15)),
            (15, theirs(0, 15), waits(None), Decision::Acquire),
            // Its own word counts, not our idea of a lease.
            (15, theirs(0, 60), waits(None), wait(60)),
            // It changed at 12 for our eyes: all of it again.
            (15, theirs(12, 15), waits(None), wait(27)),
            (15, theirs(0, 15), waits(Some(16)), wait(16)),
            // A leader.
            (1, Record::Ours, leads(0, None), wait(2)),
            (2, Record::Ours, leads(0, None), Decision::Renew),
            (3, Record::Ours, leads(0, Some(4)), wait(4)),
            (4, Record::Ours, leads(0, Some(4)), Decision::Renew),
            (9, Record::Ours, leads(0, Some(11)), wait(10)),
            (10, Record::Ours, leads(0, None), Decision::Unsure),
            (99, Record::Ours, leads(0, Some(100)), Decision::Unsure),
            // The record says somebody else, or nobody: no renewal can be right.
            (1, theirs(1, 15), leads(0, None), Decision::Unsure),
            (1, Record::Free, leads(0, None), Decision::Unsure),
        ];
        for (now, record, own, expected) in table {
            assert_eq!(decide(at(now), record, own, &TIMING), expected, "at {now}: {record:?}, {own:?}");
        }
    }

    /// The promise, over all moments of a write and of its being seen: who leads stops being sure before anybody
    /// else acquires.
    #[test]
    fn the_sure_times_of_two_never_overlap() {
        let zero = Instant::now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let own = Own { renewed: Some(at(0)), retry_at: None };
        // The renewal began at 0, so it was carried out, and the other saw it, at some time after.
        for seen in 0..30 {
            let record = Record::Theirs { since: at(seen), duration: TIMING.lease_duration };
            for now in seen..60 {
                let other = decide(at(now), record, Own::default(), &TIMING);
                let leader = decide(at(now), Record::Ours, own, &TIMING);
                assert!(
                    other != Decision::Acquire || leader == Decision::Unsure,
                    "seen at {seen}, now {now}"
                );
            }
        }
    }
}
