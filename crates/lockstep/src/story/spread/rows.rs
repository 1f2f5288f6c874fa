//! Waves as rows of a table: what looks alike is one row.

use super::waves::{Grant, Move, Moved, Wave, Why};
use crate::show::words;

/// One row: one wave, or several that look alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first and the last wave, counted from 1.
    pub waves: (usize, usize),
    /// A line for every cluster, or for several that do the same.
    pub lines: Vec<Line>,
    /// The lowest availability.
    pub least: (u32, u32),
    /// How long it takes, in milliseconds.
    pub time: u64,
}

/// A line of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The clusters.
    pub clusters: String,
    /// What moves in each.
    pub moves: String,
    /// Why.
    pub because: String,
    /// What each is granted: how many pods may be unavailable, and how many too many.
    pub granted: String,
}

/// How a policy's pauses are called: `bakeTime 10m`.
pub struct Pauses(pub Vec<(&'static str, String)>);

/// The rows of a rollout. `all`: one for each wave.
pub fn rows(waves: &[Wave], pauses: &Pauses, all: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < waves.len() {
        let alike = waves[at + 1..].iter().take_while(|next| !all && fit(&waves[at], next)).count();
        rows.push(row(at, &waves[at..=at + alike], pauses));
        at += alike + 1;
    }
    rows
}

/// The same clusters move for the same reasons.
fn fit(one: &Wave, next: &Wave) -> bool {
    let key = |wave: &Wave| -> Vec<(String, Why, bool)> {
        wave.moves.iter().map(|it| (it.cluster.clone(), it.why.clone(), it.what.watched)).collect()
    };
    key(one) == key(next)
}

fn row(at: usize, waves: &[Wave], pauses: &Pauses) -> Row {
    let mut lines: Vec<Line> = Vec::new();
    let moves = waves.first().map(|wave| wave.moves.as_slice()).unwrap_or_default();
    for (i, one) in moves.iter().enumerate() {
        let same: Vec<&Move> = waves.iter().filter_map(|wave| wave.moves.get(i)).collect();
        let line = line(one, &same, pauses);
        match lines.last_mut() {
            Some(last)
                if (&last.moves, &last.because, &last.granted)
                    == (&line.moves, &line.because, &line.granted) =>
            {
                last.clusters = format!("{}, {}", last.clusters, line.clusters);
            }
            _ => lines.push(line),
        }
    }
    for line in &mut lines {
        if line.clusters.contains(", ") {
            line.moves = format!("{} each", line.moves);
        }
    }
    Row {
        waves: (at + 1, at + waves.len()),
        lines,
        least: waves.iter().map(|wave| wave.least).min().unwrap_or_default(),
        time: waves.iter().map(|wave| wave.end - wave.start).sum(),
    }
}

fn line(one: &Move, same: &[&Move], pauses: &Pauses) -> Line {
    let mut sum = Moved::default();
    let mut grant = Grant::default();
    let mut most = 0;
    for it in same {
        sum.replaced += it.what.replaced;
        sum.surge += it.what.surge;
        sum.surge_goes += it.what.surge_goes;
        sum.started += it.what.started;
        sum.still_old += it.what.still_old;
        sum.removed += it.what.removed;
        sum.watched |= it.what.watched;
        grant.unavailable = grant.unavailable.max(it.grant.unavailable);
        grant.surge = grant.surge.max(it.grant.surge);
        most = most.max(it.what.replaced);
    }
    let mut because = vec![why(&one.why)];
    if sum.watched {
        because = pauses.0.iter().map(|(name, length)| format!("{name} {length}")).collect();
    }
    because.retain(|it| !it.is_empty());
    let granted = match grant {
        Grant { unavailable: 0, surge: 0 } => String::new(),
        Grant { unavailable, surge } => format!("{unavailable}+{surge}"),
    };
    Line { clusters: one.cluster.clone(), moves: say(&sum, most), because: because.join(", "), granted }
}

/// What moves, in words: `3 replaced, 1 surge`.
fn say(what: &Moved, most: u32) -> String {
    if what.watched {
        return "is watched".to_owned();
    }
    let mut parts = Vec::new();
    let replaced = what.replaced + what.surge.min(what.surge_goes);
    let (surge, goes) =
        (what.surge - what.surge.min(what.surge_goes), what.surge_goes - what.surge.min(what.surge_goes));
    if replaced > 0 {
        let steps = replaced > most && most > 0;
        let at_once = if steps { format!(" ({most} at once)") } else { String::new() };
        parts.push(format!("{replaced} replaced{at_once}"));
    }
    if surge > 0 {
        parts.push(format!("{surge} surge"));
    }
    if goes > 0 {
        parts.push(format!("{goes} surge {}", if goes == 1 { "goes" } else { "go" }));
    }
    if what.started > 0 {
        parts.push(format!("{} started", what.started));
    }
    if what.still_old > 0 {
        parts.push(format!("{} still old", what.still_old));
    }
    if what.removed > 0 {
        parts.push(format!("{} removed", what.removed));
    }
    parts.join(", ")
}

/// Why a cluster moves, in words.
pub fn why(why: &Why) -> String {
    match why {
        Why::First => "first in order".to_owned(),
        Why::Left(others) => match &others[..] {
            [only] => format!("what {only} leaves"),
            others => format!("what {} leave", others_in_short(others)),
        },
        Why::Done(other) => format!("{other} done"),
        Why::Replicas(old, new) => format!("replicas {old} → {new}"),
        Why::Start => "first start".to_owned(),
        Why::Watch => String::new(),
    }
}

fn others_in_short(others: &[String]) -> String {
    match others {
        [first, .., last] if others.len() > 2 => format!("{first} … {last}"),
        others => words::list(others),
    }
}
