//! One run, from a seed.

mod draw;

use std::fmt;
use std::time::Duration;

use lockstep_sandbox::cluster::faults::{Link, Profile};
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use lockstep_testkit::scenario::{Scenario, ScenarioError, Verdict, World};
use tokio::time::sleep;

use crate::inside::{Operator, nodes};

/// What is played.
#[derive(Debug)]
pub struct Plan {
    seed: u64,
    manifests: Vec<String>,
    scenario: Scenario,
    profile: Profile,
    troupe: Troupe,
}

/// Who plays the operator.
#[derive(Debug, Clone)]
pub enum Troupe {
    /// One that lives.
    One,
    /// One after the other: each dies with so many writes, and the next comes a while later.
    Mortals(Vec<(u64, Duration)>),
    /// Two with an election, of whom one is cut off after a while, for a while, and then the other.
    Rivals(Vec<(Duration, Duration)>),
}

/// What became of it.
pub struct Run {
    /// What was played.
    pub plan: Plan,
    /// What the promises say.
    pub verdict: Result<Verdict, ScenarioError>,
    /// Every change of everything.
    pub history: Vec<String>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for manifest in &self.manifests {
            writeln!(f, "{manifest}")?;
        }
        let profile = serde_json::to_string(&self.profile).unwrap_or_default();
        write!(f, "seed {}: {profile}\n{:?}", self.seed, self.troupe)
    }
}

/// Plays a seed.
pub fn play(seed: u64) -> Run {
    let plan = draw::plan(seed);
    in_virtual_time(async {
        let embedded = Embedded::start(seed, &nodes()).await.expect("an embedded cluster");
        let world = World::Embedded(&embedded);
        let verdict = tokio::select! {
            biased;
            verdict = plan.scenario.play(&world) => verdict,
            () = plan.perform(&embedded) => unreachable!("operators never stop"),
        };
        let history = embedded.history();
        Run { plan, verdict, history }
    })
}

impl Plan {
    /// Whatever becomes of the operators.
    async fn perform(&self, embedded: &Embedded) {
        match &self.troupe {
            Troupe::One => {
                let (_operator, _) = self.one(embedded, 0);
                std::future::pending().await
            }
            Troupe::Mortals(lives) => self.mortals(embedded, lives).await,
            Troupe::Rivals(cuts) => self.rivals(embedded, cuts).await,
        }
    }

    fn client(&self, embedded: &Embedded, number: u64) -> (kube::Client, Link) {
        embedded.client_through(self.profile.clone(), self.seed.wrapping_mul(1000).wrapping_add(number))
    }

    fn one(&self, embedded: &Embedded, number: u64) -> (Operator, Link) {
        let (client, link) = self.client(embedded, number);
        (Operator::start(embedded, client), link)
    }

    async fn mortals(&self, embedded: &Embedded, lives: &[(u64, Duration)]) {
        for (number, (writes, pause)) in (0..).zip(lives) {
            let (operator, link) = self.one(embedded, number);
            link.kill_after(*writes);
            link.dead().await;
            drop(operator);
            sleep(*pause).await;
        }
        let (_operator, _) = self.one(embedded, lives.len() as u64);
        std::future::pending().await
    }

    async fn rivals(&self, embedded: &Embedded, cuts: &[(Duration, Duration)]) {
        let rival = |name: &str, number: u64| {
            let (client, link) = self.client(embedded, number);
            (Operator::replica(embedded, client, name, number), link)
        };
        let rivals = [rival("one", 0), rival("two", 1)];
        for (turn, (after, length)) in cuts.iter().enumerate() {
            sleep(*after).await;
            let (_, link) = &rivals[turn % 2];
            link.cut();
            sleep(*length).await;
            link.mend();
        }
        std::future::pending().await
    }
}
