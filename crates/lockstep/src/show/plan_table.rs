//! A rollout as a table, and what it comes to in one line.

use lockstep_core::model::Spec;
use lockstep_core::simulate::trace::End;

use super::words;
use crate::story::fold::Row;
use crate::story::totals::{Totals, allowed_skew};

/// The table of a rollout.
pub fn table(rows: &[Row], finishes: bool) -> String {
    let cells = |row: &Row| {
        vec![
            wave(row.waves),
            row.groups.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            row.moves.join(",\n"),
            row.because.join(", "),
            row.least.join(", "),
            format!("+{}", words::roughly(row.time)),
        ]
    };
    let mut rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    if let Some(time) = rows.last_mut().and_then(|row| row.last_mut()).filter(|_| !finishes) {
        "stops".clone_into(time);
    }
    words::table(&["wave", "group", "moves", "because", "available (least)", "time"], &rows)
}

fn wave((first, last): (usize, usize)) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// `12 replacements, at most 1 group in update, 1 extra prefill, worst skew 50% (no skew rule), about 1h54m`.
pub fn totals(totals: &Totals, spec: &Spec, time: Option<u64>) -> String {
    let mut parts = Vec::new();
    if totals.replacements > 0 {
        parts.push(words::count(totals.replacements, "replacement"));
        let groups = totals.groups_in_update.max(1);
        parts.push(format!("at most {} in update", words::count(groups, "group")));
    }
    if totals.started > 0 {
        parts.push(format!("{} started", totals.started));
    }
    if totals.removed > 0 {
        parts.push(format!("{} removed", totals.removed));
    }
    parts.extend(totals.extra.iter().map(|(role, n)| format!("{n} extra {role}")));
    if totals.extra_groups > 0 {
        parts.push(format!(
            "{} extra {}",
            totals.extra_groups,
            words::plural(totals.extra_groups as usize, "group")
        ));
    }
    if let Some(skew) = totals.worst_skew.filter(|_| totals.replacements > 0) {
        let rule = allowed_skew(spec).map_or("no skew rule".to_owned(), |most| format!("maxSkew {most}"));
        parts.push(format!("worst skew {} ({rule})", words::permille(skew)));
    }
    parts.push(time.map_or("then it stops".to_owned(), |time| format!("about {}", words::roughly(time))));
    parts.join(", ")
}

/// How it ends, in words; `None` when it is as good as it gets.
pub fn ending(end: End, spec: &Spec) -> Option<String> {
    match end {
        End::Complete | End::Stuck => None,
        End::PartitionReached => Some(format!("Ends with the partition reached: {}", kept(spec))),
        End::RolledBack => Some("Ends back at the old revision".to_owned()),
        End::Paused => Some(
            "Waits for a person: nothing moves until somebody deletes pods (updateStrategy.type OnDelete)"
                .to_owned(),
        ),
        End::TimedOut => Some("Was not played to the end: it takes too long".to_owned()),
    }
}

fn kept(spec: &Spec) -> String {
    let groups = spec.strategy.kept(spec.replicas);
    let mut parts = Vec::new();
    if groups > 0 {
        parts.push(format!("{} of {} groups stay old", groups, spec.replicas));
    }
    for role in &spec.roles {
        let (_, partition) = lockstep_core::coordinate::limits(spec, role);
        if partition > 0 {
            parts.push(format!("{partition} of {} {} stay old", role.replicas, role.name));
        }
    }
    parts.join(", ")
}
