//! What the engine could not know is held in its favour, and nothing else is.

mod golden_support;
mod support;

use golden_support::build::{groups, one_group, ordered, pause, update, within};
use lockstep_core::model::{Spec, StrategyKind};
use lockstep_core::names::{RoleName, RuleName};
use lockstep_core::number::IntOrPercent;
use lockstep_core::promises::{Checker, Promise};
use lockstep_core::revision::Revision;
use lockstep_core::simulate::trace::{By, Event, SpecEvent, Subject, What};
use lockstep_core::snapshot::Promotion;
use lockstep_core::time::Millis;
use support::{rev, role, set};

/// How old the engine's view always may be.
const LAG: u64 = 10;

/// A history of one role, told line by line.
#[derive(Default)]
struct Told {
    checker: Checker,
    late: u64,
    /// Whoever decides may have begun anew.
    anew: bool,
}

impl Told {
    fn at(&mut self, t: u64, what: What) -> &mut Self {
        self.checker.see(&Event { t, late: self.late, what });
        self
    }

    /// From now on the engine's view is so much older.
    fn late(&mut self, late: u64) -> &mut Self {
        self.late = late;
        self
    }

    fn wish(&mut self, t: u64, spec: &Spec, unheard: bool) -> &mut Self {
        self.wish_stored(t, spec, unheard, &[])
    }

    /// The same, when the engine has these revisions stored as stable.
    fn wish_stored(
        &mut self,
        t: u64,
        spec: &Spec,
        unheard: bool,
        stored: &[(RoleName, Revision)],
    ) -> &mut Self {
        let targets = spec.roles.iter().map(|role| (role.name.clone(), role.revision)).collect();
        let (spec, stable) = (spec.clone(), stored.iter().cloned().collect());
        let anew = self.anew;
        self.at(t, What::Spec(Box::new(SpecEvent { spec, targets, stable, lag: LAG, own: 0, unheard, anew })))
    }

    fn create(&mut self, t: u64, instance: u32, revision: Revision) -> &mut Self {
        self.create_at(t, of(instance), revision)
    }

    fn create_at(&mut self, t: u64, of: Subject, revision: Revision) -> &mut Self {
        let why = "Recover".to_owned();
        self.at(t, What::Create { of, revision, set_revision: revision, why })
    }

    /// The engine takes it for the update.
    fn take(&mut self, t: u64, of: Subject) -> &mut Self {
        let (revision, why) = (rev("A"), "Update".to_owned());
        self.at(t, What::Delete { of, revision, by: By::Engine, why })
    }

    /// The engine moves the first so many to B, one after the other.
    fn moved(&mut self, count: u32) -> &mut Self {
        for i in 0..count {
            let t = 110 + 20 * u64::from(i);
            self.delete(t, i, By::Engine).gone(t, i).create(t, i, rev("B")).ready(t + 1, i, rev("B"));
        }
        self
    }

    fn ready(&mut self, t: u64, instance: u32, revision: Revision) -> &mut Self {
        self.at(t, What::Ready { of: of(instance), revision })
    }

    fn delete(&mut self, t: u64, instance: u32, by: By) -> &mut Self {
        self.delete_as(t, instance, by, "Update")
    }

    fn delete_as(&mut self, t: u64, instance: u32, by: By, why: &str) -> &mut Self {
        let why = why.to_owned();
        self.at(t, What::Delete { of: of(instance), revision: rev("A"), by, why })
    }

    fn gone(&mut self, t: u64, instance: u32) -> &mut Self {
        self.at(t, What::Gone { of: of(instance), revision: rev("A") })
    }

    /// All of a wish stands, created at 0 and ready at 1, and the engine knows the wish.
    fn standing(spec: &Spec) -> Self {
        let mut told = Self::default();
        let revision = spec.roles[0].revision;
        told.wish(0, spec, true).wish(0, spec, false);
        for i in 0..spec.roles[0].replicas {
            told.create(0, i, revision).ready(1, i, revision);
        }
        told
    }

    fn broken(&self) -> Vec<Promise> {
        let mut broken: Vec<Promise> = self.checker.broken().iter().map(|broken| broken.promise).collect();
        broken.dedup();
        broken
    }
}

fn of(instance: u32) -> Subject {
    Subject { group: 0, role: RoleName::new("r"), instance }
}

fn spec(replicas: u32, revision: &str) -> Spec {
    set(1, vec![within(role("r", replicas, revision), 1, 0)])
}

#[test]
fn who_has_not_heard_of_a_wish_may_act_on_the_one_before() {
    let (large, small) = (spec(4, "A"), spec(2, "A"));
    // Heard of at, decided how long before it was done, and what is broken by what is done at 500.
    let rows: [(Option<u64>, u64, &[Promise]); 5] = [
        (None, 0, &[]),
        (Some(300), 0, &[Promise::SurgeCeiling]),
        (Some(300), 150, &[Promise::SurgeCeiling]),
        (Some(300), 200, &[]),
        (Some(495), 0, &[]),
    ];
    for (heard, late, expected) in rows {
        let mut told = Told::standing(&large);
        told.delete(100, 3, By::World).gone(101, 3).wish(200, &small, true);
        if let Some(heard) = heard {
            told.wish(heard, &small, false);
        }
        told.late(late).create(500, 3, rev("A"));
        assert_eq!(told.broken(), expected, "heard {heard:?}, late {late}");
    }
}

#[test]
fn what_neither_of_two_wishes_allows_is_broken() {
    let mut told = Told::standing(&spec(4, "A"));
    told.wish(200, &spec(4, "B"), true).delete(210, 3, By::Engine);
    assert_eq!(told.broken(), []);
    told.delete(220, 2, By::Engine);
    assert_eq!(told.broken(), [Promise::Floor]);
}

#[test]
fn the_smaller_of_two_sizes_may_be_kept_but_not_less() {
    // Of four, one may be missing; of two, one.
    let mut told = Told::standing(&spec(4, "A"));
    told.wish(200, &spec(2, "B"), true);
    told.delete(210, 3, By::Engine).delete(211, 2, By::Engine).delete(212, 1, By::Engine);
    assert_eq!(told.broken(), []);
    told.delete(213, 0, By::Engine);
    assert_eq!(told.broken(), [Promise::Floor]);
}

#[test]
fn whoever_was_overtaken_by_what_puts_a_loss_back_knew_nothing_of_it() {
    // How long before it arrived the delete was decided upon; the loss was 20 before it, its replacement 10.
    for (late, expected) in [(0, &[Promise::Floor][..]), (5, &[Promise::Floor]), (30, &[])] {
        let mut told = Told::standing(&spec(4, "A"));
        told.wish(100, &spec(4, "B"), false).delete(180, 0, By::World).gone(180, 0);
        told.create(190, 0, rev("B")).late(late).delete(200, 3, By::Engine);
        assert_eq!(told.broken(), expected, "late {late}");
    }
}

#[test]
fn what_stands_again_is_counted_once() {
    for (too_many, expected) in [(false, &[][..]), (true, &[Promise::PauseLength])] {
        let mut told = Told::standing(&canary("A", None));
        told.wish(100, &canary("B", None), false);
        told.delete(110, 3, By::Engine).gone(111, 3).create(112, 3, rev("B")).ready(113, 3, rev("B"));
        told.delete(200, 3, By::World).gone(200, 3).late(5).create(204, 3, rev("B")).ready(205, 3, rev("B"));
        if too_many {
            told.late(0).delete(300, 2, By::Engine).gone(301, 2).create(302, 2, rev("B"));
        }
        assert_eq!(told.broken(), expected, "too many: {too_many}");
    }
}

#[test]
fn what_the_world_took_counts_for_as_long_as_nobody_can_have_told() {
    for (late, expected) in [(0, &[Promise::Floor][..]), (85, &[]), (95, &[])] {
        let mut told = Told::standing(&spec(4, "A"));
        told.wish(100, &spec(4, "B"), false).delete(105, 0, By::World);
        told.late(late).delete(200, 3, By::Engine);
        assert_eq!(told.broken(), expected, "late {late}");
    }
}

#[test]
fn nobody_who_does_not_look_learns_what_is_stable() {
    // All of it is at B for a while, and then A is wished for again, with three more.
    for (late, expected) in [(0, &[Promise::Containment][..]), (700, &[])] {
        let mut told = Told::standing(&spec(1, "A"));
        told.wish(100, &spec(1, "B"), false).delete(110, 0, By::Engine).gone(120, 0);
        told.create(130, 0, rev("B")).ready(140, 0, rev("B"));
        told.late(late).wish(800, &spec(4, "A"), false).late(0);
        for i in 1..4 {
            told.create(900, i, rev("A"));
        }
        assert_eq!(told.broken(), expected, "late {late}");
    }
}

/// One of four, a pause, and the rest.
fn canary(revision: &str, duration: Option<Millis>) -> Spec {
    let (first, all) = (IntOrPercent::Int(1), IntOrPercent::Percent(100));
    let steps = vec![update("r", first), pause(duration), update("r", all)];
    one_group(vec![within(role("r", 4, revision), 1, 0)], vec![ordered("canary", steps)])
}

#[test]
fn a_pause_lasts_as_long_as_it_says() {
    let timed = Some(Millis(5_000));
    let broken = &[Promise::PauseLength][..];
    // The canary is ready at 300. How long the pause is, when the next is taken, which step somebody promoted before,
    // and what is broken.
    for (duration, t, promoted, expected) in [
        (timed, 1_000, None, broken),
        (timed, 5_288, None, broken),
        (timed, 5_300 - LAG - 1, None, &[]),
        (timed, 1_000, Some(1), &[]),
        (timed, 1_000, Some(0), broken),
        (None, 1_000, None, broken),
        (None, 86_400_000, None, broken),
        (None, 1_000, Some(1), &[]),
        (None, 1_000, Some(0), broken),
    ] {
        let spec = |revision: &str| canary(revision, duration);
        let mut told = Told::standing(&spec("A"));
        told.wish(200, &spec("B"), true).wish(200, &spec("B"), false);
        told.delete(210, 3, By::Engine).gone(220, 3).create(220, 3, rev("B")).ready(300, 3, rev("B"));
        if let Some(step) = promoted {
            let rule = RuleName::new("canary");
            told.at(900, What::Promoted(Promotion { target: rev("B"), rule, step, group: None }));
        }
        told.delete(t, 2, By::Engine);
        assert_eq!(told.broken(), expected, "{duration:?}, taken at {t}, promoted {promoted:?}");
    }
}

#[test]
fn a_pause_without_an_end_ends_with_the_wish_or_on_the_way_back() {
    let spec = |revision: &str| canary(revision, None);
    let rolls = within(role("r", 4, "B"), 1, 0);
    // What is wished for while the canary at B waits, and what is broken when the next is taken and comes back so.
    for (then, expected) in [
        (spec("B"), &[Promise::PauseLength][..]),
        (spec("A"), &[]),
        (one_group(vec![rolls], Vec::new()), &[]),
    ] {
        let mut told = Told::standing(&spec("A"));
        told.wish(200, &spec("B"), true).wish(200, &spec("B"), false);
        told.delete(210, 3, By::Engine).gone(220, 3).create(220, 3, rev("B")).ready(300, 3, rev("B"));
        told.wish(2_000, &then, true).wish(2_000, &then, false);
        let next = if then == spec("A") { 3 } else { 2 };
        told.delete(3_000, next, By::Engine);
        assert_eq!(told.broken(), expected, "{then:?}");
    }
}

#[test]
fn what_went_with_its_group_meanwhile_was_there_when_it_was_decided() {
    // Of four, two are too many. One goes late, and its group, which may go as a whole, was faster at 300.
    let recreated = |replicas, revision| {
        groups(1, StrategyKind::GroupRecreate, 1, 0, vec![role("r", replicas, revision)])
    };
    let floor = &[Promise::Floor][..];
    for (why, late, expected) in [
        ("Recreate", 150, &[][..]),
        ("Recreate", 100, &[]),
        ("Recreate", 50, floor),
        ("Recreate", 0, floor),
        ("Excess", 150, floor),
    ] {
        let mut told = Told::standing(&recreated(4, "A"));
        told.wish(200, &recreated(2, "B"), false).delete_as(210, 3, By::Engine, "Excess");
        told.delete_as(300, 0, By::Engine, why).gone(301, 0).delete_as(300, 1, By::Engine, why).gone(301, 1);
        told.late(late).delete_as(400, 2, By::Engine, "Excess");
        assert_eq!(told.broken(), expected, "{why}, late {late}");
    }
}

#[test]
fn a_role_that_goes_back_in_one_group_excuses_no_other() {
    let spec = |p: &str, d: &str| {
        groups(3, StrategyKind::RollingUpdate, 1, 0, vec![role("p", 2, p), role("d", 1, d)])
    };
    let places = (0..3).flat_map(|group| [("p", 0), ("p", 1), ("d", 0)].map(|(name, i)| (group, name, i)));
    let at = |group: u32, name: &str, instance: u32| Subject { group, role: RoleName::new(name), instance };
    for (next, expected) in [(2, &[][..]), (1, &[Promise::GroupFloor])] {
        let mut told = Told::default();
        let stand = |told: &mut Told, t: u64, of: Subject, revision: Revision| {
            told.create_at(t, of.clone(), revision).at(t + 1, What::Ready { of, revision });
        };
        let replace = |told: &mut Told, t: u64, of: Subject| {
            told.take(t, of.clone()).at(t, What::Gone { of, revision: rev("A") });
        };
        told.wish(0, &spec("A", "A"), false);
        places.clone().for_each(|(group, name, i)| stand(&mut told, 1, at(group, name, i), rev("A")));
        told.wish(100, &spec("B", "B"), false);
        for (t, name, i) in [(110, "d", 0), (120, "p", 1)] {
            replace(&mut told, t, at(2, name, i));
            stand(&mut told, t, at(2, name, i), rev("B"));
        }
        // The second role goes back; it has moved in group 2 only, which is on its way.
        told.wish(200, &spec("B", "A"), false);
        replace(&mut told, 300, at(next, "p", 0));
        assert_eq!(told.broken(), expected, "group {next}");
    }
}

#[test]
fn what_was_taken_and_put_back_is_not_available_before_it_is_ready() {
    // Of group 0 a pod is taken, and all of it afterwards, with nothing of the other. What it had may be back, and ready.
    let recreated =
        |revision: &str| groups(2, StrategyKind::GroupRecreate, 1, 0, vec![role("r", 1, revision)]);
    for (whole, ready, expected) in
        [(false, false, &[Promise::GroupFloor][..]), (true, false, &[]), (true, true, &[Promise::GroupFloor])]
    {
        let mut told = Told::standing(&recreated("A"));
        told.wish(100, &recreated("B"), false);
        told.at(110, What::Unready { of: of(0), revision: rev("A"), by: By::Engine });
        if whole {
            told.at(120, What::Scheduled { of: of(0), revision: rev("A") });
        }
        if ready {
            told.ready(130, 0, rev("A"));
        }
        told.delete_as(300, 0, By::Engine, "Recreate");
        assert_eq!(told.broken(), expected, "whole {whole}, ready {ready}");
    }
}

#[test]
fn an_instance_goes_with_its_first_pod() {
    // Of instance 3 a pod is taken, and the rest long afterwards, when another is lost and another wish has come.
    for (kind, first, expected) in [
        (StrategyKind::RollingUpdate, 110, &[][..]),
        (StrategyKind::RollingUpdate, 310, &[Promise::Floor]),
        (StrategyKind::GroupRecreate, 110, &[]),
        (StrategyKind::GroupRecreate, 310, &[Promise::Floor]),
    ] {
        let wished = |revision: &str| {
            let mut one = role("r", 4, revision);
            one.min_available = Some(IntOrPercent::Int(3));
            one.strategy.max_unavailable = IntOrPercent::Int(1);
            groups(1, kind, 1, 0, vec![one])
        };
        let mut told = Told::standing(&wished("A"));
        told.wish(100, &wished("B"), false);
        let mut events = vec![(first, true), (200, false)];
        events.sort_unstable();
        for (t, ours) in events {
            match ours {
                true => told.at(t, What::Unready { of: of(3), revision: rev("A"), by: By::Engine }),
                false => told.delete_as(t, 0, By::World, "eviction"),
            };
        }
        told.wish(400, &wished("C"), false);
        told.delete_as(500, 3, By::Engine, "Excess");
        assert_eq!(told.broken(), expected, "{kind:?}, first pod at {first}");
    }
}

#[test]
fn a_group_is_opened_with_the_first_pod_of_an_instance() {
    let too_many = &[Promise::GroupFloor][..];
    for (first, back, expected) in
        [(110, false, &[][..]), (310, false, too_many), (310, true, too_many), (450, true, &[])]
    {
        let wished =
            |revision: &str| groups(2, StrategyKind::RollingUpdate, 1, 0, vec![role("r", 1, revision)]);
        let other = Subject { group: 1, ..of(0) };
        let mut told = Told::standing(&wished("A"));
        told.create_at(0, other.clone(), rev("A"))
            .at(1, What::Ready { of: other.clone(), revision: rev("A") });
        told.wish(100, &wished("B"), false);
        let mut events = vec![(first, "ours"), (200, "evicted")];
        if back {
            events.push((400, "back"));
        }
        events.sort_unstable();
        for (t, what) in events {
            match what {
                "ours" => told.at(t, What::Unready { of: other.clone(), revision: rev("A"), by: By::Engine }),
                "back" => told.gone(t, 0).create(t, 0, rev("A")).ready(t, 0, rev("A")),
                _ => told.delete_as(t, 0, By::World, "eviction"),
            };
        }
        told.wish(490, &wished("C"), false).take(500, other);
        assert_eq!(told.broken(), expected, "first pod at {first}, back {back}");
    }
}

#[test]
fn what_was_deleted_and_is_whole_again_stands() {
    // The only pod of an instance is evicted before the others have been created.
    for (whole, expected) in [(true, &[][..]), (false, &[Promise::Floor])] {
        let wished = spec(2, "A");
        let mut told = Told::default();
        told.wish(0, &wished, true).wish(0, &wished, false);
        told.create(0, 0, rev("A")).create(0, 1, rev("A")).delete(5, 1, By::World);
        if whole {
            told.at(20, What::Scheduled { of: of(1), revision: rev("A") });
        }
        told.ready(50, 0, rev("A")).ready(50, 1, rev("A"));
        told.wish(100, &spec(2, "B"), false).delete(200, 0, By::Engine);
        assert_eq!(told.broken(), expected, "whole again: {whole}");
    }
}

#[test]
fn who_begins_anew_knows_what_was_stored() {
    // All became available at B, which nobody wrote down; the wish goes back to what is stored, so it is no move.
    let moves = &[Promise::Containment][..];
    for (anew, stored, expected) in [(true, "A", &[][..]), (true, "B", moves), (false, "A", moves)] {
        let mut told = Told::standing(&spec(3, "A"));
        told.anew = anew;
        told.wish(100, &spec(3, "B"), false);
        told.moved(3);
        let back = spec(3, "A");
        let stored_then = [(RoleName::new("r"), rev(stored))];
        told.wish_stored(1_000, &back, true, &stored_then).wish(1_001, &back, false);
        for i in 0..3 {
            told.delete(1_100, i, By::World).gone(1_101, i).create(1_102, i, rev("A"));
        }
        assert_eq!(told.broken(), expected, "anew {anew}, stored {stored}");
    }
}

#[test]
fn what_is_stored_is_known() {
    // All became available at B while nobody could see it, but B was stored as stable: who goes back to A moves.
    for (stored, expected) in [("B", &[Promise::Containment][..]), ("A", &[])] {
        let mut told = Told::standing(&spec(2, "A"));
        told.wish(100, &spec(2, "B"), false).late(5_000);
        told.moved(2);
        let back = spec(2, "A");
        let stored_then = [(RoleName::new("r"), rev(stored))];
        told.wish_stored(300, &back, true, &stored_then).late(0).wish(301, &back, false);
        for i in 0..2 {
            told.delete(8_000, i, By::World).gone(8_001, i).create(8_002, i, rev("A"));
        }
        assert_eq!(told.broken(), expected, "stored {stored}");
    }
}

#[test]
fn an_instance_of_several_pods_may_be_filled_up_that_is_all_gone() {
    // Instance 0 was the only one that had proved the new revision; 1 has not yet. 0 is evicted, pod by pod.
    for (pods, late, expected) in
        [(2, 500, &[][..]), (2, 0, &[Promise::Containment]), (1, 500, &[Promise::Containment])]
    {
        let wished = |revision: &str| {
            let mut one = role("r", 2, revision);
            one.members[0].count = pods;
            one_group(vec![within(one, 1, 0)], Vec::new())
        };
        let mut told = Told::standing(&wished("A"));
        told.wish(100, &wished("B"), false);
        told.delete(110, 0, By::Engine).gone(111, 0).create(120, 0, rev("B")).ready(130, 0, rev("B"));
        told.delete(140, 1, By::Engine).gone(141, 1).create(150, 1, rev("B"));
        told.delete_as(200, 0, By::World, "eviction");
        told.at(201, What::Gone { of: of(0), revision: rev("B") });
        told.late(late).create(600, 0, rev("B"));
        assert_eq!(told.broken(), expected, "{pods} pods, late {late}");
    }
}

#[test]
fn what_is_created_along_with_it_is_no_update_of_another_group() {
    // The second role is scaled out where it goes back: no group is available, and one of them is opened, in the same
    // plan or later.
    let spec = |p: &str, d: &str, count: u32| {
        groups(2, StrategyKind::RollingUpdate, 1, 0, vec![role("p", 1, p), role("d", count, d)])
    };
    let at = |group: u32, name: &str, instance: u32| Subject { group, role: RoleName::new(name), instance };
    for (later, late, expected) in
        [(0, 0, &[][..]), (5, 0, &[Promise::GroupFloor]), (5, 5, &[]), (500, 5, &[Promise::GroupFloor])]
    {
        let mut told = Told::default();
        told.wish(0, &spec("A", "A", 1), false);
        for of in (0..2).flat_map(|group| [at(group, "p", 0), at(group, "d", 0)]) {
            told.create_at(1, of.clone(), rev("A")).at(2, What::Ready { of, revision: rev("A") });
        }
        // Group 1 is opened, and what it got never starts.
        told.wish(100, &spec("A", "B", 1), false).take(110, at(1, "d", 0));
        told.at(120, What::Gone { of: at(1, "d", 0), revision: rev("A") });
        told.create_at(130, at(1, "d", 0), rev("B")).wish(1_000, &spec("C", "A", 2), false);
        told.create_at(1_100, at(0, "d", 1), rev("A")).create_at(1_100, at(1, "d", 1), rev("A"));
        told.late(late).take(1_100 + later, at(0, "p", 0));
        assert_eq!(told.broken(), expected, "{later} ms later, upon a view {late} ms old");
    }
}

#[test]
fn a_group_between_revisions_when_the_wish_goes_back_is_open() {
    // Two groups were on their way to B when the wish went back to A. In group 1 all but the last had moved, and that was
    // on its way out, or had gone before.
    let wished = |revision: &str| {
        groups(2, StrategyKind::RollingUpdate, 1, 0, vec![within(role("r", 2, revision), 2, 0)])
    };
    let at = |group: u32, instance: u32| Subject { group, ..of(instance) };
    for (gone, expected) in [(150, &[][..]), (99, &[Promise::GroupFloor])] {
        let mut told = Told::default();
        told.wish(0, &wished("A"), false);
        for of in (0..2).flat_map(|group| [at(group, 0), at(group, 1)]) {
            let revision = rev(if of.instance == 1 { "B" } else { "A" });
            told.create_at(1, of.clone(), revision).at(2, What::Ready { of, revision });
        }
        told.wish(50, &wished("B"), false).take(60, at(1, 0));
        let mut events = vec![(100, true), (gone, false)];
        events.sort_unstable();
        for (t, back) in events {
            match back {
                true => told.wish(t, &wished("A"), false),
                false => told.at(t, What::Gone { of: at(1, 0), revision: rev("A") }),
            };
        }
        told.take(200, at(0, 1)).take(210, at(1, 1));
        assert_eq!(told.broken(), expected, "gone at {gone}");
    }
}
