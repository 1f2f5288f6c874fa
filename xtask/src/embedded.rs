//! Figures of the embedded cluster: how soon it serves, how much it takes, how large it gets.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use lockstep_kubelet::{Kubelet, NodeGroup, Options, TokioClock};
use lockstep_sandbox::cluster::{Cluster, Setup};
use serde_json::json;

/// How many requests are under way at a time.
const AT_A_TIME: usize = 64;

/// Measures and prints.
pub fn measure() -> Result<()> {
    let real = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    println!("start to the first answer: {:?}", real()?.block_on(start())?);
    let (taken, megabytes) = real()?.block_on(many(10_000))?;
    println!("10,000 pods created in process: {:.0} per second", 10_000.0 / taken.as_secs_f64());
    println!("memory with 10,000 pods and nothing else: {megabytes} MiB more than before");
    let taken = real()?.block_on(over_https(2_000))?;
    println!("2,000 pods created over HTTPS: {:.0} per second", 2_000.0 / taken.as_secs_f64());
    let paused = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    let (taken, passed) = paused.block_on(scheduled(1_000))?;
    println!("1,000 pods scheduled and ready in virtual time: {passed:?} passed in {taken:?}");
    Ok(())
}

async fn start() -> Result<Duration> {
    let began = Instant::now();
    let cluster = Cluster::start(Setup::now());
    let client = Client::new(cluster.service(), "default");
    client.apiserver_version().await?;
    Api::<Pod>::all(client).list(&ListParams::default()).await?;
    Ok(began.elapsed())
}

fn pod(number: usize) -> Result<Pod> {
    let spec =
        json!({"containers": [{"name": "main", "image": "model", "resources": {"requests": {"cpu": "1"}}}]});
    let pod = json!({"metadata": {"name": format!("p-{number}"), "labels": {"app": "p"}}, "spec": spec});
    Ok(serde_json::from_value(pod)?)
}

async fn create(client: &Client, pods: usize) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(client.clone(), "default");
    let mut under_way = FuturesUnordered::new();
    for number in 0..pods {
        let (api, pod) = (api.clone(), pod(number)?);
        under_way.push(async move { api.create(&PostParams::default(), &pod).await });
        if under_way.len() >= AT_A_TIME {
            under_way.next().await.context("one is under way")??;
        }
    }
    while let Some(created) = under_way.next().await {
        created?;
    }
    Ok(())
}

async fn many(pods: usize) -> Result<(Duration, u64)> {
    let before = resident()?;
    let without = vec!["kube-scheduler".to_owned()];
    let cluster = Cluster::start(Setup { without, ..Setup::now() });
    let client = Client::new(cluster.service(), "default");
    let began = Instant::now();
    create(&client, pods).await?;
    Ok((began.elapsed(), resident()?.saturating_sub(before)))
}

async fn over_https(pods: usize) -> Result<Duration> {
    let without = vec!["kube-scheduler".to_owned()];
    let cluster = Cluster::start(Setup { without, ..Setup::now() });
    let listening = cluster.listen(0).await?;
    let kubeconfig = Kubeconfig::from_yaml(&listening.access.kubeconfig("figures"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let began = Instant::now();
    create(&client, pods).await?;
    Ok(began.elapsed())
}

async fn scheduled(pods: usize) -> Result<(Duration, Duration)> {
    let (began, virtually) = (Instant::now(), tokio::time::Instant::now());
    let setup = Setup::now();
    let clock = TokioClock::starting_at(setup.origin);
    let cluster = Cluster::start(setup);
    let client = Client::new(cluster.service(), "default");
    NodeGroup::new("node", 20).with_capacity("cpu", "64").create(&client).await?;
    let options = Options { clock: std::sync::Arc::new(clock), ..Options::default() };
    let _kubelet = Kubelet::start(client.clone(), options);
    create(&client, pods).await?;
    let mut changes = cluster.changes();
    loop {
        let ready = cluster.look(|server| {
            let all = server.store().all().filter(|(key, _)| &*key.resource == "pods");
            all.filter(|(_, pod)| is_ready(pod)).count()
        });
        if ready == pods {
            return Ok((began.elapsed(), virtually.elapsed()));
        }
        changes.next().await;
    }
}

fn is_ready(pod: &serde_json::Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

/// How much memory this process has, in MiB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this figure needs Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kibibytes / 1024)
}
