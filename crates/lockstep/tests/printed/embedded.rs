//! The rows on the embedded cluster, in virtual time, with admission as installed.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use lockstep_api::yaml_to_json;
use lockstep_kubelet::NodeGroup;
use lockstep_operator::admission::{Desk, Limits, convert};
use lockstep_operator::dialects::Dialects;
use lockstep_operator::metrics::Metrics;
use lockstep_operator::operator::OperatorOptions;
use lockstep_sandbox::cluster::{Carried, Webhooks};
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use serde_json::Value;

use crate::common::lockstep;
use crate::inside::{Operator, nodes};
use crate::play::play_all;
use crate::row::Row;
use crate::{grove, kthena, pods, rbg, stuck};

fn dialects() -> Dialects {
    Dialects(lockstep_dialects::ALL.to_vec())
}

/// What `lockstep install` would apply, as far as it concerns the API server.
fn installation() -> Vec<Value> {
    let printed = lockstep(&["install", "--dry-run", "--dialects", "rbg,kthena,grove", "--budgets", "false"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let documents = printed.out.split("\n---\n").map(|text| yaml_to_json(text).expect("YAML"));
    let concerns = ["CustomResourceDefinition", "ValidatingWebhookConfiguration"];
    documents.filter(|object| concerns.iter().any(|kind| object["kind"] == *kind)).collect()
}

/// Answers for the operator's webhooks, which nobody could reach.
fn answer(webhooks: &Webhooks, client: &Client) {
    let desk = Desk::new(Metrics::new(), Limits::default(), Some((client.clone(), dialects())));
    let validator = move |review: Value| -> Carried<'static> {
        let desk = desk.clone();
        Box::pin(async move {
            let answer = desk.review(review.to_string().as_bytes()).await?;
            serde_json::to_value(answer).map_err(|error| error.to_string())
        })
    };
    webhooks.answer("validate.lockstep.dev", Arc::new(validator));
    for kind in dialects().0.iter().flat_map(|dialect| dialect.kinds()) {
        let converter = |review: Value| -> Carried<'static> {
            let answer = convert::answer(review.to_string().as_bytes(), &dialects().0);
            Box::pin(ready(answer.and_then(|it| serde_json::to_value(it).map_err(|error| error.to_string()))))
        };
        webhooks.answer(&format!("{}.{}", kind.plural, kind.group), Arc::new(converter));
    }
}

async fn install(client: &Client) {
    for object in installation() {
        if object["kind"] == "CustomResourceDefinition" {
            lockstep_testkit::cluster::define(client, &object).await.expect("a kind");
            continue;
        }
        let gvk =
            GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
        let name = object["metadata"]["name"].as_str().expect("a name");
        let how = PatchParams::apply("install").force();
        api.patch(name, &how, &Patch::Apply(&object)).await.expect("a webhook");
    }
}

/// Plays all rows at once, each in a namespace of its own.
fn on_the_embedded(rows: &[Row], more: &[NodeGroup]) {
    in_virtual_time(async {
        let embedded = Embedded::start(0, &nodes()).await.expect("an embedded cluster");
        let client = embedded.client();
        answer(embedded.webhooks(), &client);
        install(&client).await;
        for group in more {
            group.create(&client).await.expect("nodes");
        }
        let options = OperatorOptions { dialects: dialects(), ..Default::default() };
        let _operator = Operator::with(&embedded, client.clone(), options);
        let limit = Duration::from_secs(3600);
        play_all(&rows.iter().collect::<Vec<_>>(), &client, limit).await;
    });
}

#[test]
fn role_based_groups() {
    on_the_embedded(&rbg::rows(), &rbg::nodes());
}

#[test]
fn model_servings() {
    on_the_embedded(&kthena::rows(), &[]);
}

#[test]
fn pod_clique_sets() {
    on_the_embedded(&grove::rows(), &[]);
}

#[test]
fn whatever_gets_stuck_says_why_and_has_a_way_out() {
    on_the_embedded(&stuck::rows(), &stuck::nodes());
}

#[test]
fn pods_and_services_are_as_their_users_know_them() {
    on_the_embedded(&pods::rows(), &[]);
}
