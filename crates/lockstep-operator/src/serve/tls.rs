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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use lockstep_testkit::pki::Authority;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Semaphore;
    use tokio_rustls::{TlsConnector, client::TlsStream};

    use super::*;
    use crate::serve::shutdown;

    async fn connect(port: u16, authority: &Authority) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        let pem = authority.certificate_pem().as_bytes();
        roots.add(CertificateDer::from_pem_slice(pem).expect("PEM")).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().expect("TLS");
        let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        TlsConnector::from(config).connect(name, TcpStream::connect(("127.0.0.1", port)).await?).await
    }

    async fn ask(stream: &mut TlsStream<TcpStream>) {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("asked");
    }

    #[tokio::test]
    async fn what_was_begun_is_answered_and_nothing_new_is_accepted() {
        let authority = Authority::new("test").expect("an authority");
        let (begun, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (began, end) = (Arc::clone(&begun), Arc::clone(&may_end));
        let router = Router::new().route(
            "/",
            get(async move || {
                began.add_permits(1);
                end.acquire().await.expect("open").forget();
                "done"
            }),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (trigger, told) = shutdown();
        let shown = ServingCertificate::none();
        let server = tokio::spawn(serve_tls(listener, router, Arc::clone(&shown), told));
        connect(port, &authority).await.expect_err("no certificate, no handshake");

        let identity = authority.serve(&[]).expect("an identity");
        shown.install(identity.certificate_pem.as_bytes(), identity.key_pem.as_bytes()).expect("fits");
        let mut busy = connect(port, &authority).await.expect("a handshake");
        ask(&mut busy).await;
        begun.acquire().await.expect("open").forget();
        let mut idle = connect(port, &authority).await.expect("a handshake");

        trigger.shut_down();
        let mut nothing = Vec::new();
        let _ = idle.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty(), "who was idle is let go");
        TcpStream::connect(("127.0.0.1", port)).await.expect_err("nothing new");
        assert!(!server.is_finished(), "it waits for who is busy");
        may_end.add_permits(1);
        let mut answer = String::new();
        let _ = busy.read_to_string(&mut answer).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
        server.await.expect("no panic").expect("ended well");
    }
}
