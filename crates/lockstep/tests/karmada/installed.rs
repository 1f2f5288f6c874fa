//! Karmada on whose API server Lockstep is installed, and processes that run beside it as their Deployment says.

use std::path::PathBuf;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use lockstep_api::yaml_to_json;
use lockstep_testkit::Federation;
use lockstep_testkit::cluster::apply;
use lockstep_testkit::federation::Builder;
use lockstep_testkit::federation::case::{CASES, NAME};
use serde_json::{Value, json};
use tokio::process::Command;

#[path = "../rights/replica.rs"]
mod replica;

pub use self::replica::{Replica, until};
use self::replica::{free_ports, listening};

const LOCKSTEP: &str = env!("CARGO_BIN_EXE_lockstep");

/// The namespace of the installation.
pub const HOME: &str = "lockstep-system";

/// Its role, and the role of its namespace.
pub const ROLE: &str = "lockstep-federation";

/// Who it is.
pub const USER: &str = "system:serviceaccount:lockstep-system:lockstep-federation";

/// By what name the API server calls it here.
const URL: &str = "https://localhost";

/// Karmada on whose API server Lockstep is installed.
pub struct Installed {
    pub federation: Federation,
    kubeconfig: PathBuf,
}

impl Installed {
    /// Starts it and installs; nothing where there is no control plane to be had.
    pub async fn start(builder: Builder) -> Option<Self> {
        let federation = builder.start_or_skip().await?;
        let kubeconfig = federation.host().dir().expect("a folder").join("federation.kubeconfig");
        let installed = Self { federation, kubeconfig };
        let admin = installed.federation.kubeconfig().display().to_string();
        let (way_in, url) = (installed.kubeconfig.display().to_string(), format!("{URL}:1"));
        let arguments = ["install", "--karmada", "--kubeconfig", &admin, "--webhook-url", &url];
        let said = run(&[&arguments[..], &["--write-kubeconfig", &way_in]].concat()).await;
        assert!(said.contains("clusterpropagationpolicy/lockstep-federation-member created"), "{said}");
        installed.until_members_know().await;
        Some(installed)
    }

    /// Waits until Karmada has told the members what it may there, and whom Karmada may speak for.
    async fn until_members_know(&self) {
        for member in self.federation.members() {
            let bindings: Api<ClusterRoleBinding> = Api::all(member.client());
            let roles: Api<ClusterRole> = Api::all(member.client());
            until("the members know", async || {
                let known = bindings.get_opt("lockstep-federation-member").await.expect("an answer");
                let speaker = roles.get_opt("karmada-impersonator").await.expect("an answer");
                let rules = speaker.and_then(|it| it.rules).unwrap_or_default();
                let names = || rules.iter().flat_map(|it| it.resource_names.iter().flatten());
                known.is_some()
                    && names().any(|it| it == ROLE)
                    && names().any(|it| it == "system:serviceaccounts:lockstep-system")
            })
            .await;
        }
    }

    /// Starts a process with the arguments of its Deployment, but for where it listens.
    pub async fn replica(&self, name: &str) -> Replica {
        let way_in = self.kubeconfig.display().to_string();
        let url = format!("{URL}:1");
        let arguments = ["install", "--karmada-host", "--karmada-kubeconfig", &way_in, "--dry-run"];
        let printed = run(&[&arguments[..], &["--webhook-url", &url]].concat()).await;
        let mut documents = printed.split("---\n").map(|it| yaml_to_json(it).expect("YAML"));
        let deployment = documents.find(|it| it["kind"] == "Deployment").expect("a Deployment");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let written: Vec<String> =
            serde_json::from_value(container["args"].clone()).expect("a list of arguments");
        let (webhook, health) = free_ports().await;
        let mut arguments = listening(written, (webhook, health));
        for argument in &mut arguments {
            if argument.starts_with("--kubeconfig=") {
                *argument = format!("--kubeconfig={way_in}");
            }
        }
        arguments.push(format!("--identity={name}"));
        let (command, more) = arguments.split_first().expect("a command");
        let more = more.iter().map(String::as_str).collect();
        let operator = self.federation.host().process(LOCKSTEP, command, more).expect("a process");
        Replica { operator, webhook, health }
    }

    /// Whoever calls the webhook reaches this process.
    pub async fn route_admission_to(&self, replica: &Replica) {
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(self.federation.client());
        let url = format!("{URL}:{}/federation/works", replica.webhook);
        let hook = json!({"name": "works.federation.lockstep.dev", "clientConfig": {"url": url}});
        let there = Patch::Strategic(json!({"webhooks": [hook]}));
        hooks.patch(ROLE, &PatchParams::default(), &there).await.expect("patched");
    }

    /// Waits until a process leads, and Karmada's API server is told whom to trust.
    pub async fn until_leading(&self, replica: &Replica) {
        replica.until_leading().await;
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(self.federation.client());
        until("Works may be asked about", async || {
            let configuration = hooks.get(ROLE).await.expect("read");
            let mut hooks = configuration.webhooks.into_iter().flatten();
            hooks.all(|hook| hook.client_config.ca_bundle.is_some())
        })
        .await;
    }

    /// Somebody asks for an aligned rollout, and then no more.
    pub async fn nobody_asks_any_more(&self) {
        let (client, case) = (self.federation.client(), &CASES[0]);
        let namespace = self.federation.new_namespace("no-more").await.expect("a namespace");
        let members: Vec<&str> = self.federation.members().iter().map(|member| member.name()).collect();
        let mut deployment = case.manifest(&namespace, "demo:v1");
        for object in [&case.policy(&namespace, &members, case.split), &deployment] {
            apply(&client, object).await.expect("applied");
        }
        let rollouts = self.rollouts();
        let ours = async || {
            let all = rollouts.list(&ListParams::default()).await.expect("a list").items;
            all.into_iter().find(|it| it.metadata.namespace.as_deref() == Some(&namespace))
        };
        until("it is complete", async || {
            ours().await.is_some_and(|it| it.data["status"]["phase"] == "Complete")
        })
        .await;
        deployment["metadata"]["annotations"]["federation.lockstep.dev/rollout"] = json!("alone");
        apply(&client, &deployment).await.expect("applied");
        until("it is given back", async || ours().await.is_none()).await;
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
        let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
        api.delete(NAME, &kube::api::DeleteParams::default()).await.expect("deleted");
    }

    /// Somebody spoils the Secret: new certificates are made, written and trusted.
    pub async fn certificates_are_mended(&self) {
        let secrets: Api<Secret> = Api::namespaced(self.federation.client(), HOME);
        let name = "lockstep-webhook-cert";
        let spoiled = Patch::Merge(json!({"data": {"tls.crt": "c3BvaWxlZA=="}}));
        let spoiled = secrets.patch(name, &PatchParams::default(), &spoiled).await.expect("spoiled");
        until("another certificate", async || {
            let now = secrets.get(name).await.expect("a Secret");
            now.metadata.resource_version != spoiled.metadata.resource_version
        })
        .await;
    }

    /// Whether the status of any rollout has a reason with these words.
    pub async fn rollouts_say(&self, words: &str) -> bool {
        let all = self.rollouts().list(&ListParams::default()).await.expect("a list").items;
        let reasons = all.iter().filter_map(|it| it.data["status"]["reasons"].as_array()).flatten();
        let mut messages = reasons.filter_map(|it: &Value| it["message"].as_str());
        messages.any(|it| it.contains(words))
    }

    fn rollouts(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "FederatedRollout");
        Api::all_with(self.federation.client(), &ApiResource::from_gvk(&kind))
    }
}

async fn run(arguments: &[&str]) -> String {
    let ran = Command::new(LOCKSTEP).args(arguments).kill_on_drop(true).output().await.expect("it runs");
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}
