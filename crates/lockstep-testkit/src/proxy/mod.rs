//! A proxy in front of an API server that can go wrong on purpose.
//!
//! Clients talk to it as to the API server itself: HTTPS, their own credentials, watches streamed. What goes
//! wrong is said by [`Rule`]s, which come and go while it runs. If the API server cannot be reached, the
//! client's connection is broken, as it would be without the proxy.

mod forward;
mod frames;
mod registry;
mod request;
mod rule;
mod stream;

use std::sync::Arc;

use http::{Response, StatusCode, header, request as head};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::{Bytes, Incoming};

pub use self::forward::Upstream;
pub use self::registry::{Held, Seen};
pub use self::request::{Request, Verb};
pub use self::rule::{Fault, Refusal, Rule, Which};

use self::forward::Forwarder;
use self::frames::Framing;
use self::registry::Registry;
use crate::pki::Authority;
use crate::serve::{self, Body, Broken, ServeError, Server};

/// The largest body that is read as a whole, above what an API server accepts.
const LARGEST: usize = 16 << 20;

/// A proxy could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// Not an address it could send requests on to.
    #[error("cannot stand in front of {0:?}: an https URL is needed")]
    Url(String),
    /// The API server's certificates are not understood.
    #[error("cannot read the API server's certificates: {0}")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// TLS refuses what it was given.
    #[error("cannot set up TLS to the API server: {0}")]
    Tls(#[from] rustls::Error),
    /// It cannot serve.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    server: Server,
    registry: Arc<Registry>,
}

impl Proxy {
    /// Starts one in front of an API server, with a certificate of this authority.
    pub async fn start(upstream: &Upstream, authority: &Authority) -> Result<Self, ProxyError> {
        let registry = Arc::new(Registry::default());
        let relay = Arc::new(Relay { forwarder: Forwarder::new(upstream)?, registry: Arc::clone(&registry) });
        let server = Server::start(authority, move |request| Arc::clone(&relay).handle(request)).await?;
        Ok(Self { server, registry })
    }

    /// What clients use instead of the API server's URL.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The certificate clients must trust.
    pub fn ca_pem(&self) -> &str {
        self.server.ca_pem()
    }

    /// Puts a rule in force, after those that are. It stays until it is removed, even if what is returned is
    /// dropped.
    pub fn add(&self, rule: Rule) -> Held {
        self.registry.add(rule)
    }

    /// Ends all rules.
    pub fn clear(&self) {
        self.registry.clear();
    }

    /// The requests that arrived so far, oldest first, each noted when it is sent on or its fault happens.
    pub fn seen(&self) -> Vec<Seen> {
        self.registry.seen(<[Seen]>::to_vec)
    }

    /// How many of these requests arrived.
    pub fn arrived(&self, which: &Which) -> usize {
        self.registry.seen(|seen| seen.iter().filter(|seen| which.fits(&seen.request)).count())
    }

    /// How often such requests were sent on to the API server.
    pub fn sent(&self, which: &Which) -> u64 {
        let sent = |seen: &Seen| if which.fits(&seen.request) { u64::from(seen.sent) } else { 0 };
        self.registry.seen(|seen| seen.iter().map(sent).sum())
    }

    /// Ends it and waits until its last connection is gone.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

/// What every request needs.
struct Relay {
    forwarder: Forwarder,
    registry: Arc<Registry>,
}

impl Relay {
    async fn handle(self: Arc<Self>, incoming: http::Request<Incoming>) -> Result<Response<Body>, Broken> {
        if incoming.headers().contains_key(header::UPGRADE) {
            let text = "The fault proxy passes on no upgraded connections (exec, attach, port-forward): \
                        ask the API server itself.\n";
            let mut response = Response::new(serve::whole(text));
            *response.status_mut() = StatusCode::NOT_IMPLEMENTED;
            return Ok(response);
        }
        let (mut head, body) = incoming.into_parts();
        let mut request = Request::parse(&head.method, &head.uri, &head.headers);
        if request.verb == Verb::Watch {
            // An API server compresses a watch that begins with a list, and nobody could tell its events apart.
            head.headers.remove(header::ACCEPT_ENCODING);
        }
        let body = if request.lacks_name() {
            let whole = collect(streamed(body)).await?;
            request.named_by(&whole);
            serve::whole(whole)
        } else {
            streamed(body)
        };
        let verdict = self.registry.decide(&request);
        if !verdict.delay.is_zero() {
            tokio::time::sleep(verdict.delay).await;
        }
        self.carry_out(&head, body, request, verdict.fault).await
    }

    async fn carry_out(
        &self,
        head: &head::Parts,
        body: Body,
        request: Request,
        fault: Option<Fault>,
    ) -> Result<Response<Body>, Broken> {
        let sent = match fault {
            Some(Fault::Refuse(_) | Fault::Drop) => 0,
            Some(Fault::Duplicate) => 2,
            _ => 1,
        };
        self.registry.record(&request, sent);
        match fault {
            Some(Fault::Refuse(refusal)) => Ok(refuse(&refusal)),
            Some(Fault::Drop) => Err(Broken),
            Some(Fault::LoseAnswer) => {
                finish(&request, self.send(head, body).await?).await?;
                Err(Broken)
            }
            Some(Fault::FailApplied(refusal)) => {
                finish(&request, self.send(head, body).await?).await?;
                Ok(refuse(&refusal))
            }
            Some(Fault::Duplicate) => {
                let whole = collect(body).await?;
                finish(&request, self.send(head, serve::whole(whole.clone())).await?).await?;
                self.pass(request, self.send(head, serve::whole(whole)).await?)
            }
            _ => self.pass(request, self.send(head, body).await?),
        }
    }

    async fn send(&self, head: &head::Parts, body: Body) -> Result<Response<Incoming>, Broken> {
        self.forwarder.send(head, body).await.map_err(|error| {
            tracing::warn!(%error, uri = %head.uri, "cannot reach the API server");
            Broken
        })
    }

    /// Streams an answer back.
    fn pass(&self, request: Request, response: Response<Incoming>) -> Result<Response<Body>, Broken> {
        let (head, body) = response.into_parts();
        let body = if request.verb == Verb::Watch && head.status == StatusCode::OK {
            stream::pass(&self.registry, request, Framing::of(&head.headers), body)
        } else {
            streamed(body)
        };
        Ok(Response::from_parts(head, body))
    }
}

/// A body that is passed on as it arrives.
fn streamed(body: Incoming) -> Body {
    body.map_err(Into::into).boxed_unsync()
}

/// Reads a body to its end.
async fn collect(body: Body) -> Result<Bytes, Broken> {
    let whole = Limited::new(body, LARGEST).collect().await;
    whole.map(Collected::to_bytes).map_err(|error| {
        tracing::debug!(%error, "a body ended early");
        Broken
    })
}

/// Waits until a request is carried out; its answer goes nowhere. A watch has no end to wait for.
async fn finish(request: &Request, response: Response<Incoming>) -> Result<(), Broken> {
    let mut body = response.into_body();
    while request.verb != Verb::Watch
        && let Some(frame) = body.frame().await
    {
        frame.map_err(|_| Broken)?;
    }
    Ok(())
}

fn refuse(refusal: &Refusal) -> Response<Body> {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = serve::json(status, &refusal.status_object());
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
