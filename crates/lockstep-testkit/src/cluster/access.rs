//! How to reach an API server, and as whom.

use std::path::Path;

use http::header::{HeaderValue, USER_AGENT};
use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::ClusterError;
use crate::pki::Identity;

/// An address, whom to trust there, and who one is.
#[derive(Debug, Clone)]
pub struct Access {
    /// The address of the API server, or of a proxy before it.
    pub url: String,
    /// The authority that signed its certificate.
    pub ca_pem: String,
    /// Who one is.
    pub credential: Credential,
}

/// Who one is.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A bearer token.
    Token(String),
    /// A client certificate.
    Certificate(Identity),
}

impl Access {
    /// The same person by another way.
    pub fn through(&self, url: &str, ca_pem: &str) -> Self {
        Self { url: url.to_owned(), ca_pem: ca_pem.to_owned(), ..self.clone() }
    }

    /// The kubeconfig, as JSON (which is YAML).
    pub fn kubeconfig(&self) -> Value {
        let base64 = |pem: &str| json!(ByteString(pem.as_bytes().to_vec()));
        let user = match &self.credential {
            Credential::Token(token) => json!({"token": token}),
            Credential::Certificate(identity) => json!({
                "client-certificate-data": base64(&identity.certificate_pem),
                "client-key-data": base64(&identity.key_pem),
            }),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "test",
                "cluster": {"server": self.url, "certificate-authority-data": base64(&self.ca_pem)},
            }],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        })
    }

    /// Writes the kubeconfig to a file.
    pub fn write(&self, path: &Path) -> Result<(), ClusterError> {
        std::fs::write(path, format!("{:#}\n", self.kubeconfig())).map_err(ClusterError::file(path))
    }

    /// A client that calls itself `agent`, the name by which the audit log knows it.
    pub async fn client(&self, agent: &str) -> Result<kube::Client, ClusterError> {
        let text = self.kubeconfig().to_string();
        let kubeconfig = Kubeconfig::from_yaml(&text).map_err(ClusterError::access(&self.url))?;
        client_from(kubeconfig, agent, &self.url).await
    }
}

/// A client by a kubeconfig. It does not retry by itself: a refusal is an answer.
pub(super) async fn client_from(
    kubeconfig: Kubeconfig,
    agent: &str,
    what: &str,
) -> Result<kube::Client, ClusterError> {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(ClusterError::access(what))?;
    config.default_retry = false;
    let agent = HeaderValue::from_str(agent).map_err(ClusterError::access(agent))?;
    config.headers.push((USER_AGENT, agent));
    kube::Client::try_from(config).map_err(ClusterError::access(what))
}
