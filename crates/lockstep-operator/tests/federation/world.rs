//! Karmada with two members, and Lockstep beside it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use lockstep_api::federation::definition;
use lockstep_federation::interpret::Kinds;
use lockstep_operator::admission::{WORKS, federation_router};
use lockstep_operator::certificates::Lifetimes;
use lockstep_operator::certificates::issue::issue;
use lockstep_operator::certificates::next::Next;
use lockstep_operator::clock::Clock;
use lockstep_operator::federation::{self, Setting, Stamper, webhook};
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::{OperatorOptions, run};
use lockstep_operator::serve::{ServingCertificate, Trigger, serve_tls, shutdown};
use lockstep_testkit::Federation;
use lockstep_testkit::federation::Builder;
use lockstep_testkit::federation::case::Case;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

const CONFIGURATION: &str = "lockstep-federation";

/// Karmada, its members, and one replica of Lockstep.
pub struct World {
    federation: Federation,
    metrics: Metrics,
    aligner: Mutex<AbortHandle>,
    tasks: Mutex<JoinSet<()>>,
    _trigger: Trigger,
}

impl World {
    /// Starts everything, the members with what is asked for.
    pub async fn start(with: impl FnOnce(Builder) -> Builder) -> Option<Self> {
        let builder = Federation::builder().members(["member1", "member2", "member3"]).proxies();
        let federation = with(builder).start_or_skip().await?;
        let client = federation.client();
        for definition in definition::all() {
            apply(&client, &definition).await;
        }
        let mut tasks = JoinSet::new();
        let (trigger, told) = shutdown();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let names = vec!["127.0.0.1".to_owned()];
        let made =
            issue(Next::Anew, None, &names, &Lifetimes::default(), Timestamp::now()).expect("a certificate");
        let shown = ServingCertificate::none();
        shown.install(made.certificate.as_bytes(), made.key.as_bytes()).expect("installed");
        let metrics = Metrics::new();
        let router = federation_router(Stamper::new(client.clone(), metrics.clone(), Kinds::default()));
        tasks.spawn(async move { serve_tls(listener, router, shown, told).await.expect("served") });
        let bundle = STANDARD.encode(made.authorities);
        let config = json!({"url": format!("https://127.0.0.1:{port}{WORKS}"), "caBundle": bundle});
        apply(
            &client,
            &json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": CONFIGURATION}, "webhooks": [webhook(&config, &Kinds::default())],
            }),
        )
        .await;
        let aligner = tasks.spawn(federation::run(setting(&federation, &metrics)));
        Some(Self {
            federation,
            metrics,
            aligner: Mutex::new(aligner),
            tasks: Mutex::new(tasks),
            _trigger: trigger,
        })
    }

    /// From now on Karmada's API server asks nobody of ours.
    pub async fn take_the_webhook_away(&self) {
        let kind = resource(&json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        }));
        let api: Api<DynamicObject> = Api::all_with(self.federation.client(), &kind);
        api.delete(CONFIGURATION, &DeleteParams::default()).await.expect("deleted");
    }

    /// Starts an operator in every member.
    pub fn start_operators(&self) {
        for member in self.federation.members() {
            let (trigger, told) = shutdown();
            let running = run(member.client(), OperatorOptions::default(), Metrics::new(), told);
            self.tasks.lock().expect("nobody panicked").spawn(async move {
                running.await.expect("it runs");
                drop(trigger);
            });
        }
    }

    /// Kills the aligner wherever it stands, and has another go on, over and over.
    pub async fn kill_over_and_over(&self) {
        loop {
            tokio::time::sleep(Duration::from_millis(350)).await;
            let mut aligner = self.aligner.lock().expect("nobody panicked");
            aligner.abort();
            let run = federation::run(setting(&self.federation, &self.metrics));
            *aligner = self.tasks.lock().expect("nobody panicked").spawn(run);
        }
    }

    /// Waits until a rollout has a condition of this type.
    pub async fn until_a_rollout_says(&self, condition: &str) {
        let kind =
            ApiResource::from_gvk(&GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "FederatedRollout"));
        let api: Api<DynamicObject> = Api::all_with(self.federation.client(), &kind);
        let said = async {
            loop {
                let all = api.list(&ListParams::default()).await.expect("a list").items;
                let conditions = all.iter().filter_map(|it| it.data["status"]["conditions"].as_array());
                if conditions.flatten().any(|it| it["type"] == condition && it["status"] == "True") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(90), said).await.expect("it is said");
    }

    /// What is measured.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Karmada and its members.
    pub fn federation(&self) -> &Federation {
        &self.federation
    }

    /// Whether there are as many members as a case needs.
    pub fn has_room_for(&self, case: &Case) -> bool {
        case.split.len() <= self.federation.members().len()
    }
}

fn setting(federation: &Federation, metrics: &Metrics) -> Setting {
    let (client, clock) = (federation.client(), Clock::default());
    Setting {
        client,
        instance: None,
        sure: Arc::new(|| true),
        clock,
        metrics: metrics.clone(),
        kinds: Kinds::default(),
    }
}

async fn apply(client: &kube::Client, object: &Value) {
    let api = Api::all_with(client.clone(), &resource(object));
    patch(&api, object).await;
}

/// Applies an object of a namespace.
pub async fn apply_in(client: &kube::Client, namespace: &str, object: &Value) {
    let api = Api::namespaced_with(client.clone(), namespace, &resource(object));
    patch(&api, object).await;
}

async fn patch(api: &Api<DynamicObject>, object: &Value) {
    let how = PatchParams::apply("test").force();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api.patch(name, &how, &Patch::Apply(object)).await.expect("applied");
}

fn resource(object: &Value) -> ApiResource {
    let text = |at: &Value| at.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let kind = text(&object["kind"]);
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind))
}
