//! Faults, webhooks and the audit log on a real API server.

#![allow(clippy::expect_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use lockstep_testkit::proxy::{Fault, Rule, Verb, Which};
use lockstep_testkit::webhook::{Decision, Registration, Webhook, operations};
use lockstep_testkit::{Cluster, Component};

fn map(name: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_has_been_made_and_the_audit_log_knows_by_whom() {
    let Some(cluster) = Cluster::builder().not_a_guest().start_or_skip().await else { return };
    let access = cluster.access().expect("our own");
    let proxy = cluster.proxy().await.expect("a proxy");
    let way = access.through(&proxy.url(), proxy.ca_pem());
    let client = way.client("somebody-behind-a-proxy").await.expect("a client");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);

    let lost =
        proxy.add(Rule::new(Which::verbs([Verb::Create]).of("configmaps"), Fault::LoseAnswer).times(1));
    maps.create(&PostParams::default(), &map("one")).await.expect_err("no answer");
    assert_eq!(lost.hits(), 1);
    let exists = maps.create(&PostParams::default(), &map("one")).await.expect_err("it is there");
    assert!(matches!(exists, kube::Error::Api(status) if status.code == 409));

    let audit = cluster.audit().expect("a log");
    let tally = audit.tally();
    assert_eq!(tally.of_agent("somebody-behind-a-proxy"), 2, "{tally}");
}

#[tokio::test]
async fn a_webhook_of_the_test_is_asked_by_the_api_server() {
    let Some(cluster) = Cluster::builder().without(Component::Scheduler).start_or_skip().await else {
        return;
    };
    let authority = cluster.authority().expect("our own");
    let decide = |request: &lockstep_testkit::webhook::AdmissionRequest| match request.name.as_str() {
        "forbidden" => Decision::deny(403, "not while the rollout runs"),
        _ => Decision::allow(),
    };
    let webhook = Webhook::start(authority, decide).await.expect("serves");
    let rules = [operations(&["CREATE"], "", &["configmaps"])];
    let known = webhook.validate(cluster.client(), &Registration::new("guard", rules)).await.expect("known");

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    let refused = loop {
        assert!(tokio::time::Instant::now() < deadline, "the webhook was never asked");
        // The API server notices a new webhook after a moment.
        match maps.create(&PostParams { dry_run: true, ..PostParams::default() }, &map("forbidden")).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => break error.to_string(),
        }
    };
    assert!(refused.contains("not while the rollout runs"), "{refused}");
    maps.create(&PostParams::default(), &map("allowed")).await.expect("created");
    assert!(webhook.calls().iter().any(|call| call.name == "allowed"));
    known.remove().await.expect("removed");
}
