//! Karmada as it comes, on real clusters: a federation works, and what is promised over all clusters is not kept.
//!
//! One federation serves all, so there is one test.

#![allow(clippy::expect_used)]

use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use kube::runtime::wait::await_condition;
use lockstep_testkit::Federation;
use lockstep_testkit::federation::case::{CASES, Case, Kind, Step, Strategy};
use lockstep_testkit::federation::play;
use lockstep_testkit::federation::record::Rule;
use lockstep_testkit::neighbours::karmada;
use lockstep_testkit::webhook::{AdmissionRequest, Decision, Registration, Webhook, operations};

const PATIENCE: Duration = Duration::from_secs(60);

/// A rollout that may do whatever it likes on its way.
const SMOKE: Case = Case {
    name: "smoke",
    kind: Kind::Deployment,
    split: &[4, 6],
    strategy: Strategy { max_unavailable: 10, max_surge: 10, partition: 0 },
    steps: &[Step::Roll("demo:v2")],
    ends: &[4, 6],
    new: 10,
    broken_alone: false,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada and Kruise from Go modules, some minutes: see docs/testing.md"]
async fn karmada_alone() {
    let began = Instant::now();
    let builder = Federation::builder().members(["member1", "member2", "member3"]);
    let Some(federation) = builder.kruise().proxies().start_or_skip().await else { return };
    println!("started in {:.1} s", began.elapsed().as_secs_f64());

    a_rollout_passes_a_webhook_of_the_test(&federation).await;
    a_member_is_asked_through_karmada(&federation).await;
    a_member_goes_and_comes_back(&federation).await;
    every_promise_over_all_clusters_is_broken(&federation).await;
    assert_eq!(federation.ended(), Vec::<String>::new());
}

async fn a_rollout_passes_a_webhook_of_the_test(federation: &Federation) {
    let authority = federation.host().authority().expect("our own");
    let webhook = Webhook::start(authority, |_: &AdmissionRequest| Decision::allow()).await.expect("serves");
    let works = operations(&["CREATE", "UPDATE"], "work.karmada.io", &["works"]);
    // The API server goes on asking for a moment when it is gone.
    let registration = Registration::new("a-witness", [works]).ignore_failures();
    let registered = webhook.mutate(federation.client(), &registration).await.expect("it is known");

    let smoke = play(&SMOKE, federation).await.expect("it is played");
    smoke.assert_kept();
    println!("smoke: {:.1} s, {}", smoke.took.as_secs_f64(), smoke.end);
    for namespace in ["karmada-es-member1", "karmada-es-member2"] {
        let calls = webhook.calls();
        assert!(calls.iter().any(|call| call.namespace == namespace), "no Work of {namespace} was seen");
    }
    registered.remove().await.expect("it is forgotten");
}

async fn a_member_is_asked_through_karmada(federation: &Federation) {
    for member in federation.members() {
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy/version", member.name());
        let asked = http::Request::get(path).body(Vec::new()).expect("a request");
        let answer = federation.client().request_text(asked).await.expect("an answer");
        assert!(answer.contains("gitVersion"), "{answer}");
    }
}

async fn a_member_goes_and_comes_back(federation: &Federation) {
    let until = async |ready: &str| {
        let is_so = |cluster: Option<&DynamicObject>| {
            let conditions = cluster.and_then(|cluster| cluster.data["status"]["conditions"].as_array());
            conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == ready))
        };
        let clusters = karmada::clusters(federation.client());
        let waited = tokio::time::timeout(PATIENCE, await_condition(clusters, "member1", is_so)).await;
        waited.expect("Karmada notices in time").expect("clusters are watched");
    };
    let cut_off = federation.members()[0].cut_off().expect("there is a proxy");
    until("False").await;
    cut_off.mend();
    federation.restart_controllers().await.expect("they come back");
    until("True").await;
}

async fn every_promise_over_all_clusters_is_broken(federation: &Federation) {
    let of_this_size = |case: &&Case| case.split.len() <= federation.members().len();
    for case in CASES.iter().filter(of_this_size) {
        let played = play(case, federation).await.expect("it is played");
        println!("{}: {:.1} s, {}", case.name, played.took.as_secs_f64(), played.end);
        println!("  {}", played.missed.as_deref().unwrap_or("it ends as it should"));
        for rule in [Rule::Available, Rule::Standing, Rule::Old] {
            played.verdict.worst(rule).iter().for_each(|breach| println!("  {breach}"));
        }
        assert_eq!(played.verdict.interruptions, Vec::<String>::new(), "{}", case.name);
        assert_eq!(!played.is_kept(), case.broken_alone, "{}", case.name);
    }
}
