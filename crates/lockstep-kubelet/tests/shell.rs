//! The stand-in against a small API server in the same process, with tokio's clock paused.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod fake;

use std::collections::BTreeSet;

use fake::{Fake, Request, pass};
use http::Method;
use lockstep_kubelet::{Kubelet, Profile};
use serde_json::json;

fn about_pods(writes: Vec<Request>) -> Vec<Request> {
    writes.into_iter().filter(|write| write.path.contains("/pods/")).collect()
}

#[tokio::test(start_paused = true)]
async fn every_write_carries_the_uid_it_is_meant_for() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    let uid = fake.create("web-0", &[("ready-after", "2s")]);
    pass(3000).await;
    assert_eq!(fake.words("web-0"), "Running True");
    fake.delete("web-0");
    pass(100).await;
    assert_eq!(fake.words("web-0"), "gone");
    let writes = about_pods(fake.writes());
    assert_eq!(writes.len(), 3, "started, ready, gone: {writes:?}");
    for write in writes {
        if write.method == Method::DELETE {
            assert_eq!(write.body["preconditions"]["uid"], uid);
            assert_eq!(write.body["gracePeriodSeconds"], 0);
        } else {
            assert_eq!(write.body["metadata"]["uid"], uid);
            assert_eq!(write.content_type, "application/strategic-merge-patch+json");
            assert!(write.path.ends_with("/status"));
        }
    }
    let counters = kubelet.counters();
    assert_eq!((counters.started, counters.finished, counters.patches, counters.conflicts), (1, 1, 2, 0));
    kubelet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_ready_at_once_takes_one_write() {
    let fake = Fake::new();
    let _kubelet = fake.kubelet();
    for n in 0..200 {
        fake.create(&format!("web-{n}"), &[]);
    }
    pass(1000).await;
    assert_eq!(about_pods(fake.writes()).len(), 200);
    let pods = fake.all("pods");
    let addresses: BTreeSet<_> = pods.iter().map(|pod| pod["status"]["podIP"].as_str().unwrap()).collect();
    assert_eq!(addresses.len(), 200);
    let kept = pods[0]["status"]["conditions"].as_array().unwrap();
    assert!(kept.iter().any(|condition| condition["type"] == "PodScheduled"));
}

#[tokio::test(start_paused = true)]
async fn a_namesake_gets_nothing_that_was_meant_for_its_predecessor() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    fake.create("web-0", &[("ready-after", "2s")]);
    fake.create("web-1", &[("terminates-after", "2s")]);
    pass(1000).await;
    fake.delete("web-1");
    pass(500).await;
    // Both are replaced behind the stand-in's back; its plans for the old ones come due.
    fake.hold_watches(true);
    for name in ["web-0", "web-1"] {
        fake.remove(name);
        fake.create(name, &[("ready-after", "1h")]);
    }
    pass(2000).await;
    assert!(kubelet.counters().conflicts >= 2);
    for name in ["web-0", "web-1"] {
        assert_eq!(fake.words(name), "Pending ?", "untouched");
    }
    fake.hold_watches(false);
    pass(100).await;
    for name in ["web-0", "web-1"] {
        assert_eq!(fake.words(name), "Running False", "taken up as what it is");
    }
    pass(3_600_000).await;
    assert_eq!(fake.words("web-0"), "Running True");
}

#[tokio::test(start_paused = true)]
async fn names_used_again_and_again_lose_nobody() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    for round in 0..10 {
        for n in 0..50 {
            fake.create(
                &format!("web-{n}"),
                &[("ready-after", "10ms..90ms"), ("terminates-after", "0s..3s")],
            );
        }
        pass(200).await;
        for n in 0..50 {
            assert_eq!(fake.words(&format!("web-{n}")), "Running True", "round {round}");
            fake.delete(&format!("web-{n}"));
        }
        pass(4000).await;
        assert_eq!(fake.all("pods").len(), 0, "round {round}");
    }
    let counters = kubelet.counters();
    assert_eq!((counters.started, counters.finished, counters.conflicts), (500, 500, 0));
}

#[tokio::test(start_paused = true)]
async fn another_stand_in_goes_on_where_the_first_was_cut_off() {
    let fake = Fake::new();
    let first = fake.kubelet();
    fake.create("slow", &[("ready-after", "10s")]);
    fake.create("loop", &[("crash-after", "1s"), ("back-off", "8s..8s")]);
    fake.create("ending", &[("terminates-after", "20s")]);
    pass(5000).await;
    fake.delete("ending");
    pass(100).await;
    drop(first);
    pass(1000).await;
    let _second = fake.kubelet();
    pass(3800).await;
    assert_eq!(fake.words("slow"), "Running False", "after 9.9 s");
    assert_eq!(fake.words("loop"), "Running False", "back-off from 2 s to 10 s");
    pass(150).await;
    assert_eq!(fake.words("slow"), "Running True", "10 s after its start, whoever looks");
    let count = fake.pod("loop").unwrap()["status"]["containerStatuses"][0]["restartCount"].clone();
    assert_eq!(count, json!(2));
    pass(16_000).await;
    assert_eq!(fake.words("ending"), "gone");
}

#[tokio::test(start_paused = true)]
async fn lost_watches_and_lost_history_lose_nothing() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    fake.create("a", &[]);
    pass(100).await;
    fake.break_watches();
    fake.create("b", &[]);
    pass(1000).await;
    assert_eq!(fake.words("b"), "Running True");
    fake.create("c", &[("terminates-after", "never")]);
    fake.compact();
    fake.delete("a");
    fake.remove("c");
    fake.create("d", &[]);
    pass(5000).await;
    assert_eq!((fake.words("a"), fake.words("d")), ("gone".into(), "Running True".into()));
    assert_eq!(kubelet.counters().finished, 1);
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_and_hold_nobody_else_up() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    pass(100).await;
    for (code, name) in [(429, "a"), (500, "b"), (503, "c")] {
        fake.fail(3, code);
        fake.create(name, &[]);
        pass(2000).await;
        assert_eq!(fake.words(name), "Running True", "{code}");
    }
    assert_eq!(kubelet.counters().retries, 9);
}

#[tokio::test(start_paused = true)]
async fn nodes_become_ready_and_their_leases_are_renewed() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    pass(100).await;
    let node = fake.object("nodes", "n-0").unwrap();
    let ready =
        node["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap();
    assert_eq!(ready["status"], "True");
    let renewed = || fake.object("leases", "n-0").unwrap()["spec"]["renewTime"].clone();
    let first = renewed();
    pass(10_000).await;
    assert_ne!(renewed(), first);
    assert_eq!(
        fake.object("leases", "n-0").unwrap()["metadata"]["ownerReferences"][0]["uid"],
        node["metadata"]["uid"]
    );
    assert!(kubelet.nodes().contains("n-0"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_does_nothing_and_catches_up_when_it_is_back() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    fake.create("old", &[]);
    fake.create("slow", &[("ready-after", "30s")]);
    pass(1000).await;
    kubelet.node_gone("n-0").await.unwrap();
    let lease = fake.object("leases", "n-0");
    fake.create("new", &[]);
    fake.delete("old");
    let before = fake.writes().len();
    pass(300_000).await;
    assert_eq!(fake.writes().len(), before, "silence");
    assert_eq!(fake.object("leases", "n-0"), lease);
    kubelet.node_back("n-0").await.unwrap();
    pass(100).await;
    for (name, words) in [("old", "gone"), ("slow", "Running True"), ("new", "Running True")] {
        assert_eq!(fake.words(name), words, "{name}");
    }
    assert_ne!(fake.object("leases", "n-0"), lease);
}

#[tokio::test(start_paused = true)]
async fn bad_annotations_are_complained_about_once_and_ignored() {
    let fake = Fake::new();
    let first = fake.kubelet();
    let uid = fake.create("web-0", &[("ready-after", "soon")]);
    pass(1000).await;
    assert_eq!(fake.words("web-0"), "Running True");
    drop(first);
    let _second = fake.kubelet();
    pass(1000).await;
    let events = fake.all("events");
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["type"], &events[0]["reason"]), (&json!("Warning"), &json!("InvalidAnnotation")));
    assert_eq!(events[0]["involvedObject"]["uid"], uid);
    assert!(events[0]["message"].as_str().unwrap().contains("ready-after is ignored: \"soon\" is not"));
}

#[tokio::test(start_paused = true)]
async fn a_complaint_that_could_not_be_written_is_made_later() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    pass(100).await;
    fake.fail(2, 500);
    fake.create("web-0", &[("ready-after", "soon")]);
    pass(10_000).await;
    assert_eq!((fake.all("events").len(), kubelet.counters().complaints), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_profile_can_change_while_pods_live() {
    let fake = Fake::new();
    let failing = json!([{"selector": {"matchLabels": {"name": "b"}}, "behaviour": {"image": "missing"}}]);
    let profile: Profile = serde_json::from_value(failing).unwrap();
    let options = lockstep_kubelet::Options { profile, ..fake.options() };
    let kubelet = Kubelet::start(fake.client(), options);
    fake.create("a", &[]);
    fake.create("b", &[]);
    pass(5000).await;
    assert_eq!((fake.words("a"), fake.words("b")), ("Running True".into(), "Pending False".into()));
    let reason =
        fake.pod("b").unwrap()["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].clone();
    assert_eq!(reason, "ImagePullBackOff");
    kubelet.set_profile(Profile::default());
    pass(100).await;
    assert_eq!(fake.words("b"), "Running True");
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_a_pod_and_readiness_waits_for_gates() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    fake.create("held", &[]);
    fake.set("held", json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    fake.create("gated", &[]);
    fake.set("gated", json!({"spec": {"readinessGates": [{"conditionType": "lb"}]}}));
    pass(1000).await;
    assert_eq!(fake.words("gated"), "Running False");
    fake.set("gated", json!({"status": {"conditions": [{"type": "lb", "status": "True"}]}}));
    fake.delete("held");
    pass(1000).await;
    assert_eq!((fake.words("gated"), fake.words("held")), ("Running True".into(), "Succeeded False".into()));
    let before = fake.writes().len();
    pass(5000).await;
    assert_eq!(fake.writes().len(), before, "nothing more to do");
    assert_eq!(kubelet.counters().conflicts, 0);
}

/// The same world twice gives the same requests in the same order.
#[tokio::test(start_paused = true)]
async fn runs_repeat() {
    async fn run() -> Vec<String> {
        let fake = Fake::new();
        let kubelet = fake.kubelet();
        for n in 0..100 {
            fake.create(&format!("web-{n}"), &[("ready-after", "1s..9s"), ("crash-after", "2s..20s")]);
        }
        pass(60_000).await;
        kubelet.stop().await;
        fake.writes().iter().map(|write| format!("{} {}", write.path, write.body)).collect()
    }
    let (one, other) = (run().await, run().await);
    assert!(one.len() > 500);
    assert!(one == other);
}
