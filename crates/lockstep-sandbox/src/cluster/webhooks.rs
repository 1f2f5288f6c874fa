//! Who carries questions to webhooks.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::base64;
use crate::server::Call;

/// What comes back from a webhook: a review, or why there is none.
pub type Carried<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// Carries a question to a webhook.
pub trait Caller: fmt::Debug + Send + Sync {
    /// The review that comes back, or why there is none. Where the service of the webhook is somewhere outside of the
    /// cluster, `elsewhere` is its address there.
    fn call<'a>(&'a self, call: &'a Call, elsewhere: Option<String>) -> Carried<'a>;
}

/// A webhook in this process: a review in, a review out.
pub type Handler = Arc<dyn Fn(Value) -> Carried<'static> + Send + Sync>;

/// Goes to webhooks over HTTPS. Services are found where one says they are, or they themselves (`ExternalName`), since
/// nobody routes to them here; some webhooks may be in this process.
#[derive(Default)]
pub struct Webhooks {
    services: Mutex<BTreeMap<String, String>>,
    here: Mutex<BTreeMap<String, Handler>>,
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").finish_non_exhaustive()
    }
}

impl Webhooks {
    /// Says where a service is: `system/webhook` at `127.0.0.1:9443`.
    pub fn route(&self, service: &str, address: &str) {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        services.insert(service.to_owned(), address.to_owned());
    }

    /// Answers for a webhook in this process, by its name.
    pub fn answer(&self, webhook: &str, handler: Handler) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.insert(webhook.to_owned(), handler);
    }

    /// Where a question goes: the address, the name it is asked under, and the path.
    fn way(&self, client: &Value, elsewhere: Option<String>) -> Result<Way, String> {
        if let Some(url) = client["url"].as_str() {
            let uri: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
            let host = uri.host().ok_or_else(|| format!("{url} names no host"))?.to_owned();
            let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
            return Ok(Way { address: format!("{host}:{}", uri.port_u16().unwrap_or(443)), host, path });
        }
        let service = &client["service"];
        let text = |key: &str| service[key].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let address = services.get(&format!("{namespace}/{name}")).cloned().or(elsewhere);
        let address = address.ok_or_else(|| format!("service {name:?} not found"))?;
        let path = if text("path").is_empty() { "/" } else { text("path") };
        Ok(Way { address, host: format!("{name}.{namespace}.svc"), path: path.to_owned() })
    }
}

struct Way {
    address: String,
    host: String,
    path: String,
}

impl Caller for Webhooks {
    fn call<'a>(&'a self, call: &'a Call, elsewhere: Option<String>) -> Carried<'a> {
        let handler = self.here.lock().unwrap_or_else(PoisonError::into_inner).get(&call.name).cloned();
        if let Some(handler) = handler {
            return handler(call.body.clone());
        }
        Box::pin(async move {
            let way = self.way(&call.client, elsewhere)?;
            let trusted = call.client["caBundle"].as_str().and_then(base64::decode).unwrap_or_default();
            post(&way, &trusted, &call.body).await
        })
    }
}

async fn post(way: &Way, trusted: &[u8], body: &Value) -> Result<Value, String> {
    let tls = TlsConnector::from(Arc::new(trust(trusted)?));
    let host = ServerName::try_from(way.host.clone()).map_err(|error| error.to_string())?;
    let said = |error: std::io::Error| format!("{}: {error}", way.address);
    let socket = TcpStream::connect(&way.address).await.map_err(said)?;
    let stream = tls.connect(host, socket).await.map_err(said)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let connection = tokio::spawn(connection);
    let request = Request::post(&way.path)
        .header(HOST, &way.host)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let code = response.status();
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    connection.abort();
    if !code.is_success() {
        return Err(format!("{code}: {}", String::from_utf8_lossy(&body)));
    }
    serde_json::from_slice(&body).map_err(|error| format!("the answer cannot be read: {error}"))
}

/// Trusts those who are named, and nobody else: no webhook here has a certificate of the wide world.
fn trust(pem: &[u8]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("caBundle: {error:?}"))?;
        roots.add(certificate).map_err(|error| format!("caBundle: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
