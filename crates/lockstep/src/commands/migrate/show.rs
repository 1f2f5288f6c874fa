//! The plan, for people and for machines.

use std::fmt::Write as _;

use lockstep_api::{RoleUpdateType, UpdateType};
use lockstep_operator::adopt::{Fate, Judged};
use serde_json::{Value, json};

use super::moves::{Move, Moves, Stage};
use super::site::{Site, name, namespace};
use crate::install::title;
use crate::screen::Paint;
use crate::show::words;

/// What is shown.
pub struct Plan<'a> {
    /// What there is.
    pub site: &'a Site,
    /// What is to be done.
    pub moves: &'a Moves,
    /// What is in the way.
    pub refusals: &'a [String],
}

impl Plan<'_> {
    /// For machines.
    pub fn to_json(&self) -> Value {
        let object = |it: &Move| {
            json!({
                "kind": it.object["kind"],
                "namespace": namespace(&it.object),
                "name": name(&it.object),
                "done": it.stage == Stage::Done,
                "pods": it.adoption.pods,
                "created": it.adoption.missing,
                "limits": limits(it),
                "removed": it.between.iter().map(title).collect::<Vec<_>>(),
                "takenOver": it.kept.iter().map(title).collect::<Vec<_>>(),
                "leftOver": it.left,
                "warnings": warnings(it),
            })
        };
        json!({
            "from": self.site.dialect.original().name,
            "dialect": self.site.dialect.name(),
            "refused": self.refusals,
            "definitions": self.foreign(),
            "objects": self.moves.all.iter().map(object).collect::<Vec<_>>(),
            "steps": self.steps(),
        })
    }

    /// Definitions that are not ours yet.
    fn foreign(&self) -> Vec<&str> {
        let foreign = self.site.definitions.iter().filter(|(_, ours)| !**ours);
        foreign.map(|(name, _)| name.as_str()).collect()
    }

    /// What is done, in order.
    fn steps(&self) -> Vec<String> {
        let due: Vec<&Move> = self.moves.all.iter().filter(|it| it.stage != Stage::Done).collect();
        let mut steps = Vec::new();
        if due.is_empty() {
            return steps;
        }
        let sets: Vec<String> = due.iter().map(|it| it.title()).collect();
        steps.push(format!("make the sets {}, held: nothing moves yet", words::list(&sets)));
        let between: Vec<String> = due.iter().flat_map(|it| it.between.iter().map(title)).collect();
        if !between.is_empty() {
            steps.push(format!("delete {}, and leave their pods where they are", words::list(&between)));
        }
        let foreign = self.foreign();
        if !foreign.is_empty() {
            steps.push(format!("take over the definitions {}", words::list(&foreign)));
        }
        let pods: usize =
            due.iter().map(|it| it.adoption.pods.iter().filter(|pod| pod.seat.is_some()).count()).sum();
        steps.push(format!("label {} and make the sets their owners", words::count(pods as u64, "pod")));
        steps.push("let the sets go: what is to be replaced rolls now, within the limits of each".to_owned());
        steps
    }

    /// For people.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        let original = self.site.dialect.original().name;
        let objects = words::count(self.moves.all.len() as u64, "object");
        let _ = writeln!(out, "{}", paint.bold(&format!("From {original} to Lockstep: {objects}")));
        for it in &self.moves.all {
            let _ = write!(out, "\n{}", object(it, paint));
        }
        let steps = self.steps();
        if !steps.is_empty() {
            let _ = writeln!(out, "\n{}", paint.bold("In this order"));
        }
        for (i, step) in steps.iter().enumerate() {
            let _ = writeln!(out, "  {}. {step}", i + 1);
        }
        if !self.refusals.is_empty() {
            let _ = writeln!(out, "\n{}", paint.bad("In the way"));
        }
        for refusal in self.refusals {
            let _ = writeln!(out, "  {refusal}");
        }
        out
    }
}

fn object(it: &Move, paint: Paint) -> String {
    let mut out = String::new();
    let kind = it.object["kind"].as_str().unwrap_or_default();
    let head = format!("{kind} {}", it.title());
    if it.stage == Stage::Done {
        let _ = writeln!(out, "{}: done", paint.bold(&head));
        return out;
    }
    let of =
        |fate: Fate| -> Vec<&Judged> { it.adoption.pods.iter().filter(|pod| pod.fate == fate).collect() };
    let stays = of(Fate::Stays);
    let _ = writeln!(out, "{}: {}", paint.bold(&head), summary(it));
    if !stays.is_empty() {
        let names: Vec<&str> = stays.iter().map(|pod| pod.name.as_str()).collect();
        let _ = writeln!(out, "  {} without a restart: {}", paint.good("stay"), words::list(&names));
    }
    for (fate, word, when) in [
        (Fate::Rolls, "roll", "of an older template, replaced in their turn"),
        (Fate::Goes, "go", "more than is wished for, removed in their turn"),
        (
            Fate::Left,
            "are not touched",
            "nobody looks after them; delete them when their replacements are ready",
        ),
    ] {
        let pods = of(fate);
        if pods.is_empty() {
            continue;
        }
        let _ = writeln!(out, "  {} ({when}):", paint.warn(word));
        for pod in pods {
            let _ = writeln!(out, "    {}: {}", pod.name, pod.because.join("; "));
        }
    }
    if !it.adoption.missing.is_empty() {
        let seats: Vec<String> = it.adoption.missing.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  are created: {}", words::list(&seats));
    }
    for line in limits(it) {
        let _ = writeln!(out, "  limit: {line}");
    }
    for line in warnings(it) {
        let _ = writeln!(out, "  {}: {line}", paint.warn("note"));
    }
    if !it.left.is_empty() {
        let _ = writeln!(out, "  left over, of the original: {}", words::list(&it.left));
    }
    out
}

fn summary(it: &Move) -> String {
    let count = |fate: Fate| it.adoption.pods.iter().filter(|pod| pod.fate == fate).count();
    let parts = [
        (count(Fate::Stays), "stay"),
        (count(Fate::Rolls), "roll"),
        (count(Fate::Goes), "go"),
        (count(Fate::Left), "not touched"),
        (it.adoption.missing.len(), "created"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if said.is_empty() { "no pods".to_owned() } else { said.join(", ") }
}

/// Within which limits pods are replaced; nothing if none is.
fn limits(it: &Move) -> Vec<String> {
    let spec = &it.lowered.set.spec;
    let moving: Vec<&str> = {
        let moves = |pod: &&Judged| matches!(pod.fate, Fate::Rolls | Fate::Goes);
        let mut roles: Vec<&str> = it
            .adoption
            .pods
            .iter()
            .filter(moves)
            .filter_map(|pod| Some(pod.seat.as_ref()?.role.as_str()))
            .collect();
        roles.dedup();
        roles
    };
    if moving.is_empty() {
        return Vec::new();
    }
    let groups = &spec.update_strategy;
    let of_groups = format!("at most {} of {}", groups.max_unavailable, words::count(spec.replicas, "group"));
    match groups.kind {
        UpdateType::OnDelete => return vec!["nothing moves until somebody deletes it (OnDelete)".to_owned()],
        UpdateType::GroupRecreate => {
            return vec![format!(
                "whole groups, {of_groups} down at any time (surge {}, partition {})",
                groups.max_surge, groups.partition
            )];
        }
        UpdateType::RollingUpdate => {}
    }
    let mut lines = vec![format!("{of_groups} in update at any time (partition {})", groups.partition)];
    for role in spec.roles.iter().filter(|role| moving.contains(&role.name.as_str())) {
        let strategy = role.strategy();
        let line = match strategy.kind {
            RoleUpdateType::OnDelete => format!("{}: when somebody deletes it (OnDelete)", role.name),
            RoleUpdateType::RollingUpdate => format!(
                "{}: at most {} of {} down in a group at any time (surge {}, partition {})",
                role.name, strategy.max_unavailable, role.replicas, strategy.max_surge, strategy.partition
            ),
        };
        lines.push(line);
    }
    lines.extend(spec.coordination.iter().map(|rule| format!("rule {} holds as well", rule.name)));
    lines
}

/// What deserves a word.
fn warnings(it: &Move) -> Vec<String> {
    let mut all: Vec<String> = it.lowered.warnings.iter().map(ToString::to_string).collect();
    let mut lacks: Vec<&String> = it.adoption.pods.iter().flat_map(|pod| &pod.lacks).collect();
    lacks.sort();
    lacks.dedup();
    if !lacks.is_empty() {
        all.push(format!("pods that stay do without {} until they are replaced", words::list(&lacks)));
    }
    let (seen, is) = (&it.object["status"]["observedGeneration"], &it.object["metadata"]["generation"]);
    if !seen.is_null() && seen != is {
        all.push(
            "the original had not seen the present spec: what was only removed from a template since does not show"
                .to_owned(),
        );
    }
    all
}
