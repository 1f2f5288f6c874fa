//! What every cluster had at any time: the lanes of a picture.

use lockstep_core::simulate::federation::trace::{Count, Event, What};
use lockstep_core::simulate::federation::workload::{Template, template};

/// A stretch of time in which nothing changes in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// From, in milliseconds since the change.
    pub from: u64,
    /// To.
    pub to: u64,
    /// Pods of other templates, and how many of them serve.
    pub old: (u32, u32),
    /// Pods of the template wished for, and how many of them serve.
    pub new: (u32, u32),
}

/// A cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub cluster: String,
    /// What it had.
    pub stretches: Vec<Stretch>,
}

/// The lanes of a trace, in this order, and how long they are.
pub fn lanes(events: &[Event], order: &[String]) -> (Vec<Lane>, u64) {
    let end = events.last().map_or(0, |it| it.t);
    // A little more, so that the last state is seen.
    let end = end + (end / 40).max(1000);
    let wanted = events.iter().rev().find_map(|it| match &it.what {
        What::Wish(wish) => Some(template(&wish.template)),
        _ => None,
    });
    let lanes = order.iter().map(|cluster| Lane {
        cluster: cluster.clone(),
        stretches: stretches(events, cluster, wanted.unwrap_or_default(), end),
    });
    (lanes.collect(), end)
}

fn stretches(events: &[Event], cluster: &str, wanted: Template, end: u64) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for event in events {
        let What::Pods { cluster: of, pods } = &event.what else { continue };
        if of != cluster {
            continue;
        }
        if let Some(last) = found.last_mut() {
            last.to = event.t;
        }
        found.push(stretch(event.t, end, pods, wanted));
    }
    found.retain(|it| it.from < it.to);
    found
}

fn stretch(from: u64, to: u64, pods: &[Count], wanted: Template) -> Stretch {
    let sum = |new: bool| {
        let of = pods.iter().filter(|it| (it.template == wanted) == new);
        of.fold((0, 0), |(all, serve), it| (all + it.pods, serve + it.available))
    };
    Stretch { from, to, old: sum(false), new: sum(true) }
}
