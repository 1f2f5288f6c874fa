//! Tables over whole lives of pods.

mod ending;

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::stage::Stage;
use super::{PodView, RestartPolicy, StatusView};
use crate::behaviour::Behaviour;

fn after(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Plays a pod with these annotations and looks at it at the given milliseconds.
fn plays(annotations: &[(&str, &str)], policy: RestartPolicy, looks: &[(u64, &str)]) {
    let mut stage = Stage::annotated(annotations);
    stage.pod.spec.restart_policy = policy;
    for (millis, expected) in looks {
        stage.play_to(after(*millis));
        assert_eq!(stage.words(), *expected, "{annotations:?} with {policy:?} at {millis} ms");
    }
}

const READY: &str = "Running ready=True restarts=0 running";
const UNREADY: &str = "Running ready=False restarts=0 running";

#[test]
fn a_healthy_pod_is_ready_with_one_write_and_then_left_alone() {
    let mut stage = Stage::new(Behaviour::default());
    assert_eq!(stage.settle(), None);
    assert_eq!((stage.words().as_str(), stage.writes), (READY, 1));
    stage.play_to(Duration::from_secs(100_000));
    assert_eq!((stage.words().as_str(), stage.writes), (READY, 1));
}

#[test]
fn the_status_is_a_kubelets() {
    let mut stage = Stage::new(Behaviour::default());
    stage.settle();
    let status = &stage.pod.status;
    let container = &status.container_statuses[0];
    assert_eq!(container.container_id.as_deref(), Some("stand-in://u-1/app/0-0-1767225600700"));
    assert_eq!(container.image_id, "stand-in://app:1");
    assert_eq!((container.ready, container.started, container.restart_count), (true, Some(true), 0));
    assert_eq!(status.observed_generation, Some(1));
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(status.start_time.as_ref().map(|time| time.0), Some(start));
    for kind in ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"] {
        let condition = status.condition(kind).unwrap();
        assert_eq!((condition.status.as_str(), condition.observed_generation), ("True", Some(1)), "{kind}");
        assert_eq!(condition.last_transition_time.as_ref().map(|time| time.0), Some(start), "{kind}");
    }
    assert!(status.condition("PodScheduled").is_some(), "the conditions of others stay");
}

#[test]
fn a_pod_that_no_scheduler_bound_counts_as_scheduled() {
    let mut stage = Stage::new(Behaviour::default());
    stage.pod.status.conditions.clear();
    stage.settle();
    assert_eq!(
        (stage.pod.status.condition("PodScheduled").unwrap().status.as_str(), stage.writes),
        ("True", 1)
    );
}

#[test]
fn readiness() {
    let always = RestartPolicy::Always;
    plays(&[("ready-after", "500ms")], always, &[(0, UNREADY), (499, UNREADY), (500, READY), (9000, READY)]);
    plays(&[("ready-after", "8m")], always, &[(479_999, UNREADY), (480_000, READY)]);
    plays(&[("ready-after", "never")], always, &[(0, UNREADY), (9_000_000, UNREADY)]);
    plays(&[("ready-after", "5s..10s")], always, &[(4999, UNREADY), (10_000, READY)]);
}

#[test]
fn flapping() {
    let forever = [("flaps", "ready 10s, unready 2s")];
    let looks = [(0, READY), (9999, READY), (10_000, UNREADY), (11_999, UNREADY), (12_000, READY)];
    plays(&forever, RestartPolicy::Always, &looks);
    plays(&forever, RestartPolicy::Always, &[(1_199_999, UNREADY), (1_200_000, READY), (1_210_000, UNREADY)]);
    let twice = [("flaps", "ready 10s, unready 2s, 2 times"), ("ready-after", "1s")];
    let looks =
        [(0, UNREADY), (1000, READY), (11_000, UNREADY), (13_000, READY), (23_000, UNREADY), (25_000, READY)];
    plays(&twice, RestartPolicy::Always, &looks);
    plays(&twice, RestartPolicy::Always, &[(35_000, READY), (36_000, READY)]);
}

#[test]
fn a_missing_image() {
    let missing = [("image", "missing")];
    let pull = "Pending ready=False restarts=0 ErrImagePull";
    let pause = "Pending ready=False restarts=0 ImagePullBackOff";
    plays(&missing, RestartPolicy::Always, &[(0, pull), (1200, pull), (1300, pause), (9_000_000, pause)]);
    let mut stage = Stage::annotated(&missing);
    stage.play_to(after(60_000));
    assert_eq!(stage.writes, 2);
    stage.behaviour = Behaviour::default();
    stage.settle();
    assert_eq!(stage.words(), READY, "an image that is there after all");
}

#[test]
fn crashing() {
    let crash = [("crash-after", "1s")];
    // Failed at 1 s, at once started again, failed at 2 s, back-off 10 s, and so on.
    let looks = [
        (999, READY),
        (1000, "Running ready=True restarts=1 running"),
        (2000, "Running ready=False restarts=1 CrashLoopBackOff"),
        (11_999, "Running ready=False restarts=1 CrashLoopBackOff"),
        (12_000, "Running ready=True restarts=2 running"),
        (13_000, "Running ready=False restarts=2 CrashLoopBackOff"),
        (32_999, "Running ready=False restarts=2 CrashLoopBackOff"),
        (33_000, "Running ready=True restarts=3 running"),
    ];
    plays(&crash, RestartPolicy::Always, &looks);
    plays(&crash, RestartPolicy::OnFailure, &looks);
    let looks = [
        (999, READY),
        (1000, "Failed ready=False restarts=0 Error 1"),
        (90_000, "Failed ready=False restarts=0 Error 1"),
    ];
    plays(&crash, RestartPolicy::Never, &looks);
}

#[test]
fn crashing_so_many_times() {
    let looks = [
        (2000, "Running ready=False restarts=1 CrashLoopBackOff"),
        (12_000, "Running ready=True restarts=2 running"),
    ];
    let twice = [("crash-after", "1s"), ("crashes", "2")];
    plays(&twice, RestartPolicy::Always, &looks);
    plays(&twice, RestartPolicy::Always, &[(9_000_000, "Running ready=True restarts=2 running")]);
    plays(&[("crash-after", "1s"), ("crashes", "0")], RestartPolicy::Always, &[(9000, READY)]);
}

#[test]
fn crashing_with_a_back_off_of_ones_own() {
    let annotations = [("crash-after", "50ms"), ("back-off", "100ms..300ms"), ("crash-reason", "OOMKilled")];
    let looks = [
        (50, "Running ready=True restarts=1 running"),
        (100, "Running ready=False restarts=1 CrashLoopBackOff"),
        (199, "Running ready=False restarts=1 CrashLoopBackOff"),
        (200, "Running ready=True restarts=2 running"),
        (250, "Running ready=False restarts=2 CrashLoopBackOff"),
        (450, "Running ready=True restarts=3 running"),
        (500, "Running ready=False restarts=3 CrashLoopBackOff"),
        (799, "Running ready=False restarts=3 CrashLoopBackOff"),
        (800, "Running ready=True restarts=4 running"),
        (1150, "Running ready=True restarts=5 running"),
    ];
    plays(&annotations, RestartPolicy::Always, &looks);
    plays(&annotations, RestartPolicy::Never, &[(50, "Failed ready=False restarts=0 OOMKilled 137")]);
}

#[test]
fn ten_quiet_minutes_wipe_out_earlier_failures() {
    let mut stage = Stage::annotated(&[("crash-after", "1s")]);
    stage.play_to(after(13_000));
    assert_eq!(stage.words(), "Running ready=False restarts=2 CrashLoopBackOff");
    stage.behaviour = Stage::annotated(&[("crash-after", "11m")]).behaviour;
    // Runs from 33 s, fails at 11 min 33 s: no pause.
    stage.play_to(after(33_000 + 660_000));
    assert_eq!(stage.words(), "Running ready=True restarts=4 running");
}

#[test]
fn the_last_end_stays_on_record() {
    let mut stage = Stage::annotated(&[("crash-after", "1s")]);
    let record = |stage: &Stage| {
        let last = stage.pod.status.container_statuses[0].last_state.clone().unwrap().terminated.unwrap();
        (last.exit_code, last.reason.unwrap(), last.container_id.unwrap())
    };
    stage.play_to(after(1000));
    assert_eq!(record(&stage), (1, "Error".into(), "stand-in://u-1/app/0-0-1767225600700".into()));
    stage.play_to(after(2000));
    let second = (1, "Error".into(), "stand-in://u-1/app/1-1-1767225601700".into());
    assert_eq!(record(&stage), second);
    let state = stage.pod.status.container_statuses[0].state.clone().unwrap().waiting.unwrap();
    assert_eq!(state.message.unwrap(), "back-off 10s restarting failed container=app pod=web-0_default(u-1)");
    stage.play_to(after(12_000));
    assert_eq!(record(&stage), second);
}

#[test]
fn completing() {
    let done = [("completes-after", "1s")];
    let over = "Succeeded ready=False restarts=0 Completed 0";
    plays(&done, RestartPolicy::Never, &[(999, READY), (1000, over), (9000, over)]);
    plays(&done, RestartPolicy::OnFailure, &[(1000, over)]);
    let looks = [
        (1000, "Running ready=True restarts=1 running"),
        (2000, "Running ready=False restarts=1 CrashLoopBackOff"),
    ];
    plays(&done, RestartPolicy::Always, &looks);
    let at_last = [("completes-after", "3s"), ("crash-after", "1s"), ("crashes", "1")];
    let looks = [
        (1000, "Running ready=True restarts=1 running"),
        (4000, "Succeeded ready=False restarts=1 Completed 0"),
    ];
    plays(&at_last, RestartPolicy::OnFailure, &looks);
}

#[test]
fn a_pod_that_is_over_says_why_in_its_conditions() {
    for (annotations, reason) in
        [([("completes-after", "1s")], "PodCompleted"), ([("crash-after", "1s")], "PodFailed")]
    {
        let mut stage = Stage::annotated(&annotations);
        stage.pod.spec.restart_policy = RestartPolicy::Never;
        stage.play_to(after(1000));
        for kind in ["Ready", "ContainersReady"] {
            let condition = stage.pod.status.condition(kind).unwrap();
            assert_eq!((condition.status.as_str(), condition.reason.as_deref()), ("False", Some(reason)));
        }
    }
}

#[test]
fn transition_times_change_with_the_status_only() {
    let mut stage = Stage::annotated(&[("ready-after", "90s")]);
    stage.play_to(after(0));
    let (begun, initialized) = (stage.since("Ready"), stage.since("Initialized"));
    stage.play_to(after(90_000));
    assert_eq!(stage.since("Initialized"), initialized);
    assert_ne!(stage.since("Ready"), begun);
    let written = serde_json::to_value(stage.pod.status.condition("Ready").unwrap()).unwrap();
    assert_eq!(written["lastTransitionTime"], "2026-01-01T00:01:30Z");
    assert!(written.get("reason").is_none(), "{written}");
}

#[test]
fn gates_hold_readiness_back() {
    let mut stage = Stage::new(Behaviour::default());
    stage.pod.spec.readiness_gates = serde_json::from_value(json!([{"conditionType": "lb"}])).unwrap();
    assert_eq!(stage.settle(), None);
    let ready = stage.pod.status.condition("Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_deref()), ("False", Some("ReadinessGatesNotReady")));
    assert_eq!(stage.pod.status.condition("ContainersReady").unwrap().status, "True");
    for (gate, expected) in [("False", "False"), ("True", "True"), ("Unknown", "False")] {
        stage.pod.status.conditions.retain(|condition| condition.type_ != "lb");
        let condition = serde_json::from_value(json!({"type": "lb", "status": gate})).unwrap();
        stage.pod.status.conditions.push(condition);
        stage.settle();
        assert_eq!(stage.pod.status.condition("Ready").unwrap().status, expected, "gate {gate}");
    }
}

#[test]
fn init_containers_are_done_and_sidecars_run() {
    let mut stage = Stage::annotated(&[("ready-after", "1s")]);
    stage.pod.spec.init_containers = serde_json::from_value(json!([
        {"name": "init", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always", "startupProbe": {}}
    ]))
    .unwrap();
    stage.play_to(after(0));
    assert_eq!(stage.writes, 1);
    let message = stage.pod.status.condition("Ready").unwrap().message.clone();
    assert_eq!(message.as_deref(), Some("containers with unready status: [side app]"));
    let [init, side] = &stage.pod.status.init_container_statuses[..] else { panic!("two statuses") };
    assert_eq!(init.state.clone().unwrap().terminated.unwrap().reason.as_deref(), Some("Completed"));
    assert_eq!((init.ready, side.ready, side.started), (true, false, Some(false)));
    stage.play_to(after(1000));
    let side = &stage.pod.status.init_container_statuses[1];
    assert_eq!((side.ready, side.started, stage.writes), (true, Some(true), 2));
}

#[test]
fn a_new_generation_is_acknowledged() {
    let mut stage = Stage::new(Behaviour::default());
    stage.settle();
    stage.pod.metadata.generation = Some(2);
    stage.settle();
    assert_eq!((stage.pod.status.observed_generation, stage.writes), (Some(2), 2));
}

#[test]
fn the_scribbles_of_others_are_put_right() {
    let mut stage = Stage::new(Behaviour::default());
    stage.settle();
    for condition in &mut stage.pod.status.conditions {
        condition.status = "False".into();
    }
    stage.settle();
    assert_eq!(stage.words(), READY);
}

#[test]
fn the_status_of_another_kubelet_is_taken_over() {
    let mut stage = Stage::annotated(&[("ready-after", "10s")]);
    stage.pod.status = serde_json::from_value(json!({
        "phase": "Running", "startTime": "2026-01-01T00:00:00Z",
        "containerStatuses": [{"name": "app", "image": "app:1", "imageID": "x", "ready": false, "restartCount": 4,
            "containerID": "containerd://abc", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
    }))
    .unwrap();
    stage.play_to(after(9300));
    assert_eq!(stage.words(), "Running ready=True restarts=4 running");
}

#[test]
fn older_states_are_told_from_newer_ones() {
    let pod = |version: Option<&str>| PodView {
        metadata: ObjectMeta { resource_version: version.map(str::to_owned), ..ObjectMeta::default() },
        ..PodView::default()
    };
    assert!(pod(Some("9")).is_older_than(&pod(Some("10"))));
    assert!(!pod(Some("10")).is_older_than(&pod(Some("10"))));
    assert!(!pod(Some("x")).is_older_than(&pod(Some("10"))));
    assert!(!pod(None).is_older_than(&pod(Some("10"))));
}

#[test]
fn a_whole_pod_decodes_to_what_matters() {
    let pod: PodView = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "uid": "u", "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]},
        "spec": {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "c", "image": "i",
            "env": [{"name": "A", "value": "1"}]}]},
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }))
    .unwrap();
    assert_eq!((pod.uid(), pod.metadata.managed_fields.is_none()), ("u", true));
    assert_eq!(pod.status, StatusView { phase: Some("Pending".into()), ..StatusView::default() });
}
