//! A drain before it happens, step by step.

use super::columns::{Line, lay_out};
use super::words;
use crate::budgets::drain::{Cost, Drain, Going, Stuck};
use crate::screen::Paint;

/// So much of what a step waits for is named.
const NAMED: usize = 3;

/// What goes when, and what never.
pub fn draw(drain: &Drain, paint: Paint) -> String {
    let mut lines = Vec::new();
    let steps = drain.steps.iter().filter(|step| !step.pods.is_empty());
    for (i, step) in steps.enumerate() {
        let when = match step.after.is_empty() {
            true if i == 0 => "at once".to_owned(),
            true => "then".to_owned(),
            false => format!("after {}", named(&step.after.iter().cloned().collect::<Vec<_>>())),
        };
        for (j, going) in step.pods.iter().enumerate() {
            let when = if j == 0 { when.clone() } else { String::new() };
            lines.push(Line::plain(vec![when, title(&going.namespace, &going.pod), costs(going)]));
        }
    }
    for (i, Stuck { namespace, pod, why }) in drain.never.iter().enumerate() {
        let when = if i == 0 { "never" } else { "" }.to_owned();
        lines.push(Line { cells: vec![when, title(namespace, pod), why.clone()], paint: Paint::bad });
    }
    lay_out(&["WHEN", "POD", "COST"], &lines, paint)
}

fn title(namespace: &str, pod: &str) -> String {
    format!("{namespace}/{pod}")
}

fn named(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED);
    let mut shown: Vec<String> = all.iter().take(NAMED).cloned().collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    let back = if all.len() == 1 { "is back" } else { "are back" };
    format!("{} {back}", words::list(&shown))
}

fn costs(going: &Going) -> String {
    let cost = |Cost { budget, unit, toll }: &Cost| match toll.verdict {
        "pays" => format!("{budget}: pays for {unit}"),
        verdict if toll.why.is_empty() => format!("{budget}: {verdict}"),
        verdict => format!("{budget}: {verdict}, {}", toll.why),
    };
    match going.costs.as_slice() {
        [] => "no budget covers it".to_owned(),
        some => some.iter().map(cost).collect::<Vec<_>>().join("; "),
    }
}
