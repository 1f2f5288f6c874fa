//! `lockstep plan` and `lockstep simulate` on workloads that are spread over clusters.

mod plan;
mod simulate;

use lockstep_core::simulate::faults::Span;
use lockstep_core::simulate::federation::Modelled;
use lockstep_core::simulate::federation::faults::Nature;

pub use self::plan::{run as plan, tell};
pub use self::simulate::run as simulate;
use crate::args::Pace;
use crate::input::complaint::{BadInput, Complaint};
use crate::input::pace::say_span;
use crate::input::spread::Change;

/// Puts what was said on the command line into a nature. Every cluster that is named must be there.
fn apply(pace: &Pace, nature: &mut Nature, change: &Change) -> Result<(), BadInput> {
    let mut wrong = Vec::new();
    for ready in &pace.ready {
        let Some(cluster) = &ready.role else {
            nature.start_up_default = Span::fixed(ready.time);
            nature.start_up.clear();
            continue;
        };
        if !change.to.wish.clusters.iter().any(|it| it.cluster == *cluster) {
            let message = format!("no cluster {cluster:?}; {}", change.known_clusters());
            wrong.push(Complaint::of_file("--ready", message));
        }
        nature.start_up.insert(cluster.clone(), Span::fixed(ready.time));
    }
    if let Some(time) = pace.terminate {
        nature.termination = Span::fixed(time);
    }
    if wrong.is_empty() { Ok(()) } else { Err(BadInput(wrong)) }
}

/// How long pods take, in words: `start-up member1 8m, member2 5m`.
fn say(nature: &Nature, change: &Change) -> String {
    let clusters: Vec<&String> = change.to.wish.clusters.iter().map(|it| &it.cluster).collect();
    let spans: Vec<Span> = clusters.iter().map(|it| nature.start_up_of(it)).collect();
    let alike = spans.windows(2).all(|pair| pair[0] == pair[1]);
    let start = match (alike, spans.first()) {
        (true, Some(span)) => say_span(*span),
        _ => {
            let each = clusters.iter().zip(&spans);
            let each: Vec<String> = each.map(|(it, span)| format!("{it} {}", say_span(*span))).collect();
            each.join(", ")
        }
    };
    match change.model {
        Modelled::StatefulSet => format!("start-up {start}, termination {}", say_span(nature.termination)),
        Modelled::Deployment | Modelled::CloneSet => format!("start-up {start}"),
    }
}
