//! Container IDs that say when their container started.
//!
//! The API stores start times in whole seconds, which is too coarse for pods that are ready after 200 ms. An
//! ID is ours to choose and lives in the status, so it carries the exact moment, and with it the failures in a
//! row, which the back-off after the next failure depends on.

use jiff::Timestamp;

const SCHEME: &str = "stand-in://";

/// One run of a pod's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// How many runs there were before; the restart count.
    pub number: u32,
    /// Failures in a row before this run.
    pub strikes: u32,
    /// When it started.
    pub since: Timestamp,
}

impl Run {
    /// The ID of the container with this name.
    pub(crate) fn id(&self, uid: &str, container: &str) -> String {
        let Self { number, strikes, since } = self;
        format!("{SCHEME}{uid}/{container}/{number}-{strikes}-{}", since.as_millisecond())
    }

    /// What an ID says; nothing if another kubelet wrote it.
    pub(crate) fn read(id: &str) -> Option<Self> {
        let (_, last) = id.strip_prefix(SCHEME)?.rsplit_once('/')?;
        let mut parts = last.splitn(3, '-');
        let number = parts.next()?.parse().ok()?;
        let strikes = parts.next()?.parse().ok()?;
        let since = Timestamp::from_millisecond(parts.next()?.parse().ok()?).ok()?;
        Some(Self { number, strikes, since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_read_back() {
        let run =
            Run { number: 3, strikes: 2, since: Timestamp::from_millisecond(1_786_000_000_123).unwrap() };
        let id = run.id("some-uid", "app");
        assert_eq!(id, "stand-in://some-uid/app/3-2-1786000000123");
        assert_eq!(Run::read(&id), Some(run));
    }

    #[test]
    fn the_ids_of_others_say_nothing() {
        for id in ["", "containerd://abc", "stand-in://", "stand-in://u/c/1-2", "stand-in://u/c/x-2-3"] {
            assert_eq!(Run::read(id), None, "{id}");
        }
    }
}
