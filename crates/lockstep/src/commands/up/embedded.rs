//! A cluster of our own: the embedded one, with nodes that a kubelet stand-in plays, and admission in this process.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use lockstep_kubelet::{Kubelet, NodeGroup, Options};
use lockstep_operator::admission::{Desk, Limits, convert};
use lockstep_operator::budgets::{Budgets, WEBHOOKS};
use lockstep_operator::clock::Clock;
use lockstep_operator::dialects::Dialects;
use lockstep_operator::metrics::Metrics;
use lockstep_sandbox::cluster::data::Data;
use lockstep_sandbox::cluster::{Carried, Cluster, Setup, Webhooks};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::cluster::{NodeSwitch, Running, StartOptions};
use super::held::{Held, HoldError};
use super::kubeconfigs::Kubeconfigs;
use super::stand_ins::StandIns;
use crate::install::{VALIDATOR, budgets as guards};

/// What is held is written so long after it changed, so that a storm of changes is written once.
const REST: Duration = Duration::from_secs(1);

/// The clock of a cluster, for its kubelets.
#[derive(Debug)]
pub struct ClusterClock(pub Cluster);

impl lockstep_kubelet::Clock for ClusterClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// Starts a cluster of our own.
pub async fn start(options: &StartOptions) -> Result<Running> {
    let held = options.data.as_deref().map(hold).transpose()?;
    let data = options.data.as_deref().map(Data::read).transpose()?.flatten();
    let webhooks = Arc::new(Webhooks::default());
    let caller = Arc::<Webhooks>::clone(&webhooks);
    // Manifests ask for Volcano, KAI and others by name; none of them is here, and pods should start all the same.
    let cluster = Cluster::start(Setup { data, caller, any_scheduler: true, ..Setup::now() });
    if let Some(file) = &options.data {
        // What could not be kept at the end is better said now.
        write(&cluster, file)
            .await
            .with_context(|| format!("cannot keep the cluster in {}", file.display()))?;
    }
    let listening = cluster.listen(options.port.unwrap_or(0)).await?;
    let mut kubeconfigs = Kubeconfigs::make()?;
    let path = kubeconfigs.write("kubeconfig", &listening.access.kubeconfig("lockstep"))?;
    let client = Client::new(cluster.service(), "default");
    let group = NodeGroup::new("node", options.nodes);
    let gpus = options.gpus.to_string();
    let group = if options.gpus > 0 { group.with_capacity("nvidia.com/gpu", &gpus) } else { group };
    group.create(&client).await.context("cannot make nodes")?;
    // One time for all: a machine that sleeps wakes up with two clocks that differ.
    let clock = Arc::new(ClusterClock(cluster.clone()));
    let kubelet = Kubelet::start(client.clone(), Options { clock, ..Options::default() });
    let told = cluster.clone();
    let clock = Clock::new(move || told.now());
    let reviews = answer(&webhooks, &client, &clock);
    let nodes: Rc<dyn NodeSwitch> = Rc::new(StandIns::new(client.clone()));
    let keeping = options.data.clone().map(|file| (tokio::spawn(keep(cluster.clone(), file.clone())), file));
    let end = async move {
        reviews.abort();
        drop(kubelet);
        let kept = match keeping {
            Some((task, file)) => finish(task, &cluster, &file).await,
            None => Ok(()),
        };
        drop((listening, kubeconfigs, cluster, held));
        kept
    };
    Ok(Running {
        client,
        kubeconfig: Some(path),
        scope: None,
        nodes: Some(nodes),
        clock,
        end: Some(end.boxed_local()),
    })
}

/// Checks what is applied, converts it, and guards pods, as the webhooks of an installed operator do.
fn answer(webhooks: &Webhooks, client: &Client, clock: &Clock) -> JoinHandle<()> {
    let dialects = Dialects(lockstep_dialects::ALL.to_vec());
    let budgets = Budgets::new(client.clone(), None, Metrics::new(), clock.clone());
    let desk = Desk::new(Metrics::new(), Limits::default(), Some((client.clone(), dialects.clone())))
        .with_budgets(Some(budgets.clone()));
    for (name, kind) in WEBHOOKS {
        let reviewer = budgets.reviewer();
        let guard = move |review: Value| -> Carried<'static> {
            let reviewer = reviewer.clone();
            Box::pin(async move {
                let body = serde_json::to_vec(&review).map_err(|error| error.to_string())?;
                reviewer.review(kind, &body).await
            })
        };
        webhooks.answer(name, Arc::new(guard));
    }
    let validator = move |review: Value| -> Carried<'static> {
        let desk = desk.clone();
        Box::pin(async move {
            let body = serde_json::to_vec(&review).map_err(|error| error.to_string())?;
            let answer = desk.review(&body).await?;
            serde_json::to_value(answer).map_err(|error| error.to_string())
        })
    };
    webhooks.answer(VALIDATOR, Arc::new(validator.clone()));
    webhooks.answer(guards::VALIDATOR, Arc::new(validator));
    for kind in dialects.0.iter().flat_map(|dialect| dialect.kinds()).filter(|kind| kind.versions.len() > 1) {
        let dialects = dialects.clone();
        let converter =
            move |review: Value| -> Carried<'static> { Box::pin(ready(converted(&review, &dialects))) };
        webhooks.answer(&format!("{}.{}", kind.plural, kind.group), Arc::new(converter));
    }
    tokio::spawn(async move { budgets.run().await })
}

fn converted(review: &Value, dialects: &Dialects) -> Result<Value, String> {
    let body = serde_json::to_vec(review).map_err(|error| error.to_string())?;
    let answer = convert::answer(&body, &dialects.0)?;
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

/// Holds the file of the data against other processes. It is replaced with every write, so the one beside it is held.
fn hold(file: &Path) -> Result<Held> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    match Held::take(Path::new(&beside)) {
        Ok(held) => Ok(held),
        Err(HoldError::Taken { by, .. }) => bail!(
            "{file} is in use: process {by} keeps its cluster there, and two would overwrite each other. End that one, or \
             name another file with --data; `cp {file} FILE` makes a second cluster of it",
            file = file.display()
        ),
        Err(error) => Err(error).with_context(|| format!("cannot keep the cluster in {}", file.display())),
    }
}

/// Writes down what the cluster holds, again and again.
async fn keep(cluster: Cluster, file: PathBuf) {
    let mut changes = cluster.changes();
    loop {
        changes.next().await;
        tokio::time::sleep(REST).await;
        changes.catch_up();
        if let Err(error) = write(&cluster, &file).await {
            tracing::warn!(%error, "the cluster is not kept");
        }
    }
}

/// Writes without holding up anybody else.
async fn write(cluster: &Cluster, file: &Path) -> Result<()> {
    let (cluster, file) = (cluster.clone(), file.to_owned());
    Ok(tokio::task::spawn_blocking(move || cluster.data().write(&file)).await??)
}

/// The last words are kept, too, after whatever is being written now.
async fn finish(task: JoinHandle<()>, cluster: &Cluster, file: &Path) -> Result<()> {
    task.abort();
    // It was told to end; how it ended does not matter.
    let _ = task.await;
    write(cluster, file).await
}
