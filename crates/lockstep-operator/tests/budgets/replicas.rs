//! Replicas of the webhook, and whoever asks them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::PostParams;
use kube::{Api, Client};
use lockstep_operator::admission::{self, Limits};
use lockstep_operator::budgets::Budgets;
use lockstep_operator::certificates::Lifetimes;
use lockstep_operator::certificates::issue::issue;
use lockstep_operator::certificates::next::Next;
use lockstep_operator::clock::Clock;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::serve::{ServingCertificate, Trigger, serve_tls, shutdown};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tower::ServiceExt;

/// One replica of the webhook.
struct Replica {
    router: Router,
    watching: JoinHandle<()>,
    running: std::sync::Mutex<Vec<AbortHandle>>,
}

impl Replica {
    fn start(client: &Client, clock: &Clock) -> Self {
        let metrics = Metrics::new();
        let budgets = Budgets::new(client.clone(), None, metrics.clone(), clock.clone());
        let router = admission::router(metrics, Limits::default(), None, Some(&budgets));
        let watching = tokio::spawn(async move { budgets.run().await });
        Self { router, watching, running: std::sync::Mutex::default() }
    }

    /// Stops at once, wherever it is.
    fn kill(&self) {
        self.watching.abort();
        for running in self.running.lock().expect("not poisoned").drain(..) {
            running.abort();
        }
    }

    async fn answer(&self, request: Request) -> Response {
        let router = self.router.clone();
        let task = tokio::spawn(async move { router.oneshot(request).await });
        self.running.lock().expect("not poisoned").push(task.abort_handle());
        match task.await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}

/// Sends each review to the next replica.
pub struct Replicas {
    all: Vec<std::sync::RwLock<Arc<Replica>>>,
    next: AtomicUsize,
    /// The way of each to the API server.
    clients: Vec<Client>,
    clock: Clock,
}

impl Replicas {
    pub fn start(clients: Vec<Client>, clock: Clock) -> Arc<Self> {
        let start = |client: &Client| std::sync::RwLock::new(Arc::new(Replica::start(client, &clock)));
        let all = clients.iter().map(start).collect();
        Arc::new(Self { all, next: AtomicUsize::new(0), clients, clock })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    async fn answer(&self, request: Request<Body>) -> Response {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len();
        let replica = Arc::clone(&self.all[turn].read().expect("not poisoned"));
        replica.answer(request).await
    }

    /// Answers a review of the embedded API server, in this process.
    pub async fn carry(&self, path: &str, review: Value) -> Result<Value, String> {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).map_err(|error| error.to_string())?;
        let answer = self.answer(request).await;
        let status = answer.status();
        let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{status}: {error}"))
    }

    /// Kills one and starts another in its place.
    pub fn replace(&self, which: usize) {
        let which = which % self.all.len();
        let fresh = Arc::new(Replica::start(&self.clients[which], &self.clock));
        let mut place = self.all[which].write().expect("not poisoned");
        std::mem::replace(&mut *place, fresh).kill();
    }
}

/// Serves them on a port, with certificates.
pub async fn serve(replicas: &Arc<Replicas>, tasks: &mut JoinSet<()>) -> (u16, String, Trigger) {
    let names = vec!["127.0.0.1".to_owned()];
    let made =
        issue(Next::Anew, None, &names, &Lifetimes::default(), Timestamp::now()).expect("a certificate");
    let shown = ServingCertificate::none();
    shown.install(made.certificate.as_bytes(), made.key.as_bytes()).expect("installed");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (trigger, told) = shutdown();
    let replicas = Arc::clone(replicas);
    let router = Router::new().fallback(move |request: Request| {
        let replicas = Arc::clone(&replicas);
        async move { Ok::<_, Infallible>(replicas.answer(request).await) }
    });
    tasks.spawn(async move { serve_tls(listener, router, shown, told).await.expect("served") });
    (port, made.authorities, trigger)
}

/// The webhooks by name, and what each is about.
pub const HOOKS: [(&str, &str); 3] = [
    ("delete.budgets.lockstep.dev", "delete"),
    ("update.budgets.lockstep.dev", "update"),
    ("evict.budgets.lockstep.dev", "evict"),
];

/// Has the API server ask.
pub async fn ask(client: &Client, port: u16, authority: Option<&str>) {
    use base64::Engine;
    let bundle = authority.map(|authority| base64::engine::general_purpose::STANDARD.encode(authority));
    let webhook = |(name, path): (&str, &str), resource: &str, operation: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "timeoutSeconds": 10,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/budgets/{path}"), "caBundle": bundle},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": [operation],
            }],
        })
    };
    let validating: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "budgets"},
        "webhooks": [webhook(HOOKS[0], "pods", "DELETE"), webhook(HOOKS[1], "pods", "UPDATE")],
    }))
    .expect("a configuration");
    let mutating: MutatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "budgets"}, "webhooks": [webhook(HOOKS[2], "pods/eviction", "CREATE")],
    }))
    .expect("a configuration");
    let params = PostParams::default();
    Api::all(client.clone()).create(&params, &validating).await.expect("created");
    Api::all(client.clone()).create(&params, &mutating).await.expect("created");
}
