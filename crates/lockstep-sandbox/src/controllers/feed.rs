//! Following the store.

use crate::store::{Change, Store};

/// How far a controller has read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Feed {
    seen: u64,
}

impl Feed {
    /// What changed since the last look; none if that is no longer known, or this is the first: everything is to be
    /// read anew then.
    pub(super) fn news<'a>(
        &mut self,
        store: &'a Store,
    ) -> Option<impl Iterator<Item = &'a Change> + use<'a>> {
        let since = std::mem::replace(&mut self.seen, store.revision());
        store.all_changes_after(since).ok().filter(|_| since > 0)
    }
}
