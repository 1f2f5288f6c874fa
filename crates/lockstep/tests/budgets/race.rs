//! A thousand removals at once from several clients through three operators, each a process of its own, one of which
//! is killed in the middle: never more groups unavailable than the budget allows, at any instant that a watch shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Error, ResourceExt};
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_core::simulate::rng::Rng;
use lockstep_testkit::groups::{Groups, Judge};
use lockstep_testkit::{Cluster, Component};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::chronicle::Chronicle;
use super::installed::replica::SOON;
use super::installed::{Installed, Replica, until};

const GROUPS: u32 = 5;
const SIZE: u32 = 2;
const MOST: u32 = 1;
const REQUESTS: u32 = 1000;
const CLIENTS: usize = 4;

/// What was answered.
#[derive(Debug, Default)]
struct Tally {
    evicted: AtomicU32,
    deleted: AtomicU32,
    refused: AtomicU32,
    gone: AtomicU32,
    /// Whoever was to answer was killed meanwhile, or the machine is full.
    failed: AtomicU32,
}

impl Tally {
    fn count(&self, evicts: bool, answer: Result<(), Error>) {
        let count = match answer {
            Ok(()) if evicts => &self.evicted,
            Ok(()) => &self.deleted,
            Err(Error::Api(status)) if status.code == 429 => &self.refused,
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => &self.gone,
            Err(_) => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn answered(&self) -> u32 {
        let all = [&self.evicted, &self.deleted, &self.refused, &self.gone, &self.failed];
        all.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

/// Does what kube-proxy does: each connection goes to the next of these ports that takes it.
async fn balance(ports: Vec<u16>, tasks: &mut JoinSet<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let next = AtomicUsize::new(0);
    tasks.spawn(async move {
        while let Ok((mut asked, _)) = listener.accept().await {
            let first = next.fetch_add(1, Ordering::Relaxed);
            let ports: Vec<u16> =
                ports.iter().cycle().skip(first % ports.len()).take(ports.len()).copied().collect();
            tokio::spawn(async move {
                for port in ports {
                    if let Ok(mut answering) = TcpStream::connect(("127.0.0.1", port)).await {
                        let _ = tokio::io::copy_bidirectional(&mut asked, &mut answering).await;
                        return;
                    }
                }
            });
        }
    });
    port
}

/// Pods that do what the test says: nobody schedules or runs them.
#[derive(Clone)]
struct Yard {
    client: Client,
    namespace: String,
    owner: String,
}

impl Yard {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn lay_out(client: Client, namespace: String) -> Self {
        let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), &namespace);
        let template = json!({
            "metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [{"name": "main", "image": "vllm:1"}]},
        });
        let spec = json!({
            "replicas": GROUPS * SIZE, "selector": {"matchLabels": {"app": "llm"}},
            "template": template,
        });
        let set = serde_json::from_value(json!({"metadata": {"name": "llm"}, "spec": spec})).expect("a set");
        let owner = sets.create(&PostParams::default(), &set).await.expect("created").uid().expect("a UID");
        let yard = Self { client, namespace, owner };
        for group in 0..GROUPS {
            for pod in 0..SIZE {
                yard.member(group, pod).await;
            }
        }
        yard
    }

    async fn member(&self, group: u32, pod: u32) {
        let name = format!("llm-{group}-{pod}");
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "llm", "uid": self.owner, "controller": true,
        });
        let object = json!({
            "metadata": {
                "name": name, "labels": {"app": "llm", "group": group.to_string()}, "ownerReferences": [owner],
            },
            "spec": {"containers": [{"name": "main", "image": "vllm:1"}]},
        });
        let object = serde_json::from_value(object).expect("a pod");
        self.pods().create(&PostParams::default(), &object).await.expect("created");
        let ready =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let patched = self.pods().patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready)).await;
        // Before it is ready, anybody may take it away.
        let gone = matches!(&patched, Err(Error::Api(status)) if status.code == 404);
        assert!(gone || patched.is_ok(), "{name}: {patched:?}");
    }

    /// Watches all groups, and rebuilds what is gone.
    fn judge(&self) -> Judge {
        let (selector, label) = ("app=llm".to_owned(), "group".to_owned());
        let yard = self.clone();
        Judge::start_with(self.pods(), Groups { selector, label, count: GROUPS, ready: SIZE }, move |pod| {
            let parts: Vec<u32> = pod.name_any().split('-').filter_map(|part| part.parse().ok()).collect();
            let yard = yard.clone();
            tokio::spawn(async move { yard.member(parts[0], parts[1]).await });
        })
    }

    /// So many groups may be unavailable.
    async fn budget(&self, most: u32) -> Api<PodUnavailableBudget> {
        let budgets: Api<PodUnavailableBudget> = Api::namespaced(self.client.clone(), &self.namespace);
        let object = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget", "metadata": {"name": "guard"},
            "spec": {
                "selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": most,
                "podGroupPolicy": {"groupLabelKey": "group", "minReadyReplicas": SIZE},
            },
        });
        let params = PatchParams::apply("test").force();
        until("the budget is taken", async || {
            budgets.patch("guard", &params, &Patch::Apply(&object)).await.is_ok()
        })
        .await;
        budgets
    }
}

/// Deletes any pod, or evicts it: an eviction asks for the pod first, and mostly comes too late where others delete.
async fn attack(client: Client, namespace: String, tally: Arc<Tally>, seed: u64, deletes: bool) {
    let mut random = Rng::new(seed);
    let (group, pod) = (random.below(u64::from(GROUPS)), random.below(u64::from(SIZE)));
    let name = format!("llm-{group}-{pod}");
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    let evicts = !deletes || random.below(2) == 0;
    let answer = match evicts {
        true => pods.evict(&name, &EvictParams::default()).await.map(drop),
        false => pods.delete(&name, &DeleteParams::default()).await.map(drop),
    };
    tally.count(evicts, answer);
}

/// Waits until a replica refuses to let a pod go for the sake of the budget: it holds from when everybody has heard of
/// it.
async fn until_known(yard: &Yard, replica: &Replica) {
    let guards: Api<MutatingWebhookConfiguration> = Api::all(yard.client.clone());
    let guards = guards.get("lockstep-budgets").await.expect("a configuration").webhooks.unwrap_or_default();
    let ca = serde_json::to_value(&guards[0].client_config.ca_bundle).expect("an authority");
    // Each replica by itself, under the name that all their certificates have.
    let cluster = json!({
        "server": format!("https://127.0.0.1:{}", replica.webhook), "certificate-authority-data": ca,
        "tls-server-name": "lockstep-webhook.lockstep-system.svc",
    });
    let file: Kubeconfig = serde_json::from_value(json!({
        "clusters": [{"name": "it", "cluster": cluster}], "contexts": [{"name": "it", "context": {"cluster": "it"}}],
        "current-context": "it",
    }))
    .expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.expect("a way in");
    let asking = Client::try_from(config).expect("a client");
    let eviction = json!({"metadata": {"name": "llm-0-0", "namespace": yard.namespace}});
    let review = json!({"request": {
        "uid": "r", "name": "llm-0-0", "namespace": yard.namespace, "dryRun": true, "object": eviction,
    }});
    until("a replica has heard of the budget", async || {
        let request = http::Request::post("/budgets/evict").header("content-type", "application/json");
        let request = request.body(review.to_string().into_bytes()).expect("a request");
        let answer = asking.request::<Value>(request).await.unwrap_or_default();
        answer["response"]["status"]["message"].as_str().is_some_and(|said| said.contains("/guard:"))
    })
    .await;
}

/// How many reviews a replica has answered, by its own account.
async fn decisions(replica: &Replica) -> u64 {
    let metrics = replica.get("/metrics").await;
    let counts = metrics.lines().filter(|line| line.starts_with("lockstep_budget_decisions_total"));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_at_once_through_three_processes() {
    let rounds = std::env::var("LOCKSTEP_LONG").ok().and_then(|text| text.parse().ok()).unwrap_or(1_usize);
    // Whoever schedules or rebuilds pods would have a say in what stands when.
    let builder = Cluster::builder().without(Component::Scheduler).without(Component::ControllerManager);
    let Some(installed) = Installed::start_with(builder, &["--dialects=none"]).await else { return };
    let mut replicas = Vec::new();
    for name in ["one", "two", "three"] {
        replicas.push(installed.replica_with(name, &["--lease-seconds=5"]).await);
    }
    let mut tasks = JoinSet::new();
    let port = balance(replicas.iter().map(|replica| replica.webhook).collect(), &mut tasks).await;
    installed.route_admission_to_port(port).await;
    until("all are ready", async || {
        let ready = futures::future::join_all(replicas.iter().map(|replica| replica.get("/readyz"))).await;
        ready.iter().all(|said| said.ends_with("ok\n"))
    })
    .await;
    let namespace = installed.cluster.new_namespace("race").await.expect("a namespace");
    let yard = Yard::lay_out(installed.cluster.client(), namespace.clone()).await;
    let chronicle = Chronicle::begin(&yard.client, &namespace, &mut tasks);
    yard.budget(0).await;
    for replica in &replicas {
        until_known(&yard, replica).await;
    }
    let budgets = yard.budget(MOST).await;
    let mut clients = Vec::new();
    for i in 0..CLIENTS {
        let access = installed.cluster.access().expect("a way in");
        clients.push(access.client(&format!("client-{i}")).await.expect("a client"));
    }
    let judge = yard.judge();
    let mut answered = [0; 3];
    let tally = Arc::new(Tally::default());
    for round in 0..rounds {
        assert!(judge.whole(SOON).await, "round {round}: not all groups came back");
        until("one group may go", async || {
            let status = budgets.get("guard").await.expect("the budget").status.unwrap_or_default();
            status.unavailable_allowed == MOST && status.total_replicas == GROUPS
        })
        .await;
        let before = tally.answered();
        let mut all = JoinSet::new();
        for request in 0..REQUESTS {
            let client = clients[request as usize % CLIENTS].clone();
            let seed = round as u64 * u64::from(REQUESTS) + u64::from(request);
            all.spawn(attack(client, namespace.clone(), Arc::clone(&tally), seed, round % 2 == 0));
        }
        until("a third is answered", async || tally.answered() - before > REQUESTS / 3).await;
        let victim = round % replicas.len();
        answered[victim] += decisions(&replicas[victim]).await;
        replicas[victim].operator.kill().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        replicas[victim].operator.start(&installed.cluster).expect("started again");
        while all.join_next().await.is_some() {
            assert!(
                judge.worst() <= MOST,
                "round {round}: more than {MOST} unavailable:\n{}",
                chronicle.end()
            );
        }
        assert!(judge.whole(SOON).await, "round {round}: not all groups came back:\n{}", chronicle.end());
        assert!(judge.worst() <= MOST, "round {round}: more than {MOST} unavailable:\n{}", chronicle.end());
    }
    for (answered, replica) in answered.iter_mut().zip(&replicas) {
        *answered += decisions(replica).await;
    }
    println!("{rounds} rounds of {REQUESTS}: {tally:?}; reviews by process: {answered:?}");
    let count = |count: &AtomicU32| count.load(Ordering::Relaxed);
    assert!(count(&tally.deleted) > 0 && count(&tally.refused) > 0, "{tally:?}");
    assert!(answered.iter().filter(|count| **count > 0).count() >= 2, "several answered: {answered:?}");
}
