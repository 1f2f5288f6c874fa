use super::*;
use serde_json::json;

const NOON: u64 = 1_767_268_800_000;

/// A pod as the API server tells of it.
fn told(uid: &str, version: u64, ready: bool, going: bool) -> SlimPod {
    let status = if ready { "True" } else { "False" };
    let mut pod = json!({
        "metadata": {
            "name": "llama-0-web-0", "namespace": "ml", "uid": uid, "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-01-01T12:00:00Z",
            "labels": {"lockstep.dev/set": "llama", "lockstep.dev/group": "0", "lockstep.dev/role": "web",
                       "lockstep.dev/instance": "0", "lockstep.dev/member": "web", "lockstep.dev/pod": "0"},
            "ownerReferences": [{"uid": "set", "controller": true}],
        },
        "status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T12:00:05Z"}]},
    });
    if going {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:30Z");
    }
    serde_json::from_value(pod).unwrap()
}

fn place() -> Place {
    Place { group: 0, role: "web".into(), instance: 0 }
}

fn at(seconds: u64) -> Time {
    Time(NOON + seconds * 1000 + 500)
}

/// The pods, in words.
fn shown(view: &View) -> Vec<String> {
    let word = |pod: &Pod| match () {
        () if pod.may_stay() => "asked to go",
        () if pod.in_flight => "in flight",
        () if pod.terminating => "going",
        () if pod.ready.is_some() => "ready",
        () => "there",
    };
    let owner = Uid::new("set");
    view.pods(&owner).map(|(_, known)| format!("{} {}", known.pod.uid, word(&known.pod))).collect()
}

fn creating(view: &mut View) {
    let pod = Pod { member: "web".into(), ..Pod::default() };
    assert!(view.creating(place(), "llama-0-web-0", &Uid::new("set"), pod));
}

#[test]
fn what_we_write_counts_before_the_watch_shows_it() {
    let mut view = View::default();
    creating(&mut view);
    assert_eq!(shown(&view), [" in flight"]);
    view.see(&told("a", 5, false, false), false, at(1));
    assert_eq!(shown(&view), ["a there"]);
    view.deleting(&Uid::new("a"));
    assert_eq!(shown(&view), ["a asked to go"]);
    // The watch is behind: it shows the pod as it was before the delete.
    view.see(&told("a", 6, true, false), true, at(2));
    assert_eq!(shown(&view), ["a asked to go"]);
    view.not_deleted(&Uid::new("a"));
    assert_eq!(shown(&view), ["a ready"]);
    // Asked again, and answered.
    view.deleting(&Uid::new("a"));
    view.see(&told("a", 7, true, true), false, at(3));
    assert_eq!(shown(&view), ["a going"]);
    view.not_deleted(&Uid::new("a"));
    assert_eq!(shown(&view), ["a going"]);
}

#[test]
fn a_create_that_is_answered_late_does_not_take_a_pod_away_that_is_asked_to_go() {
    let mut view = View::default();
    creating(&mut view);
    view.see(&told("a", 5, false, false), true, at(1));
    view.deleting(&Uid::new("a"));
    view.not_created(&place(), &"web".into(), 0, "llama-0-web-0");
    assert_eq!(shown(&view), ["a asked to go"]);
}

#[test]
fn nothing_of_a_create_that_failed_stays() {
    let mut view = View::default();
    creating(&mut view);
    view.not_created(&place(), &"web".into(), 0, "llama-0-web-0");
    assert!(view.is_empty());
}

#[test]
fn an_answer_that_comes_after_the_end_brings_nothing_back() {
    let mut view = View::default();
    creating(&mut view);
    view.see(&told("a", 5, false, false), true, at(1));
    view.deleting(&Uid::new("a"));
    assert!(view.gone(&Uid::new("a")));
    // The answers to the delete, and to the create before it.
    assert!(!view.see(&told("a", 6, false, true), false, at(2)));
    assert!(!view.see(&told("a", 5, false, false), false, at(2)));
    assert!(view.is_empty());
}

#[test]
fn a_pod_that_lost_its_label_and_got_it_back_is_there_again() {
    let mut view = View::default();
    view.see(&told("a", 5, true, false), true, at(6));
    view.gone(&Uid::new("a"));
    assert!(view.see(&told("a", 7, true, false), true, at(8)));
    assert_eq!(shown(&view), ["a ready"]);
}

#[test]
fn a_place_that_somebody_else_holds_is_not_ours_to_fill() {
    let mut view = View::default();
    view.see(&told("a", 5, true, false), true, at(6));
    let (member, other) = ("web".into(), Uid::new("another set"));
    let pod = Pod { member: "web".into(), ..Pod::default() };
    assert!(!view.creating(place(), "llama-0-web-0", &other, pod));
    assert!(view.is_foreign(&place(), &member, 0, "llama-0-web-0", &other));
    assert!(!view.is_foreign(&place(), &member, 0, "llama-0-web-0", &Uid::new("set")));
}

#[test]
fn what_was_planned_on_is_remembered_though_the_pod_moves_on() {
    let mut view = View::default();
    view.see(&told("a", 5, false, false), true, at(1));
    view.mark();
    view.see(&told("a", 6, true, false), true, at(5));
    assert_eq!(view.planned(&Uid::new("a")), Some(("llama-0-web-0", 5, false)));
}

#[test]
fn old_news_change_nothing() {
    let mut view = View::default();
    view.see(&told("a", 9, true, false), true, at(6));
    assert!(!view.see(&told("a", 7, false, false), true, at(7)));
    assert_eq!(shown(&view), ["a ready"]);
    // A pod that had the name before is gone for good; its end is no news about the one that has it now.
    assert!(!view.see(&told("older", 3, false, true), true, at(8)));
    assert!(!view.gone(&Uid::new("older")));
    assert_eq!(shown(&view), ["a ready"]);
}

#[test]
fn a_list_that_may_be_older_than_our_own_write_leaves_it_in_doubt() {
    let mut view = View::default();
    view.see(&told("a", 9, false, false), false, at(1));
    view.begin_list();
    assert_eq!(view.end_list(at(2)), [("llama-0-web-0".to_owned(), Uid::new("a"))]);
    assert_eq!(shown(&view), ["a there"]);
    // Once the watch has shown it, a list without it means that it is gone.
    view.see(&told("a", 9, false, false), true, at(3));
    view.begin_list();
    assert!(view.end_list(at(4)).is_empty());
    assert!(view.is_empty());
}

#[test]
fn times_are_those_at_which_things_were_seen_and_a_restart_of_ours_loses_little() {
    let mut view = View::default();
    view.see(&told("a", 1, false, false), true, at(0));
    view.see(&told("a", 2, true, false), true, at(5));
    view.see(&told("a", 3, false, false), true, at(20));
    let owner = Uid::new("set");
    let known = |view: &View| view.pods(&owner).next().unwrap().1.pod.clone();
    let pod = known(&view);
    assert_eq!((pod.created, pod.ready, pod.unready), (at(0), None, Some(at(20))));
    // Another operator sees it for the first time, long after.
    let mut late = View::default();
    late.see(&told("a", 2, true, false), true, at(60));
    assert_eq!(known(&late).ready, Some(Time(NOON + 5_999)));
}

#[test]
fn pods_of_another_owner_are_not_ours() {
    let mut view = View::default();
    view.see(&told("a", 1, true, false), true, at(0));
    assert_eq!(view.pods(&Uid::new("other")).count(), 0);
}
