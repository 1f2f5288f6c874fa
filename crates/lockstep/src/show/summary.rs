//! Many runs in a few lines.

use std::collections::BTreeMap;

use lockstep_core::blocked::Reason;
use lockstep_core::names::RoleName;
use lockstep_core::promises::Promise;
use lockstep_core::simulate::trace::End;
use serde::Serialize;

use super::words;
use crate::story::runs::Run;

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
    /// How many plans were made in one run.
    pub plans: Spread,
    /// How long things waited, by reason: the median over the runs, in milliseconds, summed over what waited.
    pub waits_ms: BTreeMap<String, u64>,
    /// Per role: the lowest number available in one group at any time, of how many.
    pub least: BTreeMap<RoleName, (u32, u32)>,
    /// The promises that were broken, with the seed to replay.
    pub broken: Vec<Failure>,
    /// Why runs that hold are right to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_hold: Option<String>,
}

/// The least, the middle and the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: u64,
    /// The middle.
    pub median: u64,
    /// The most.
    pub max: u64,
}

/// A promise that was broken in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The run.
    pub seed: u64,
    /// When, in milliseconds.
    pub t: u64,
    /// Which promise.
    pub promise: String,
    /// What was seen.
    pub detail: String,
}

impl Spread {
    /// Of these values.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        match (values.first(), values.get(values.len() / 2), values.last()) {
            (Some(min), Some(median), Some(max)) => Self { min: *min, median: *median, max: *max },
            _ => Self::default(),
        }
    }

    /// The median of each over all runs; where a run has none it is zero. Those that come to nothing are left out.
    pub fn medians<K>(
        all: BTreeMap<K, Vec<u64>>,
        runs: usize,
        name: impl Fn(K) -> String,
    ) -> BTreeMap<String, u64> {
        let median = |mut values: Vec<u64>| {
            values.resize(runs.max(values.len()), 0);
            Self::of(values).median
        };
        let medians = all.into_iter().map(|(key, values)| (name(key), median(values)));
        medians.filter(|(_, median)| *median > 0).collect()
    }
}

/// Sums runs up, in the order of their seeds.
pub fn sum_up(runs: &[Run]) -> Summary {
    let mut summary = Summary {
        runs: runs.len() as u64,
        seed: runs.first().map_or(0, |run| run.seed),
        duration_ms: Spread::of(runs.iter().map(|run| run.outcome.duration.0).collect()),
        plans: Spread::of(runs.iter().map(|run| run.outcome.plans).collect()),
        ..Summary::default()
    };
    for run in runs {
        *summary.ended.entry(end_word(run.outcome.end).to_owned()).or_default() += 1;
        for (role, (least, of)) in &run.least {
            let entry = summary.least.entry(role.clone()).or_insert((*least, *of));
            *entry = (entry.0.min(*least), entry.1.max(*of));
        }
        summary.broken.extend(run.broken.iter().map(|broken| Failure {
            seed: run.seed,
            t: broken.t,
            promise: format!("{:?}", broken.promise),
            detail: broken.detail.clone(),
        }));
    }
    summary.waits_ms = waited(runs);
    summary
}

fn waited(runs: &[Run]) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<Reason, Vec<u64>> = BTreeMap::new();
    for (reason, time) in runs.iter().flat_map(|run| &run.outcome.waits) {
        all.entry(*reason).or_default().push(time.0);
    }
    Spread::medians(all, runs.len(), |reason| reason.to_string())
}

/// How a run ended, in a word.
pub fn end_word(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::PartitionReached => "partitionReached",
        End::RolledBack => "rolledBack",
        End::Paused => "paused",
        End::Stuck => "stuck",
        End::TimedOut => "timedOut",
    }
}

fn end_words(word: &str) -> &str {
    match word {
        "partitionReached" => "partition reached",
        "rolledBack" => "rolled back",
        "timedOut" => "not at an end in time",
        "stuck" => "held",
        other => other,
    }
}

impl Summary {
    /// Runs that hold are right to hold.
    pub fn excuse(&mut self, why: &str) {
        self.broken.retain(|failure| failure.promise != format!("{:?}", Promise::Convergence));
        self.may_hold.get_or_insert(why.to_owned());
    }

    /// The summary for people.
    pub fn text(&self) -> String {
        let mut rows = vec![vec!["ended".to_owned(), ended(&self.ended, self.runs)]];
        rows.push(vec!["time".to_owned(), spread(self.duration_ms, self.runs, words::roughly)]);
        let least: Vec<String> =
            self.least.iter().map(|(role, (least, of))| format!("{role} {least}/{of}")).collect();
        rows.push(vec!["available (least)".to_owned(), least.join(", ")]);
        rows.push(vec!["waited".to_owned(), waits(&self.waits_ms)]);
        rows.push(vec!["plans made".to_owned(), spread(self.plans, self.runs, |n| n.to_string())]);
        if let Some(why) = &self.may_hold {
            rows.push(vec!["may hold".to_owned(), why.clone()]);
        }
        rows.retain(|row| !row[1].is_empty());
        words::table(&[], &rows)
    }
}

/// How many runs ended how, in words.
pub fn ended(ended: &BTreeMap<String, u64>, runs: u64) -> String {
    let each = ended.iter().map(|(end, n)| {
        if runs == 1 { end_words(end).to_owned() } else { format!("{n} {}", end_words(end)) }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The least, the most and the middle, in words.
pub fn spread(spread: Spread, runs: u64, say: impl Fn(u64) -> String) -> String {
    if runs == 1 {
        return say(spread.median);
    }
    format!("{} to {}, median {}", say(spread.min), say(spread.max), say(spread.median))
}

/// How long it waited for what, the longest first.
pub fn waits(waits: &BTreeMap<String, u64>) -> String {
    let mut waits: Vec<(&String, &u64)> = waits.iter().collect();
    waits.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
    let shown: Vec<String> =
        waits.iter().take(6).map(|(reason, time)| format!("{reason} {}", words::roughly(**time))).collect();
    shown.join(", ")
}
