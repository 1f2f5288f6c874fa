//! Folds waves that look alike into rows that a person reads in half a minute.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::model::{Spec, StrategyKind};

use super::waves::{Moved, Verb, Wave};
use crate::show::words;

/// One row: one wave, or several that look alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first and the last wave, counted from 1.
    pub waves: (usize, usize),
    /// The groups.
    pub groups: Vec<u32>,
    /// What moves.
    pub moves: Vec<String>,
    /// Why.
    pub because: Vec<String>,
    /// The lowest availability.
    pub least: Vec<String>,
    /// How long it takes, in milliseconds.
    pub time: u64,
}

/// The rows of a rollout. `all`: one for each wave.
pub fn rows(waves: &[Wave], spec: &Spec, first_start: bool, all: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < waves.len() {
        let alike = waves[at + 1..].iter().take_while(|next| !all && fit(&waves[at], next)).count();
        rows.push(row(at, &waves[at..=at + alike], spec, first_start));
        at += alike + 1;
    }
    if all { rows } else { fold_groups(rows) }
}

fn fit(one: &Wave, next: &Wave) -> bool {
    let paused = |wave: &Wave| wave.moves.iter().any(|m| matches!(m.what, Moved::Pause(_)));
    groups(one) == groups(next)
        && classes(one) == classes(next)
        && reasons(one, true) == reasons(next, true)
        && !paused(one)
        && !paused(next)
}

fn groups(wave: &Wave) -> Vec<u32> {
    let groups: BTreeSet<u32> = wave.moves.iter().map(|m| m.group).collect();
    groups.into_iter().rev().collect()
}

/// Surge comes and goes with updates; everything else is of its own kind.
fn classes(wave: &Wave) -> BTreeSet<Verb> {
    let of = |moved: &Moved| match moved {
        Moved::Pause(_) => None,
        Moved::Instance(Verb::Surge | Verb::SurgeGoes, ..) => Some(Verb::Update),
        Moved::Instance(verb, ..) => Some(*verb),
    };
    wave.moves.iter().filter_map(|m| of(&m.what)).collect()
}

fn reasons(wave: &Wave, main: bool) -> BTreeSet<&str> {
    let all = wave.moves.iter().flat_map(|m| &m.because).filter(|reason| reason.main == main);
    all.map(|reason| reason.text.as_str()).collect()
}

fn row(at: usize, waves: &[Wave], spec: &Spec, first_start: bool) -> Row {
    let groups = waves.first().map(groups).unwrap_or_default();
    let mut because: Vec<String> = Vec::new();
    for main in [true, false] {
        for reason in waves.iter().flat_map(|wave| in_order(wave, main)) {
            if !because.contains(&reason) {
                because.push(reason);
            }
        }
    }
    let after: BTreeSet<u32> = waves.iter().flat_map(|wave| wave.after.iter().copied()).collect();
    if !after.is_empty() {
        let names: Vec<String> =
            after.iter().rev().filter(|group| **group < spec.replicas).map(u32::to_string).collect();
        because.insert(
            0,
            match names.len() {
                0 => "extra group ready".to_owned(),
                n => format!("{} {} done", words::plural(n, "group"), names.join(", ")),
            },
        );
    }
    let least = if first_start { Vec::new() } else { least(waves, spec) };
    let time = waves.iter().map(|wave| wave.end - wave.start).sum();
    Row {
        waves: (at + 1, at + waves.len()),
        groups: groups.clone(),
        moves: moves(waves, &groups, spec),
        because,
        least,
        time,
    }
}

fn in_order(wave: &Wave, main: bool) -> Vec<String> {
    let all = wave.moves.iter().flat_map(|m| &m.because).filter(|reason| reason.main == main);
    all.map(|reason| reason.text.clone()).collect()
}

/// What moves, once if all groups do the same.
fn moves(waves: &[Wave], groups: &[u32], spec: &Spec) -> Vec<String> {
    let each: Vec<Vec<String>> = groups.iter().map(|group| moves_of(waves, *group, spec)).collect();
    if each.windows(2).all(|pair| pair[0] == pair[1]) {
        return each.into_iter().next().unwrap_or_default();
    }
    groups.iter().zip(each).map(|(group, lines)| format!("group {group}: {}", lines.join(", "))).collect()
}

fn moves_of(waves: &[Wave], group: u32, spec: &Spec) -> Vec<String> {
    let of_group = |wave: &Wave| {
        wave.moves.iter().filter(|m| m.group == group).map(|m| m.what.clone()).collect::<Vec<_>>()
    };
    let by_wave: Vec<Vec<Moved>> = waves.iter().map(of_group).collect();
    let mut lines: Vec<String> = Vec::new();
    for moved in by_wave.iter().flatten() {
        if let Moved::Pause(text) = moved {
            lines.push(text.clone());
        }
    }
    let whole: &[Verb] = &[Verb::Recreate, Verb::Start, Verb::StartOld, Verb::Remove, Verb::SurgeGoes];
    if let Some(verb) = whole.iter().find(|verb| is_whole(&by_wave, **verb, group, spec)) {
        return vec![whole_words(*verb, group, spec)];
    }
    let mut seen: Vec<(Verb, &str)> = Vec::new();
    for moved in by_wave.iter().flatten() {
        if let Moved::Instance(verb, role, _) = moved
            && !seen.contains(&(*verb, role.as_str()))
        {
            seen.push((*verb, role.as_str()));
        }
    }
    let roles: Vec<&str> = spec.roles.iter().map(|role| role.name.as_str()).collect();
    let rank = |role: &str| roles.iter().position(|name| *name == role).unwrap_or(usize::MAX);
    seen.sort_by_key(|(verb, role)| (rank(role), *role, *verb));
    let mut last: Option<&str> = None;
    for (verb, role) in seen {
        let text = phrase(&by_wave, verb, role);
        match lines.last_mut() {
            Some(line) if last == Some(role) => *line = format!("{line}, {text}"),
            _ => lines.push(text),
        }
        last = Some(role);
    }
    lines
}

/// Whether the same happens to the whole group.
fn is_whole(by_wave: &[Vec<Moved>], verb: Verb, group: u32, spec: &Spec) -> bool {
    let moved: Vec<&Moved> = by_wave.iter().flatten().collect();
    let size: usize = spec.roles.iter().map(|role| role.replicas as usize).sum();
    let beyond = group >= spec.replicas && verb != Verb::Recreate;
    let groups = spec.replicas > 1 || spec.strategy.kind == StrategyKind::GroupRecreate || beyond;
    let same = moved.iter().all(|m| matches!(m, Moved::Instance(v, ..) if *v == verb));
    groups && same && !moved.is_empty() && (moved.len() == size || beyond) && by_wave.len() == 1
}

fn whole_words(verb: Verb, group: u32, spec: &Spec) -> String {
    match verb {
        Verb::Recreate => "the whole group".to_owned(),
        Verb::Start if group >= spec.replicas => "surge: a whole group".to_owned(),
        Verb::Start => "start the whole group".to_owned(),
        Verb::StartOld => "start the whole group, still old".to_owned(),
        Verb::SurgeGoes => "the extra group goes".to_owned(),
        _ => "the whole group goes".to_owned(),
    }
}

fn phrase(by_wave: &[Vec<Moved>], verb: Verb, role: &str) -> String {
    let ordinals = |wave: &Vec<Moved>| -> Vec<u32> {
        let mine = wave.iter().filter_map(|moved| match moved {
            Moved::Instance(v, r, i) if *v == verb && r.as_str() == role => Some(*i),
            _ => None,
        });
        mine.collect()
    };
    let counts: Vec<usize> = by_wave.iter().map(|wave| ordinals(wave).len()).filter(|n| *n > 0).collect();
    let all: Vec<u32> = by_wave.iter().flat_map(ordinals).collect();
    let mut names = words::ordinals(role, &all);
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    if matches!(verb, Verb::Update) && counts.len() > 1 && most > 1 {
        let pace = if least == most { most.to_string() } else { format!("{least}–{most}") };
        names = format!("{names} ({pace} at a time)");
    }
    match verb {
        Verb::Surge => format!("surge {names}"),
        Verb::Update => names,
        Verb::SurgeGoes => format!("then {names} goes"),
        Verb::Recreate => format!("recreate {names}"),
        Verb::Start => format!("start {names}"),
        Verb::StartOld => format!("start {names}, still old"),
        Verb::Release => format!("release {names}"),
        Verb::Remove => format!("remove {names}"),
        Verb::Restart => format!("restart {names}"),
    }
}

fn least(waves: &[Wave], spec: &Spec) -> Vec<String> {
    if spec.strategy.kind == StrategyKind::GroupRecreate {
        let least = waves.iter().map(|wave| wave.least_groups).min().unwrap_or(0);
        return vec![format!("groups {least}/{}", spec.replicas)];
    }
    let moved: BTreeSet<&str> = waves
        .iter()
        .flat_map(|wave| &wave.moves)
        .filter_map(|m| match &m.what {
            Moved::Instance(_, role, _) => Some(role.as_str()),
            Moved::Pause(_) => None,
        })
        .collect();
    let mut least: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for ((_, role), (now, of)) in waves.iter().flat_map(|wave| &wave.least) {
        let entry = least.entry(role.as_str()).or_insert((*now, *of));
        entry.0 = entry.0.min(*now);
    }
    let shown = spec.roles.iter().filter_map(|role| {
        let (now, of) = least.get(role.name.as_str())?;
        moved.contains(role.name.as_str()).then(|| format!("{} {now}/{of}", role.name))
    });
    shown.collect()
}

/// Folds a group whose rows look like those of the one before into one row.
fn fold_groups(rows: Vec<Row>) -> Vec<Row> {
    let mut blocks: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        match blocks.last_mut() {
            Some(block) if block[0].groups == row.groups => block.push(row),
            _ => blocks.push(vec![row]),
        }
    }
    let mut folded: Vec<Row> = Vec::new();
    let mut model: Option<Vec<Row>> = None;
    let mut same = 0;
    for block in blocks {
        if !model.as_ref().is_some_and(|model| alike(model, &block)) {
            folded.extend(block.iter().cloned());
            model = Some(block);
            same = 0;
            continue;
        }
        same += 1;
        match folded.last_mut() {
            Some(last) if same > 1 => join(last, &block),
            _ => folded.push(the_same(&block)),
        }
    }
    folded
}

fn alike(one: &[Row], other: &[Row]) -> bool {
    let shape = |row: &Row| {
        let because: Vec<String> = row.because.iter().filter(|text| !is_turn(text)).cloned().collect();
        (row.waves.1 - row.waves.0, row.moves.clone(), because, row.least.clone(), row.time / 1000)
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| shape(a) == shape(b))
        && one[0].groups.len() == other[0].groups.len()
}

/// A reason that only says whose turn it is.
fn is_turn(text: &str) -> bool {
    text.ends_with(" done") || text == "extra group ready"
}

fn the_same(block: &[Row]) -> Row {
    let last = &block[block.len() - 1];
    Row {
        waves: (block[0].waves.0, last.waves.1),
        groups: block[0].groups.clone(),
        moves: vec!["the same".to_owned()],
        because: block[0].because.iter().filter(|text| is_turn(text)).cloned().collect(),
        least: Vec::new(),
        time: block.iter().map(|row| row.time).sum(),
    }
}

fn join(into: &mut Row, block: &[Row]) {
    into.waves.1 = block[block.len() - 1].waves.1;
    into.groups.extend(&block[0].groups);
    into.time += block.iter().map(|row| row.time).sum::<u64>();
    into.moves = vec!["the same, one after another".to_owned()];
    into.because = vec!["the one before done".to_owned()];
}
