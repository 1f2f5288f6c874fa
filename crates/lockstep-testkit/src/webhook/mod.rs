//! Admission webhooks served by the test itself.

mod register;
mod review;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Collected};
use hyper::body::Incoming;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::WebhookClientConfig;
use tokio::sync::watch;

pub use self::register::{Registered, Registration, operations};
pub use self::review::{AdmissionRequest, Decision, Kind, Resource, User};

use crate::pki::Authority;
use crate::serve::{self, Body, Broken, ServeError, Server};

/// A webhook that answers until it is dropped. Afterwards the API server finds nobody, and the failure policy
/// of its registration decides.
#[derive(Debug)]
pub struct Webhook {
    server: Server,
    calls: Arc<Calls>,
}

/// The calls so far, and a bell that rings with each.
#[derive(Debug, Default)]
struct Calls {
    all: Mutex<Vec<AdmissionRequest>>,
    count: watch::Sender<usize>,
}

impl Calls {
    fn record(&self, request: AdmissionRequest) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(request);
        self.count.send_replace(all.len());
    }
}

impl Webhook {
    /// Serves a webhook with a certificate of this authority; what it decides may change with every call.
    pub async fn start<D>(authority: &Authority, decide: D) -> Result<Self, ServeError>
    where
        D: Fn(&AdmissionRequest) -> Decision + Send + Sync + 'static,
    {
        let calls = Arc::new(Calls::default());
        let desk = Arc::new(Desk { calls: Arc::clone(&calls), decide });
        let server = Server::start(authority, move |request| answer(Arc::clone(&desk), request)).await?;
        Ok(Self { server, calls })
    }

    /// Where it is and how to know it: what a webhook configuration needs.
    pub fn client_config(&self) -> WebhookClientConfig {
        WebhookClientConfig {
            ca_bundle: Some(ByteString(self.server.ca_pem().as_bytes().to_vec())),
            service: None,
            url: Some(format!("{}/", self.server.url())),
        }
    }

    /// The calls so far, oldest first, also those that were left without an answer.
    pub fn calls(&self) -> Vec<AdmissionRequest> {
        self.calls.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it was called so often in all; false if that takes too long.
    pub async fn called(&self, times: usize, at_most: Duration) -> bool {
        let mut count = self.calls.count.subscribe();
        let enough = count.wait_for(|count| *count >= times);
        tokio::time::timeout(at_most, enough).await.is_ok()
    }
}

/// What every call needs.
struct Desk<D> {
    calls: Arc<Calls>,
    decide: D,
}

async fn answer<D>(desk: Arc<Desk<D>>, request: Request<Incoming>) -> Result<Response<Body>, Broken>
where
    D: Fn(&AdmissionRequest) -> Decision + Send + Sync + 'static,
{
    let body = request.into_body().collect().await.map(Collected::to_bytes).map_err(|_| Broken)?;
    let request = match review::read(&body) {
        Ok(request) => request,
        Err(error) => {
            let mut response = Response::new(serve::whole(format!("not an AdmissionReview: {error}\n")));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        }
    };
    let decision = (desk.decide)(&request);
    let uid = request.uid.clone();
    desk.calls.record(request);
    match decision.review(&uid) {
        review::Answer::Review(review) => Ok(serve::json(StatusCode::OK, &review)),
        review::Answer::Nothing => std::future::pending().await,
        review::Answer::Break => Err(Broken),
    }
}
