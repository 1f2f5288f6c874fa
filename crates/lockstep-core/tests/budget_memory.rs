//! What is expected, over random lives of an owner whose scale counts pods while the budget counts groups.

mod budget_support;

use budget_support::*;
use lockstep_core::budget::*;

struct Owner {
    size: u32,
    /// Groups wanted; ordinals below are kept, others go.
    groups: u32,
    standing: Vec<(u32, u32)>,
}

impl Owner {
    fn view(&self) -> View {
        let pods = self.standing.iter().map(|(g, k)| pod(&format!("{g}-{k}"), Some(&g.to_string())));
        let wanted = self.groups * self.size;
        let settled = self.standing.iter().all(|(g, _)| *g < self.groups);
        let root = Root {
            replicas: Some(wanted),
            counts_units: false,
            settled,
            pods_per_replica: Some(1),
            version: Version(0),
        };
        View { pods: pods.collect(), roots: [("lws".to_owned(), root)].into(), ..View::default() }
    }

    fn seen(&self) -> usize {
        let groups: std::collections::BTreeSet<u32> = self.standing.iter().map(|(g, _)| *g).collect();
        groups.len()
    }

    /// One pod dies, comes back, or is scaled in.
    fn step(&mut self, random: &mut Random) {
        let at = random.index(self.standing.len().max(1));
        if random.chance(40) && at < self.standing.len() {
            self.standing.swap_remove(at);
        }
        if let Some(extra) = self.standing.iter().position(|(g, _)| *g >= self.groups) {
            self.standing.swap_remove(extra);
        }
        let all = (0..self.groups).flat_map(|g| (0..self.size).map(move |k| (g, k)));
        let missing: Vec<_> = all.filter(|pod| !self.standing.contains(pod)).collect();
        if random.chance(60) && !missing.is_empty() {
            self.standing.push(missing[random.index(missing.len())]);
        }
    }

    fn rest(&mut self) {
        self.standing = (0..self.groups).flat_map(|g| (0..self.size).map(move |k| (g, k))).collect();
    }
}

#[test]
fn nothing_expected_is_lost_but_by_scaling_in_and_that_is_forgotten_in_the_end() {
    for seed in 0..1_000 {
        let mut random = Random(seed);
        let (size, groups) = (1 + random.below(3) as u32, 2 + random.below(12) as u32);
        let mut owner = Owner { size, groups, standing: Vec::new() };
        owner.rest();
        let mut memory = Memory::default().observe(&owner.view(), true);
        for _ in 0..6 {
            let before = memory.expected(&owner.view(), true);
            assert_eq!(before, owner.groups, "seed {seed}: at rest");
            // Accidents and evictions alone never lower it.
            for _ in 0..random.below(30) {
                owner.step(&mut random);
                let view = owner.view();
                memory = memory.observe(&view, true);
                assert_eq!(memory, memory.observe(&view, true), "seed {seed}: twice is once");
                assert_eq!(memory.expected(&view, true), before, "seed {seed}");
            }
            // A new scale, seen at some point on its way: never below what was and still is wanted.
            owner.groups = 1 + random.below(14) as u32;
            for _ in 0..random.below(30) {
                owner.step(&mut random);
                let view = owner.view();
                memory = memory.observe(&view, true);
                let expected = memory.expected(&view, true);
                assert!(expected >= before.min(owner.groups), "seed {seed}");
                assert!(expected as usize >= owner.seen(), "seed {seed}");
            }
            owner.rest();
            memory = memory.observe(&owner.view(), true);
        }
    }
}

#[test]
fn what_a_newer_scale_said_is_not_unlearned_from_an_older_one() {
    let seen = |version, replicas| {
        let root = Root { version: Version(version), settled: true, ..counted(replicas) };
        View { roots: [("web".to_owned(), root)].into(), ..View::default() }
    };
    let memory = Memory::default().observe(&seen(20, 10), false);
    let old = seen(15, 3);
    let after = memory.observe(&old, false);
    assert_eq!(after.expected(&old, false), 10);
    assert!(!after.0["web"].scaled_in, "nothing was scaled in");
    let new = seen(25, 4);
    assert_eq!(after.observe(&new, false).expected(&new, false), 4);
}
