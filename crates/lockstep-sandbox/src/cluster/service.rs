//! The way in for clients of this process, and for connections: HTTP requests in, HTTP responses out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::StreamExt;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT, WARNING};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Limited};

use crate::refusal::Refusal;
use crate::request::{Method, Query, Request, User};
use crate::server::{self, Answer};

use super::audit::Asked;
use super::body::Answered;
use super::{Shared, stream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// More than the server would take of any body: what is larger is not even read.
const MOST: usize = 4 * 1024 * 1024;

/// A tower service over the cluster.
#[derive(Debug, Clone)]
pub struct InProcess {
    shared: Arc<Shared>,
    /// Who does not show this is nobody.
    token: Option<Arc<str>>,
}

impl InProcess {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, token: None }
    }

    /// The same way in, only for those who show a token.
    pub(super) fn guarded(mut self, token: Arc<str>) -> Self {
        self.token = Some(token);
        self
    }

    /// The oldest and the newest state that is known.
    pub(super) fn revisions(&self) -> (u64, u64) {
        let state = self.shared.lock();
        let store = state.server.store();
        (store.compacted(), store.revision())
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = headers.get(AUTHORIZATION).and_then(|shown| shown.to_str().ok());
        shown.and_then(|shown| shown.strip_prefix("Bearer ")) == Some(token)
    }

    async fn answer<B>(self, request: http::Request<B>) -> Result<Response<Answered>, Failure>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Failure>,
    {
        let (head, body) = request.into_parts();
        if !self.lets_in(&head.headers) {
            return Ok(refused(&Refusal::told(401, "Unauthorized", "Unauthorized")));
        }
        let body = match Limited::new(body, MOST).collect().await {
            Ok(body) => body.to_bytes().to_vec(),
            // One byte more than is taken: the server says so in its own words.
            Err(error) if error.downcast_ref::<http_body_util::LengthLimitError>().is_some() => {
                vec![b' '; MOST]
            }
            Err(error) => return Err(error),
        };
        let request = match read(&head, body) {
            Some(request) => request,
            None => return Ok(refused(&Refusal::method_not_allowed())),
        };
        Ok(match self.shared.respond(&request).await {
            Answer::Done(done) => response(&done),
            Answer::Watch(mut watch) => {
                let warnings = std::mem::take(&mut watch.warnings);
                let asked = self.shared.audit.as_ref().map(|_| Asked::read(&request, self.shared.now()));
                let events = stream::events(self.shared, *watch, asked).map(Ok);
                let mut response = Response::new(Answered::Events(Box::pin(events)));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                warn(response.headers_mut(), &warnings);
                response
            }
            // It asks until it need not ask any more.
            Answer::Ask(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, ""),
        })
    }
}

impl<B> tower::Service<http::Request<B>> for InProcess
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Failure>,
{
    type Response = Response<Answered>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answered>, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

fn read(head: &http::request::Parts, body: Vec<u8>) -> Option<Request> {
    let method = match head.method {
        http::Method::GET | http::Method::HEAD => Method::Get,
        http::Method::POST => Method::Post,
        http::Method::PUT => Method::Put,
        http::Method::PATCH => Method::Patch,
        http::Method::DELETE => Method::Delete,
        _ => return None,
    };
    let text = |name: HeaderName| {
        head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let mut request = Request::new(method, head.uri.path());
    request.query = Query::read(head.uri.query().unwrap_or_default());
    request.content_type = text(CONTENT_TYPE);
    request.accept = text(ACCEPT);
    request.user_agent = text(USER_AGENT);
    request.user = User::admin();
    request.body = body;
    Some(request)
}

fn response(done: &server::Response) -> Response<Answered> {
    let (bytes, media_type) = done.bytes();
    let mut response = Response::new(Answered::Whole(Some(Bytes::from(bytes))));
    *response.status_mut() = StatusCode::from_u16(done.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if !media_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Some(seconds) = done.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    warn(headers, &done.warnings);
    response
}

fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    for warning in warnings {
        let escaped = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{escaped}\"")) {
            headers.append(WARNING, value);
        }
    }
}

fn plain(code: StatusCode, text: &'static str) -> Response<Answered> {
    let mut response = Response::new(Answered::Whole(Some(Bytes::from_static(text.as_bytes()))));
    *response.status_mut() = code;
    response
}

/// A refusal before the server has seen the request.
fn refused(refusal: &Refusal) -> Response<Answered> {
    let status = serde_json::to_vec(&refusal.object()).unwrap_or_default();
    let mut response = Response::new(Answered::Whole(Some(Bytes::from(status))));
    *response.status_mut() = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
