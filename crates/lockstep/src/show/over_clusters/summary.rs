//! Many runs of a rollout over clusters in a few lines.

use std::collections::BTreeMap;

use lockstep_core::align::Code;
use lockstep_core::simulate::federation::Outcome;
use lockstep_core::simulate::federation::promise::Bound;
use lockstep_core::simulate::trace::End;
use serde::Serialize;

use crate::show::summary::{Failure, Spread, end_word, ended, spread, waits};
use crate::show::words;

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// How it went.
    pub outcome: Outcome,
}

/// What many runs came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many runs.
    pub runs: u64,
    /// The first seed.
    pub seed: u64,
    /// How many ended how.
    pub ended: BTreeMap<String, u64>,
    /// How long they took, in milliseconds.
    pub duration_ms: Spread,
    /// How often it was aligned in one run.
    pub alignments: Spread,
    /// How many leases were given in one run.
    pub leases: Spread,
    /// How long things waited, by reason: the median over the runs, in milliseconds, summed over the clusters.
    pub waits_ms: BTreeMap<String, u64>,
    /// The lowest number available over all clusters at any time, of how many.
    pub available_least: (u32, u32),
    /// The most pods over all clusters at any time.
    pub pods_most: u32,
    /// The promises that were broken, with the seed to replay.
    pub broken: Vec<Failure>,
    /// Why runs that hold are right to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_hold: Option<String>,
}

/// Sums runs up, in the order of their seeds.
pub fn sum_up(runs: &[Run]) -> Summary {
    let all = |of: fn(&Outcome) -> u64| Spread::of(runs.iter().map(|run| of(&run.outcome)).collect());
    let replicas = runs.iter().map(|run| run.outcome.totals.replicas).max().unwrap_or(0);
    let mut summary = Summary {
        runs: runs.len() as u64,
        seed: runs.first().map_or(0, |run| run.seed),
        duration_ms: all(|it| it.duration.0),
        alignments: all(|it| it.alignments),
        leases: all(|it| it.leases),
        available_least: (runs.iter().map(|it| it.outcome.least_available).min().unwrap_or(0), replicas),
        pods_most: runs.iter().map(|it| it.outcome.most_pods).max().unwrap_or(0),
        ..Summary::default()
    };
    let mut waited: BTreeMap<Code, Vec<u64>> = BTreeMap::new();
    for Run { seed, outcome } in runs {
        *summary.ended.entry(end_word(outcome.end).to_owned()).or_default() += 1;
        for (code, time) in &outcome.waits {
            waited.entry(*code).or_default().push(time.0);
        }
        let failure = |t, promise: Bound, detail: String| Failure {
            seed: *seed,
            t,
            promise: format!("{promise:?}"),
            detail,
        };
        let broken = outcome.broken.iter();
        summary.broken.extend(broken.map(|(t, it)| failure(t.0, it.bound, it.detail.clone())));
        if matches!(outcome.end, End::Stuck | End::TimedOut) {
            let waits = outcome.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            summary.broken.push(failure(outcome.duration.0, Bound::Convergence, waits));
        }
    }
    summary.waits_ms = Spread::medians(waited, runs.len(), |code| format!("{code:?}"));
    summary
}

impl Summary {
    /// Runs that hold are right to hold.
    pub fn excuse(&mut self, why: &str) {
        self.broken.retain(|failure| failure.promise != format!("{:?}", Bound::Convergence));
        self.may_hold.get_or_insert(why.to_owned());
    }

    /// The summary for people.
    pub fn text(&self) -> String {
        let (least, of) = self.available_least;
        let mut rows = vec![
            ("ended", ended(&self.ended, self.runs)),
            ("time", spread(self.duration_ms, self.runs, words::roughly)),
            ("available (least)", format!("{least}/{of}")),
            ("pods (most)", self.pods_most.to_string()),
            ("waited", waits(&self.waits_ms)),
            ("leases given", spread(self.leases, self.runs, |n| n.to_string())),
        ];
        rows.extend(self.may_hold.clone().map(|why| ("may hold", why)));
        rows.retain(|(_, said)| !said.is_empty());
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|(name, said)| vec![name.to_owned(), said]).collect();
        words::table(&[], &rows)
    }
}
