//! Watches that stumble: held back, silent while the way is cut, and ended before their time.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::refusal::Refusal;

use super::link::Link;
use super::sight::Sight;

type Lines = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

struct Stumbling {
    link: Link,
    /// The pods that are watched.
    watch: Option<String>,
    lines: Lines,
    ends: Option<Instant>,
    over: bool,
}

/// The same events, as they arrive; `watch` names those of pods.
pub(super) fn stumbling(link: Link, watch: Option<String>, lines: Lines) -> Lines {
    let lives = link.profile().watches.live.filter(|_| !link.is_calm());
    let ends = lives.map(|span| Instant::now() + link.dice().time(span));
    let stumbling = Stumbling { link, watch, lines, ends, over: false };
    Box::pin(futures::stream::unfold(stumbling, |mut stumbling| async move {
        let line = stumbling.next().await?;
        Some((line, stumbling))
    }))
}

impl Stumbling {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.over {
            return None;
        }
        let line = match self.lines.next().now_or_never() {
            Some(line) => line,
            None => {
                self.see(Sight::caught_up);
                tokio::select! {
                    biased;
                    line = self.lines.next() => line,
                    () = until(self.ends) => return self.end(),
                }
            }
        };
        self.see(Sight::falls_behind);
        self.hold().await;
        if self.link.passes().await { line } else { std::future::pending().await }
    }

    fn see(&self, what: impl Fn(&Sight, &str)) {
        if let Some(watch) = &self.watch {
            what(self.link.sight(), watch);
        }
    }

    /// Holds back what has come, and with it all that comes after.
    async fn hold(&mut self) {
        let watches = self.link.profile().watches;
        let held = !self.link.is_calm() && self.link.dice().chance(watches.held);
        if held {
            let time = self.link.dice().time(watches.held_for);
            sleep(time).await;
        }
    }

    /// Ends as watches do: quietly, by a reset, or because the version is too old.
    fn end(&mut self) -> Option<io::Result<Bytes>> {
        self.over = true;
        let ending = self.link.dice().below(3);
        match ending {
            0 => None,
            1 => Some(Err(io::ErrorKind::ConnectionReset.into())),
            _ => {
                let status =
                    Refusal::expired("The resourceVersion for the provided watch is too old.").object();
                let event = json!({"type": "ERROR", "object": status});
                Some(Ok(Bytes::from(format!("{event}\n"))))
            }
        }
    }
}

impl Drop for Stumbling {
    fn drop(&mut self) {
        self.see(Sight::falls_behind);
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
