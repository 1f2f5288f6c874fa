//! A client of plain HTTPS.

use std::sync::Arc;

use http::Version;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

pub type Http = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that trusts this certificate and speaks only this version.
pub fn client(ca_pem: &[u8], version: Version) -> Http {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
    let connector = match version {
        Version::HTTP_2 => builder.enable_http2().build(),
        _ => builder.enable_http1().build(),
    };
    Client::builder(TokioExecutor::new()).http2_only(version == Version::HTTP_2).build(connector)
}
