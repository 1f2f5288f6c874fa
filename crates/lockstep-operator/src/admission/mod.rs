//! Admission: a set that is wrong, or whose rollout could never finish, is refused when it is applied.
//!
//! All errors are told at once. What is right is then proved by playing its rollout on an ideal cluster, on a
//! thread of its own and within a time bound: a proof that takes too long stops nobody, and says so.

pub mod convert;
mod review;
mod tongue;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use kube::Client;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

pub use self::review::{Examined, Question, examine, review};
pub use self::tongue::{Tongue, Understood};
use crate::dialects::Dialects;
use crate::metrics::{Metrics, ReviewOutcome};

/// An object has at most 1.5 MiB or so in etcd; a review carries two of them.
const LARGEST: usize = 8 << 20;
/// A conversion may carry a whole page of a list.
const LARGEST_LIST: usize = 256 << 20;

/// What admission may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a proof may take, waiting for its turn included. After that the object is admitted with a warning.
    pub proof: Duration,
    /// How many proofs are made at once. One that has run out of time still counts until it has really ended.
    pub proofs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { proof: Duration::from_secs(2), proofs: 2 }
    }
}

/// Answers reviews, however they come.
#[derive(Clone)]
pub struct Desk {
    limits: Limits,
    turns: Arc<Semaphore>,
    metrics: Metrics,
    dialects: Option<(Client, Dialects)>,
}

/// `POST /validate` and `POST /convert`. Objects of dialects are understood where there is somebody to ask what these
/// read beside them.
pub fn router(metrics: Metrics, limits: Limits, dialects: Option<(Client, Dialects)>) -> Router {
    let desk = Desk::new(metrics, limits, dialects);
    Router::new()
        .route("/validate", post(validate).layer(DefaultBodyLimit::max(LARGEST)))
        .route("/convert", post(convert).layer(DefaultBodyLimit::max(LARGEST_LIST)))
        .with_state(desk)
}

async fn convert(State(desk): State<Desk>, body: Bytes) -> Response {
    let dialects = desk.dialects.as_ref().map(|(_, Dialects(all))| all.as_slice()).unwrap_or_default();
    match convert::answer(&body, dialects) {
        Ok(review) => Json(review).into_response(),
        Err(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")).into_response(),
    }
}

async fn validate(State(desk): State<Desk>, body: Bytes) -> Response {
    match desk.review(&body).await {
        Ok(review) => Json(review).into_response(),
        Err(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")).into_response(),
    }
}

/// The request of a review.
fn read(body: &[u8]) -> Result<AdmissionRequest<DynamicObject>, String> {
    let review: AdmissionReview<DynamicObject> =
        serde_json::from_slice(body).map_err(|error| format!("not an AdmissionReview: {error}"))?;
    review.try_into().map_err(|_| "an AdmissionReview without a request".to_owned())
}

impl Desk {
    /// Nothing is asked yet.
    pub fn new(metrics: Metrics, limits: Limits, dialects: Option<(Client, Dialects)>) -> Self {
        Self { limits, turns: Arc::new(Semaphore::new(limits.proofs.max(1))), metrics, dialects }
    }

    /// Answers a review in JSON, or says what is wrong with it.
    pub async fn review(&self, body: &[u8]) -> Result<AdmissionReview<DynamicObject>, String> {
        match read(body) {
            Ok(request) => Ok(self.answer(&request).await.into_review()),
            Err(reason) => {
                self.metrics.review(ReviewOutcome::Malformed);
                Err(reason)
            }
        }
    }

    async fn answer(&self, request: &AdmissionRequest<DynamicObject>) -> AdmissionResponse {
        let examined = match Tongue::of(request, self.dialects.as_ref()).await {
            Ok(tongue) => examine(request, &tongue),
            Err(error) => review::unreadable(request, &error),
        };
        let (response, outcome) = match examined {
            Examined::Answered(response, outcome) => (*response, outcome),
            Examined::ToProve(question) => self.prove(question).await,
        };
        self.metrics.review(outcome);
        response
    }

    async fn prove(&self, question: Box<Question>) -> (AdmissionResponse, ReviewOutcome) {
        let began = Instant::now();
        let deadline = began + self.limits.proof;
        let answer = match timeout_at(deadline, Arc::clone(&self.turns).acquire_owned()).await {
            Ok(Ok(turn)) => {
                let copy = question.clone();
                let proof = tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    copy.answer()
                });
                let answer = timeout_at(deadline, proof).await.ok().and_then(Result::ok);
                // An answer that was there in the same moment as the deadline came too late, whichever is polled first.
                answer.filter(|_| Instant::now() < deadline)
            }
            _ => None,
        };
        self.metrics.proof_took(began.elapsed());
        answer.unwrap_or_else(|| question.unproven(self.limits.proof))
    }
}

#[cfg(test)]
mod tests;
