//! HTTPS with a certificate that changes while it serves.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{DRAIN, ServingCertificate, Shutdown};

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long to wait when no connection can be accepted, for want of file descriptors for example.
const BREATH: Duration = Duration::from_millis(50);

/// Serves until it is told to end, and then until what was begun is answered. A connection that stands keeps the
/// certificate it began with.
pub async fn serve_tls(
    listener: TcpListener,
    router: Router,
    certificate: Arc<ServingCertificate>,
    shutdown: Shutdown,
) -> Result<(), rustls::Error> {
    let acceptor = acceptor(certificate)?;
    let open = GracefulShutdown::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let served = converse(stream, acceptor.clone(), router.clone(), open.watcher());
                    tokio::spawn(async move {
                        if let Err(error) = served.await {
                            tracing::debug!(%error, "a connection ended early");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(BREATH).await;
                }
            },
        }
    }
    drop(listener);
    if timeout(DRAIN, open.shutdown()).await.is_err() {
        tracing::warn!("connections are still open; not waiting any longer");
    }
    Ok(())
}

fn acceptor(certificate: Arc<ServingCertificate>) -> Result<TlsAcceptor, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn converse(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    router: Router,
    open: Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no handshake in time");
    let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await.map_err(|_| late())??;
    let server = auto::Builder::new(TokioExecutor::new());
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    open.watch(connection.into_owned()).await
}
