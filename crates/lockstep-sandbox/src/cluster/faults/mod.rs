//! What may go wrong between one client and the server, as data and by a seed.
//!
//! Only what a real client of a real API server has to live with: answers that are lost, late or refused, writes of
//! which nobody knows whether they were done, watches that lag and break, lists from a cache, a network that is cut
//! and mended, a client that dies between a write and its answer. What a server promises it keeps here, too: events
//! come in order and none is left out, a list that must not be old is not.
//!
//! Everything waits with tokio's timers, and nothing is left to chance but by the seed.

mod dice;
mod link;
mod lists;
mod profile;
mod sight;
mod stream;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tower::Service;

pub use self::link::Link;
use self::link::State;
pub use self::profile::{Chance, Fault, Lists, Profile, Span, Watches};
use self::sight::{Bearing, Decided, bearing};
pub use self::sight::{Deed, Done};
use super::body::Answered;
use super::service::InProcess;
use crate::refusal::{About, Refusal};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer = Result<Response<Answered>, Failure>;

/// A client that is never answered gives up after so long, as kube's does unless told.
const READ_TIMEOUT: Duration = Duration::from_secs(295);

/// A way into the cluster on which things go wrong.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: InProcess,
    link: Link,
}

/// What is to become of a request.
#[derive(Debug, Default)]
struct Fate {
    travel: Duration,
    fault: Option<Fault>,
    /// How late it arrives.
    late: Duration,
    /// It is lost if the way is cut.
    lost: bool,
    /// When, and upon what, it was decided, if it may be one of several that were.
    decided: Option<Decided>,
}

impl Faulty {
    /// A way in for one client, on which this goes wrong; and the means to cut it.
    pub fn before(inner: InProcess, profile: Profile, seed: u64) -> (Self, Link) {
        Self::after(inner, profile, seed, Instant::now())
    }

    /// The same, for one that comes after another, and knows nothing of what happened since then.
    pub fn after(inner: InProcess, profile: Profile, seed: u64, blind_since: Instant) -> (Self, Link) {
        let link = Link::new(profile, seed, blind_since);
        (Self { inner, link: link.clone() }, link)
    }

    fn fate(&self, method: &Method) -> Fate {
        if self.link.is_calm() {
            return Fate::default();
        }
        let profile = self.link.profile();
        let mut dice = self.link.dice();
        let chances = if is_write(method) { &profile.writes } else { &profile.reads };
        let travel = dice.time(profile.travel);
        let fault = dice.fault(chances).filter(|fault| fits(*fault, method));
        let late = match fault {
            Some(Fault::Late(by)) => dice.time(by),
            _ => Duration::ZERO,
        };
        Fate { travel, fault, late, lost: dice.chance(500), decided: None }
    }

    /// Carries a request there and its answer back; nothing if there is never one.
    async fn carry<B>(mut self, request: Request<B>, fate: Fate) -> Option<Answer>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Failure>,
    {
        let writes = is_write(request.method());
        sleep(fate.travel).await;
        if self.link.state() == State::Cut && fate.lost {
            self.link.passes().await.then_some(())?;
            return Some(reset());
        }
        self.link.passes().await.then_some(())?;
        let (verdict, applied) = verdict(fate.fault);
        if let (Some(verdict), false) = (&verdict, applied) {
            return verdict.answer(&request);
        }
        sleep(fate.late).await;
        let (mut head, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return Some(Err(error.into())),
        };
        if let Some(stale) = lists::stale(&self.link, &head.uri, self.inner.revisions()) {
            head.uri = stale;
        }
        let about = Request::from_parts(head.clone(), ());
        self.note(&about, &body, fate.decided);
        let answer = self.inner.call(Request::from_parts(head, Full::new(body))).await;
        if writes {
            self.link.wrote();
        }
        self.link.passes().await.then_some(())?;
        match verdict {
            Some(verdict) => verdict.answer(&about),
            None => Some(answer.map(|answer| self.stumbling(answer, &about))),
        }
    }

    /// Remembers what is done to a pod, and upon what.
    fn note<B>(&self, request: &Request<B>, body: &[u8], decided: Option<Decided>) {
        let of = about(request.uri().path());
        let (Some(decided), "pods") = (decided, of.what) else { return };
        let along = || request.extensions().clone();
        let created = || serde_json::from_slice::<serde_json::Value>(body).ok();
        match *request.method() {
            Method::DELETE => self.link.sight().done(Deed::Delete, of.name, decided, along()),
            Method::POST if of.name.is_empty() => {
                let pod = created().unwrap_or_default();
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                self.link.sight().done(Deed::Create, name, decided, along());
            }
            _ => {}
        }
    }

    /// Watches stumble on, after the answer has begun.
    fn stumbling(self, answer: Response<Answered>, to: &Request<()>) -> Response<Answered> {
        let watch = match bearing(to.method(), to.uri()) {
            Bearing::Watch(path) => Some(path),
            _ => None,
        };
        answer.map(|body| match body {
            Answered::Events(lines) => Answered::Events(stream::stumbling(self.link, watch, lines)),
            whole => whole,
        })
    }
}

impl<B> Service<Request<B>> for Faulty
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Failure>,
{
    type Response = Response<Answered>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.link.state() == State::Dead {
            return Box::pin(std::future::pending());
        }
        let step = bearing(request.method(), request.uri()) == Bearing::Step;
        let sent = step.then(|| self.link.sight().sends());
        let decided = sent.as_ref().map(|sent| sent.decided);
        let fate = Fate { decided, ..self.fate(request.method()) };
        let (tell, told) = oneshot::channel();
        let faulty = self.clone();
        // What is sent arrives, whether or not anybody still waits for the answer.
        tokio::spawn(async move {
            if let Some(answer) = faulty.carry(request, fate).await {
                let _ = tell.send(answer);
            }
        });
        Box::pin(async move {
            let mut sent = sent;
            let answer = match told.await {
                Ok(answer) => answer,
                Err(_) => {
                    sleep(READ_TIMEOUT).await;
                    reset()
                }
            };
            let well = answer.as_ref().is_ok_and(|answer| !answer.status().is_server_error());
            if let Some(sent) = sent.as_mut().filter(|_| !well) {
                sent.failed();
            }
            answer
        })
    }
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// A name is taken or it is not, and a precondition holds or it does not: only who changes an object may be told
/// that others do.
fn fits(fault: Fault, method: &Method) -> bool {
    fault != Fault::Conflict || matches!(*method, Method::PUT | Method::PATCH)
}

/// How a request is answered that goes wrong.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    Conflict,
    Busy,
    Failed,
    TimedOut,
    Reset,
    Silent,
}

/// How a request is answered that meets this, and whether it is done all the same.
fn verdict(fault: Option<Fault>) -> (Option<Verdict>, bool) {
    match fault {
        None | Some(Fault::Late(_)) => (None, true),
        Some(Fault::Conflict) => (Some(Verdict::Conflict), false),
        Some(Fault::Busy) => (Some(Verdict::Busy), false),
        Some(Fault::Failed { applied }) => (Some(Verdict::Failed), applied),
        Some(Fault::TimedOut { applied }) => (Some(Verdict::TimedOut), applied),
        Some(Fault::Reset { applied }) => (Some(Verdict::Reset), applied),
        Some(Fault::Silent { applied }) => (Some(Verdict::Silent), applied),
    }
}

impl Verdict {
    fn answer<B>(self, request: &Request<B>) -> Option<Answer> {
        let status = match self {
            Self::Silent => return None,
            Self::Reset => return Some(reset()),
            Self::Conflict => Refusal::modified(about(request.uri().path())),
            Self::Busy => {
                let words = "the server has received too many requests and has asked us to try again later";
                Refusal::told(429, "TooManyRequests", words)
            }
            Self::Failed => {
                Refusal::internal("rpc error: code = Unavailable desc = etcdserver: leader changed")
            }
            Self::TimedOut => {
                let words =
                    "Timeout: request did not complete within requested timeout - context deadline exceeded";
                Refusal::told(504, "Timeout", words)
            }
        };
        Some(Ok(refused(&status)))
    }
}

/// What a path is about, as far as a refusal names it.
fn about(path: &str) -> About<'_> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let group = match parts.next() {
        Some("apis") => parts.next().unwrap_or_default(),
        _ => "",
    };
    let rest: Vec<&str> = parts.skip(1).collect();
    let rest = match rest.as_slice() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let part = |at: usize| rest.get(at).copied().unwrap_or_default();
    About { group, what: part(0), name: part(1) }
}

fn refused(refusal: &Refusal) -> Response<Answered> {
    let status = serde_json::to_vec(&refusal.object()).unwrap_or_default();
    let mut response = Response::new(Answered::Whole(Some(Bytes::from(status))));
    *response.status_mut() = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if refusal.code == 429 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn reset() -> Answer {
    Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into())
}
