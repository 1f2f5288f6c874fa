//! What is played, from a seed.

use std::time::Duration;

use lockstep_core::prove::{Proof, prove};
use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::rng::Rng;
use lockstep_sandbox::cluster::faults::{Chance, Fault, Profile, Span, Watches};
use lockstep_testkit::scenario::Scenario;
use lockstep_testkit::workload::Workload;

use super::{Plan, Troupe};
use crate::cluster::{gang, role, set};

/// How long a rollout may take with all that goes wrong.
const LIMIT: Duration = Duration::from_secs(1200);

/// A set, in the few words that vary.
#[derive(Clone)]
struct Sketch {
    rules: String,
    roles: Vec<Sketched>,
}

#[derive(Clone)]
struct Sketched {
    name: &'static str,
    replicas: u32,
    workers: u32,
    image: u64,
    more: String,
}

impl Sketch {
    fn manifest(&self) -> String {
        let roles: Vec<String> = self.roles.iter().map(Sketched::manifest).collect();
        set(&self.rules, &roles)
    }
}

impl Sketched {
    fn manifest(&self) -> String {
        let image = self.image.to_string();
        match self.workers {
            0 => role(self.name, self.replicas, &image, &self.more),
            workers => gang(self.name, self.replicas, workers, &image, &self.more),
        }
    }
}

/// What is played with this seed.
pub fn plan(seed: u64) -> Plan {
    let mut draw = Draw(Rng::new(seed));
    draw.0.next_u64();
    let manifests = draw.manifests();
    let profile = draw.profile();
    let troupe = draw.troupe();
    let scenario = draw.scenario(&manifests, lag(&profile, &troupe));
    Plan { seed, manifests, scenario, profile, troupe }
}

/// How old at most may be what an operator acts upon.
fn lag(profile: &Profile, troupe: &Troupe) -> Duration {
    let late = |chance: &Chance| match chance.fault {
        Fault::Late(span) => span.most,
        // Until the operator asks again.
        Fault::Silent { .. } => 21_000,
        _ => 0,
    };
    let late = profile.writes.iter().chain(&profile.reads).map(late).max().unwrap_or(0);
    let cut = match troupe {
        Troupe::Rivals(cuts) => cuts.iter().map(|(_, length)| *length).max().unwrap_or_default(),
        _ => Duration::ZERO,
    };
    // Events that are held back wait for each other.
    let held = if profile.watches.held > 0 { 4 * profile.watches.held_for.most } else { 0 };
    Duration::from_millis(500 + late + held + 2 * profile.travel.most) + cut
}

struct Draw(Rng);

impl Draw {
    fn below(&mut self, end: u64) -> u32 {
        u32::try_from(self.0.below(end)).unwrap_or_default()
    }

    fn between(&mut self, low: u64, high: u64) -> u32 {
        u32::try_from(self.0.between(low, high)).unwrap_or_default()
    }

    fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.0.between(low, high))
    }

    /// A set and what becomes of it, all of which can be rolled out.
    fn manifests(&mut self) -> Vec<String> {
        loop {
            let mut sketch = self.sketch();
            let mut manifests = vec![sketch.manifest()];
            for image in 2..=self.0.between(2, 4) {
                self.change(&mut sketch, image);
                manifests.push(sketch.manifest());
            }
            if can_be_rolled(&manifests) {
                return manifests;
            }
        }
    }

    fn sketch(&mut self) -> Sketch {
        let names: &[&'static str] = if self.0.chance(60) { &["prefill", "decode"] } else { &["web"] };
        let roles: Vec<Sketched> = names.iter().map(|name| self.role(name)).collect();
        let mut rules = String::new();
        if self.0.chance(40) {
            rules += &format!("replicas: {}\n", self.between(1, 3));
        }
        if names.len() == 2 && self.0.chance(60) {
            rules += &self.rule();
        }
        Sketch { rules, roles }
    }

    fn role(&mut self, name: &'static str) -> Sketched {
        let (unavailable, surge) = (self.between(0, 2), self.between(0, 2));
        let unavailable = if unavailable + surge == 0 { 1 } else { unavailable };
        let order = ["Descending", "Ascending", "OldestFirst"][self.below(3) as usize];
        let more = match self.below(3) {
            0 => String::new(),
            _ => format!(
                "updateStrategy: {{maxUnavailable: {unavailable}, maxSurge: {surge}, order: {order}}}"
            ),
        };
        let workers = if self.0.chance(30) { self.between(1, 2) } else { 0 };
        Sketched { name, replicas: self.between(1, 6), workers, image: 1, more }
    }

    fn rule(&mut self) -> String {
        if self.0.chance(50) {
            let skew = self.between(1, 4) * 25;
            format!(
                "coordination:\n- name: together\n  roles: [prefill, decode]\n  rollingUpdate: {{maxSkew: {skew}%}}\n"
            )
        } else {
            "coordination:\n- name: steps\n  steps: [{role: decode, updateTo: 1}, {role: prefill, updateTo: 100%}, \
             {role: decode, updateTo: 100%}]\n"
                .to_owned()
        }
    }

    /// The next version: other images, or another size, or back to what was.
    fn change(&mut self, sketch: &mut Sketch, image: u64) {
        let (all, back) = (self.0.chance(70), self.0.chance(15));
        for role in &mut sketch.roles {
            if all || self.0.chance(50) {
                role.image = if back { 1 } else { image };
            }
            if self.0.chance(25) {
                role.replicas = u32::try_from(self.0.between(1, 6)).unwrap_or(1);
            }
        }
    }

    fn profile(&mut self) -> Profile {
        let mut profile = Profile::default();
        if self.0.chance(10) {
            return profile;
        }
        if self.0.chance(60) {
            profile.travel = Span::new(0, self.0.between(1, 400));
        }
        if self.0.chance(50) {
            profile.watches = self.watches();
        }
        if self.0.chance(60) {
            profile.writes = self.chances(true);
        }
        if self.0.chance(40) {
            profile.reads = self.chances(false);
        }
        if self.0.chance(50) {
            profile.lasts = Some(self.0.between(5_000, 60_000));
        }
        profile
    }

    fn watches(&mut self) -> Watches {
        let live = self.0.chance(50).then(|| Span::new(500, self.0.between(2_000, 30_000)));
        let held = self.between(0, 150);
        Watches { held, held_for: Span::new(10, self.0.between(50, 4_000)), live }
    }

    fn chances(&mut self, writes: bool) -> Vec<Chance> {
        let mut chances = Vec::new();
        let mut add = |draw: &mut Self, fault: Fault| {
            if draw.0.chance(50) {
                chances.push(Chance::of(draw.between(5, 80), fault));
            }
        };
        add(self, Fault::Busy);
        for applied in if writes { &[false, true][..] } else { &[false][..] } {
            let applied = *applied;
            add(self, Fault::Failed { applied });
            add(self, Fault::TimedOut { applied });
            add(self, Fault::Reset { applied });
        }
        if writes {
            add(self, Fault::Conflict);
        }
        let late = Span::new(0, self.0.between(100, 5_000));
        add(self, Fault::Late(late));
        if self.0.chance(30) {
            let applied = self.0.chance(50);
            chances.push(Chance::of(self.between(2, 15), Fault::Silent { applied }));
        }
        chances
    }

    fn troupe(&mut self) -> Troupe {
        match self.below(4) {
            0 => {
                let count = self.0.between(1, 5);
                Troupe::Mortals((0..count).map(|_| (self.0.between(1, 40), self.millis(0, 5_000))).collect())
            }
            1 => {
                let count = self.0.between(1, 3);
                let cut = |draw: &mut Self| (draw.millis(500, 20_000), draw.millis(1_000, 25_000));
                Troupe::Rivals((0..count).map(|_| cut(self)).collect())
            }
            _ => Troupe::One,
        }
    }

    fn scenario(&mut self, manifests: &[String], lag: Duration) -> Scenario {
        let (first, changes) = manifests.split_first().expect("a set");
        let longest = self.millis(100, 3_000);
        let mut scenario = Scenario::given(first)
            .expect("a scenario")
            .starting_in(Duration::from_millis(50), longest)
            .terminating_in(self.millis(0, 1_500))
            .seen_late_by(lag)
            .within(LIMIT);
        let mut after = Duration::ZERO;
        for manifest in changes {
            scenario = scenario.change(after, manifest).expect("a change");
            after += self.millis(200, 15_000);
        }
        if self.0.chance(25) {
            let role = if first.contains("name: web") { "web" } else { "prefill" };
            let blow = [Blow::Evict, Blow::Crash, Blow::Fail][self.below(3) as usize];
            scenario = scenario.strike(self.millis(0, 8_000), role, 0, blow);
        }
        scenario
    }
}

/// Every version is a good one, and each follows the one before.
fn can_be_rolled(manifests: &[String]) -> bool {
    let sets: Option<Vec<Workload>> = manifests.iter().map(|text| Workload::read(text).ok()).collect();
    let finishes = |pair: &[Workload]| matches!(prove(Some(pair[0].spec()), pair[1].spec()), Proof::Finishes);
    sets.is_some_and(|sets| sets.windows(2).all(finishes))
}
