//! The way into Karmada's API server for `lockstep federation`: a kubeconfig with a token of its own account.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use lockstep_operator::operator::FEDERATION;
use serde_json::{Value, json};

use crate::install::federation::TOKEN;

/// How long the API server's controllers may take to make a token.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kubeconfig, once there is a token in the Secret that waits for it.
pub async fn way_in(
    client: &Client,
    config: &Config,
    server: Option<&str>,
    namespace: &str,
) -> Result<Value> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let waiting = await_condition(secrets, TOKEN, |it: Option<&Secret>| token(it).is_some());
    let nobody = || {
        format!(
            "nobody puts a token into secret/{TOKEN} in namespace {namespace}: the controller manager beside Karmada's \
             API server does that, with its serviceaccount-token controller"
        )
    };
    let secret = tokio::time::timeout(PATIENCE, waiting).await.with_context(nobody)?;
    let secret = secret.with_context(|| format!("cannot see secret/{TOKEN}"))?;
    let token = token(secret.as_ref()).with_context(nobody)?;
    let server = server.map_or_else(|| config.cluster_url.to_string(), str::to_owned);
    let authorities: Vec<String> = config.root_cert.iter().flatten().map(|it| pem(it)).collect();
    Ok(kubeconfig(server.trim_end_matches('/'), &authorities.concat(), &token))
}

fn token(secret: Option<&Secret>) -> Option<String> {
    let token = secret?.data.as_ref()?.get("token")?;
    String::from_utf8(token.0.clone()).ok().filter(|it| !it.is_empty())
}

fn pem(certificate: &[u8]) -> String {
    let text = json!(ByteString(certificate.to_vec()));
    let text = text.as_str().unwrap_or_default();
    let lines: Vec<String> =
        text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

fn kubeconfig(server: &str, authorities: &str, token: &str) -> Value {
    let mut cluster = json!({"server": server});
    // Without, the authorities of the machine are trusted.
    if !authorities.is_empty() {
        cluster["certificate-authority-data"] = json!(ByteString(authorities.as_bytes().to_vec()));
    }
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "karmada",
        "clusters": [{"name": "karmada", "cluster": cluster}],
        "users": [{"name": FEDERATION, "user": {"token": token}}],
        "contexts": [{"name": "karmada", "context": {"cluster": "karmada", "user": FEDERATION}}],
    })
}

/// Writes a file that only its owner may read.
pub fn write_private(path: &Path, text: &str) -> Result<()> {
    let doing = || format!("cannot write {}", path.display());
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let write = |mut file: File| {
        // One that was there before may have been open to others.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())
    };
    file.and_then(write).with_context(doing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::Kubeconfig;

    #[test]
    fn what_is_written_can_be_read() {
        let authority = pem(&[7; 100]);
        let text = lockstep_api::json_to_yaml(&kubeconfig("https://karmada:5443", &authority, "secret"));
        let read = Kubeconfig::from_yaml(&text).unwrap();
        let cluster = read.clusters[0].cluster.clone().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://karmada:5443"));
        let data: ByteString = serde_json::from_value(json!(cluster.certificate_authority_data)).unwrap();
        assert_eq!(data.0, authority.as_bytes());
        assert!(authority.lines().all(|line| line.len() <= 64));
        assert!(!kubeconfig("https://karmada", "", "secret").to_string().contains("authority"));
    }
}
