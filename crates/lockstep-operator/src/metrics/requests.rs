//! Counts every request that goes to the API server, whoever makes it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use tower::{Layer, Service};

use super::Metrics;

/// Puts the counting around a client.
#[derive(Debug, Clone)]
pub struct CountRequests(pub Metrics);

/// A client whose requests are counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, metrics: self.0.clone() }
    }
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (verb, resource) = (verb(&request), resource(request.uri().path()));
        let metrics = self.metrics.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let outcome = answer
                .as_ref()
                .map_or_else(|_| "unreachable".to_owned(), |it| it.status().as_u16().to_string());
            metrics.request(verb, resource, &outcome);
            answer
        })
    }
}

fn verb<A>(request: &Request<A>) -> &'static str {
    match *request.method() {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ if request.uri().query().is_some_and(|query| query.contains("watch=true")) => "watch",
        _ => "get",
    }
}

/// The kinds the operator has to do with; whatever else is asked for is summed up.
const RESOURCES: [&str; 10] = [
    "pods",
    "lockstepsets",
    "rolescales",
    "controllerrevisions",
    "services",
    "events",
    "leases",
    "podgroups",
    "podgangs",
    "secrets",
];

fn resource(path: &str) -> &'static str {
    let named = |part: &str| RESOURCES.into_iter().find(|known| *known == part);
    path.split('/').find_map(named).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let ask = |method: &str, uri: &str| {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            (verb(&request), resource(request.uri().path()))
        };
        assert_eq!(ask("POST", "/api/v1/namespaces/ml/pods?fieldManager=lockstep"), ("create", "pods"));
        assert_eq!(
            ask("PATCH", "/apis/lockstep.dev/v1alpha1/namespaces/ml/lockstepsets/llama/status"),
            ("patch", "lockstepsets")
        );
        assert_eq!(ask("GET", "/api/v1/pods?watch=true&labelSelector=x"), ("watch", "pods"));
        assert_eq!(ask("GET", "/version"), ("get", "other"));
    }
}
