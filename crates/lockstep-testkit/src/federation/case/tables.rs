//! The rollouts themselves.

use std::time::Duration;

use super::{Case, FIRST, Kind, Own, Step, Strategy};

const SECOND: &str = "demo:v2";

const THIRD: &str = "demo:v3";

const fn strategy(max_unavailable: u32, max_surge: u32, partition: u32) -> Strategy {
    Strategy { max_unavailable, max_surge, partition }
}

/// All of them, those without faults first. Cases of more members than a federation has are not for it.
pub const CASES: &[Case<'static>] = &[
    Case {
        name: "deployment",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "one-each",
        kind: Kind::Deployment,
        split: &[1, 1],
        strategy: strategy(1, 0, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[1, 1],
        new: 2,
        broken_alone: true,
    },
    Case {
        name: "surge-only",
        kind: Kind::Deployment,
        split: &[3, 3],
        strategy: strategy(0, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 3],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "there-and-back",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(3), Step::Roll(FIRST)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "new-member",
        kind: Kind::Deployment,
        split: &[4, 0],
        strategy: strategy(1, 0, 0),
        steps: &[Step::Split(&[2, 2])],
        ends: &[2, 2],
        new: 4,
        broken_alone: true,
    },
    Case {
        name: "three-members",
        kind: Kind::Deployment,
        split: &[3, 3, 3],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 3, 3],
        new: 9,
        broken_alone: true,
    },
    Case {
        name: "partition",
        kind: Kind::CloneSet,
        split: &[3, 7],
        strategy: strategy(2, 0, 4),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 7],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "partition-of-equals",
        kind: Kind::CloneSet,
        split: &[5, 5],
        strategy: strategy(2, 0, 3),
        steps: &[Step::Roll(SECOND)],
        ends: &[5, 5],
        new: 7,
        broken_alone: true,
    },
    Case {
        name: "late-status",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Late(Duration::from_secs(2)),
            Step::Roll(SECOND),
            Step::UntilNew(1),
            Step::Late(Duration::from_secs(3)),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "controllers-restart",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(1), Step::RestartControllers],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "unreachable",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "own-images",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Override(0, Own::Registry("registry.here")),
            Step::Override(1, Own::Registry("registry.there")),
            Step::UntilNew(5),
            Step::Roll(SECOND),
            Step::UntilNew(3),
            Step::Override(0, Own::Nothing),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "own-strategy",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 0, 0),
        steps: &[Step::Override(1, Own::MaxUnavailable(1)), Step::UntilStill, Step::Roll(SECOND)],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "own-strategy-given-up",
        kind: Kind::Deployment,
        split: &[4, 6],
        strategy: strategy(2, 0, 0),
        steps: &[
            Step::Override(1, Own::MaxUnavailable(1)),
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Override(1, Own::Nothing),
        ],
        ends: &[4, 6],
        new: 10,
        broken_alone: true,
    },
];

/// Cases of more clusters than anybody starts processes for, and with changes of mind that take longer.
pub const MORE: &[Case<'static>] = &[
    Case {
        name: "ten-members",
        kind: Kind::Deployment,
        split: &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        strategy: strategy(5, 0, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        new: 20,
        broken_alone: true,
    },
    Case {
        name: "many-members-by-surge",
        kind: Kind::Deployment,
        split: &[3, 1, 4, 1, 5],
        strategy: strategy(0, 2, 0),
        steps: &[Step::Roll(SECOND)],
        ends: &[3, 1, 4, 1, 5],
        new: 14,
        broken_alone: true,
    },
    Case {
        name: "over-and-over",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(2, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Roll(THIRD),
            Step::UntilNew(3),
            Step::Roll(SECOND),
            Step::UntilNew(5),
            Step::Roll(FIRST),
        ],
        ends: &[4, 4, 4],
        new: 12,
        broken_alone: true,
    },
    Case {
        name: "weighed-anew-while-it-rolls",
        kind: Kind::Deployment,
        split: &[6, 3, 1],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(2), Step::Split(&[1, 3, 6])],
        ends: &[1, 3, 6],
        new: 10,
        broken_alone: true,
    },
    Case {
        name: "scaled-in-while-it-rolls",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(2, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(3), Step::Split(&[2, 2, 2])],
        ends: &[2, 2, 2],
        new: 6,
        broken_alone: true,
    },
    Case {
        name: "scaled-out-while-it-rolls",
        kind: Kind::Deployment,
        split: &[2, 2, 2],
        strategy: strategy(1, 1, 0),
        steps: &[Step::Roll(SECOND), Step::UntilNew(2), Step::Split(&[4, 2, 6])],
        ends: &[4, 2, 6],
        new: 12,
        broken_alone: true,
    },
    Case {
        name: "a-member-more-and-one-less",
        kind: Kind::Deployment,
        split: &[4, 4, 0],
        strategy: strategy(1, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::Split(&[3, 3, 2]),
            Step::UntilNew(5),
            Step::Split(&[0, 5, 3]),
        ],
        ends: &[0, 5, 3],
        new: 8,
        broken_alone: true,
    },
    Case {
        name: "cut-off-while-it-changes",
        kind: Kind::Deployment,
        split: &[4, 4, 4],
        strategy: strategy(3, 1, 0),
        steps: &[
            Step::Roll(SECOND),
            Step::UntilNew(2),
            Step::CutOff(0),
            Step::Wait(Duration::from_secs(2)),
            Step::Roll(THIRD),
            Step::UntilStill,
            Step::Mend,
            Step::CutOff(2),
            Step::UntilStill,
            Step::Mend,
        ],
        ends: &[4, 4, 4],
        new: 12,
        broken_alone: true,
    },
];

const fn of_sets(
    name: &'static str,
    split: &'static [u32],
    strategy: Strategy,
    steps: &'static [Step<'static>],
    new: u32,
) -> Case<'static> {
    Case { name, kind: Kind::LockstepSet, split, strategy, steps, ends: split, new, broken_alone: true }
}

/// The same for sets of groups: what is counted are groups.
pub const SETS: &[Case<'static>] = &[
    of_sets("sets", &[2, 2], strategy(1, 0, 0), &[Step::Roll(SECOND)], 4),
    of_sets("sets-of-three-members", &[2, 1, 3], strategy(2, 1, 0), &[Step::Roll(SECOND)], 6),
    of_sets("sets-by-surge", &[2, 2], strategy(0, 1, 0), &[Step::Roll(SECOND)], 4),
    of_sets("sets-of-which-some-stay", &[2, 2], strategy(1, 0, 1), &[Step::Roll(SECOND)], 3),
    of_sets(
        "sets-there-and-back",
        &[2, 2],
        strategy(1, 0, 0),
        &[Step::Roll(SECOND), Step::UntilNew(2), Step::Roll(FIRST)],
        4,
    ),
    of_sets(
        "sets-late-status",
        &[2, 2],
        strategy(1, 0, 0),
        &[
            Step::Late(Duration::from_secs(2)),
            Step::Roll(SECOND),
            Step::UntilNew(1),
            Step::Late(Duration::from_secs(3)),
        ],
        4,
    ),
    of_sets(
        "sets-cut-off",
        &[3, 3],
        strategy(2, 0, 0),
        &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend],
        6,
    ),
];

const fn of_others(
    name: &'static str,
    kind: Kind,
    split: &'static [u32],
    strategy: Strategy,
    steps: &'static [Step<'static>],
    new: u32,
) -> Case<'static> {
    Case { name, kind, split, strategy, steps, ends: split, new, broken_alone: true }
}

const ROLL: &[Step<'static>] = &[Step::Roll(SECOND)];

const THERE_AND_BACK: &[Step<'static>] = &[Step::Roll(SECOND), Step::UntilNew(3), Step::Roll(FIRST)];

const LATE: &[Step<'static>] = &[
    Step::Late(Duration::from_secs(2)),
    Step::Roll(SECOND),
    Step::UntilNew(1),
    Step::Late(Duration::from_secs(3)),
];

const CUT_OFF: &[Step<'static>] =
    &[Step::Roll(SECOND), Step::UntilNew(1), Step::CutOff(0), Step::UntilStill, Step::Mend];

/// The same for kinds whose controllers are only to be had on real clusters.
pub const OTHERS: &[Case<'static>] = &[
    of_others("stateful", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), ROLL, 6),
    of_others("stateful-by-two", Kind::StatefulSet, &[2, 4], strategy(2, 0, 0), ROLL, 6),
    of_others("stateful-of-which-some-stay", Kind::StatefulSet, &[2, 4], strategy(1, 0, 2), ROLL, 4),
    of_others("stateful-there-and-back", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), THERE_AND_BACK, 6),
    of_others("stateful-late-status", Kind::StatefulSet, &[2, 4], strategy(1, 0, 0), LATE, 6),
    of_others("stateful-cut-off", Kind::StatefulSet, &[3, 3], strategy(2, 0, 0), CUT_OFF, 6),
    of_others("leaders-and-workers", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), ROLL, 4),
    of_others("leaders-and-workers-by-surge", Kind::LeaderWorkerSet, &[2, 2], strategy(0, 1, 0), ROLL, 4),
    of_others("leaders-there-and-back", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), THERE_AND_BACK, 4),
    of_others("leaders-late-status", Kind::LeaderWorkerSet, &[2, 2], strategy(1, 0, 0), LATE, 4),
    of_others("leaders-cut-off", Kind::LeaderWorkerSet, &[3, 3], strategy(2, 0, 0), CUT_OFF, 6),
];
