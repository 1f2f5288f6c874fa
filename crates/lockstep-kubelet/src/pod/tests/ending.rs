//! How pods end.

use std::time::Duration;

use super::super::stage::Stage;
use super::super::{Next, RestartPolicy, step};
use super::{READY, after};
use crate::behaviour::Behaviour;

#[test]
fn ending_at_once() {
    let mut stage = Stage::new(Behaviour::default());
    stage.settle();
    stage.delete(30);
    stage.settle();
    assert!(stage.is_gone);
    assert_eq!(stage.writes, 1, "no write but the deletion itself");
}

#[test]
fn ending_before_it_began() {
    for annotations in [vec![], vec![("image", "missing")], vec![("terminates-after", "20s")]] {
        let mut stage = Stage::annotated(&annotations);
        stage.delete(30);
        stage.settle();
        assert_eq!((stage.is_gone, stage.writes), (true, 0), "{annotations:?}");
    }
}

#[test]
fn ending_slowly() {
    // The deletion time is cut to whole seconds: it counts from 10.0 s, which is 9.3 s after the beginning.
    for (after_deletion, grace, gone_at, words) in [
        ("5s", 30, 14_300, "Succeeded ready=False restarts=0 Completed 0"),
        ("5s..8s", 30, 17_300, "Succeeded ready=False restarts=0 Completed 0"),
        ("90s", 30, 39_300, "Failed ready=False restarts=0 Error 137"),
    ] {
        let mut stage = Stage::annotated(&[("terminates-after", after_deletion)]);
        stage.play_to(after(10_000));
        stage.delete(grace);
        let due = stage.settle().unwrap();
        assert!(stage.millis(due) <= gone_at, "{after_deletion}");
        assert_eq!(stage.words(), READY, "still there meanwhile");
        stage.play_to(after(gone_at.unsigned_abs() - 6000));
        assert!(!stage.is_gone);
        stage.play_to(after(gone_at.unsigned_abs()));
        assert!(stage.is_gone, "{after_deletion}");
        assert_eq!(stage.words(), words);
    }
}

#[test]
fn ending_never() {
    let mut stage = Stage::annotated(&[("terminates-after", "never")]);
    stage.settle();
    stage.delete(30);
    stage.play_to(Duration::from_secs(1_000_000));
    assert!(!stage.is_gone);
}

#[test]
fn finalizers_hold_a_pod_that_shows_its_end() {
    for (started, words) in [
        (true, "Succeeded ready=False restarts=0 Completed 0"),
        (false, "Failed ready=False restarts=0 ContainerStatusUnknown 137"),
    ] {
        let mut stage = Stage::new(Behaviour::default());
        if started {
            stage.settle();
        }
        stage.pod.metadata.finalizers = Some(vec!["example.com/hold".into()]);
        stage.delete(30);
        stage.settle();
        assert_eq!((stage.words().as_str(), stage.is_gone), (words, true));
        stage.pod.metadata.deletion_grace_period_seconds = Some(0);
        assert_eq!(step(&stage.pod, &stage.behaviour, stage.now), Next::Nothing);
    }
}

#[test]
fn a_pod_in_a_crash_loop_or_over_ends_at_once() {
    for (policy, at) in [(RestartPolicy::Always, 3000), (RestartPolicy::Never, 3000)] {
        let mut stage = Stage::annotated(&[("crash-after", "1s"), ("terminates-after", "20s")]);
        stage.pod.spec.restart_policy = policy;
        stage.play_to(after(at));
        stage.delete(30);
        stage.settle();
        assert!(stage.is_gone, "{policy:?}");
    }
}
