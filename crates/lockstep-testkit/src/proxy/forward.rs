//! Sends requests on to the API server.

use std::sync::Arc;
use std::time::Duration;

use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, Request, Response, Uri, Version, header, request};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::ProxyError;
use crate::serve::Body;

/// Headers between two neighbours, which a proxy does not pass on.
const HOP: [header::HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// How long a connection may wait to be used again: well below the API server's own patience, else a write
/// could meet a connection that is just being closed, a fault that no rule asked for.
const IDLE: Duration = Duration::from_secs(30);

/// An API server: where it is, and how to know it.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its `https` URL.
    pub url: String,
    /// The certificate (or several) that signed its own.
    pub ca_pem: String,
}

/// A client of the API server.
#[derive(Debug)]
pub(super) struct Forwarder {
    base: Uri,
    client: Client<HttpsConnector<HttpConnector>, Body>,
}

impl Forwarder {
    pub(super) fn new(upstream: &Upstream) -> Result<Self, ProxyError> {
        let base: Uri = upstream.url.parse().map_err(|_| ProxyError::Url(upstream.url.clone()))?;
        if base.scheme() != Some(&Scheme::HTTPS) || base.authority().is_none() {
            return Err(ProxyError::Url(upstream.url.clone()));
        }
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(upstream.ca_pem.as_bytes()) {
            roots.add(certificate.map_err(ProxyError::Pem)?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // HTTP/1 only, a connection per request under way: in HTTP/2 a watch whose client does not read could
        // use up the window that all requests share.
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .wrap_connector(tcp);
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        Ok(Self { base, client: client.build(connector) })
    }

    /// Sends a request on and waits for the head of its answer.
    pub(super) async fn send(&self, head: &request::Parts, body: Body) -> Result<Response<Incoming>, Error> {
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = self.target(&head.uri);
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = head.headers.clone();
        request.headers_mut().remove(header::HOST);
        strip(request.headers_mut());
        let mut response = self.client.request(request).await?;
        strip(response.headers_mut());
        *response.version_mut() = Version::default();
        Ok(response)
    }

    /// The same path below the API server's URL.
    fn target(&self, uri: &Uri) -> Uri {
        let mut parts = self.base.clone().into_parts();
        let asked = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = format!("{}{asked}", self.base.path().trim_end_matches('/'));
        // Two valid paths make a valid one; else the API server's answer will tell.
        parts.path_and_query = path.parse().ok().or(parts.path_and_query);
        Uri::from_parts(parts).unwrap_or_else(|_| self.base.clone())
    }
}

fn strip(headers: &mut HeaderMap) {
    for name in HOP {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Authority;

    #[test]
    fn paths_are_kept_below_the_url() {
        let ca_pem = Authority::new("test").unwrap().certificate_pem().to_owned();
        let table = [
            ("https://a:1", "/api/v1/pods?x=y", "https://a:1/api/v1/pods?x=y"),
            ("https://a:1/", "/", "https://a:1/"),
            ("https://a:1/clusters/m/proxy", "https://b:2/api/v1", "https://a:1/clusters/m/proxy/api/v1"),
        ];
        for (url, asked, expected) in table {
            let upstream = Upstream { url: url.to_owned(), ca_pem: ca_pem.clone() };
            let target = Forwarder::new(&upstream).unwrap().target(&asked.parse().unwrap());
            assert_eq!(target.to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_upstream_is_refused() {
        let ca_pem = Authority::new("test").unwrap().certificate_pem().to_owned();
        for url in ["http://127.0.0.1:1", "127.0.0.1", "", "https://"] {
            let upstream = Upstream { url: url.to_owned(), ca_pem: ca_pem.clone() };
            assert!(matches!(Forwarder::new(&upstream), Err(ProxyError::Url(_))), "{url}");
        }
    }
}
