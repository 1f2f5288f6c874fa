//! Whether a running container is ready, and for how long that holds.

use jiff::Timestamp;

use super::id::Run;
use crate::behaviour::{Behaviour, Flaps};
use crate::span::When;
use crate::time::{between, later, millis};

/// Whether the containers of a run are ready at `now`, and when that changes next.
pub(crate) fn readiness(
    run: &Run,
    uid: &str,
    behaviour: &Behaviour,
    now: Timestamp,
) -> (bool, Option<Timestamp>) {
    let first = match behaviour.ready_after {
        None => run.since,
        Some(When::Never) => return (false, None),
        Some(When::After(span)) => later(run.since, span.draw(uid, "ready-after", run.number)),
    };
    if now < first {
        return (false, Some(first));
    }
    match behaviour.flaps {
        None | Some(Flaps::Never) => (true, None),
        Some(Flaps::Cycle { ready, unready, times }) => {
            // Where in which cycle we are follows from the time alone: nothing to remember.
            let passed = millis(between(first, now));
            let (ready, unready) = (millis(ready), millis(unready));
            let cycle = ready.saturating_add(unready).max(1);
            let (number, into) = (passed / cycle, passed % cycle);
            if times.is_some_and(|times| number >= u64::from(times)) {
                return (true, None);
            }
            let is_ready = into < ready;
            let left = if is_ready { ready - into } else { cycle - into };
            (is_ready, Some(later(now, std::time::Duration::from_millis(left))))
        }
    }
}
