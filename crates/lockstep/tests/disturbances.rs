//! Rollouts on a real control plane while the operator, its leader, its way to the API server or the API server
//! itself fails. The promises hold whatever happens, and every rollout comes to its end.

#![allow(clippy::expect_used)]

mod cluster;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use cluster::{LOCKSTEP, START, gang, role, set, with_operator};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, ResourceExt};
use lockstep_api::label;
use lockstep_kubelet::NodeGroup;
use lockstep_testkit::operator::Operator;
use lockstep_testkit::proxy::{Fault, Proxy, Refusal, Rule, Verb, Which};
use lockstep_testkit::scenario::{Scenario, Verdict, World};
use lockstep_testkit::{Cluster, Component};

/// A set of two groups, with a skew between roles and an instance of several pods.
fn llama(image: &str) -> String {
    let rules = "replicas: 2\ncoordination:\n- name: together\n  roles: [prefill, decode]\n  rollingUpdate: {maxSkew: 34%}\n";
    let roles = [
        role("prefill", 4, image, "updateStrategy: {maxUnavailable: 1, maxSurge: 1}"),
        gang("decode", 3, 1, image, ""),
    ];
    set(rules, &roles)
}

fn scenario() -> Scenario {
    let (shortest, longest) = START;
    Scenario::given(&llama("1"))
        .and_then(|given| given.change(Duration::ZERO, &llama("2")))
        .and_then(|given| given.change(Duration::from_secs(3), &llama("3")))
        .expect("a scenario")
        .starting_in(shortest, longest)
        .terminating_in(shortest)
}

/// One change only.
fn one_change() -> Scenario {
    let (shortest, longest) = START;
    Scenario::given(&llama("1"))
        .and_then(|given| given.change(Duration::ZERO, &llama("2")))
        .expect("a scenario")
        .starting_in(shortest, longest)
        .terminating_in(shortest)
}

/// Waits until the operator has seen the change of a set.
async fn until_rolling(cluster: &Cluster) {
    let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet");
    let resource = ApiResource::from_gvk_with_plural(&kind, "lockstepsets");
    let sets: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    let mut sets = watcher(sets, watcher::Config::default()).applied_objects().boxed();
    while let Some(set) = sets.next().await {
        if set.is_ok_and(|set| set.data["status"]["observedGeneration"].as_i64() >= Some(2)) {
            return;
        }
    }
}

/// Plays the scenario while something keeps happening.
async fn meanwhile(cluster: &Cluster, mischief: impl Future<Output = ()>) -> Verdict {
    play(cluster, &scenario(), mischief).await
}

async fn play(cluster: &Cluster, scenario: &Scenario, mischief: impl Future<Output = ()>) -> Verdict {
    let world = World::Cluster(cluster);
    let play = scenario.play(&world);
    tokio::pin!(play);
    tokio::select! {
        played = &mut play => return played.expect("played"),
        () = mischief => {}
    }
    play.await.expect("played")
}

/// A little while, never the same.
async fn a_while(longest: u64) {
    let noise = u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs());
    tokio::time::sleep(Duration::from_millis(noise / 1000 % longest)).await;
}

/// Runs kubectl, which must succeed.
async fn kubectl(cluster: &Cluster, namespace: &str, arguments: &[&str]) {
    let done = tokio::process::Command::new(cluster.program("kubectl").expect("kubectl"))
        .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
        .arg(format!("--namespace={namespace}"))
        .args(arguments)
        .output()
        .await
        .expect("kubectl runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Applies a manifest.
async fn apply(cluster: &Cluster, namespace: &str, manifest: &str) {
    let file = cluster.dir().expect("a folder").join("llama.yaml");
    std::fs::write(&file, manifest).expect("written");
    kubectl(cluster, namespace, &["apply", "-f", &file.display().to_string()]).await;
}

#[tokio::test]
async fn the_operator_is_killed_at_any_write() {
    let Some((cluster, mut operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    let verdict = meanwhile(&cluster, async {
        for _ in 0..12 {
            a_while(900).await;
            operator.kill().await;
            operator.start(&cluster).expect("started again");
        }
    })
    .await;
    verdict.assert_kept();
}

/// A replica of the operator with a name, that shares a lease of three seconds.
fn replica(cluster: &Cluster, kubeconfig: &std::path::Path, name: &str) -> Operator {
    let identity = format!("--identity={name}");
    let flags = ["--leader-elect", "--lease-seconds=3", "--lease-namespace=default", &identity];
    cluster.operator_through(LOCKSTEP, kubeconfig, &flags).expect("an operator")
}

/// Who holds the lease.
async fn holder(cluster: &Cluster) -> String {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "default");
    let lease = leases.get_opt("lockstep").await.ok().flatten();
    lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default()
}

async fn nodes() -> Option<Cluster> {
    let cluster = Cluster::builder().not_a_guest().nodes(NodeGroup::new("node", 10)).start_or_skip().await?;
    cluster.install_kinds().await.expect("our kinds");
    Some(cluster)
}

#[tokio::test]
async fn the_leader_of_two_is_killed_again_and_again() {
    let Some(cluster) = nodes().await else { return };
    let kubeconfig = cluster.kubeconfig().to_owned();
    let mut replicas = ["one", "two"].map(|name| (name, replica(&cluster, &kubeconfig, name)));
    let verdict = meanwhile(&cluster, async {
        for _ in 0..3 {
            a_while(2000).await;
            let leader = holder(&cluster).await;
            for (name, operator) in &mut replicas {
                if leader.starts_with(*name) {
                    operator.kill().await;
                    operator.start(&cluster).expect("started again");
                }
            }
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
    })
    .await;
    verdict.assert_kept();
}

/// A way to the API server on which faults can be played.
async fn by_proxy(cluster: &Cluster) -> (Proxy, std::path::PathBuf) {
    let proxy = cluster.proxy().await.expect("a proxy");
    let access = cluster.access().expect("a way in").through(&proxy.url(), proxy.ca_pem());
    let path = cluster.dir().expect("a folder").join("through-the-proxy.kubeconfig");
    access.write(&path).expect("a kubeconfig");
    (proxy, path)
}

#[tokio::test]
async fn a_leader_that_is_cut_off_and_comes_back_late_does_no_harm() {
    let Some(cluster) = nodes().await else { return };
    let (proxy, way) = by_proxy(&cluster).await;
    let first = replica(&cluster, &way, "first");
    while !holder(&cluster).await.starts_with("first") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let second = replica(&cluster, cluster.kubeconfig(), "second");
    let verdict = meanwhile(&cluster, async {
        a_while(1500).await;
        // Everything it sends is kept for six seconds, twice its lease, and then arrives.
        let late = Fault::Delay(Duration::from_secs(6).into());
        let cut = proxy.add(Rule::new(Which::any(), late));
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert!(holder(&cluster).await.starts_with("second"), "the other has taken over");
        cut.remove();
    })
    .await;
    verdict.assert_kept();
    drop((first, second));
}

#[tokio::test]
async fn watches_that_are_held_back_delay_and_break_nothing() {
    let Some(cluster) = nodes().await else { return };
    let (proxy, way) = by_proxy(&cluster).await;
    let operator = cluster.operator_through(LOCKSTEP, &way, &[]).expect("an operator");
    // A minute is as good as ten seconds here: nothing in the operator runs out in between.
    let seconds = if std::env::var_os("LOCKSTEP_LONG").is_some() { 60 } else { 10 };
    let verdict = meanwhile(&cluster, async {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let held =
            proxy.add(Rule::new(Which::verbs([Verb::Watch]).of("pods"), Fault::HoldWatch { at_most: None }));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        held.remove();
    })
    .await;
    verdict.assert_kept();
    drop(operator);
}

#[tokio::test]
async fn answers_that_are_lost_are_found_out() {
    let Some(cluster) = nodes().await else { return };
    let (proxy, way) = by_proxy(&cluster).await;
    let lost = proxy.add(Rule::new(Which::writes().of("pods"), Fault::LoseAnswer).skip(3).times(8));
    let operator = cluster.operator_through(LOCKSTEP, &way, &[]).expect("an operator");
    let verdict = meanwhile(&cluster, std::future::pending()).await;
    verdict.assert_kept();
    assert_eq!(lost.hits(), 8);
    drop(operator);
}

#[tokio::test]
async fn what_an_overloaded_api_server_did_is_asked_for_until_it_says() {
    let Some(cluster) = nodes().await else { return };
    let (proxy, way) = by_proxy(&cluster).await;
    let given_up = Fault::FailApplied(Refusal::new(504, "Timeout"));
    let done = proxy.add(Rule::new(Which::verbs([Verb::Delete]).of("pods"), given_up).times(4));
    let busy = Fault::Refuse(Refusal::new(429, "TooManyRequests"));
    let busy = proxy.add(Rule::new(Which::verbs([Verb::Get]).of("pods"), busy).times(4));
    // Nor does the watch say what became of it.
    let held = Fault::HoldWatch { at_most: Some(Duration::from_secs(3).into()) };
    proxy.add(Rule::new(Which::verbs([Verb::Watch]).of("pods"), held));
    let operator = cluster.operator_through(LOCKSTEP, &way, &[]).expect("an operator");
    let verdict = meanwhile(&cluster, std::future::pending()).await;
    verdict.assert_kept();
    assert_eq!((done.hits(), busy.hits()), (4, 4));
    drop(operator);
}

#[tokio::test]
async fn what_stood_complete_is_marked_though_nothing_else_beside_the_pods_can_be_written() {
    let Some(cluster) = nodes().await else { return };
    let (proxy, way) = by_proxy(&cluster).await;
    let none = Fault::Refuse(Refusal::new(403, "Forbidden"));
    let none = proxy.add(Rule::new(Which::writes().of("services"), none));
    let operator = cluster.operator_through(LOCKSTEP, &way, &[]).expect("an operator");
    let namespace = cluster.new_namespace("marked").await.expect("a namespace");
    for image in ["1", "2"] {
        apply(&cluster, &namespace, &llama(image)).await;
        until_marked(&cluster, &namespace, image.parse().expect("a number")).await;
    }
    assert!(none.hits() > 0, "no service could be made");
    drop(operator);
}

/// Waits until so many revisions say that the set stood complete at them.
async fn until_marked(cluster: &Cluster, namespace: &str, count: usize) {
    let revisions: Api<ControllerRevision> = Api::namespaced(cluster.client(), namespace);
    let stood =
        |it: &ControllerRevision| it.annotations().get(label::STOOD_COMPLETE).is_some_and(|it| it == "true");
    let mut marked = BTreeSet::new();
    let mut seen = watcher(revisions, watcher::Config::default()).applied_objects().boxed();
    let waiting = async {
        while marked.len() < count {
            let revision = seen.next().await.expect("no end").expect("a revision");
            if stood(&revision) {
                marked.insert(revision.name_any());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(180), waiting).await.expect("marked in time");
}

#[tokio::test]
async fn the_api_server_is_restarted_in_mid_rollout() {
    let Some((cluster, operator)) =
        with_operator(Cluster::builder().our_own("to kill the API server"), &[]).await
    else {
        return;
    };
    let verdict = play(&cluster, &one_change(), async {
        until_rolling(&cluster).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        cluster.kill(Component::ApiServer).await.expect("killed");
        cluster.start_again(Component::ApiServer).await.expect("started again");
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cluster.revive().expect("revived");
        }
    })
    .await;
    // The recorder's own watch broke as well; what it saw must still be in order.
    assert!(verdict.broken.is_empty(), "{:?}", verdict.broken);
    assert!(verdict.end.is_good(), "{:?}", verdict.end);
    drop(operator);
}

#[tokio::test]
async fn lws_225_grove_709_a_new_operator_writes_nothing() {
    let Some((cluster, mut operator)) = with_operator(Cluster::builder(), &[]).await else { return };
    meanwhile(&cluster, std::future::pending()).await.assert_kept();
    // What the scenario leaves behind is on its way out; a set that stays is what matters.
    let namespace = cluster.new_namespace("stays").await.expect("a namespace");
    apply(&cluster, &namespace, &llama("1")).await;
    kubectl(&cluster, &namespace, &["wait", "lss/llama", "--for=condition=Ready", "--timeout=180s"]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    operator.stop().await;
    let mark = Timestamp::now();
    operator.start(&cluster).expect("started again");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let written = cluster.audit().expect("the audit log").since(mark);
    let written: Vec<String> = written
        .writes()
        .filter(|entry| {
            entry.request.user_agent.contains("lockstep-operator") && entry.request.namespace == namespace
        })
        .map(|entry| format!("{entry:?}"))
        .collect();
    assert_eq!(written, Vec::<String>::new());
}

#[tokio::test]
async fn an_operator_that_cannot_work_says_so() {
    let Some(cluster) = Cluster::builder().not_a_guest().start_or_skip().await else { return };
    let kubeconfig = cluster.kubeconfig().to_owned();
    // Nobody has made our kinds known.
    let operator = cluster.operator_through(LOCKSTEP, &kubeconfig, &[]).expect("an operator");
    let said = async {
        loop {
            let log = tokio::fs::read_to_string(operator.log()).await.unwrap_or_default();
            if log.contains("its CRD is missing") && log.contains("lockstepsets") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(180), said).await.expect("it says what is missing");
}
