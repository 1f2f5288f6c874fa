//! Snapshots, memories and rules that make no sense, from a seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lockstep_core::model::*;
use lockstep_core::names::{GangKey, MemberName, RoleName, RuleName, Uid};
use lockstep_core::number::IntOrPercent::*;
use lockstep_core::plan::plan;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::rng::Rng;
use lockstep_core::snapshot::*;
use lockstep_core::time::{Millis, Time};

use crate::support::{Generator, Taste, rev};

const ORDINALS: [u32; 9] = [0, 1, 2, 3, 5, 17, u32::MAX - 1, u32::MAX, 1 << 31];
const TIMES: [u64; 8] = [0, 1, 999_999, 1_000_000, 1_000_001, 2_000_000, u64::MAX - 1, u64::MAX];
const ROLES: [&str; 7] = ["r0", "r1", "r2", "gone", "", "r0/1", "ünknown"];
const REVISIONS: [&str; 5] = ["", "A", "B", "C", "zzzzzzzzzzzzzzzz"];

/// Nonsense from a seed.
pub struct Nonsense {
    pub rng: Rng,
    /// Numbers at the end of their range where a sum is made of them.
    pub extreme: bool,
}

impl Nonsense {
    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        self.rng.pick(items).unwrap().clone()
    }

    fn some<T>(&mut self, percent: u64, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.rng.chance(percent).then(|| make(self))
    }

    fn several<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.rng.between(0, most)).map(|_| make(self)).collect()
    }

    fn ordinal(&mut self) -> u32 {
        self.of(&ORDINALS)
    }

    fn incarnation(&mut self) -> u32 {
        let most = if self.extreme { u32::MAX } else { 1 << 31 };
        self.ordinal().min(most)
    }

    fn time(&mut self) -> Time {
        Time(self.of(&TIMES))
    }

    fn role(&mut self) -> RoleName {
        RoleName::new(self.of(&ROLES))
    }

    fn revision(&mut self) -> Revision {
        rev(self.of(&REVISIONS))
    }

    fn pod(&mut self) -> Pod {
        Pod {
            member: MemberName::new(self.of(&["r0", "leader", "worker", "", "stranger"])),
            index: self.ordinal(),
            uid: Uid::new(self.of(&["", "u1", "u2", "u3"])),
            revision: self.revision(),
            set_revision: self.revision(),
            incarnation: self.incarnation(),
            created: self.time(),
            bound: self.some(60, Self::time),
            ready: self.some(60, Self::time),
            unready: self.some(20, Self::time),
            failed: self.rng.chance(10),
            terminating: self.rng.chance(15),
            gated: self.rng.chance(15),
            gang: self.some(30, |n| {
                GangKey::new(n.of(&["", "base-0", "base-4294967295", "batch--1", "instance-r0-0", "x"]))
            }),
            in_flight: self.rng.chance(10),
            restarts: self.of(&[0, 0, 1, u32::MAX]),
        }
    }

    fn instance(&mut self) -> Instance {
        Instance { instance: self.ordinal(), pods: self.several(4, Self::pod) }
    }

    fn group(&mut self) -> Group {
        let roles =
            self.several(4, |n| RoleInstances { role: n.role(), instances: n.several(5, Self::instance) });
        Group { group: self.ordinal(), base_scheduled: self.rng.chance(20), roles }
    }

    fn reached(&mut self) -> Reached {
        Reached { target: self.revision(), count: self.ordinal() }
    }

    fn group_memory(&mut self) -> GroupMemory {
        GroupMemory {
            incarnation: self.incarnation(),
            unborn: self.rng.chance(20),
            unavailable_since: self.some(50, Self::time),
            short_since: self.some(50, Self::time),
            rebuilding: self.rng.chance(20),
            was_available: self.rng.chance(50),
            base_scheduled: self.rng.chance(50),
            started: self.several(3, Self::role).into_iter().collect(),
            start_sizes: self.several(3, |n| (n.role(), n.ordinal())).into_iter().collect(),
            batches: self.several(2, |n| (RuleName::new("batch"), n.ordinal())).into_iter().collect(),
            opened: self.some(50, Self::revision),
            reached: self.several(3, |n| (n.role(), n.reached())).into_iter().collect(),
            grown: self.several(3, |n| (n.role(), n.ordinal())).into_iter().collect(),
            pauses: self.several(3, |n| (format!("A/rule0/{}", n.ordinal()), n.time())).into_iter().collect(),
            renew_before: self.some(30, Self::time),
        }
    }

    fn memory(&mut self, spec: &Spec) -> Memory {
        let targets = [spec.revision(), self.revision()];
        let by = [OverrideBy::Rollback, OverrideBy::Abort];
        let roles = |n: &mut Self| n.several(4, |n| (n.role(), n.revision())).into_iter().collect();
        Memory {
            since: self.some(70, Self::time),
            roles: self
                .several(4, |n| {
                    let stable = n.some(70, Self::revision);
                    (n.role(), RoleMemory { stable, max_unavailable: n.ordinal() })
                })
                .into_iter()
                .collect(),
            complete: self.some(60, |n| CompleteSet { revision: n.revision(), roles: roles(n) }),
            sets: self.several(3, |n| (n.revision(), roles(n))).into_iter().collect(),
            groups: self.several(4, |n| (n.ordinal(), n.group_memory())).into_iter().collect(),
            reached: self.some(50, Self::reached),
            best: self.some(50, |n| Best {
                target: n.of(&targets),
                updated: n.ordinal(),
                surge: n.ordinal(),
                pauses: n.ordinal(),
                eligible: n.ordinal(),
                since: n.time(),
                started: n.time(),
                waiting: n.rng.chance(50),
            }),
            blocked: self
                .several(3, |n| (n.of(&["", "0/r0/SkewHeld", "/"]).to_owned(), n.time()))
                .into_iter()
                .collect(),
            promoted: self
                .several(3, |n| Promotion {
                    target: n.of(&targets),
                    rule: RuleName::new("rule0"),
                    step: n.ordinal(),
                    group: n.some(50, Self::ordinal),
                })
                .into_iter()
                .collect(),
            overridden: self.some(30, |n| Override { spec: n.of(&targets), by: n.of(&by) }),
            restarts: self
                .several(4, |n| {
                    let key = n.of(&["0", "0/r0/0", "", "x/y/z", "4294967295/r0/1"]).to_owned();
                    (key, RestartMemory { count: n.ordinal(), last: n.time() })
                })
                .into_iter()
                .collect(),
            surges: self
                .several(3, |n| {
                    let key = n.of(&["groups", "0/r0", "", "x/y/z", "4294967295/r0"]).to_owned();
                    let tried =
                        |n: &mut Self| (n.ordinal(), RestartMemory { count: n.ordinal(), last: n.time() });
                    (
                        key,
                        SurgeMemory {
                            target: n.revision(),
                            tried: n.several(3, tried).into_iter().collect(),
                        },
                    )
                })
                .into_iter()
                .collect(),
            baselines: self
                .several(3, |n| (Uid::new(n.of(&["u1", "u2"])), n.ordinal()))
                .into_iter()
                .collect(),
        }
    }

    /// Rules that name what is not there, ratios of nothing, steps beyond everything.
    fn rule(&mut self) -> Rule {
        let roles = self.several(3, Self::role);
        let share = self.of(&[Int(0), Int(u32::MAX), Percent(0), Percent(100), Percent(u32::MAX)]);
        let kind = match self.rng.below(4) {
            0 => RuleKind::RollingUpdate(Skew {
                roles,
                max_skew: share,
                max_unavailable: self.some(50, |_| share),
                partition: self.some(50, |_| share),
            }),
            1 => RuleKind::Steps(self.several(4, |n| match n.rng.chance(70) {
                true => Step::Update { role: n.role(), to: share },
                false => Step::Pause { duration: n.some(50, |n| Millis(n.of(&TIMES))) },
            })),
            2 => RuleKind::AffinityScheduling(Affinity {
                topology_key: String::new(),
                ratios: roles.into_iter().map(|role| (role, self.of(&[0, 1, 2, u32::MAX]))).collect(),
                batch_mode: self.of(&[BatchMode::Sequential, BatchMode::Parallel]),
            }),
            _ => RuleKind::Scaling(Scaling {
                roles,
                max_skew: share,
                progression: self.of(&[Progression::OrderReady, Progression::OrderScheduled]),
            }),
        };
        Rule { name: RuleName::new(self.of(&["rule0", "batch", "rule0", ""])), kind }
    }

    fn spec(&mut self, seed: u64) -> Spec {
        let taste = Taste {
            max_roles: 3,
            max_instances: 6,
            max_groups: 3,
            faults: true,
            lag: false,
            changes: false,
            gangs: true,
            stages: true,
        };
        let mut spec = Generator::new(seed, taste).spec();
        if self.rng.chance(60) {
            let more = self.several(3, Self::rule);
            spec.rules.extend(more);
        }
        let cycle: Vec<RoleName> = spec.roles.iter().map(|role| role.name.clone()).collect();
        for role in &mut spec.roles {
            role.revision = self.revision();
            if self.rng.chance(20) {
                role.starts_after = cycle.clone();
            }
            if self.rng.chance(10) {
                role.members.clear();
            }
            if self.extreme && self.rng.chance(10) {
                role.members.iter_mut().for_each(|m| m.min_available = u32::MAX);
            }
            if self.rng.chance(10) {
                (role.min_ready, role.restart.base_delay) = (Millis(u64::MAX), Millis(u64::MAX));
            }
            role.restart.kind = self.of(&[RestartKind::None, RestartKind::Instance, RestartKind::Group]);
        }
        if self.rng.chance(10) {
            spec.roles.clear();
        }
        if self.rng.chance(10) {
            spec.replicas = 0;
        }
        if self.rng.chance(20) {
            spec.strategy.kind = StrategyKind::OnDelete;
        }
        spec.paused = self.rng.chance(10);
        spec.on_failure = self.of(&[OnFailure::Hold, OnFailure::Rollback]);
        spec.progress_deadline = Millis(self.of(&TIMES));
        spec.gang.termination_delay = self.some(50, |n| Millis(n.of(&TIMES)));
        spec
    }
}

/// Plans twice, and goes on from the memory of the first plan.
pub fn twice(seed: u64, extreme: bool) {
    let mut nonsense = Nonsense { rng: Rng::new(seed), extreme };
    let spec = nonsense.spec(seed);
    let mut snapshot = Snapshot {
        groups: nonsense.several(5, Nonsense::group),
        memory: nonsense.memory(&spec),
        ..Snapshot::default()
    };
    let now = nonsense.time();
    for _ in 0..3 {
        let (one, other) = (plan(&spec, &snapshot, now), plan(&spec, &snapshot.clone(), now));
        let text = |plan| serde_json::to_string(plan).unwrap();
        assert_eq!(text(&one), text(&other));
        let kept: Memory = serde_json::from_str(&serde_json::to_string(&one.memory).unwrap()).unwrap();
        assert_eq!(kept, one.memory, "the memory survives being stored");
        snapshot.memory = one.memory;
    }
}

/// The first of these seeds whose plan panics or is not the same twice.
pub fn broken(seeds: std::ops::Range<u64>, extreme: bool) -> Vec<u64> {
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| twice(*seed, extreme))).is_err();
    seeds.filter(fails).take(10).collect()
}
