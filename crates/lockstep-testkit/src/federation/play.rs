//! Plays a case on a federation.

use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, DynamicObject};

use super::case::{Case, FIRST, Kind, NAME, Step, Strategy};
use super::record::{Recorder, Verdict, View, Workload};
use super::{CutOff, Federation, Member};
use crate::cluster::{ClusterError, apply};
use crate::proxy::{Fault, Held, Rule, Verb, Which};

/// How long a case may take to come to where it is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long nothing happens when nothing will: Karmada takes a few seconds to notice that a member is gone.
const STILL: Duration = Duration::from_secs(6);

/// How long nothing happens when what has not ended never will.
const GIVE_UP: Duration = Duration::from_secs(15);

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
struct Stage<'a> {
    case: &'a Case,
    federation: &'a Federation,
    namespace: String,
    recorder: Recorder,
    image: &'static str,
    cut_off: Vec<CutOff>,
    late: Vec<Held>,
}

/// Plays a case in a namespace of its own: the workload comes up, the steps are taken, and it is waited for the end.
/// Whoever is to watch over the rollout has to be there before.
pub async fn play(case: &Case, federation: &Federation) -> Result<Played, ClusterError> {
    let namespace = federation.new_namespace(case.name).await?;
    let recorder = federation.record(&namespace, &case.kind.resource()).await?;
    let (cut_off, late) = (Vec::new(), Vec::new());
    let mut stage = Stage { case, federation, namespace, recorder, image: FIRST, cut_off, late };
    let mut missed = stage.come_up().await?;
    let started = std::time::Instant::now();
    if missed.is_none() {
        stage.recorder.wish(&case.promise(FIRST));
        for step in case.steps {
            missed = missed.or(stage.take(step).await?);
        }
        missed = missed.or(stage.come_to_an_end().await);
        let idle = !stage.late.is_empty() && stage.late.iter().all(|rule| rule.hits() == 0);
        missed = missed.or_else(|| idle.then(|| "nothing was held back".to_owned()));
    }
    let took = started.elapsed();
    let (verdict, end) = (stage.recorder.verdict(), stage.recorder.view());
    stage.leave().await?;
    Ok(Played { verdict, end, missed, took })
}

/// Where a case must end: the right pods in the right places, nothing held, and the user's own numbers in force.
fn has_ended(case: &Case, view: &View) -> bool {
    let sizes = view.members.iter().map(|(_, counts, _)| counts.standing);
    let split = sizes.eq(case.ends.iter().copied().chain(std::iter::repeat(0)).take(view.members.len()));
    let mut workloads = view.members.iter().filter_map(|(_, _, workload)| workload.as_ref());
    split
        && view.rests()
        && view.sum().new == case.new
        && workloads.all(|workload| is_at_rest(case, workload))
}

fn is_at_rest(case: &Case, workload: &Workload) -> bool {
    let Strategy { max_unavailable, max_surge, .. } = case.strategy;
    // What a member keeps of a partition is its part of it.
    let given_back = case.kind != Kind::Deployment
        || (workload.strategy["maxUnavailable"] == max_unavailable
            && workload.strategy["maxSurge"] == max_surge);
    !workload.paused && given_back
}

impl Stage<'_> {
    async fn come_up(&mut self) -> Result<Option<String>, ClusterError> {
        self.split(self.case.split).await?;
        apply(&self.federation.client(), &self.case.manifest(&self.namespace, self.image)).await?;
        let replicas = self.case.replicas();
        let is_up = |view: &View| view.rests() && view.sum().available == replicas;
        let up = self.recorder.until_stays(PATIENCE, is_up).await;
        Ok((!up).then(|| "it never came up".to_owned()))
    }

    /// Waits for the end, or until nothing happens for so long that nothing will, and tells whether that was the end.
    async fn come_to_an_end(&mut self) -> Option<String> {
        let case = self.case;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if self.recorder.until_stays(left.min(LOOK), |view| has_ended(case, view)).await {
                return None;
            }
            if left.is_zero() || self.recorder.idle() >= GIVE_UP {
                return Some("it has not ended as it should".to_owned());
            }
        }
    }

    /// Takes a step, and tells what it did not come to.
    async fn take(&mut self, step: &Step) -> Result<Option<String>, ClusterError> {
        self.recorder.note(&format!("{step:?}"));
        match *step {
            Step::Roll(image) => {
                self.image = image;
                self.recorder.wish(&self.case.promise(image));
                apply(&self.federation.client(), &self.case.manifest(&self.namespace, image)).await?;
            }
            Step::Split(split) => self.split(split).await?,
            Step::UntilNew(count) => {
                let seen = self.recorder.until(PATIENCE, |view| view.sum().new >= count).await;
                return Ok((!seen).then(|| format!("there were never {count} new pods")));
            }
            Step::UntilStill => {
                let still = self.recorder.until_quiet(STILL, PATIENCE).await;
                return Ok((!still).then(|| "it never came to rest".to_owned()));
            }
            Step::Late(time) => return Ok(self.hold_back(time)),
            Step::CutOff(member) => match self.federation.members()[member].cut_off() {
                Some(cut_off) => self.cut_off.push(cut_off),
                None => return Ok(Some("a member without a proxy cannot be cut off".to_owned())),
            },
            Step::Mend => self.cut_off.drain(..).for_each(CutOff::mend),
            Step::RestartControllers => self.federation.restart_controllers().await?,
        }
        Ok(None)
    }

    async fn split(&self, split: &[u32]) -> Result<(), ClusterError> {
        let members: Vec<&str> = self.federation.members().iter().map(Member::name).collect();
        let policy = self.case.policy(&self.namespace, &members, split);
        apply(&self.federation.client(), &policy).await.map(drop)
    }

    /// Holds the watches of the workload's kind back, those that are open and those to come.
    fn hold_back(&mut self, time: Duration) -> Option<String> {
        let fault = Fault::HoldWatch { at_most: Some(time.into()) };
        let which = Which::verbs([Verb::Watch]).of(&self.case.kind.resource().plural);
        let proxies = self.federation.members().iter().filter_map(Member::proxy);
        let before = self.late.len();
        self.late.extend(proxies.map(|proxy| proxy.add(Rule::new(which.clone(), fault.clone()))));
        (self.late.len() == before).then(|| "without proxies nothing can be held back".to_owned())
    }

    /// Takes the workload away; the next case is to have the machine for itself.
    async fn leave(&mut self) -> Result<(), ClusterError> {
        self.cut_off.drain(..).for_each(CutOff::mend);
        self.late.drain(..).for_each(|rule| rule.remove());
        let kind = self.case.kind.resource();
        let api: Api<DynamicObject> = Api::namespaced_with(self.federation.client(), &self.namespace, &kind);
        let gone = api.delete(NAME, &DeleteParams::default()).await;
        gone.map_err(ClusterError::api("delete the workload"))?;
        self.recorder.until(PATIENCE, |view| view.sum().standing == 0).await;
        Ok(())
    }
}
