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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::serve::shutdown;

    async fn get(port: u16, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("connected");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answered");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).unwrap_or_default().to_owned(), body.to_owned())
    }

    #[tokio::test]
    async fn alive_ready_and_measured() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (metrics, readiness) = (Metrics::new(), Readiness::default());
        let (trigger, told) = shutdown();
        let server = tokio::spawn(serve_plain(listener, health(metrics.clone(), readiness.clone()), told));
        let answer = |code: &str, body: &str| (code.to_owned(), body.to_owned());
        assert_eq!(get(port, "/healthz").await, answer("200", "ok\n"));
        assert_eq!(get(port, "/readyz").await, answer("503", "the webhook has no certificate yet\n"));
        readiness.certificate(true);
        assert_eq!(get(port, "/readyz").await, answer("200", "ok\n"));
        metrics.leader(true);
        let (code, body) = get(port, "/metrics").await;
        assert!(code == "200" && body.contains("lockstep_leader 1"), "{body}");
        assert_eq!(get(port, "/other").await.0, "404");
        trigger.shut_down();
        server.await.expect("no panic").expect("ended well");
    }
}
