//! Watches as streams of lines.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::Value;
use tokio::time::Instant;

use crate::server::{Told, Watch};

use super::Shared;
use super::audit::Asked;
use super::tidings::Changes;

/// How often those who want to know are told how far they are.
const BOOKMARK: Duration = Duration::from_secs(60);
/// How long a watch lasts that does not say.
const LONGEST: Duration = Duration::from_secs(45 * 60);

struct Watching {
    shared: Arc<Shared>,
    watch: Watch,
    changes: Changes,
    lines: VecDeque<Bytes>,
    ends: Instant,
    bookmark: Instant,
    over: bool,
    /// For the audit log, which is told when it is over.
    asked: Option<Asked>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let (Some(log), Some(asked)) = (&self.shared.audit, self.asked.take()) {
            log.ended(asked, self.shared.now());
        }
    }
}

/// The events of a watch, each a line.
pub(super) fn events(
    shared: Arc<Shared>,
    watch: Watch,
    asked: Option<Asked>,
) -> impl Stream<Item = Bytes> + Send {
    let now = Instant::now();
    let lasts = watch.timeout.map_or(LONGEST, Duration::from_secs);
    let watching = Watching {
        changes: Changes::new(&shared.revision),
        shared,
        watch,
        lines: VecDeque::new(),
        ends: now + lasts,
        bookmark: now + BOOKMARK,
        over: false,
        asked,
    };
    futures::stream::unfold(watching, |mut watching| async move {
        let line = watching.next().await?;
        Some((line, watching))
    })
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.over || self.watch.is_ended() {
                return None;
            }
            self.changes.catch_up();
            self.look().await;
            if self.lines.is_empty() && !self.watch.is_ended() {
                self.wait().await;
            }
        }
    }

    async fn look(&mut self) {
        let now = self.shared.now();
        let mut told = Told::default();
        loop {
            let taken = self.watch.take(&self.shared.lock().server, now, &told);
            match taken {
                Ok(events) => return self.lines.extend(events.iter().map(line)),
                Err(call) => self.shared.ask(&call, &mut told).await,
            }
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            biased;
            _ = self.changes.next() => {}
            () = tokio::time::sleep_until(self.ends.min(self.bookmark)) => {
                self.over = Instant::now() >= self.ends;
                self.bookmark = Instant::now() + BOOKMARK;
                self.lines.extend(self.watch.bookmark().as_ref().map(line));
            }
        }
    }
}

fn line(event: &Value) -> Bytes {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    Bytes::from(line)
}
