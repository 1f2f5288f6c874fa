//! The way to a member: Karmada's proxy of its API server.

use http::{Request, Uri};
use kube::Client;
use kube::client::Body;

/// A client of a member, through Karmada's API server.
pub(super) fn client(karmada: &Client, cluster: &str) -> Client {
    let prefix = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}/proxy");
    let karmada = karmada.clone();
    let send = move |mut request: Request<Body>| {
        let asked = request.uri().path_and_query().map_or("/", |it| it.as_str());
        // What was a path is one with a path before it; otherwise the request goes as it is, and is refused.
        if let Ok(longer) = format!("{prefix}{asked}").parse::<Uri>() {
            *request.uri_mut() = longer;
        }
        let karmada = karmada.clone();
        async move { karmada.send(request).await }
    };
    Client::new(tower::service_fn(send), "default")
}
