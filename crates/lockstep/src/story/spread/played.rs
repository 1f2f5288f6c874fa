//! A rollout over clusters, played where nothing goes wrong.

use lockstep_core::align::Wish;
use lockstep_core::simulate::federation::faults::{Faults, Nature};
use lockstep_core::simulate::federation::trace::{Event, What};
use lockstep_core::simulate::federation::workload::template;
use lockstep_core::simulate::federation::{Outcome, Scenario, Start, Turns, run};
use lockstep_core::simulate::trace::End;
use lockstep_core::time::Millis;

use super::verdict;
use super::waves::{self, Totals, Wave};
use crate::input::spread::Change;

/// A rollout that was played.
#[derive(Debug)]
pub struct Played {
    /// What it is about.
    pub change: Change,
    /// The same in one line.
    pub title: String,
    /// What happened.
    pub events: Vec<Event>,
    /// How it went.
    pub outcome: Outcome,
    /// How the world was.
    pub nature: Nature,
    /// Wave by wave.
    pub waves: Vec<Wave>,
    /// All in all.
    pub totals: Totals,
    /// Why it cannot finish.
    pub refused: Option<String>,
}

/// What is to be played: what stands as the change says, unless it is given.
pub fn scenario(change: &Change, start: Option<Start>) -> Scenario {
    let stands = change.from.as_ref().map(|it| Start::Complete(it.wish.clone()));
    Scenario {
        model: change.model,
        start: start.or(stands).unwrap_or(Start::Nothing),
        changes: vec![(Millis(0), change.to.wish.clone())],
        nature: Nature::default(),
        faults: Faults::default(),
        seed: 0,
        limit: Millis::minutes(60 * 24 * 365),
    }
}

impl Played {
    /// Plays it. A template that is paused counts as resumed.
    pub fn ideal(
        change: Change,
        title: String,
        start: Option<Start>,
        nature: Nature,
        turns: &mut dyn Turns,
    ) -> Self {
        let mut scenario = Scenario { nature, ..scenario(&change, start) };
        for (_, wish) in &mut scenario.changes {
            wish.strategy.paused = wish.strategy.paused.map(|_| false);
        }
        let mut events = Vec::new();
        let outcome = run(&scenario, turns, &mut |event| events.push(event));
        let waves = waves::cut(&events);
        let totals = waves::add_up(&waves);
        let refused = verdict::refused(&change, &outcome);
        Self { change, title, events, outcome, nature: scenario.nature, waves, totals, refused }
    }

    /// The new and the old pods that every cluster has at the end, in order.
    pub fn ends(&self) -> Vec<(String, u32, u32)> {
        let wish: &Wish = &self.change.to.wish;
        let wanted = template(&wish.template);
        let of = |cluster: &String| {
            let last = self.events.iter().rev().find_map(|it| match &it.what {
                What::Pods { cluster: of, pods } if of == cluster => Some(pods),
                _ => None,
            });
            let sum = |new: bool| {
                let of = last.into_iter().flatten().filter(|it| (it.template == wanted) == new);
                of.map(|it| it.pods).sum()
            };
            (cluster.clone(), sum(true), sum(false))
        };
        wish.clusters.iter().map(|it| of(&it.cluster)).collect()
    }

    /// How it ends, in words; nothing if everything is new.
    pub fn ending(&self) -> Option<String> {
        let kept = self.ends().into_iter().filter(|(_, _, old)| *old > 0);
        let kept: Vec<String> =
            kept.map(|(cluster, new, old)| format!("{cluster} {old} of {}", new + old)).collect();
        let old: u32 = self.ends().iter().map(|(_, _, old)| old).sum();
        let (of, all) = (kept.join(", "), self.outcome.totals.replicas);
        let reached = self.outcome.end == End::PartitionReached && self.refused.is_none();
        reached.then(|| format!("Ends with the partition reached: {old} of {all} pods stay old ({of})"))
    }
}
