//! A cluster that Karmada pushes to.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::cluster::{Access, Cluster, ClusterError, Credential, apply};
use crate::neighbours::{Neighbour, karmada};
use crate::proxy::{Fault, Held, Proxy, Rule, Which};

/// How long Karmada may take until it calls a member ready.
const PATIENCE: Duration = Duration::from_secs(180);

/// As whom Karmada speaks for others in a member.
const IMPERSONATOR: &str = "karmada-impersonator";

/// A member of a federation.
pub struct Member {
    name: String,
    proxy: Option<Proxy>,
    neighbours: Vec<Neighbour>,
    cluster: Cluster,
}

impl Member {
    pub(super) fn new(
        name: &str,
        cluster: Cluster,
        neighbours: Vec<Neighbour>,
        proxy: Option<Proxy>,
    ) -> Self {
        Self { name: name.to_owned(), proxy, neighbours, cluster }
    }

    /// What Karmada calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster itself.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A client of its API server, with all rights, past the proxy.
    pub fn client(&self) -> kube::Client {
        self.cluster.client()
    }

    /// The controllers of others beside it.
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.neighbours
    }

    /// The way Karmada takes to it, if faults were asked for.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Cuts it off: whatever Karmada asks it from now on is lost, and its watches end. Only with a proxy.
    pub fn cut_off(&self) -> Option<CutOff> {
        let proxy = self.proxy()?;
        let faults = [Fault::Drop, Fault::CutWatch { after_events: 0 }];
        Some(CutOff { rules: faults.map(|fault| proxy.add(Rule::new(Which::any(), fault))) })
    }

    /// Tells Karmada of it, and waits until it is ready. `by_rights`: whoever asks it through Karmada may there what he
    /// may, and not what Karmada may.
    pub(super) async fn join(&self, host: &Cluster, by_rights: bool) -> Result<(), ClusterError> {
        let access = self.way_in()?;
        let Credential::Token(token) = &access.credential else {
            return Err(self.cannot_join("Karmada takes bearer tokens only"));
        };
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.name, "namespace": karmada::CLUSTERS},
            "data": {"token": bytes(token), "caBundle": bytes(&access.ca_pem)},
        });
        apply(&host.client(), &secret).await?;
        let speaks_for = if by_rights {
            let mut secret = secret;
            secret["metadata"]["name"] = json!(format!("{}-{IMPERSONATOR}", self.name));
            secret["data"]["token"] = json!(bytes(&self.impersonator().await?));
            apply(&host.client(), &secret).await?;
            secret["metadata"]["name"].clone()
        } else {
            json!(self.name)
        };
        let kind = karmada::kind("cluster", "v1alpha1", "Cluster");
        let cluster =
            DynamicObject::new(&self.name, &kind).data(json!({"spec": self.spec(&access.url, &speaks_for)}));
        let clusters = karmada::clusters(host.client());
        let created = clusters.create(&PostParams::default(), &cluster).await;
        created.map_err(ClusterError::api(format!("join {}", self.name)))?;
        let ready = tokio::time::timeout(PATIENCE, await_condition(clusters, &self.name, is_ready)).await;
        let ready = ready.map_err(|_| self.cannot_join("Karmada does not call it ready"))?;
        ready.map(drop).map_err(|error| self.cannot_join(&error.to_string()))
    }

    fn spec(&self, url: &str, speaks_for: &Value) -> Value {
        let secret = |name: &Value| json!({"namespace": karmada::CLUSTERS, "name": name});
        // The second is for those who ask the member through Karmada's API.
        json!({
            "syncMode": "Push", "apiEndpoint": url, "secretRef": secret(&json!(self.name)),
            "impersonatorSecretRef": secret(speaks_for),
        })
    }

    /// Makes the account as which Karmada speaks for others, as `karmadactl join` does, and a token of it. Whom it may
    /// speak for Karmada itself says in the member.
    async fn impersonator(&self) -> Result<String, ClusterError> {
        let client = self.client();
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": karmada::CLUSTERS}});
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": IMPERSONATOR, "namespace": karmada::CLUSTERS},
        });
        for object in [&space, &account] {
            apply(&client, object).await?;
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(client, karmada::CLUSTERS);
        let spec = TokenRequestSpec { expiration_seconds: Some(24 * 3600), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let made = accounts.create_token_request(IMPERSONATOR, &PostParams::default(), &request).await;
        let made = made.map_err(ClusterError::api("make a token"))?;
        made.status.and_then(|status| status.token).ok_or_else(|| self.cannot_join("there is no token"))
    }

    fn way_in(&self) -> Result<Access, ClusterError> {
        let access = self.cluster.access().ok_or_else(|| self.cannot_join("it is not our own"))?;
        Ok(match self.proxy() {
            Some(proxy) => access.through(&proxy.url(), proxy.ca_pem()),
            None => access.clone(),
        })
    }

    fn cannot_join(&self, reason: &str) -> ClusterError {
        ClusterError::Access { what: format!("join {}", self.name), reason: reason.to_owned() }
    }
}

/// A member that is cut off, until [mended](Self::mend).
#[derive(Debug)]
pub struct CutOff {
    rules: [Held; 2],
}

impl CutOff {
    /// Karmada reaches it again.
    pub fn mend(self) {
        self.rules.iter().for_each(Held::remove);
    }
}

fn is_ready(cluster: Option<&DynamicObject>) -> bool {
    let conditions = cluster.and_then(|cluster| cluster.data["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
}
