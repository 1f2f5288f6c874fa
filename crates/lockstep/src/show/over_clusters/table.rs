//! A rollout over clusters as a table, and what it comes to in one line.

use lockstep_core::simulate::federation::Outcome;

use crate::show::words;
use crate::story::spread::rows::{Line, Row};
use crate::story::spread::waves::Totals;

/// The table of a rollout.
pub fn table(rows: &[Row], finishes: bool) -> String {
    let mut cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    if let Some(time) = cells.last_mut().and_then(|row| row.last_mut()).filter(|_| !finishes) {
        "stops".clone_into(time);
    }
    words::table(&["wave", "cluster", "moves", "because", "granted", "available (least)", "time"], &cells)
}

fn cells(row: &Row) -> Vec<String> {
    let (first, last) = row.waves;
    let wave = if first == last { first.to_string() } else { format!("{first}–{last}") };
    let column = |of: fn(&Line) -> &str| row.lines.iter().map(of).collect::<Vec<_>>().join("\n");
    vec![
        wave,
        column(|line| &line.clusters),
        column(|line| &line.moves),
        column(|line| &line.because),
        column(|line| &line.granted),
        format!("{}/{}", row.least.0, row.least.1),
        format!("+{}", words::roughly(row.time)),
    ]
}

/// `10 replacements, at least 8 of 10 available over all clusters, at most 11 pods, about 4m`.
pub fn totals(totals: &Totals, outcome: &Outcome, stood: bool, finishes: bool) -> String {
    let mut parts = Vec::new();
    if totals.replacements > 0 {
        parts.push(words::count(totals.replacements, "replacement"));
    }
    if totals.started > 0 {
        parts.push(format!("{} started", totals.started));
    }
    if totals.removed > 0 {
        parts.push(format!("{} removed", totals.removed));
    }
    let (least, of) = (outcome.least_available, outcome.totals.replicas);
    parts.extend(stood.then(|| format!("at least {least} of {of} available over all clusters")));
    parts.push(format!("at most {}", words::count(outcome.most_pods, "pod")));
    parts.push(match finishes {
        true => format!("about {}", words::roughly(outcome.duration.0)),
        false => "then it stops".to_owned(),
    });
    parts.join(", ")
}
