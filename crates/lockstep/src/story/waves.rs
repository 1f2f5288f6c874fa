//! Cuts the trace of an ideal rollout into waves: what is set in motion at one moment, and what it costs.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::blocked::Reason;
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{By, Event, Subject, What};

use super::because::{self, Because};
use super::stage::Stage;
use crate::show::words;

/// What is set in motion at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    /// When it begins, in milliseconds since the change.
    pub start: u64,
    /// When the next one begins, or the rollout ends.
    pub end: u64,
    /// What moves, in order.
    pub moves: Vec<Move>,
    /// Groups that were finished just before, and made room for this.
    pub after: Vec<u32>,
    /// Per role of the groups that move: the lowest number available, of how many wished for.
    pub least: BTreeMap<(u32, RoleName), (u32, u32)>,
    /// The lowest number of available groups.
    pub least_groups: u32,
}

/// One thing that is set in motion.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// The group.
    pub group: u32,
    /// What of it.
    pub what: Moved,
    /// Why now.
    pub because: Vec<Because>,
}

/// What is set in motion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// A pause begins.
    Pause(String),
    /// An instance.
    Instance(Verb, RoleName, u32),
}

/// What happens to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// It stands in for others.
    Surge,
    /// It is replaced by a new one.
    Update,
    /// The stand-in goes.
    SurgeGoes,
    /// It is replaced together with its whole group.
    Recreate,
    /// It is started where nothing was, at the revision wished for.
    Start,
    /// It is started where nothing was, at the revision that is on its way out.
    StartOld,
    /// Its gate is lifted.
    Release,
    /// It goes for good.
    Remove,
    /// It is replaced because it failed.
    Restart,
}

impl Verb {
    /// The word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Surge => "surge",
            Self::Update => "update",
            Self::SurgeGoes => "surgeGoes",
            Self::Recreate => "recreate",
            Self::Start => "start",
            Self::StartOld => "startOld",
            Self::Release => "release",
            Self::Remove => "remove",
            Self::Restart => "restart",
        }
    }

    fn of_delete(why: &str) -> Self {
        match why {
            "Update" | "Repair" | "Mixed" => Self::Update,
            "Recreate" => Self::Recreate,
            "SurgeDone" | "SurgeOutdated" => Self::SurgeGoes,
            "Excess" | "RoleRemoved" | "GroupRemoved" => Self::Remove,
            _ => Self::Restart,
        }
    }
}

/// Cuts a trace into waves. `from` is the spec that stood at the beginning.
pub fn cut(events: &[Event], from: Option<&Spec>) -> Vec<Wave> {
    let mut cutter = Cutter { from, ..Cutter::default() };
    let mut wishes = 0;
    let first = if from.is_some() { 2 } else { 1 };
    for event in events {
        if matches!(event.what, What::Spec(_)) {
            wishes += 1;
            cutter.began = if wishes == first { event.t } else { cutter.began };
        }
        if wishes >= first {
            cutter.note(event);
        } else {
            cutter.stood(event);
        }
        cutter.stage.see(event);
        cutter.measure(event);
    }
    cutter.close()
}

#[derive(Default)]
struct Cutter<'a> {
    from: Option<&'a Spec>,
    began: u64,
    stage: Stage,
    known: BTreeSet<Subject>,
    surge: BTreeSet<Subject>,
    gates: BTreeMap<(u32, RoleName), String>,
    done: BTreeSet<u32>,
    moved: BTreeSet<u32>,
    sealed: bool,
    waves: Vec<Wave>,
}

impl Cutter<'_> {
    /// What stands before anything moves, be it as surge.
    fn stood(&mut self, event: &Event) {
        let What::Create { of, .. } = &event.what else { return };
        if self.stage.is_beyond(of) && !self.is_surge_group(of.group) {
            self.surge.insert(of.clone());
        } else {
            self.known.insert(of.clone());
        }
    }

    fn note(&mut self, event: &Event) {
        match &event.what {
            What::Create { of, revision, why, .. } => self.create(event.t, of, *revision, why),
            What::Delete { of, by: By::Engine, why, .. } => self.delete(event.t, of, why),
            What::Ungate { of, .. } => self.ungate(event.t, of),
            What::Blocked { what, reason, rule, .. } => self.blocked(event.t, what, *reason, rule),
            _ => {}
        }
    }

    fn create(&mut self, t: u64, of: &Subject, revision: Revision, why: &str) {
        let back = !self.known.insert(of.clone());
        let role = self.stage.spec().and_then(|spec| Some((spec.replicas, spec.role(&of.role)?.replicas)));
        let beyond = role.is_some_and(|(groups, d)| of.group < groups && of.instance >= d);
        if why == "Surge" && beyond {
            self.known.remove(of);
            self.surge.insert(of.clone());
            let surge = self.stage.spec().and_then(|spec| spec.role(&of.role)).map(|r| r.strategy.max_surge);
            let mut reasons = because::of_update(&self.stage, of.group, &of.role);
            reasons.retain(|reason| reason.main);
            reasons.extend(surge.map(|n| Because::aside(format!("maxSurge {n}"))));
            self.push(t, of, Verb::Surge, reasons);
        } else if !back {
            let reasons = because::of_start(&self.stage, self.from, of.group, &of.role);
            let new = self.stage.target(&of.role) == Some(revision);
            self.push(t, of, if new { Verb::Start } else { Verb::StartOld }, reasons);
        }
    }

    fn delete(&mut self, t: u64, of: &Subject, why: &str) {
        let stood_in = self.surge.remove(of);
        let verb = match Verb::of_delete(why) {
            Verb::Remove if self.is_surge_group(of.group) => Verb::SurgeGoes,
            Verb::SurgeGoes if !stood_in && !self.is_surge_group(of.group) => Verb::Remove,
            verb => verb,
        };
        let reasons = match verb {
            Verb::Update => because::of_update(&self.stage, of.group, &of.role),
            Verb::Remove => vec![because::of_removal(&self.stage, self.from, of.group, &of.role)],
            Verb::Recreate => vec![Because::aside("GroupRecreate")],
            Verb::SurgeGoes => Vec::new(),
            _ => vec![Because::main("restart")],
        };
        if verb == Verb::Remove {
            self.known.remove(of);
        }
        if verb == Verb::SurgeGoes && stood_in {
            self.trail(t, of, verb);
        } else {
            self.push(t, of, verb, reasons);
        }
    }

    fn is_surge_group(&self, group: u32) -> bool {
        let new = self.stage.spec().map_or(0, |spec| spec.replicas);
        group >= new && self.from.is_none_or(|from| group >= from.replicas)
    }

    fn ungate(&mut self, t: u64, of: &Subject) {
        let rule = self.gates.get(&(of.group, of.role.clone()));
        let reason = rule.map_or_else(
            || Because::main("gate lifted"),
            |rule| Because::main(gate_words(self.stage.spec(), rule)),
        );
        let already = self.waves.last().is_some_and(|wave| {
            wave.start == t - self.began
                && wave.moves.iter().any(|m| m.what == instance(Verb::Release, of) && m.group == of.group)
        });
        if !already {
            self.push(t, of, Verb::Release, vec![reason]);
        }
    }

    fn blocked(&mut self, t: u64, what: &str, reason: Reason, rule: &str) {
        let Some(spec) = self.stage.spec() else { return };
        let Some((group, unit)) = place(spec, what) else { return };
        match reason {
            // Inside an instance nothing is moved by it.
            Reason::StartOrder if rule.contains("].members[") => {}
            Reason::StartOrder | Reason::GangNotScheduled | Reason::BatchNotReady => {
                let role = unit.and_then(|unit| Some(RoleName::new(unit.rsplit_once('-')?.0)));
                self.gates.extend(role.map(|role| ((group, role), rule.to_owned())));
            }
            Reason::PauseStep => {
                let Some((text, why)) = because::pause(spec, rule) else { return };
                let last = self.waves.iter().rev().find(|wave| wave.moves.iter().any(|m| m.group == group));
                let entered = last
                    .is_some_and(|w| w.moves.iter().any(|m| m.because.contains(&why) && m.group == group));
                if !entered {
                    let paused = self.sealed && self.waves.last().is_some_and(|w| w.start == t - self.began);
                    if !paused {
                        self.open(t);
                    }
                    self.add(Move { group, what: Moved::Pause(text), because: vec![why] });
                    self.sealed = true;
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, t: u64, of: &Subject, verb: Verb, because: Vec<Because>) {
        let start = t - self.began;
        if self.sealed || self.waves.last().is_none_or(|wave| wave.start != start) {
            self.open(t);
        }
        self.sealed = false;
        self.add(Move { group: of.group, what: instance(verb, of), because });
    }

    /// Belongs to what went before: the end of it, not a move of its own.
    fn trail(&mut self, t: u64, of: &Subject, verb: Verb) {
        let what = Move { group: of.group, what: instance(verb, of), because: Vec::new() };
        let last = self.waves.iter_mut().rev();
        let mut last = last.filter(|wave| wave.moves.iter().any(|m| m.group == of.group));
        match last.find(|wave| wave.moves.iter().any(|m| is_of(m, &of.role))) {
            Some(wave) => wave.moves.push(what),
            None => self.push(t, of, verb, Vec::new()),
        }
    }

    fn open(&mut self, t: u64) {
        let start = t - self.began;
        if let Some(last) = self.waves.last_mut() {
            last.end = start;
        }
        let least_groups = self.stage.spec().map_or(0, |spec| self.stage.groups_available(spec));
        let least = BTreeMap::new();
        self.waves.push(Wave {
            start,
            end: start,
            moves: Vec::new(),
            after: Vec::new(),
            least,
            least_groups,
        });
        self.sealed = false;
    }

    fn add(&mut self, what: Move) {
        let replaced = matches!(what.what, Moved::Instance(Verb::Surge | Verb::Update | Verb::Recreate, ..));
        let standing_in = self.is_surge_group(what.group);
        let fresh = replaced && self.moved.insert(what.group);
        if standing_in {
            self.moved.insert(what.group);
        }
        let done: Vec<u32> =
            self.moved.iter().copied().filter(|g| *g != what.group && self.stage.group_done(*g)).collect();
        let new: Vec<u32> = done.iter().copied().filter(|g| fresh && !self.done.contains(g)).collect();
        if fresh {
            self.done.extend(done);
        }
        if let Some(wave) = self.waves.last_mut() {
            wave.after.extend(new);
            wave.moves.push(what);
        }
    }

    /// Notes how few are available while the latest wave is under way.
    fn measure(&mut self, event: &Event) {
        let Self { stage, waves, .. } = self;
        let (Some(wave), Some(spec)) = (waves.last_mut(), stage.spec()) else { return };
        wave.end = wave.end.max(stage.now.saturating_sub(self.began));
        // Nothing else makes fewer of them.
        if !matches!(event.what, What::Unready { .. } | What::Delete { .. }) && !wave.least.is_empty() {
            return;
        }
        let groups: BTreeSet<u32> =
            wave.moves.iter().map(|m| m.group).filter(|g| *g < spec.replicas).collect();
        for group in groups {
            for role in &spec.roles {
                let now = stage.available(group, role);
                let least = wave.least.entry((group, role.name.clone())).or_insert((now, role.replicas));
                least.0 = least.0.min(now);
            }
        }
        wave.least_groups = wave.least_groups.min(stage.groups_available(spec));
    }

    fn close(self) -> Vec<Wave> {
        self.waves
    }
}

fn instance(verb: Verb, of: &Subject) -> Moved {
    Moved::Instance(verb, of.role.clone(), of.instance)
}

fn is_of(what: &Move, role: &RoleName) -> bool {
    matches!(&what.what, Moved::Instance(_, of, _) if of == role)
}

/// The group and the instance in a name such as `llama-1/prefill-1`.
fn place<'a>(spec: &Spec, what: &'a str) -> Option<(u32, Option<&'a str>)> {
    let rest = what.strip_prefix(&spec.name)?.strip_prefix('-')?;
    let (group, unit) = match rest.split_once('/') {
        Some((group, unit)) => (group, Some(unit)),
        None => (rest, None),
    };
    Some((group.parse().ok()?, unit))
}

fn gate_words(spec: Option<&Spec>, rule: &str) -> String {
    if let Some(name) = rule.strip_prefix("roles[").and_then(|rest| rest.strip_suffix("].startsAfter")) {
        let role = spec.and_then(|spec| spec.role(&RoleName::new(name)));
        let others: Vec<&str> = role.iter().flat_map(|r| &r.starts_after).map(RoleName::as_str).collect();
        return format!("{name} starts after {}", words::list(&others));
    }
    match rule.strip_prefix("coordination[").and_then(|rest| rest.strip_suffix(']')) {
        Some(name) => format!("{name} next batch"),
        None => "base gang scheduled".to_owned(),
    }
}
