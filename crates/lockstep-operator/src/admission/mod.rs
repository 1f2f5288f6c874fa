//! Admission: a set that is wrong, or whose rollout could never finish, is refused when it is applied.
//!
//! All errors are told at once. What is right is then proved by playing its rollout on an ideal cluster, on a
//! thread of its own and within a time bound: a proof that takes too long stops nobody, and says so.

mod budget;
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
use crate::budgets::{Budgets, Kind, Reviewer};
use crate::dialects::Dialects;
use crate::federation::Stamper;
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
    budgets: Option<Budgets>,
}

/// `POST /validate` and `POST /convert`, and `POST /budgets/…` about pods where budgets are looked after. Objects of
/// dialects are understood where there is somebody to ask what these read beside them.
pub fn router(
    metrics: Metrics,
    limits: Limits,
    dialects: Option<(Client, Dialects)>,
    budgets: Option<&Budgets>,
) -> Router {
    let desk = Desk::new(metrics, limits, dialects).with_budgets(budgets.cloned());
    let pods = budgets.map(|budgets| {
        let about = |kind: Kind| {
            let reviewer = budgets.reviewer();
            post(move |body: Bytes| review_pod(reviewer, kind, body)).layer(DefaultBodyLimit::max(LARGEST))
        };
        Router::new()
            .route("/budgets/delete", about(Kind::Delete))
            .route("/budgets/evict", about(Kind::Evict))
            .route("/budgets/update", about(Kind::Update))
    });
    Router::new()
        .merge(pods.unwrap_or_default())
        .route("/validate", post(validate).layer(DefaultBodyLimit::max(LARGEST)))
        .route("/convert", post(convert).layer(DefaultBodyLimit::max(LARGEST_LIST)))
        .with_state(desk)
}

/// Stamps Works on Karmada's API server.
pub fn federation_router(stamper: Stamper) -> Router {
    let works = post(move |body: Bytes| review_work(stamper, body)).layer(DefaultBodyLimit::max(LARGEST));
    Router::new().route(WORKS, works)
}

/// Where Works are stamped.
pub const WORKS: &str = "/federation/works";

async fn review_work(stamper: Stamper, body: Bytes) -> Response {
    match stamper.review(&body).await {
        Ok(review) => Json(review).into_response(),
        Err(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")).into_response(),
    }
}

async fn review_pod(reviewer: Reviewer, kind: Kind, body: Bytes) -> Response {
    match reviewer.review(kind, &body).await {
        Ok(review) => Json(review).into_response(),
        Err(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")).into_response(),
    }
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
        let turns = Arc::new(Semaphore::new(limits.proofs.max(1)));
        Self { limits, turns, metrics, dialects, budgets: None }
    }

    /// Sets that could never be rolled out under these budgets are refused.
    pub fn with_budgets(self, budgets: Option<Budgets>) -> Self {
        Self { budgets, ..self }
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
            _ if budget::is_one(request) => budget::examine(request),
            Ok(tongue) => examine(request, &tongue),
            Err(error) => review::unreadable(request, &error),
        };
        let examined = match (examined, &self.budgets) {
            (Examined::ToProve(question), Some(budgets)) => {
                let covering = budgets.objects(&question.namespace());
                question.under(&covering)
            }
            (examined, _) => examined,
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
