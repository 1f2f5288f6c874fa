//! Plays a case on a federation.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, EvictParams, GroupVersionKind, ListParams, Patch, PatchParams,
};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::case::{Case, FIRST, Kind, NAME, Own, Step, Strategy, override_name};
use super::record::{Promise, Recorder, Verdict, View, Workload};
use super::site::{HeldBack, Site, Undo};
use crate::cluster::{ClusterError, apply};

/// How long nothing happens when nothing will: Karmada takes a few seconds to notice that a member is gone.
const STILL: Duration = Duration::from_secs(6);

/// How often it is looked whether that is so.
const LOOK: Duration = Duration::from_secs(3);

/// How a case came out.
#[derive(Debug)]
pub struct Played {
    /// What was recorded, and which promises were broken.
    pub verdict: Verdict,
    /// What stood in the end.
    pub end: View,
    /// What the case did not come to, if so.
    pub missed: Option<String>,
    /// How long it took from the first step to the end.
    pub took: Duration,
}

impl Played {
    /// It ended as it had to, and no promise was broken.
    pub fn is_kept(&self) -> bool {
        self.missed.is_none() && self.verdict.breaches.is_empty()
    }

    /// Asserts that.
    ///
    /// # Panics
    /// If it is not so, with what went wrong and when.
    pub fn assert_kept(&self) {
        self.verdict.assert_kept();
        assert!(self.missed.is_none(), "{}: {}", self.missed.as_deref().unwrap_or_default(), self.end);
    }
}

/// A case that is under way.
struct Stage<'a, S> {
    case: &'a Case<'a>,
    site: &'a S,
    namespace: String,
    recorder: Recorder,
    image: &'a str,
    /// How the pods are split now.
    split: &'a [u32],
    slack: Slack,
    /// What is different in a member, by its number.
    own: BTreeMap<usize, Own<'a>>,
    cut_off: Vec<Undo>,
    late: Vec<HeldBack>,
}

/// What is promised while the workload changes its size: no less than of the smaller, no more than of the larger, and
/// what a cluster had that is left is gone at once, whoever watches over it.
#[derive(Debug, Clone, Copy)]
struct Slack {
    least: u32,
    most: u32,
    left: u32,
}

impl Slack {
    fn none(replicas: u32) -> Self {
        Self { least: replicas, most: replicas, left: 0 }
    }
}

/// Plays a case in a namespace of its own: the workload comes up, the steps are taken, and it is waited for the end.
/// Whoever is to watch over the rollout has to be there before.
pub async fn play<S: Site>(case: &Case<'_>, site: &S) -> Result<Played, ClusterError> {
    play_beside(case, site, &[]).await
}

/// The same, with these objects in the namespace from the beginning.
pub async fn play_beside<S: Site>(
    case: &Case<'_>,
    site: &S,
    objects: &[Value],
) -> Result<Played, ClusterError> {
    let namespace = site.new_namespace(case.name).await?;
    for object in objects {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(namespace);
        apply(&site.client(), &object).await?;
    }
    let recorder = site.record(&namespace, &case.kind.resource()).await?;
    let (split, slack) = (case.split, Slack::none(case.replicas()));
    let (own, cut_off, late) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut stage = Stage { case, site, namespace, recorder, image: FIRST, split, slack, own, cut_off, late };
    let mut missed = stage.come_up().await?;
    let started = tokio::time::Instant::now();
    if missed.is_none() {
        stage.wish();
        for step in case.steps {
            missed = missed.or(stage.take(step).await?);
        }
        missed = missed.or(stage.come_to_an_end().await);
        let idle = !stage.late.is_empty() && stage.late.iter().all(|held| (held.hits)() == 0);
        missed = missed.or_else(|| idle.then(|| "nothing was held back".to_owned()));
    }
    let took = started.elapsed();
    let (verdict, end) = (stage.recorder.verdict(), stage.recorder.view());
    stage.leave().await?;
    Ok(Played { verdict, end, missed, took })
}

/// Where a case must end: the right pods in the right places, nothing held, and the user's own numbers in force.
fn has_ended(case: &Case, own: &BTreeMap<usize, Own<'_>>, view: &View) -> bool {
    let sizes = view.members.iter().map(|(_, counts, _)| counts.standing);
    let split = sizes.eq(case.ends.iter().copied().chain(std::iter::repeat(0)).take(view.members.len()));
    let workloads = view.members.iter().map(|(_, _, workload)| workload.as_ref()).enumerate();
    let mut workloads = workloads.filter_map(|(member, workload)| Some((own.get(&member), workload?)));
    split
        && view.rests()
        && (view.sum().new, view.sum().mixed) == (case.new, 0)
        && workloads.all(|(own, workload)| is_at_rest(case, own, workload))
}

fn is_at_rest(case: &Case, own: Option<&Own<'_>>, workload: &Workload) -> bool {
    let Strategy { mut max_unavailable, max_surge, .. } = case.strategy;
    if let Some(Own::MaxUnavailable(count)) = own {
        max_unavailable = *count;
    }
    // What a member keeps of a partition is its part of it.
    let given_back = !matches!(case.kind, Kind::Deployment | Kind::LockstepSet)
        || (workload.strategy["maxUnavailable"] == max_unavailable
            && workload.strategy["maxSurge"] == max_surge);
    !workload.paused && given_back
}

/// Leaves no room for another pod, and evicts one.
async fn strike(member: &Client, namespace: &str) -> Result<(), ClusterError> {
    make_room(member, false).await?;
    let pods: Api<Pod> = Api::namespaced(member.clone(), namespace);
    let all = pods.list(&ListParams::default()).await.map_err(ClusterError::api("list pods"))?;
    let Some(pod) = all.items.iter().find(|it| it.metadata.deletion_timestamp.is_none()) else {
        return Ok(());
    };
    let evicted = pods.evict(&pod.name_any(), &EvictParams::default()).await;
    evicted.map(drop).map_err(ClusterError::api("evict a pod"))
}

/// Whether nodes take pods.
async fn make_room(member: &Client, is_room: bool) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(member.clone());
    let all = nodes.list(&ListParams::default()).await.map_err(ClusterError::api("list nodes"))?;
    for node in all.items {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": !is_room}}));
        let patched = nodes.patch(&node.name_any(), &PatchParams::default(), &patch).await;
        patched.map_err(ClusterError::api("patch a node"))?;
    }
    Ok(())
}

impl<'a, S: Site> Stage<'a, S> {
    async fn come_up(&mut self) -> Result<Option<String>, ClusterError> {
        self.place().await?;
        self.apply().await?;
        let replicas = self.case.replicas();
        let is_up = |view: &View| view.rests() && view.sum().available == replicas;
        let up = self.recorder.until_stays(S::PATIENCE, is_up).await;
        Ok((!up).then(|| "it never came up".to_owned()))
    }

    /// Waits for the end, or until nothing happens for so long that nothing will, and tells whether that was the end.
    async fn come_to_an_end(&mut self) -> Option<String> {
        let (case, own) = (self.case, &self.own);
        let deadline = tokio::time::Instant::now() + S::PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if self.recorder.until_stays(left.min(LOOK), |view| has_ended(case, own, view)).await {
                return None;
            }
            if left.is_zero() || self.recorder.idle() >= S::GIVE_UP {
                return Some("it has not ended as it should".to_owned());
            }
        }
    }

    /// Takes a step, and tells what it did not come to.
    async fn take(&mut self, step: &Step<'a>) -> Result<Option<String>, ClusterError> {
        self.recorder.note(&format!("{step:?}"));
        match *step {
            Step::Roll(image) => {
                self.image = image;
                self.wish();
                self.apply().await?;
            }
            Step::Split(split) => self.resize(split).await?,
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::UntilNew(count) => {
                let seen = self.recorder.until(S::PATIENCE, |view| view.sum().new >= count).await;
                return Ok((!seen).then(|| format!("there were never {count} new pods")));
            }
            Step::UntilStill => {
                let still = self.recorder.until_quiet(STILL, S::PATIENCE).await;
                self.tighten();
                return Ok((!still).then(|| "it never came to rest".to_owned()));
            }
            Step::Late(time) => match self.site.hold_back(&self.case.kind.resource(), time) {
                Some(held) => self.late.push(held),
                None => return Ok(Some("without proxies nothing can be held back".to_owned())),
            },
            Step::CutOff(member) => match self.site.cut_off(member) {
                Some(cut_off) => self.cut_off.push(cut_off),
                None => return Ok(Some("a member without a proxy cannot be cut off".to_owned())),
            },
            Step::Mend => self.cut_off.drain(..).for_each(|mend| mend()),
            Step::RestartControllers => self.site.restart_controllers().await?,
            Step::Strike(member) => strike(&self.site.member(member), &self.namespace).await?,
            Step::Heal(member) => make_room(&self.site.member(member), true).await?,
            Step::Override(member, own) => {
                self.own.insert(member, own);
                self.wish();
                self.make_different(member, own).await?;
            }
        }
        Ok(None)
    }

    /// What is promised now.
    fn wish(&self) {
        let Slack { least, most, left } = self.slack;
        let promise = self.case.promise(self.image);
        let max_unavailable = promise.max_unavailable + left;
        let max_surge = promise.max_surge + (most - least);
        let registry = |(member, own): (&usize, &Own<'_>)| match own {
            Own::Registry(registry) => Some((*member, (*registry).to_owned())),
            _ => None,
        };
        let registries = self.own.iter().filter_map(registry).collect();
        self.recorder.wish(&Promise { replicas: least, max_unavailable, max_surge, registries, ..promise });
    }

    /// Where everything has arrived, nothing is owed to a change of its size any more.
    fn tighten(&mut self) {
        let (replicas, view) = (self.replicas(), self.recorder.view());
        if view.rests() && view.sum().available == replicas {
            self.slack = Slack::none(replicas);
            self.wish();
        }
    }

    fn replicas(&self) -> u32 {
        self.split.iter().sum()
    }

    async fn resize(&mut self, split: &'a [u32]) -> Result<(), ClusterError> {
        let (before, replicas) = (self.replicas(), split.iter().sum());
        let left: u32 = self.split.iter().zip(split).filter(|(_, now)| **now == 0).map(|(was, _)| was).sum();
        let Slack { least, most, left: already } = self.slack;
        self.slack = Slack { least: least.min(replicas), most: most.max(replicas), left: already + left };
        self.split = split;
        self.wish();
        self.place().await?;
        if replicas != before { self.apply().await } else { Ok(()) }
    }

    async fn apply(&self) -> Result<(), ClusterError> {
        let manifest = self.case.manifest_of(&self.namespace, self.image, self.replicas());
        apply(&self.site.client(), &manifest).await.map(drop)
    }

    async fn make_different(&self, member: usize, own: Own<'_>) -> Result<(), ClusterError> {
        let (namespace, client) = (&self.namespace, self.site.client());
        let member = &self.site.names()[member];
        match self.case.override_policy(namespace, member, own) {
            Some(policy) => apply(&client, &policy).await.map(drop),
            None => {
                let kind = GroupVersionKind::gvk("policy.karmada.io", "v1alpha1", "OverridePolicy");
                let kind = ApiResource::from_gvk(&kind);
                let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &kind);
                let gone = api.delete(&override_name(member), &DeleteParams::default()).await;
                gone.map(drop).map_err(ClusterError::api("delete an override policy"))
            }
        }
    }

    async fn place(&self) -> Result<(), ClusterError> {
        let members = self.site.names();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let policy = self.case.policy(&self.namespace, &members, self.split);
        apply(&self.site.client(), &policy).await.map(drop)
    }

    /// Takes the workload away; the next case is to have the machine for itself.
    async fn leave(&mut self) -> Result<(), ClusterError> {
        self.cut_off.drain(..).for_each(|mend| mend());
        self.late.drain(..).for_each(|held| (held.end)());
        let kind = self.case.kind.resource();
        let api: Api<DynamicObject> = Api::namespaced_with(self.site.client(), &self.namespace, &kind);
        let gone = api.delete(NAME, &DeleteParams::default()).await;
        gone.map_err(ClusterError::api("delete the workload"))?;
        self.recorder.until(S::PATIENCE, |view| view.sum().standing == 0).await;
        Ok(())
    }
}
