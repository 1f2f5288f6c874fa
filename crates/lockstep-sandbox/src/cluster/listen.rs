//! The way in for everybody else: a port of this machine, with TLS and a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::service::InProcess;
use super::{Cluster, Task};
use crate::base64;

/// A port that cannot be listened on.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The port is taken, or not for us.
    #[error("cannot listen on port {port} of this machine: {source}")]
    Port {
        /// Which.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate cannot be served.
    #[error("cannot serve the certificate: {0}")]
    Tls(#[from] rustls::Error),
}

/// How others get in.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where.
    pub address: SocketAddr,
    /// Whom to trust, as PEM.
    pub authority: String,
    /// What to show.
    pub token: String,
}

impl Access {
    /// A kubeconfig, which is JSON, which is YAML.
    pub fn kubeconfig(&self, name: &str) -> String {
        let server = format!("https://{}", self.address);
        let authority = base64::encode(self.authority.as_bytes());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": name, "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        });
        format!("{config:#}\n")
    }
}

/// A port that is listened on, for as long as this is held.
#[derive(Debug)]
pub struct Listening {
    /// How others get in.
    pub access: Access,
    _accepting: Task,
}

impl Cluster {
    /// Listens on a port of this machine; 0 is any that is free.
    pub async fn listen(&self, port: u16) -> Result<Listening, ListenError> {
        let failed = |source| ListenError::Port { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let key = KeyPair::generate()?;
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names)?.self_signed(&key)?;
        // Nobody guesses a fresh key; its fingerprint is as good as any token.
        let token: Arc<str> = Arc::from(crate::server::identity_of(&key.serialize_der()));
        let access = Access { address, authority: certificate.pem(), token: token.to_string() };
        let acceptor = acceptor(&certificate, &key)?;
        let accepting = tokio::spawn(accept(listener, acceptor, self.service().guarded(token)));
        Ok(Listening { access, _accepting: Task(accepting) })
    }
}

fn acceptor(certificate: &rcgen::Certificate, key: &KeyPair) -> Result<TlsAcceptor, ListenError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, service: InProcess) {
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        let _ = socket.set_nodelay(true);
        let (acceptor, service) = (acceptor.clone(), service.clone());
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let server = auto::Builder::new(TokioExecutor::new());
            // A client that goes in the middle of a word is its own matter.
            let _ = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
        });
    }
}
