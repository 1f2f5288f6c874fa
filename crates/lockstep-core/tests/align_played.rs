//! Whole rollouts over model clusters, by the clock: with one right answer, and with everything that may go wrong.
//!
//! `LOCKSTEP_LONG=<n>` makes it n runs per row.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may fail loudly")]

mod federation;

use federation::wish;
use lockstep_core::align::{Kind, SplitMode, Wish};
use lockstep_core::simulate::faults::Span;
use lockstep_core::simulate::federation::faults::{Faults, Nature, Outage};
use lockstep_core::simulate::federation::trace::{Event, What};
use lockstep_core::simulate::federation::workload::hash;
use lockstep_core::simulate::federation::{AtOnce, Modelled, Outcome, Scenario, Start, run};
use lockstep_core::simulate::trace::End;
use lockstep_core::time::Millis;

fn rolled(before: Wish, after: Wish) -> Scenario {
    Scenario {
        model: Modelled::of(before.kind).unwrap(),
        start: Start::Complete(before),
        changes: vec![(Millis(0), after)],
        nature: Nature::default(),
        faults: Faults::default(),
        seed: 1,
        limit: Millis::minutes(24 * 60),
    }
}

fn to_new(before: Wish) -> Scenario {
    let after = Wish { template: hash(1), ..before.clone() };
    rolled(before, after)
}

fn play(scenario: &Scenario) -> (Outcome, Vec<Event>) {
    let mut events = Vec::new();
    let outcome = run(scenario, &mut AtOnce, &mut |event| events.push(event));
    (outcome, events)
}

#[test]
fn cases_with_one_right_answer() {
    use Kind::{CloneSet, Deployment, StatefulSet};
    for (before, end, least, most, minutes) in [
        (wish(Deployment, &[4, 6], 2, 1, 0), End::Complete, 8, 11, 4),
        (wish(CloneSet, &[3, 7], 2, 0, 4), End::PartitionReached, 8, 10, 3),
        (wish(CloneSet, &[5, 5], 2, 0, 3), End::PartitionReached, 8, 10, 4),
        (wish(CloneSet, &[3; 10], 5, 0, 0), End::Complete, 25, 30, 6),
        (wish(Deployment, &[3; 10], 5, 0, 0), End::Complete, 25, 30, 6),
        (wish(Deployment, &[1, 1], 1, 0, 0), End::Complete, 1, 2, 2),
        (wish(Deployment, &[1, 1], 0, 1, 0), End::Complete, 2, 3, 2),
        (wish(StatefulSet, &[3, 3], 1, 0, 2), End::PartitionReached, 5, 6, 4),
    ] {
        let (outcome, _) = play(&to_new(before.clone()));
        let found = (outcome.end, outcome.least_available, outcome.most_pods);
        assert_eq!(found, (end, least, most), "{before:?} {:?}", outcome.reasons);
        assert_eq!(outcome.broken, [], "{before:?}");
        println!("{:?} {:?}: {:?}", before.kind, before.clusters.len(), outcome.duration);
        assert!(outcome.duration.0 / 60_000 <= minutes + 1, "{before:?}: {:?}", outcome.duration);
    }
}

#[test]
fn reweighting_gives_up_before_it_takes() {
    for kind in [Kind::Deployment, Kind::CloneSet, Kind::StatefulSet] {
        let (outcome, _) = play(&rolled(wish(kind, &[4, 0], 1, 0, 0), wish(kind, &[2, 2], 1, 0, 0)));
        assert_eq!((outcome.end, outcome.least_available), (End::Complete, 3), "{kind:?}");
    }
}

#[test]
fn a_first_start_and_a_pause() {
    for kind in [Kind::Deployment, Kind::CloneSet, Kind::StatefulSet] {
        let first = Scenario { start: Start::Nothing, ..to_new(wish(kind, &[2, 3], 1, 1, 0)) };
        let (outcome, _) = play(&first);
        assert_eq!((outcome.end, outcome.most_pods), (End::Complete, 5), "{kind:?}");
    }
    let mut paused = to_new(wish(Kind::Deployment, &[2, 3], 1, 1, 0));
    paused.changes[0].1.strategy.paused = Some(true);
    assert_eq!(play(&paused).0.end, End::Paused);
}

#[test]
fn a_template_that_never_works_holds_within_the_bounds() {
    for kind in [Kind::Deployment, Kind::CloneSet, Kind::StatefulSet] {
        let mut bad = to_new(wish(kind, &[4, 6], 2, 0, 0));
        bad.faults.never_ready = vec![1];
        let (outcome, _) = play(&bad);
        assert_eq!(
            (outcome.end, outcome.least_available, outcome.most_pods),
            (End::Stuck, 8, 10),
            "{kind:?}"
        );
        let back = Wish { template: hash(0), ..bad.changes[0].1.clone() };
        bad.changes.push((Millis::minutes(30), back));
        assert_eq!(play(&bad).0.end, End::Complete, "{kind:?}");
    }
}

/// The very first template is bad, in all clusters: losses give no leave, not even to the one that would mend them. It
/// says what does, and that does.
#[test]
fn a_first_template_that_never_works_says_how_it_is_mended() {
    for (kind, surge) in
        [(Kind::CloneSet, 0), (Kind::StatefulSet, 0), (Kind::Deployment, 0), (Kind::Deployment, 1)]
    {
        let mended = to_new(wish(kind, &[4, 6], 2, surge, 0)).changes.remove(0).1;
        let mut bad = to_new(mended.clone());
        bad.start = Start::Nothing;
        bad.faults.never_ready = vec![0];
        bad.changes = vec![
            (Millis(0), Wish { template: hash(0), ..mended.clone() }),
            (Millis::minutes(10), mended.clone()),
        ];
        let (outcome, _) = play(&bad);
        let said = outcome.reasons.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("; ");
        if surge > 0 {
            assert_eq!(outcome.end, End::Complete, "{kind:?} {said}");
            continue;
        }
        assert_eq!(outcome.end, End::Stuck, "{kind:?} {said}");
        assert!(said.contains("by itself, set maxUnavailable to 10 or more"), "{kind:?} {said}");
        let mut out = mended;
        out.strategy.max_unavailable = Some(lockstep_core::number::IntOrPercent::Int(10));
        bad.changes.push((Millis::minutes(60), out));
        let (outcome, _) = play(&bad);
        assert_eq!(outcome.end, End::Complete, "{kind:?} {:?}", outcome.reasons);
    }
}

#[test]
fn a_cluster_that_is_away_keeps_its_reserve_and_the_others_finish() {
    let mut cut = to_new(wish(Kind::CloneSet, &[4, 4, 4], 3, 0, 0));
    cut.faults.outages =
        vec![Outage { after: Millis::seconds(30), cluster: "c1".to_owned(), length: Millis::minutes(60) }];
    let (outcome, events) = play(&cut);
    assert_eq!((outcome.end, outcome.least_available), (End::Complete, 9));
    assert!(outcome.duration >= Millis::minutes(60));
    assert!(events.iter().any(|it| matches!(it.what, What::Cut { .. })));
}

/// Every trouble at once, over every model and split; each run comes to its end and breaks nothing.
#[test]
fn with_everything_that_goes_wrong() {
    let runs = std::env::var("LOCKSTEP_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let often = |minutes| Some(Millis::minutes(minutes));
    let rough = Faults {
        crash: often(10),
        fail: often(20),
        eviction: often(10),
        blink: often(5),
        outage: often(15),
        controller_crash: often(10),
        until: Millis::minutes(60),
        ..Faults::default()
    };
    let span = |low, high| Span { min: Millis::seconds(low), max: Millis::seconds(high) };
    let nature = Nature { start_up_default: span(10, 300), lag: span(0, 5), ..Nature::default() };
    for kind in [Kind::Deployment, Kind::CloneSet, Kind::StatefulSet] {
        for (split, mode) in [(&[4, 6][..], SplitMode::Sequential), (&[3, 0, 5], SplitMode::Proportional)] {
            let before = Wish { split: mode, ..wish(kind, split, 2, 1, u32::from(kind != Kind::Deployment)) };
            let mut scenario = to_new(before);
            scenario.nature = nature.clone();
            scenario.faults = rough.clone();
            let mut other = scenario.changes[0].1.clone();
            other.clusters.reverse();
            other.template = hash(2);
            scenario.changes.push((Millis::minutes(7), other.clone()));
            let mut back = Wish { template: hash(0), ..other };
            // Alone in one cluster, too, a StatefulSet that goes back keeps nothing of what it comes from: its partition
            // is of the lowest ordinals, and those never left.
            if kind == Kind::StatefulSet {
                back.strategy.partition = None;
            }
            scenario.changes.push((Millis::minutes(15), back));
            for seed in 0..runs {
                scenario.seed = seed;
                let (outcome, events) = play(&scenario);
                let why = format!("{kind:?} {split:?} seed {seed}");
                assert_eq!(outcome.broken, [], "{why}");
                assert!(matches!(outcome.end, End::Complete | End::PartitionReached), "{why}: {outcome:#?}");
                if seed == 0 {
                    assert_eq!(play(&scenario).1, events, "the same seed, the same bytes");
                }
            }
        }
    }
}
