//! Whole rollouts, as they are told.

use lockstep_core::model::Spec;
use lockstep_core::simulate::trace::Event;
use lockstep_core::simulate::{Scenario, run};
use lockstep_core::time::Millis;

use super::fold::{Row, rows};
use super::lanes::{Doing, lanes};
use super::totals::{Totals, add_up};
use super::waves::cut;

fn spec(image: &str, more: &str) -> Spec {
    let text = format!(
        "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {{name: set}}
spec:
  roles:
  - name: a
    template: {{spec: {{containers: [{{name: main, image: '{image}'}}]}}}}
    {more}
"
    );
    let parsed = lockstep_api::parse(&text).map_err(|problems| format!("{problems:?}")).unwrap();
    lockstep_api::lower(&parsed.set)
}

fn play(from: Option<&Spec>, to: &Spec) -> (Vec<Event>, u64) {
    let ideal = Scenario::ideal(to.clone(), to.clone());
    let scenario = Scenario { initial: from.cloned(), changes: vec![(Millis(0), to.clone())], ..ideal };
    let mut events = Vec::new();
    let outcome = run(&scenario, &mut |event| events.push(event));
    (events, outcome.began.0)
}

fn told(from: Option<&Spec>, to: &Spec, all: bool) -> (Vec<Row>, Totals) {
    let (events, _) = play(from, to);
    (rows(&cut(&events, from), to, from.is_none(), all), add_up(&events, from))
}

fn moves(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.moves.join("; ")).collect()
}

/// Three, one extra, none down, lowest first: the extra one comes first and goes last.
#[test]
fn surge_comes_first_and_goes_last() {
    let more = "replicas: 3\n    updateStrategy: {maxUnavailable: 0, maxSurge: 1, order: Ascending}";
    let (old, new) = (spec("x:1", more), spec("x:2", more));
    let (every, totals) = told(Some(&old), &new, true);
    assert_eq!(moves(&every), ["surge a-3", "a-0", "a-1", "a-2, then a-3 goes"]);
    assert!(every.iter().all(|row| row.least == ["a 3/3"]), "{every:?}");
    let (folded, _) = told(Some(&old), &new, false);
    assert_eq!(moves(&folded), ["surge a-3, a-0 … a-2, then a-3 goes"]);
    assert_eq!(folded[0].waves, (1, 4));
    assert_eq!((totals.replacements, totals.started, totals.removed), (3, 0, 0));
    assert_eq!(totals.extra.values().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(totals.least.values().copied().collect::<Vec<_>>(), [(3, 3)]);
}

#[test]
fn the_pace_is_told() {
    let more = "replicas: 6\n    updateStrategy: {maxUnavailable: 2}";
    let (rows, totals) = told(Some(&spec("x:1", more)), &spec("x:2", more), false);
    assert_eq!(moves(&rows), ["a-5 … a-0 (2 at a time)"]);
    assert_eq!((rows[0].waves, rows[0].time), ((1, 3), 183_000));
    assert_eq!(rows[0].because, ["maxUnavailable 2"]);
    assert_eq!(totals.groups_in_update, 1);
}

#[test]
fn scaling_is_no_replacement() {
    let (few, many) = (spec("x:1", "replicas: 2"), spec("x:1", "replicas: 4"));
    let (out, totals) = told(Some(&few), &many, false);
    assert_eq!(moves(&out), ["start a-2, a-3"]);
    assert_eq!((totals.started, totals.replacements), (2, 0));
    let (back, totals) = told(Some(&many), &few, false);
    assert_eq!(moves(&back), ["remove a-3, a-2"]);
    assert_eq!((totals.removed, totals.replacements), (2, 0));
}

#[test]
fn nothing_moves_without_a_change() {
    let same = spec("x:1", "replicas: 2");
    assert_eq!(told(Some(&same), &same, false), (Vec::new(), Totals::default()));
}

#[test]
fn a_lane_is_cut_where_something_happens() {
    let (old, new) = (spec("x:1", "replicas: 1"), spec("x:2", "replicas: 1"));
    let (events, began) = play(Some(&old), &new);
    let (lanes, length) = lanes(&events, &new, began);
    let stretches: Vec<(u64, u64, Doing)> =
        lanes[0].stretches.iter().map(|s| (s.from, s.to, s.doing)).collect();
    let (gone, ready) = (1000, 61_000);
    assert_eq!(
        stretches,
        [(0, gone, Doing::Terminating), (gone, ready, Doing::Starting), (ready, length, Doing::New)]
    );
    assert!(!lanes[0].surge && lanes.len() == 1);
}

/// A role outside of the rule may be as far ahead as it likes: the worst skew is that of the rule's roles.
#[test]
fn the_worst_skew_is_that_of_the_rule() {
    let set = |image: &str| {
        let role = |name: &str, down: u32| {
            format!(
                "\n  - name: {name}\n    replicas: 4\n    updateStrategy: {{maxUnavailable: {down}}}\n    \
                 template: {{spec: {{containers: [{{name: main, image: '{image}'}}]}}}}"
            )
        };
        let roles: String = [("a", 1), ("b", 1), ("free", 4)].map(|(name, down)| role(name, down)).concat();
        let text = format!(
            "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {{name: set}}\nspec:\n  \
             coordination: [{{name: close, roles: [a, b], skew: {{maxSkew: 25%}}}}]\n  roles:{roles}\n"
        );
        lockstep_api::lower(&lockstep_api::parse(&text).unwrap().set)
    };
    let (_, totals) = told(Some(&set("x:1")), &set("x:2"), false);
    assert!(totals.worst_skew.is_some_and(|permille| permille <= 250), "{totals:?}");
}
