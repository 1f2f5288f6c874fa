//! Clusters of this process, and Lockstep beside them.

use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::core::ApiResource;
use lockstep_federation::interpret::Kinds;
use lockstep_operator::clock::Clock;
use lockstep_operator::federation::{self, Setting, Stamper, WEBHOOK, webhook};
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::{OperatorOptions, run};
use lockstep_operator::serve::{Trigger, shutdown};
use lockstep_sandbox::cluster::Carried;
use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::embedded::Embedded;
use lockstep_testkit::federation::{EmbeddedFederation, Ways};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A host, its members, and our webhook on Works.
pub struct World {
    federation: EmbeddedFederation,
}

impl World {
    /// Starts the clusters alone.
    pub async fn without_us(members: usize) -> Self {
        let federation = EmbeddedFederation::start(members, &Ways::default()).await.expect("clusters");
        Self { federation }
    }

    /// Starts everything but the aligner.
    pub async fn start(members: usize, ways: &Ways) -> Self {
        let federation = EmbeddedFederation::start(members, ways).await.expect("clusters");
        let (stampers, _) = federation.client_through(ways.host.clone(), ways.seed ^ 1);
        let stamper = Stamper::new(stampers, Metrics::default(), Kinds::default());
        let answer = move |review: Value| -> Carried<'static> {
            let stamper = stamper.clone();
            Box::pin(async move { stamper.review(review.to_string().as_bytes()).await })
        };
        federation.webhooks().answer(WEBHOOK, Arc::new(answer));
        // Where it is does not matter: it is answered for in this process.
        let hook = webhook(&json!({"url": "https://127.0.0.1:9443/works"}), &Kinds::default());
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "lockstep-federation"},
            "webhooks": [hook],
        });
        let kind =
            GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration");
        let api: Api<DynamicObject> =
            Api::all_with(federation.host().client(), &ApiResource::from_gvk(&kind));
        let how = PatchParams::apply("test").force();
        api.patch("lockstep-federation", &how, &Patch::Apply(&configuration)).await.expect("a webhook");
        Self { federation }
    }

    /// A client of the host that reaches the members, on a good way.
    pub fn client(&self) -> Client {
        self.federation.client_through(Profile::default(), 0).0
    }

    /// Starts an aligner.
    pub fn aligner(&self, client: Client) -> Aligner {
        let clock = Clock::new(self.federation.clock());
        let (metrics, kinds) = (Metrics::default(), Kinds::default());
        let setting = Setting { client, instance: None, sure: Arc::new(|| true), clock, metrics, kinds };
        Aligner(tokio::spawn(federation::run(setting)))
    }

    /// Starts an operator in every member.
    pub fn operators(&self) -> Vec<Operator> {
        self.federation.members().iter().map(Operator::start).collect()
    }

    /// The clusters.
    pub fn federation(&self) -> &EmbeddedFederation {
        &self.federation
    }
}

/// An operator that runs. Dropped, it is gone at once, wherever it is.
pub struct Operator(
    JoinHandle<()>,
    #[allow(dead_code, reason = "dropped, it tells the operator to end")] Trigger,
);

impl Operator {
    fn start(member: &Embedded) -> Self {
        let (trigger, told) = shutdown();
        let options = OperatorOptions { clock: Clock::new(member.clock()), ..OperatorOptions::default() };
        let running = run(member.client(), options, Metrics::new(), told);
        Self(tokio::spawn(async move { running.await.expect("it runs") }), trigger)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An aligner that runs. Dropped, it is gone at once, wherever it is.
pub struct Aligner(JoinHandle<()>);

impl Drop for Aligner {
    fn drop(&mut self) {
        self.0.abort();
    }
}
