//! A host and its members, all in this process, and Lockstep beside them.

use std::sync::Arc;

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use lockstep_api::federation::definition;
use lockstep_federation::interpret::Kinds;
use lockstep_kubelet::{Kubelet, NodeGroup, Options};
use lockstep_operator::clock::Clock;
use lockstep_operator::federation::{self, Setting, Stamper, WEBHOOK};
use lockstep_operator::metrics::Metrics;
use lockstep_sandbox::cluster::faults::{Faulty, Link, Profile};
use lockstep_sandbox::cluster::{Carried, Changes, Cluster, Listening, Setup, Webhooks};
use lockstep_spread::{Lateness, Member, NOT_ON_THE_HOST, Spread, cluster_kind, definitions, door, known};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::demo::{NAME, NAMESPACE};
use super::scene::{MemberSight, PodSight, Sight};
use crate::commands::live::spread::{read, rollouts};
use crate::commands::up::embedded::ClusterClock;
use crate::commands::up::kubeconfigs::Kubeconfigs;
use crate::commands::up::{SERVED, demo::apply, serve};
use crate::input::live_set::now;
use crate::install::federation::Federation;

/// A cluster that others are spread to.
struct Place {
    name: String,
    cluster: Cluster,
    client: Client,
    /// The way from the host.
    link: Link,
    _kubelet: Kubelet,
}

/// Everything.
pub struct Clusters {
    /// A client of the host.
    pub client: Client,
    host: Cluster,
    places: Vec<Place>,
    kubeconfigs: Kubeconfigs,
    _listening: Vec<Listening>,
    _spread: Spread,
    _tasks: JoinSet<()>,
    /// Ends with the task that aligns.
    aligning: watch::Receiver<()>,
}

impl Clusters {
    /// Starts a host and so many members, with nodes of their own.
    pub async fn start(count: u32, nodes: u32) -> Result<Self> {
        let webhooks = Arc::new(Webhooks::default());
        let without = NOT_ON_THE_HOST.map(str::to_owned).to_vec();
        let host =
            Cluster::start(Setup { caller: Arc::<Webhooks>::clone(&webhooks), without, ..Setup::now() });
        let client = Client::new(host.service(), "default");
        let ours = definition::all().into_iter().chain(definitions()).collect::<Vec<_>>();
        serve(&client, &ours).await?;
        let mut kubeconfigs = Kubeconfigs::make()?;
        let mut listening = vec![listen(&host, "host", &mut kubeconfigs).await?];
        let (mut places, mut members) = (Vec::new(), Vec::new());
        for number in 1..=count {
            let (place, way) = member(format!("member{number}"), nodes).await?;
            listening.push(listen(&place.cluster, &place.name, &mut kubeconfigs).await?);
            members.push(Member { name: place.name.clone(), client: way });
            places.push(place);
        }
        let beside = door(client.clone(), &members);
        stamp(&webhooks, &client).await?;
        let told = host.clone();
        let clock = Clock::new(move || told.now());
        let mut tasks = JoinSet::new();
        let sure = Arc::new(|| true);
        let setting = Setting {
            client: beside,
            instance: Some("lockstep-up".to_owned()),
            sure,
            clock,
            metrics: Metrics::default(),
            kinds: Kinds::default(),
        };
        let (runs, aligning) = watch::channel(());
        tasks.spawn(async move {
            let _runs = runs;
            federation::run(setting).await;
        });
        let setting = lockstep_spread::Setting {
            host: client.clone(),
            members,
            lateness: Lateness::default(),
            kinds: known(&["Deployment"]),
        };
        let spread = Spread::start(setting);
        for place in &places {
            joined(&client, &place.name).await?;
        }
        let (_listening, _spread, _tasks) = (listening, spread, tasks);
        Ok(Self { client, host, places, kubeconfigs, _listening, _spread, _tasks, aligning })
    }

    /// Waits until nobody aligns any more, which only a fault of ours can bring about.
    pub async fn broken(&self) {
        let mut aligning = self.aligning.clone();
        while aligning.changed().await.is_ok() {}
    }

    /// How to reach the clusters from another terminal.
    pub fn access(&self) -> Vec<String> {
        let line = |name: &str, what: &str| {
            format!("export KUBECONFIG={}; {what}", self.kubeconfigs.file(name).display())
        };
        let host = line("host", "kubectl get froll,rb,works,clusters -A");
        let members = self.places.iter().map(|place| line(&place.name, "kubectl get deploy,pods"));
        std::iter::once(host).chain(members).collect()
    }

    /// The members by name.
    pub fn names(&self) -> Vec<String> {
        self.places.iter().map(|place| place.name.clone()).collect()
    }

    /// Whatever changes anywhere.
    pub fn changes(&self) -> Vec<Changes> {
        let members = self.places.iter().map(|place| place.cluster.changes());
        std::iter::once(self.host.changes()).chain(members).collect()
    }

    /// Cuts the last member off, or lets it be reached again; its name.
    pub fn toggle(&self, cut: bool) -> Option<&str> {
        let place = self.places.last()?;
        match cut {
            true => place.link.cut(),
            false => place.link.mend(),
        }
        Some(&place.name)
    }

    /// Where the resource template stands.
    pub fn templates(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &ApiResource::erase::<Deployment>(&()))
    }

    /// The resource template as it stands.
    pub async fn template(&self) -> Result<DynamicObject> {
        Ok(self.templates().get(NAME).await?)
    }

    /// What stands everywhere now.
    pub async fn look(&self, cut: bool) -> Result<Sight> {
        let rollout = rollouts(&self.client, NAMESPACE).get_opt(&format!("{NAME}-deployment")).await?;
        let rollout = rollout.map(read).transpose()?;
        let template = serde_json::to_value(self.template().await?)?;
        let mut members = Vec::new();
        for (i, place) in self.places.iter().enumerate() {
            members.push(place.look(cut && i + 1 == self.places.len()).await?);
        }
        Ok(Sight { rollout, template, members, at: now() })
    }
}

impl Place {
    async fn look(&self, cut: bool) -> Result<MemberSight> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut pods = pods.list(&ListParams::default().labels(&format!("app={NAME}"))).await?.items;
        pods.sort_by_key(|pod| (pod.metadata.creation_timestamp.clone(), pod.name_any()));
        let sight = |pod: &Pod| PodSight {
            image: pod
                .spec
                .as_ref()
                .and_then(|spec| spec.containers.first()?.image.clone())
                .unwrap_or_default(),
            ready: crate::show::pod_state::is_ready(pod),
            leaving: pod.metadata.deletion_timestamp.is_some(),
        };
        Ok(MemberSight { name: self.name.clone(), cut, pods: pods.iter().map(sight).collect() })
    }
}

async fn member(name: String, nodes: u32) -> Result<(Place, Client)> {
    let cluster = Cluster::start(Setup::now());
    let client = Client::new(cluster.service(), "default");
    NodeGroup::new("node", nodes).create(&client).await.context("cannot make nodes")?;
    let clock = Arc::new(ClusterClock(cluster.clone()));
    let kubelet = Kubelet::start(client.clone(), Options { clock, ..Options::default() });
    let (way, link) = Faulty::before(cluster.service(), Profile::default(), 0);
    Ok((Place { name, cluster, client, link, _kubelet: kubelet }, Client::new(way, "default")))
}

async fn listen(cluster: &Cluster, name: &str, kubeconfigs: &mut Kubeconfigs) -> Result<Listening> {
    let listening = cluster.listen(0).await?;
    kubeconfigs.write(name, &listening.access.kubeconfig(name))?;
    Ok(listening)
}

/// Waits until the host knows that a member answers: to those that do not nothing is granted.
async fn joined(client: &Client, name: &str) -> Result<()> {
    let ready = |cluster: Option<&DynamicObject>| {
        let conditions = cluster.and_then(|it| it.data["status"]["conditions"].as_array());
        conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
    };
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &cluster_kind());
    let joined = timeout(SERVED, await_condition(api, name, ready)).await;
    joined.with_context(|| format!("{name} does not answer"))??;
    Ok(())
}

/// Works are stamped in this process, wherever the webhook seems to be.
async fn stamp(webhooks: &Webhooks, client: &Client) -> Result<()> {
    let kinds = Kinds::default();
    let stamper = Stamper::new(client.clone(), Metrics::default(), kinds.clone());
    let answer = move |review: Value| -> Carried<'static> {
        let stamper = stamper.clone();
        Box::pin(async move { stamper.review(review.to_string().as_bytes()).await })
    };
    webhooks.answer(WEBHOOK, Arc::new(answer));
    let here = Federation { namespace: NAMESPACE.to_owned(), url: "https://127.0.0.1".to_owned(), kinds };
    apply(client, &[here.admission()]).await
}
