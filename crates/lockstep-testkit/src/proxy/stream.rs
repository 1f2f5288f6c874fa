//! The stream of a watch, as the rules let it through.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use tokio::sync::watch;
use tokio::time::Instant;

use super::frames::{Framing, Splitter};
use super::registry::{Met, Registry};
use super::request::Request;
use super::rule::Fault;
use crate::serve::{Body, BodyError};

/// Passes a watch on, event by event.
pub(super) fn pass(registry: &Arc<Registry>, request: Request, framing: Framing, upstream: Incoming) -> Body {
    let watch = Watch {
        changes: registry.changes(),
        registry: Arc::clone(registry),
        request,
        met: Vec::new(),
        framing,
        splitter: Splitter::new(framing),
        upstream: Some(upstream),
        waiting: VecDeque::new(),
        over: false,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((event.map(Frame::data), watch))
    });
    StreamBody::new(events).boxed_unsync()
}

struct Watch {
    registry: Arc<Registry>,
    changes: watch::Receiver<()>,
    request: Request,
    met: Vec<Met>,
    framing: Framing,
    splitter: Splitter,
    /// Nothing once it has ended.
    upstream: Option<Incoming>,
    /// Arrived and not delivered yet.
    waiting: VecDeque<Result<Bytes, BodyError>>,
    over: bool,
}

/// What the rules say now.
enum Step {
    Deliver,
    Hold(Option<Instant>),
    Cut,
    Expire,
}

impl Watch {
    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        while !self.over {
            self.registry.meet(&self.request, &mut self.met);
            let until = match self.step() {
                Step::Cut => return None,
                Step::Expire => {
                    self.over = true;
                    return Some(Ok(self.framing.expired()));
                }
                Step::Hold(until) => until,
                Step::Deliver => match self.waiting.pop_front() {
                    Some(event) => {
                        self.met.iter_mut().for_each(|met| met.events += 1);
                        return Some(event);
                    }
                    None if self.upstream.is_none() => return None,
                    None => None,
                },
            };
            self.wait(until).await;
        }
        None
    }

    fn step(&self) -> Step {
        let mut step = Step::Deliver;
        for met in &self.met {
            match &met.fault {
                Some(Fault::GoneWatch) => return Step::Expire,
                Some(Fault::CutWatch { after_events }) if met.events >= *after_events => return Step::Cut,
                Some(Fault::HoldWatch { at_most }) => {
                    let until = at_most.map(|at_most| met.since + at_most.into());
                    if until.is_none_or(|until| Instant::now() < until) {
                        step = Step::Hold(until);
                    }
                }
                _ => {}
            }
        }
        step
    }

    /// Until something changed. Reads on even while events are held: an API server gives up on a watcher that
    /// does not read, and a network that is slow does not tell it so.
    async fn wait(&mut self, until: Option<Instant>) {
        let moment = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let arrival = async {
            match &mut self.upstream {
                Some(upstream) => upstream.frame().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = moment => {}
            // The registry lives as long as this stream: it always changes, never ends.
            _ = self.changes.changed() => {}
            arrived = arrival => self.arrive(arrived),
        }
    }

    fn arrive(&mut self, arrived: Option<Result<Frame<Bytes>, hyper::Error>>) {
        match arrived {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.waiting.extend(self.splitter.push(&data).into_iter().map(Ok));
                }
            }
            end => {
                self.upstream = None;
                self.waiting.extend(self.splitter.rest().map(Ok));
                self.waiting.extend(end.and_then(Result::err).map(|error| Err(error.into())));
            }
        }
    }
}
