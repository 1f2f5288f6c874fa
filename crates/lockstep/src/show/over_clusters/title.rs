//! What a change of a workload over clusters is about, in one line.

use std::collections::BTreeSet;

use lockstep_core::align::Wish;
use serde_json::Value;

use crate::input::spread::{Change, Side};
use crate::show::title::compare;
use crate::show::words;

/// So many clusters are named; of more only their number.
const NAMED: usize = 5;

/// `web: Deployment of 10 pods over member1 (4) and member2 (6), template changes (image)`.
pub fn title(change: &Change) -> String {
    let name = &change.workload.name;
    let after = &change.to.wish;
    let about = format!("{name}: {} of {}", change.workload.kind.kind, spread(after));
    let Some(from) = &change.from else { return format!("{about}, first start") };
    let mut parts = Vec::new();
    if from.wish.template != after.template {
        parts.push(format!("template changes{}", fields(change, from)));
    }
    if from.wish.clusters != after.clusters {
        parts.push(format!("from {}", spread(&from.wish)));
    }
    match parts.is_empty() {
        true if from.wish.strategy == after.strategy => format!("{name}: nothing changes"),
        true => format!("{about}, no pod moves; the strategy changes for later rollouts"),
        false => format!("{about}, {}", parts.join(", ")),
    }
}

/// Whether any pod has to move.
pub fn moves(change: &Change) -> bool {
    let after = &change.to.wish;
    let same = |from: &Side| from.wish.template == after.template && from.wish.clusters == after.clusters;
    !change.from.as_ref().is_some_and(same)
}

/// `10 pods over member1 (4) and member2 (6)`.
pub fn spread(wish: &Wish) -> String {
    let all: u64 = wish.clusters.iter().map(|it| u64::from(it.replicas)).sum();
    let pods = words::count(all, "pod");
    if wish.clusters.len() > NAMED {
        return format!("{pods} over {} clusters", wish.clusters.len());
    }
    let each: Vec<String> =
        wish.clusters.iter().map(|it| format!("{} ({})", it.cluster, it.replicas)).collect();
    format!("{pods} over {}", words::list(&each))
}

fn fields(change: &Change, from: &Side) -> String {
    let template = |object: &Value| change.workload.kind.template(object);
    let mut found = BTreeSet::new();
    compare(&template(&from.object), &template(&change.to.object), "template", &mut found);
    let found: Vec<String> = found.into_iter().collect();
    match found.len() {
        0 => String::new(),
        1..=3 => format!(" ({})", found.join(", ")),
        more => format!(" ({} and {} more)", found[..2].join(", "), more - 2),
    }
}
