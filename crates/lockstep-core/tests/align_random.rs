//! Random rollouts over model clusters: status late, lost and out of order, pods crashing and evicted,
//! clusters out of reach, users changing their minds. What is promised holds at every instant, and every run
//! arrives once the faults stop.
//!
//! `LOCKSTEP_LONG=<n>` makes it n runs per kind and profile. A failing run prints its seed; put it into
//! `LOCKSTEP_SEED` to run it alone, with its story.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::collapsible_match,
    reason = "a test may fail loudly"
)]

mod federation;

use federation::{Dice, Spec, Workload, World, wish};
use lockstep_core::align::{Kind, SplitMode, Target, Wish};
use lockstep_core::number::IntOrPercent::{Int, Percent};
use lockstep_core::simulate::federation::clone_set::CloneSet;
use lockstep_core::simulate::federation::deployment::Deployment;
use lockstep_core::simulate::federation::workload::hash;

/// Which troubles a run may have.
#[derive(Debug, Clone, Copy)]
struct Profile {
    name: &'static str,
    crashes: bool,
    outages: bool,
    changes: bool,
}

const CALM: Profile = Profile { name: "calm", crashes: false, outages: false, changes: false };
const OUTAGES: Profile = Profile { name: "outages", outages: true, ..CALM };
const FAULTY: Profile = Profile { name: "faulty", crashes: true, outages: true, ..CALM };
const CHANGES: Profile = Profile { name: "changes", outages: true, changes: true, ..CALM };
const ALL: Profile = Profile { name: "all", crashes: true, outages: true, changes: true };

fn runs() -> u64 {
    std::env::var("LOCKSTEP_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

fn number(dice: &mut Dice, most: u32) -> lockstep_core::number::IntOrPercent {
    if dice.one_in(4) { Percent(dice.below(5) * 15) } else { Int(dice.below(most + 1)) }
}

fn any_wish(dice: &mut Dice, kind: Kind) -> Wish {
    let clusters = dice.between(1, 4);
    let split: Vec<u32> = (0..clusters).map(|_| dice.below(6)).collect();
    let mut w = wish(kind, &split, 0, 0, 0);
    any_strategy(dice, &mut w);
    w
}

fn any_strategy(dice: &mut Dice, w: &mut Wish) {
    w.strategy.max_unavailable = Some(number(dice, 3));
    w.strategy.max_surge = Some(if dice.one_in(2) { Int(0) } else { number(dice, 3) });
    if w.kind.has_partition() {
        w.strategy.partition = Some(if dice.one_in(2) { Int(0) } else { number(dice, 8) });
    }
    w.split = if dice.one_in(2) { SplitMode::Sequential } else { SplitMode::Proportional };
}

/// The user does something.
fn change_of_mind(dice: &mut Dice, w: &mut Wish) -> &'static str {
    match dice.below(8) {
        0 | 1 => {
            w.template = hash(dice.below(4) as u16);
            "template"
        }
        2 => {
            for target in &mut w.clusters {
                target.replicas = dice.below(6);
            }
            "split"
        }
        3 => {
            let (from, to) = (dice.below(w.clusters.len() as u32), dice.below(w.clusters.len() as u32));
            let moved = w.clusters[from as usize].replicas.min(dice.between(1, 3));
            w.clusters[from as usize].replicas -= moved;
            w.clusters[to as usize].replicas += moved;
            "weights"
        }
        4 => {
            any_strategy(dice, w);
            "strategy"
        }
        5 => {
            w.strategy.paused = (!w.strategy.paused.unwrap_or(false)).then_some(true);
            "pause"
        }
        6 if w.clusters.len() > 1 => {
            w.clusters.remove(dice.below(w.clusters.len() as u32) as usize);
            "cluster removed"
        }
        6 => "nothing",
        _ => {
            let name = format!("c{}", dice.between(1, 5));
            if w.clusters.iter().all(|t| t.cluster != name) {
                let replicas = dice.below(4);
                w.clusters.push(Target { cluster: name, replicas });
            }
            "cluster added"
        }
    }
}

struct Run<'a, W> {
    world: World<W>,
    dice: Dice,
    profile: &'a Profile,
    story: Option<Vec<String>>,
}

impl<W: Workload> Run<'_, W> {
    fn tell(&mut self, what: impl FnOnce(&World<W>) -> String) {
        if let Some(story) = &mut self.story {
            story.push(what(&self.world));
            eprintln!("{}", story[story.len() - 1]);
        }
    }

    fn any_site(&mut self) -> String {
        let n = self.dice.below(self.world.sites.len() as u32) as usize;
        self.world.sites.keys().nth(n).cloned().unwrap_or_default()
    }

    fn step(&mut self) -> Result<(), String> {
        let name = self.any_site();
        match self.dice.below(100) {
            0..20 => self.align(),
            20..35 => {
                if self.world.apply(&name) {
                    self.tell(|w| format!("{name} applies: {}", picture(w, &name)));
                }
            }
            35..60 => self.controllers(&name),
            60..70 => self.pod_ready(&name),
            70..80 => {
                if self.world.send(&name) {
                    self.tell(|w| format!("{name} sends {:?}", brief(w.sites[&name].in_flight.last())));
                }
            }
            80..92 => {
                let waiting = self.world.sites[&name].in_flight.len() as u32;
                // Mostly in order.
                let index = if self.dice.one_in(3) { self.dice.below(waiting) } else { 0 };
                if self.world.deliver(&name, index as usize) {
                    self.tell(|w| format!("{name} is heard: {:?}", brief(w.sites[&name].arrived.as_ref())));
                }
            }
            92..94 => {
                if let Some(site) = self.world.sites.get_mut(&name)
                    && !site.in_flight.is_empty()
                {
                    site.in_flight.remove(0);
                }
            }
            94..96 if self.profile.crashes => self.lose_a_pod(&name),
            96..98 if self.profile.outages => {
                let site = self.world.sites.get_mut(&name).ok_or("no site")?;
                site.reachable = !site.reachable;
                self.tell(|w| format!("{name} reachable: {}", w.sites[&name].reachable));
            }
            98 if self.profile.changes => {
                let mut w = self.world.wish.clone();
                let what = change_of_mind(&mut self.dice, &mut w);
                self.world.change(|old| *old = w);
                self.tell(|w| {
                    let split: Vec<_> = w.wish.clusters.iter().map(|t| (&t.cluster, t.replicas)).collect();
                    format!(
                        "the user changes {what}: {:?} {split:?} {:?} {:?}",
                        w.wish.template, w.wish.strategy, w.promise
                    )
                });
            }
            _ => {}
        }
        self.judge()
    }

    fn align(&mut self) {
        let answer = self.world.align();
        if !answer.leases.is_empty() {
            self.tell(|_| {
                let leases: Vec<String> = answer
                    .leases
                    .iter()
                    .map(|(c, l)| {
                        format!(
                            "{c}#{} {} r{} new{} u{} s{} {:?}",
                            l.id.0, l.template.0, l.replicas, l.updated, l.unavailable, l.surge, l.stance
                        )
                    })
                    .collect();
                format!("leases {leases:?}")
            });
        }
    }

    fn controllers(&mut self, name: &str) {
        let site = self.world.sites.get_mut(name).unwrap();
        let steps = site.workload.as_ref().map(W::steps).unwrap_or_default();
        if !steps.is_empty() {
            site.workload = Some(steps[self.dice.below(steps.len() as u32) as usize].clone());
            self.tell(|w| format!("{name} acts: {}", picture(w, name)));
        }
    }

    fn pod_ready(&mut self, name: &str) {
        let site = self.world.sites.get_mut(name).unwrap();
        let Some(w) = &mut site.workload else { return };
        let down = w.total() - w.available();
        if w.ready(self.dice.below(down)) {
            self.tell(|w| format!("{name} pod ready: {}", picture(w, name)));
        }
    }

    fn lose_a_pod(&mut self, name: &str) {
        let Some(w) = &self.world.sites[name].workload else { return };
        let nth = self.dice.below(w.available());
        let crash = self.dice.one_in(2);
        self.world.lose(name, nth, crash);
        self.tell(|w| format!("{name} loses a pod: {}", picture(w, name)));
    }

    fn judge(&mut self) -> Result<(), String> {
        self.world.judge().map_or(Ok(()), |broken| Err(broken.to_string()))
    }

    /// The faults stop; everything must arrive.
    fn finish(&mut self) -> Result<(), String> {
        for site in self.world.sites.values_mut() {
            site.reachable = true;
        }
        self.world.change(|w| w.strategy.paused = None);
        let mut last = None;
        for _ in 0..300 {
            let answer = self.world.align();
            if self.world.is_at_rest(&answer) {
                return self.arrived();
            }
            last = Some(answer);
            let names: Vec<String> = self.world.sites.keys().cloned().collect();
            for name in names {
                self.world.apply(&name);
                for _ in 0..8 {
                    self.controllers(&name);
                    self.pod_ready(&name);
                    self.judge()?;
                }
                let site = self.world.sites.get_mut(&name).unwrap();
                site.in_flight.clear();
                self.world.send(&name);
                self.world.deliver(&name, 0);
                self.judge()?;
            }
        }
        Err(format!("does not arrive: {:#?}\n{:#?}", last, self.world))
    }

    fn arrived(&self) -> Result<(), String> {
        let world = &self.world;
        let total: u32 = world.wish.clusters.iter().map(|t| t.replicas).sum();
        if world.total(W::total) != total {
            return Err(format!("ends with {} pods of {total}: {world:#?}", world.total(W::total)));
        }
        let least = world.promise.least_new();
        if i64::from(world.new_pods()) < least {
            return Err(format!("ends with {} new pods of {least}: {world:#?}", world.new_pods()));
        }
        Ok(())
    }
}

/// A cluster on one line: what its manifest says and, by template, how many pods serve and do not.
fn picture<W: Workload>(world: &World<W>, name: &str) -> String {
    let Some(w) = &world.sites[name].workload else { return "nothing".to_owned() };
    let (spec, mut pods) = (w.spec(), String::new());
    for template in 0..4 {
        let of = |available| {
            w.pods().iter().filter(|p| p.template == template && p.available == available).count()
        };
        if w.of_template(template) > 0 {
            pods += &format!(" t{template}:{}+{}", of(true), of(false));
        }
    }
    let text =
        |value: Option<lockstep_core::number::IntOrPercent>| value.map_or("-".to_owned(), |v| v.to_string());
    format!(
        "#{} t{} r{} p{} u{} s{}{} |{pods}",
        spec.lease.map_or(0, |l| l.0),
        spec.template,
        spec.replicas,
        text(spec.strategy.partition),
        text(spec.strategy.max_unavailable),
        text(spec.strategy.max_surge),
        if spec.paused() { " paused" } else { "" },
    )
}

fn brief(o: Option<&lockstep_core::align::Observation>) -> String {
    o.map_or(String::new(), |o| {
        let lease = o.acknowledged.map_or(0, |l| l.0);
        format!(
            "#{lease} {} r{} act{} av{} upd{} updav{:?} settled {}",
            o.template.0, o.replicas, o.total, o.available, o.updated, o.updated_available, o.settled
        )
    })
}

fn run<W: Workload>(
    kind: Kind,
    running: fn(Spec) -> W,
    profile: &Profile,
    seed: u64,
    aloud: bool,
) -> Result<(), String> {
    let mut dice = Dice::new(seed ^ 0x5eed_0000_0000);
    let wish = any_wish(&mut dice, kind);
    let world = World::running(wish, running);
    let mut run = Run { world, dice, profile, story: aloud.then(Vec::new) };
    run.world.change(|w| w.template = hash(1));
    run.tell(|w| format!("{:#?}", w.wish));
    let steps = run.dice.between(50, 500);
    for _ in 0..steps {
        run.step()?;
    }
    run.finish()
}

fn many<W: Workload>(kind: Kind, running: fn(Spec) -> W, profile: &Profile) {
    if let Some(seed) = std::env::var("LOCKSTEP_SEED").ok().and_then(|s| s.parse().ok()) {
        if let Err(why) = run(kind, running, profile, seed, true) {
            panic!("{kind:?} {} seed {seed}: {why}", profile.name);
        }
        return;
    }
    let mut failed = Vec::new();
    for seed in 0..runs() {
        if let Err(why) = run(kind, running, profile, seed, false) {
            println!("{kind:?} {} seed {seed}: {}", profile.name, why.lines().next().unwrap_or_default());
            failed.push((seed, why));
        }
    }
    println!("{kind:?}, {}: {} runs, {} failed", profile.name, runs(), failed.len());
    let seeds: Vec<u64> = failed.iter().map(|(s, _)| *s).collect();
    if let Some((seed, why)) = failed.first() {
        panic!("{kind:?} {} seeds {:?}; seed {seed}: {why}", profile.name, &seeds[..seeds.len().min(20)]);
    }
}

macro_rules! profiles {
    ($($name:ident: $kind:ident, $profile:ident;)*) => {
        $(#[test]
        fn $name() {
            many(Kind::$kind, $kind::running, &$profile);
        })*
    };
}

profiles! {
    deployment_with_any_delay: Deployment, CALM;
    deployment_with_outages: Deployment, OUTAGES;
    deployment_with_faults: Deployment, FAULTY;
    deployment_with_changes: Deployment, CHANGES;
    deployment_with_everything: Deployment, ALL;
    cloneset_with_any_delay: CloneSet, CALM;
    cloneset_with_outages: CloneSet, OUTAGES;
    cloneset_with_faults: CloneSet, FAULTY;
    cloneset_with_changes: CloneSet, CHANGES;
    cloneset_with_everything: CloneSet, ALL;
}
