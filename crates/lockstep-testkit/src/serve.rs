//! An HTTPS server inside the test process: what stands in for somebody else's.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::pki::{Authority, Identity, PkiError};

/// The body of an answer, known at once or streamed.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// How many requests one HTTP/2 connection may have open: a controller's watches all share one.
const STREAMS: u32 = 1000;

/// No answer: the connection ends without a word. A client of HTTP/2 sees its stream reset; its other streams
/// on the same connection go on.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the connection is broken on purpose")]
pub struct Broken;

/// A body ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Where it came from, it broke off.
    #[error(transparent)]
    Passed(#[from] hyper::Error),
    /// On purpose.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No certificate to serve with.
    #[error(transparent)]
    Certificate(#[from] PkiError),
    /// A certificate or key that is not understood.
    #[error("cannot read the PEM of {what}: {source}")]
    Pem {
        /// Whose.
        what: &'static str,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// TLS refuses what it was given.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// No port to listen on.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(#[source] io::Error),
}

/// An HTTPS server on a port of 127.0.0.1, HTTP/1 and HTTP/2. It ends when dropped, and its connections and
/// the requests under way with it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    ca_pem: String,
    life: watch::Sender<()>,
}

impl Server {
    /// Serves with a certificate of this authority.
    pub async fn start<H, F>(authority: &Authority, handler: H) -> Result<Self, ServeError>
    where
        H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Response<Body>, Broken>> + Send + 'static,
    {
        let acceptor = acceptor(&authority.serve(&[])?)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(ServeError::Listen)?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        let (life, alive) = watch::channel(());
        let alive = Alive(alive);
        alive.clone().spawn(accept(listener, acceptor, alive, Arc::new(handler)));
        Ok(Self { address, ca_pem: authority.certificate_pem().to_owned(), life })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as `https://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate a client must trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Ends it and waits until its last task is gone.
    pub async fn stop(self) {
        self.life.send_replace(());
        self.life.closed().await;
    }
}

/// Held by every task of a server, so each ends with the server and the server knows when all have ended.
#[derive(Debug, Clone)]
struct Alive(watch::Receiver<()>);

impl Alive {
    fn spawn(mut self, task: impl Future + Send + 'static) {
        tokio::spawn(async move {
            tokio::select! {
                _ = task => {}
                // Told to stop, or the server was dropped: the same.
                _ = self.0.changed() => {}
            }
        });
    }
}

// Hyper starts a task per HTTP/2 request: with the runtime's own executor they would outlive the server.
impl<F: Future + Send + 'static> hyper::rt::Executor<F> for Alive {
    fn execute(&self, task: F) {
        self.clone().spawn(task);
    }
}

fn acceptor(identity: &Identity) -> Result<TlsAcceptor, ServeError> {
    let pem = |what| move |source| ServeError::Pem { what, source };
    let certificate =
        CertificateDer::from_pem_slice(identity.certificate_pem.as_bytes()).map_err(pem("a certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).map_err(pem("a private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept<H, F>(listener: TcpListener, acceptor: TlsAcceptor, alive: Alive, handler: Arc<H>)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, Broken>> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = converse(stream, acceptor.clone(), alive.clone(), Arc::clone(&handler));
                alive.clone().spawn(connection);
            }
            // Out of file descriptors, or a client gone before it was accepted: the next may do better.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
    }
}

async fn converse<H, F>(stream: TcpStream, acceptor: TlsAcceptor, alive: Alive, handler: Arc<H>)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, Broken>> + Send + 'static,
{
    // Watch events are small and must not wait for more to come.
    let served = async {
        stream.set_nodelay(true)?;
        let stream = acceptor.accept(stream).await?;
        let mut server = auto::Builder::new(alive);
        server.http2().max_concurrent_streams(STREAMS);
        server.serve_connection(TokioIo::new(stream), service_fn(|request| handler(request))).await
    };
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A body that is known at once.
pub fn whole(content: impl Into<Bytes>) -> Body {
    Full::new(content.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An answer in JSON.
pub fn json(status: http::StatusCode, content: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(whole(content.to_string()));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
