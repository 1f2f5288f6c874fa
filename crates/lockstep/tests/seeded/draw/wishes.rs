//! A set, and what becomes of it in the minds of people.

use lockstep_core::prove::{Proof, prove};
use lockstep_testkit::workload::Workload;

use super::Draw;
use crate::cluster::{gang, role, set};

/// A set and what becomes of it.
pub(super) struct Story {
    /// What stands at first.
    pub given: String,
    /// What is wished for after that, one after the other.
    pub changes: Vec<String>,
    /// A role of it.
    pub role: &'static str,
}

/// A set, in the few words that vary.
#[derive(Clone)]
struct Sketch {
    /// How many groups, and how they move, if the manifest says so.
    groups: Option<(u32, String)>,
    /// How roles go together.
    rule: String,
    /// What becomes of a rollout that does not come to its end.
    failure: &'static str,
    paused: bool,
    roles: Vec<Sketched>,
}

#[derive(Clone)]
struct Sketched {
    name: &'static str,
    replicas: u32,
    workers: u32,
    image: u64,
    /// The image is nowhere to be had.
    missing: bool,
    /// How many stay old.
    partition: u32,
    /// The rest of how it moves.
    strategy: String,
}

impl Sketch {
    fn manifest(&self) -> String {
        let roles: Vec<String> = self.roles.iter().map(Sketched::manifest).collect();
        let mut spec = String::new();
        if let Some((count, strategy)) = &self.groups {
            spec += &format!("replicas: {count}\n{strategy}");
        }
        if self.paused {
            spec += "paused: true\n";
        }
        set(&(spec + self.failure + &self.rule), &roles)
    }
}

impl Sketched {
    fn manifest(&self) -> String {
        let image = if self.missing { "missing".to_owned() } else { self.image.to_string() };
        let partition = match self.partition {
            0 => String::new(),
            kept => format!("partition: {kept}"),
        };
        let parts: Vec<&str> =
            [self.strategy.as_str(), &partition].into_iter().filter(|part| !part.is_empty()).collect();
        let more = match parts[..] {
            [] => String::new(),
            _ => format!("updateStrategy: {{{}}}", parts.join(", ")),
        };
        match self.workers {
            0 => role(self.name, self.replicas, &image, &more),
            workers => gang(self.name, self.replicas, workers, &image, &more),
        }
    }
}

impl Draw {
    /// A set and what becomes of it, all of which can be rolled out.
    pub(super) fn story(&mut self) -> Story {
        loop {
            let mut sketch = self.sketch();
            let mut sketches = vec![sketch.clone()];
            let last = self.0.between(2, 4);
            for image in 2..=last {
                self.change(&mut sketch, image, image == last);
                sketches.push(sketch.clone());
            }
            if can_be_rolled(&sketches) {
                let mut manifests = sketches.iter().map(Sketch::manifest);
                let given = manifests.next().unwrap_or_default();
                return Story { given, changes: manifests.collect(), role: sketch.roles[0].name };
            }
        }
    }

    fn sketch(&mut self) -> Sketch {
        let names: &[&'static str] = if self.0.chance(60) { &["prefill", "decode"] } else { &["web"] };
        let roles: Vec<Sketched> = names.iter().map(|name| self.role(name)).collect();
        let groups = self.0.chance(45).then(|| (self.between(1, 3), self.groups_strategy()));
        let rule = if names.len() == 2 && self.0.chance(60) { self.rule() } else { String::new() };
        let failure =
            if self.0.chance(8) { "progressDeadlineSeconds: 20\nonFailure: Rollback\n" } else { "" };
        Sketch { groups, rule, failure, paused: false, roles }
    }

    fn groups_strategy(&mut self) -> String {
        let kind = self.one_of(&["RollingUpdate", "RollingUpdate", "GroupRecreate"]);
        let (unavailable, surge) = self.one_of(&[(1, 0), (0, 1), (1, 1), (2, 0)]);
        match self.below(2) {
            0 => String::new(),
            _ => format!(
                "updateStrategy: {{type: {kind}, maxUnavailable: {unavailable}, maxSurge: {surge}}}\n"
            ),
        }
    }

    fn role(&mut self, name: &'static str) -> Sketched {
        let (unavailable, surge) = (self.between(0, 2), self.between(0, 2));
        let unavailable = if unavailable + surge == 0 { 1 } else { unavailable };
        let order = self.one_of(&["Descending", "Ascending", "OldestFirst"]);
        let strategy = match self.below(3) {
            0 => String::new(),
            _ => format!("maxUnavailable: {unavailable}, maxSurge: {surge}, order: {order}"),
        };
        let workers = if self.0.chance(30) { self.between(1, 2) } else { 0 };
        let replicas = self.between(1, 6);
        Sketched { name, replicas, workers, image: 1, missing: false, partition: 0, strategy }
    }

    fn rule(&mut self) -> String {
        if self.0.chance(50) {
            let skew = self.between(1, 4) * 25;
            return format!(
                "coordination:\n- name: together\n  roles: [prefill, decode]\n  rollingUpdate: {{maxSkew: {skew}%}}\n"
            );
        }
        let pause = self.one_of(&["", "", "{pause: {}}, ", "{pause: {duration: 5s}}, "]);
        format!(
            "coordination:\n- name: steps\n  steps: [{{role: decode, updateTo: 1}}, {pause}\
             {{role: prefill, updateTo: 100%}}, {{role: decode, updateTo: 100%}}]\n"
        )
    }

    /// The next version: other images, or another size, or back to what was; one that cannot start, or is held in
    /// the middle. The last is a good one.
    fn change(&mut self, sketch: &mut Sketch, image: u64, last: bool) {
        let (all, back) = (self.0.chance(70), self.0.chance(15));
        let (only_scale, bad) = (self.0.chance(10), !last && self.0.chance(20));
        for role in &mut sketch.roles {
            if !only_scale && (all || self.0.chance(50)) {
                role.image = if back { 1 } else { image };
                role.missing = bad && self.0.chance(70);
            }
            if self.0.chance(25) {
                role.replicas = self.between(1, 6);
            }
            role.missing &= !last;
            role.partition = match self.below(100) {
                0..12 => self.below(u64::from(role.replicas)),
                12..70 => 0,
                _ => role.partition.min(role.replicas),
            };
        }
        if let Some((count, _)) = &mut sketch.groups
            && self.0.chance(15)
        {
            *count = self.between(1, 3);
        }
        sketch.paused = !last && self.0.chance(12);
    }
}

/// Every version is a good one, and each follows the one before. What a person holds back is held by nothing else.
fn can_be_rolled(sketches: &[Sketch]) -> bool {
    let going = |sketch: &Sketch| Sketch { paused: false, ..sketch.clone() }.manifest();
    let sets: Option<Vec<Workload>> =
        sketches.iter().map(|sketch| Workload::read(&going(sketch)).ok()).collect();
    let finishes = |pair: &[Workload]| matches!(prove(Some(pair[0].spec()), pair[1].spec()), Proof::Finishes);
    sets.is_some_and(|sets| sets.windows(2).all(finishes))
}
