//! The server itself: both versions of HTTP, broken connections, and an end that leaves nothing behind.

#![allow(clippy::unwrap_used)]

mod raw;

use std::future::pending;
use std::time::Duration;

use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use lockstep_testkit::pki::Authority;
use lockstep_testkit::proxy::{Proxy, Upstream};
use lockstep_testkit::serve::{self, Broken, Server};
use raw::client;

fn get(url: &str, path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("{url}{path}")).body(Full::default()).unwrap()
}

/// Says the version it was asked in and the encoding it may answer in; breaks on `/break` and hangs on `/hang`.
async fn parrot() -> (Server, Authority) {
    let authority = Authority::new("test").unwrap();
    let server = Server::start(&authority, |request| async move {
        match request.uri().path() {
            "/break" => Err(Broken),
            "/hang" => pending().await,
            _ => {
                let encoding = request.headers().get("accept-encoding");
                let encoding = encoding.map_or("plain", |value| value.to_str().unwrap());
                Ok(http::Response::new(serve::whole(format!("{:?} {encoding}", request.version()))))
            }
        }
    });
    (server.await.unwrap(), authority)
}

#[tokio::test]
async fn both_versions_are_served() {
    let (server, _) = parrot().await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let client = client(server.ca_pem().as_bytes(), version);
        let response = client.request(get(&server.url(), "/")).await.unwrap();
        assert_eq!(response.version(), version);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, format!("{version:?} plain"));
        assert!(client.request(get(&server.url(), "/break")).await.is_err());
        assert_eq!(client.request(get(&server.url(), "/")).await.unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn both_versions_pass_the_proxy() {
    let (server, authority) = parrot().await;
    let upstream = Upstream { url: server.url(), ca_pem: server.ca_pem().to_owned() };
    let proxy = Proxy::start(&upstream, &authority).await.unwrap();
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let client = client(proxy.ca_pem().as_bytes(), version);
        let response = client.request(get(&proxy.url(), "/")).await.unwrap();
        assert_eq!((response.version(), response.status()), (version, StatusCode::OK));
        assert!(client.request(get(&proxy.url(), "/break")).await.is_err());
    }
    let mut exec = get(&proxy.url(), "/api/v1/namespaces/x/pods/y/exec");
    exec.headers_mut().insert("connection", "Upgrade".parse().unwrap());
    exec.headers_mut().insert("upgrade", "websocket".parse().unwrap());
    let refused = client(proxy.ca_pem().as_bytes(), Version::HTTP_11).request(exec).await.unwrap();
    assert_eq!(refused.status(), StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test]
async fn watches_are_asked_for_in_plain() {
    let (server, authority) = parrot().await;
    let upstream = Upstream { url: server.url(), ca_pem: server.ca_pem().to_owned() };
    let proxy = Proxy::start(&upstream, &authority).await.unwrap();
    let client = client(proxy.ca_pem().as_bytes(), Version::HTTP_2);
    let table = [("/api/v1/pods", "HTTP/1.1 gzip"), ("/api/v1/pods?watch=true", "HTTP/1.1 plain")];
    for (path, expected) in table {
        let mut request = get(&proxy.url(), path);
        request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        let response = client.request(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), expected);
    }
}

#[tokio::test]
async fn the_end_of_a_server_ends_its_tasks() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (server, _) = parrot().await;
        let client = client(server.ca_pem().as_bytes(), version);
        let hanging = tokio::spawn(client.request(get(&server.url(), "/hang")));
        client.request(get(&server.url(), "/")).await.unwrap();
        let address = server.address();
        tokio::time::timeout(Duration::from_secs(60), server.stop()).await.unwrap();
        assert!(hanging.await.unwrap().is_err());
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn a_server_that_is_dropped_ends() {
    let (server, _) = parrot().await;
    let client = client(server.ca_pem().as_bytes(), Version::HTTP_2);
    let hanging = client.request(get(&server.url(), "/hang"));
    let hanging = tokio::spawn(hanging);
    client.request(get(&server.url(), "/")).await.unwrap();
    drop(server);
    let ended = tokio::time::timeout(Duration::from_secs(60), hanging).await.unwrap();
    assert!(ended.unwrap().is_err());
}
