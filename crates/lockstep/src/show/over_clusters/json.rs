//! A rollout over clusters for machines.

use lockstep_core::align::{Lease, Wish};
use lockstep_core::simulate::federation::workload::template;
use serde_json::{Value, json};

use crate::story::spread::played::Played;
use crate::story::spread::rows;
use crate::story::spread::waves::{Move, Wave};

/// The rollout as JSON.
pub fn plan(played: &Played) -> Value {
    let Played { change, title, outcome, waves, totals, refused, .. } = played;
    let wish = &change.to.wish;
    let waves: Vec<Value> = waves.iter().enumerate().map(|(i, wave)| of_wave(i + 1, wave, wish)).collect();
    let clusters: Vec<Value> = played
        .ends()
        .into_iter()
        .map(|(name, new, old)| json!({"name": name, "new": new, "old": old}))
        .collect();
    let mut value = json!({
        "workload": change.workload.called(),
        "title": title,
        "limits": outcome.totals,
        "canFinish": refused.is_none(),
        "end": outcome.end,
        "durationMs": outcome.duration.0,
        "waves": waves,
        "clusters": clusters,
        "totals": {
            "replacements": totals.replacements, "started": totals.started, "removed": totals.removed,
            "availableLeast": outcome.least_available, "podsMost": outcome.most_pods,
        },
    });
    if let (Some(why), Some(fields)) = (refused, value.as_object_mut()) {
        fields.insert("why".to_owned(), json!(why));
        fields.insert("waiting".to_owned(), json!(outcome.reasons));
    }
    value
}

fn of_wave(number: usize, wave: &Wave, wish: &Wish) -> Value {
    let leases: Vec<Value> =
        wave.leases.iter().map(|(cluster, lease)| of_lease(cluster, lease, wish)).collect();
    json!({
        "wave": number,
        "startMs": wave.start,
        "durationMs": wave.end - wave.start,
        "moves": wave.moves.iter().map(of_move).collect::<Vec<_>>(),
        "leases": leases,
        "available": {"least": wave.least.0, "of": wave.least.1},
    })
}

fn of_move(of: &Move) -> Value {
    let mut value = json!(of.what);
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, it| *it != json!(0) && *it != json!(false));
        fields.insert("cluster".to_owned(), json!(of.cluster));
        fields.insert("because".to_owned(), json!(rows::why(&of.why)));
        fields.insert(
            "granted".to_owned(),
            json!({"maxUnavailable": of.grant.unavailable, "maxSurge": of.grant.surge}),
        );
    }
    value
}

/// What is stamped into the manifest of a cluster.
fn of_lease(cluster: &str, lease: &Lease, wish: &Wish) -> Value {
    let new = template(&lease.template) == template(&wish.template);
    json!({
        "cluster": cluster, "lease": lease.id, "template": if new { "new" } else { "old" },
        "replicas": lease.replicas, "strategy": lease.strategy,
    })
}
