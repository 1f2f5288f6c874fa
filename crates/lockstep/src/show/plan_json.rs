//! A rollout for machines.

use lockstep_api::proof::Conflict;
use lockstep_core::model::Spec;
use lockstep_core::simulate::Outcome;
use serde_json::{Value, json};

use crate::story::totals::Totals;
use crate::story::waves::{Move, Moved, Wave};

/// Everything there is to say about a planned rollout.
pub struct Told<'a> {
    /// What stood.
    pub from: Option<&'a Spec>,
    /// What is wished for.
    pub to: &'a Spec,
    /// The one-line title.
    pub title: &'a str,
    /// The waves.
    pub waves: &'a [Wave],
    /// What it comes to.
    pub totals: &'a Totals,
    /// How the run went.
    pub outcome: &'a Outcome,
    /// Why it cannot finish.
    pub conflict: Option<&'a Conflict>,
}

/// The rollout as JSON.
pub fn plan(told: &Told<'_>) -> Value {
    let Told { from, to, title, waves, totals, outcome, conflict } = told;
    let waves: Vec<Value> = waves.iter().enumerate().map(|(i, wave)| of_wave(i + 1, wave)).collect();
    let mut value = json!({
        "set": to.name,
        "title": title,
        "revisions": {"from": from.map(revisions), "to": revisions(to)},
        "canFinish": conflict.is_none(),
        "end": outcome.end,
        "durationMs": outcome.duration.0,
        "waves": waves,
        "totals": totals,
    });
    if let (Some(conflict), Some(fields)) = (conflict, value.as_object_mut()) {
        let rules: Vec<String> = conflict.rules.iter().map(|i| format!("spec.coordination[{i}]")).collect();
        fields.insert("conflict".to_owned(), json!({"rules": rules, "message": conflict.message}));
        fields.insert("blocked".to_owned(), json!(outcome.blocked));
    }
    value
}

fn revisions(spec: &Spec) -> Value {
    spec.roles.iter().map(|role| (role.name.to_string(), json!(role.revision))).collect()
}

fn of_wave(number: usize, wave: &Wave) -> Value {
    let least: Vec<Value> = wave
        .least
        .iter()
        .map(|((group, role), (least, of))| json!({"group": group, "role": role, "least": least, "of": of}))
        .collect();
    json!({
        "wave": number,
        "startMs": wave.start,
        "durationMs": wave.end - wave.start,
        "moves": wave.moves.iter().map(of_move).collect::<Vec<_>>(),
        "available": least,
        "groupsAvailableLeast": wave.least_groups,
    })
}

fn of_move(of: &Move) -> Value {
    let because: Vec<&str> = of.because.iter().map(|reason| reason.text.as_str()).collect();
    match &of.what {
        Moved::Pause(text) => json!({"group": of.group, "move": "pause", "text": text, "because": because}),
        Moved::Instance(verb, role, instance) => {
            json!({"group": of.group, "move": verb.word(), "role": role, "instance": instance, "because": because})
        }
    }
}
