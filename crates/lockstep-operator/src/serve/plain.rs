//! Health and metrics, over plain HTTP.

use std::io;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::{DRAIN, Readiness, Shutdown};
use crate::metrics::{CONTENT_TYPE, Metrics};

/// `/healthz`, `/readyz` and `/metrics`.
pub fn health(metrics: Metrics, readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready).with_state(readiness))
        .route("/metrics", get(measured).with_state(metrics))
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    let missing = readiness.missing();
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, missing.join("\n") + "\n").into_response()
}

async fn measured(State(metrics): State<Metrics>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.encode()).into_response()
}

/// Serves until it is told to end, and then until what was begun is answered.
pub async fn serve_plain(listener: TcpListener, router: Router, shutdown: Shutdown) -> io::Result<()> {
    let told = shutdown.clone();
    let served = axum::serve(listener, router).with_graceful_shutdown(async move { told.requested().await });
    let too_late = async {
        shutdown.requested().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        ended = served => ended,
        () = too_late => Ok(()),
    }
}
