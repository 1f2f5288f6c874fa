//! Unavailable budgets: what may go now, unit by unit.

use lockstep_core::budget::{Condition, Figures};
use lockstep_core::time::Time;
use serde::Serialize;

use super::columns::{Line, lay_out};
use super::words;
use crate::budgets::held::{Held, Promised, Toll, UnitNow, units};
use crate::screen::Paint;

/// What is told of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `group` or `pod`: what it counts.
    pub unit: &'static str,
    /// What it counts now.
    #[serde(flatten)]
    pub figures: Figures,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The units that have pods.
    pub units: Vec<UnitNow>,
}

/// Tells a budget; and why nobody asks it, if that is so.
pub fn tell(held: &Held, unasked: Option<&str>, now: Time) -> Told {
    let account = held.account(now);
    let mut figures = account.figures();
    let mut warnings: Vec<String> = unasked.map(str::to_owned).into_iter().collect();
    warnings.extend(account.conditions().iter().map(condition));
    if let Some(why) = account.not_yet() {
        warnings.push(format!("nothing is let go for now: {why}. If that lasts, no operator runs"));
        figures.unavailable_allowed = 0;
    }
    let mut units = units(held, now);
    if unasked.is_some() {
        let freely = Toll { verdict: "free", why: "nobody is asked".to_owned() };
        units.iter_mut().for_each(|unit| unit.eviction = freely.clone());
    }
    if units.is_empty() && account.expected() == 0 {
        warnings.push("covers no pod".to_owned());
    }
    let unseen = account.expected().saturating_sub(u32::try_from(units.len()).unwrap_or(u32::MAX));
    if unseen > 0 {
        warnings
            .push(format!("{} that ought to be there: no pod is", words::count(unseen, held.unit_word())));
    }
    Told {
        namespace: held.namespace.clone(),
        name: held.name.clone(),
        unit: held.unit_word(),
        figures,
        warnings,
        units,
    }
}

fn condition(condition: &Condition) -> String {
    match condition {
        Condition::PodsMissingGroupLabel { pods } => {
            format!("{} without the group label: each counts by itself", words::count(*pods, "pod"))
        }
        Condition::MinReadyReplicasImpossible { groups, largest } => format!(
            "{} can never be available: the largest has {}, which is less than minReadyReplicas",
            words::count(*groups, "group"),
            words::count(*largest, "pod")
        ),
        Condition::DrainCanNeverFinish { desired, expected } => {
            format!("{desired} of {expected} must stay: a drain would wait for ever")
        }
    }
}

/// Several budgets, a line for each.
pub fn draw_list(all: &[Told], namespaces: bool, paint: Paint) -> String {
    let line = |told: &Told| {
        let Figures { total_replicas, current_available, desired_available, unavailable_allowed, .. } =
            told.figures;
        let namespace = if namespaces { told.namespace.clone() } else { String::new() };
        let numbers = [total_replicas, current_available, desired_available, unavailable_allowed];
        let promised: usize = told.units.iter().map(|unit| unit.promised.len()).sum();
        let promised = if promised == 0 { String::new() } else { promised.to_string() };
        let mut cells = vec![namespace, told.name.clone(), format!("{}s", told.unit)];
        cells.extend(numbers.map(|n| n.to_string()));
        cells.extend([promised, told.warnings.join("; ")]);
        Line { cells, paint: if unavailable_allowed == 0 { Paint::warn } else { |_, text| text.to_owned() } }
    };
    let header =
        ["NAMESPACE", "NAME", "UNITS", "TOTAL", "AVAILABLE", "DESIRED", "ALLOWED", "PROMISED", "WARNING"];
    lay_out(&header, &all.iter().map(line).collect::<Vec<_>>(), paint)
}

/// One budget, unit by unit.
pub fn draw(told: &Told, now: Time, paint: Paint) -> String {
    let Figures { total_replicas, current_available, desired_available, unavailable_allowed, .. } =
        told.figures;
    let may = words::count(unavailable_allowed, told.unit);
    let mut text = format!(
        "{}: {} may be taken away now. Of {total_replicas}, {current_available} are available and \
         {desired_available} must stay.\n",
        paint.bold(&told.name),
        if unavailable_allowed == 0 { paint.warn(&may) } else { paint.good(&may) },
    );
    for warning in &told.warnings {
        text.push_str(&format!("{}: {warning}.\n", paint.warn("warning")));
    }
    if told.units.is_empty() {
        return text;
    }
    let line = |unit: &UnitNow| {
        let promised: Vec<String> = unit.promised.iter().map(|it| promise(it, now)).collect();
        let toll = match (unit.eviction.verdict, unit.eviction.why.as_str()) {
            (verdict, "") => verdict.to_owned(),
            (verdict, why) => format!("{verdict}: {why}"),
        };
        let cells = vec![
            unit.unit.clone(),
            format!("{}/{}", unit.ready, unit.pods),
            unit.needed.to_string(),
            if unit.available { "yes" } else { "no" }.to_owned(),
            toll,
            promised.join(", "),
        ];
        Line { cells, paint: if unit.available { |_, text| text.to_owned() } else { Paint::warn } }
    };
    let header = ["UNIT", "READY", "NEEDED", "AVAILABLE", "EVICTING ONE", "PROMISED"];
    text.push('\n');
    text.push_str(&lay_out(&header, &told.units.iter().map(line).collect::<Vec<_>>(), paint));
    text
}

fn promise(promised: &Promised, now: Time) -> String {
    let who = if promised.by.is_empty() { String::new() } else { format!(" by {}", promised.by) };
    format!("{} for {}{who}", promised.pod, words::age(now.since(promised.since)))
}
