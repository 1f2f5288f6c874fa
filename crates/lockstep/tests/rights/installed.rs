//! A cluster in which Lockstep is installed, and operators that run beside it as their Deployment says.

use std::path::PathBuf;
use std::process::Output;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::Cluster;
use lockstep_testkit::cluster::{Builder, Credential};
use serde_json::json;
use tokio::process::Command;

#[path = "replica.rs"]
pub mod replica;

pub use self::replica::{Replica, until};
use self::replica::{free_ports, listening};
use crate::cluster::LOCKSTEP;

/// The namespace of the installation.
pub const HOME: &str = "lockstep-system";

/// Who the operator is.
pub const USER: &str = "system:serviceaccount:lockstep-system:lockstep";

/// Its role, and the role of its namespace.
pub const ROLE: &str = "lockstep";

/// A cluster in which Lockstep is installed.
pub struct Installed {
    pub cluster: Cluster,
    kubeconfig: PathBuf,
}

impl Installed {
    /// Starts a cluster and installs; nothing where there is no control plane to be had.
    pub async fn start(builder: Builder) -> Option<Self> {
        Self::start_with(builder, &[]).await
    }

    /// The same, with more to be installed.
    pub async fn start_with(builder: Builder, more: &[&str]) -> Option<Self> {
        let cluster = builder.not_a_guest().nodes(NodeGroup::new("node", 10)).start_or_skip().await?;
        let kubeconfig = cluster.dir().expect("a folder").join("operator.kubeconfig");
        let installed = Self { cluster, kubeconfig };
        let done = installed.run(LOCKSTEP.into(), &[&["install"], more].concat()).await;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        installed.log_in().await;
        Some(installed)
    }

    /// Gets a token of the ServiceAccount, as a kubelet does for its pods. An embedded cluster does not tell people
    /// apart.
    async fn log_in(&self) {
        if self.cluster.is_embedded() {
            let access = self.cluster.access().expect("a way in");
            return access.write(&self.kubeconfig).expect("written");
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(self.cluster.client(), HOME);
        let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let token = accounts.create_token_request("lockstep", &PostParams::default(), &request).await;
        let token = token.expect("a token").status.and_then(|status| status.token).expect("a token");
        let mut access = self.cluster.access().expect("a way in").clone();
        access.credential = Credential::Token(token);
        access.write(&self.kubeconfig).expect("written");
    }

    /// Starts an operator with the arguments of the Deployment, but for where it listens.
    pub async fn replica(&self, name: &str) -> Replica {
        self.replica_with(name, &[]).await
    }

    /// The same, with more arguments.
    pub async fn replica_with(&self, name: &str, more: &[&str]) -> Replica {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client(), HOME);
        let pod = deployments.get("lockstep").await.expect("a deployment").spec.template.spec;
        let container = pod.expect("a pod").containers.remove(0);
        let (webhook, health) = free_ports().await;
        let mut arguments = listening(container.args.unwrap_or_default(), (webhook, health));
        arguments[0] = format!("--identity={name}");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let operator = self.cluster.operator_through(LOCKSTEP, &self.kubeconfig, &arguments);
        Replica { operator: operator.expect("an operator"), webhook, health }
    }

    /// Does what kube-proxy would: whoever calls the webhook's Service reaches this replica.
    pub async fn route_admission_to(&self, replica: &Replica) {
        self.route_admission_to_port(replica.webhook).await;
    }

    /// Whoever calls the webhook's Service reaches this port of the machine. The name by which it is called, and that
    /// its certificate must have, stays as installed.
    pub async fn route_admission_to_port(&self, port: u16) {
        let services: Api<Service> = Api::namespaced(self.cluster.client(), HOME);
        let here = json!({"spec": {"type": "ExternalName", "externalName": "localhost"}});
        let as_is = PatchParams::default();
        services.patch("lockstep-webhook", &as_is, &Patch::Merge(&here)).await.expect("patched");
        let service = json!({"name": "lockstep-webhook", "namespace": HOME, "port": port});
        let port = |webhooks: &[&str]| {
            let webhook = |name: &&str| json!({"name": name, "clientConfig": {"service": service}});
            json!({"webhooks": webhooks.iter().map(webhook).collect::<Vec<_>>()})
        };
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(self.cluster.client());
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.cluster.client());
        let sets = port(&["validate.lockstep.dev"]);
        validating.patch("lockstep", &as_is, &Patch::Strategic(&sets)).await.expect("patched");
        let guards = ["validate", "delete", "update"].map(|name| format!("{name}.budgets.lockstep.dev"));
        let guards = port(&guards.each_ref().map(String::as_str));
        validating.patch("lockstep-budgets", &as_is, &Patch::Strategic(&guards)).await.expect("patched");
        let guard = port(&["evict.budgets.lockstep.dev"]);
        mutating.patch("lockstep-budgets", &as_is, &Patch::Strategic(&guard)).await.expect("patched");
        let definitions: Api<CustomResourceDefinition> = Api::all(self.cluster.client());
        let port = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"service": service}}}}});
        for definition in definitions.list(&ListParams::default()).await.expect("definitions") {
            let conversion = definition.spec.conversion.as_ref();
            if conversion.is_some_and(|conversion| conversion.strategy == "Webhook") {
                let name = definition.name_any();
                definitions.patch(&name, &as_is, &Patch::Merge(&port)).await.expect("patched");
            }
        }
    }

    /// Waits until a replica leads and has seen everything, and API servers are told whom to trust.
    pub async fn until_leading(&self, replica: &Replica) {
        replica.until_leading().await;
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(self.cluster.client());
        until("evictions may be asked about", async || {
            let guards = mutating.get_opt("lockstep-budgets").await.expect("read");
            let mut hooks = guards.into_iter().flat_map(|guards| guards.webhooks.unwrap_or_default());
            hooks.all(|hook| hook.client_config.ca_bundle.is_some())
        })
        .await;
    }

    /// Runs a program with all rights.
    pub async fn run(&self, program: PathBuf, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).arg("--kubeconfig").arg(self.cluster.kubeconfig());
        command.kill_on_drop(true).output().await.expect("it runs")
    }

    /// Runs kubectl with all rights.
    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        self.run(self.cluster.program("kubectl").expect("kubectl"), arguments).await
    }
}
