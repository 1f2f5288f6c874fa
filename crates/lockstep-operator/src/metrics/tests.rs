use lockstep_api::status::{BlockedStatus, RoleStatus, RolloutStatus};

use super::*;

/// The lines that are not comments, without the help.
fn lines(metrics: &Metrics, prefix: &str) -> Vec<String> {
    let text = metrics.encode();
    let mut lines: Vec<String> = text.lines().filter(|l| l.starts_with(prefix)).map(str::to_owned).collect();
    lines.sort();
    lines
}

fn status(roles: &[(&str, u32, u32)], blocked: &[&str]) -> LockstepSetStatus {
    let role = |(name, replicas, ready): &(&str, u32, u32)| RoleStatus {
        name: (*name).to_owned(),
        replicas: *replicas,
        ready: *ready,
        available: ready - 1,
        updated: 1,
        ..RoleStatus::default()
    };
    let block = |reason: &&str| BlockedStatus { reason: (*reason).to_owned(), ..BlockedStatus::default() };
    let blocked = blocked.iter().map(block).collect();
    LockstepSetStatus {
        roles: roles.iter().map(role).collect(),
        rollout: RolloutStatus { blocked, ..RolloutStatus::default() },
        ..LockstepSetStatus::default()
    }
}

#[test]
fn names_are_as_prometheus_wants_them() {
    let metrics = Metrics::new();
    metrics.rollout_ended(RolloutOutcome::PartitionReached, Duration::from_secs(90));
    metrics.blocked_for("NotReadyYet", Duration::from_millis(2_500));
    metrics.blocked_for("NotReadyYet", Duration::from_millis(500));
    metrics.request("create", "pods", "ok");
    metrics.request("create", "pods", "conflict");
    metrics.request("create", "pods", "ok");
    metrics.plan_took(Duration::from_millis(3));
    metrics.queue_depth(7);
    metrics.action_failed("create", "Forbidden");
    metrics.leader(true);
    metrics.review(ReviewOutcome::Denied);
    metrics.proof_took(Duration::from_millis(30));
    let text = metrics.encode();
    for line in [
        "lockstep_rollout_duration_seconds_sum{outcome=\"partition_reached\"} 90.0",
        "lockstep_rollout_duration_seconds_bucket{le=\"60.0\",outcome=\"partition_reached\"} 0",
        "lockstep_rollout_duration_seconds_bucket{le=\"300.0\",outcome=\"partition_reached\"} 1",
        "lockstep_blocked_seconds_total{reason=\"NotReadyYet\"} 3.0",
        "lockstep_api_requests_total{verb=\"create\",resource=\"pods\",outcome=\"ok\"} 2",
        "lockstep_api_requests_total{verb=\"create\",resource=\"pods\",outcome=\"conflict\"} 1",
        "lockstep_plan_duration_seconds_count 1",
        "lockstep_reconcile_queue_depth 7",
        "lockstep_action_errors_total{action=\"create\",reason=\"Forbidden\"} 1",
        "lockstep_leader 1",
        "lockstep_admission_reviews_total{outcome=\"denied\"} 1",
        "lockstep_admission_proof_duration_seconds_sum 0.03",
        "# EOF",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn what_a_status_no_longer_says_is_gone() {
    let metrics = Metrics::new();
    metrics.set_status("ai", "llama", &status(&[("prefill", 4, 3)], &["SkewHeld", "SkewHeld", "Paused"]));
    let of = |role: &str, state: &str| {
        format!("lockstep_role_instances{{namespace=\"ai\",set=\"llama\",role=\"{role}\",state=\"{state}\"}}")
    };
    let instances = lines(&metrics, "lockstep_role_instances");
    let expected = [("available", 2), ("desired", 4), ("ready", 3), ("updated", 1)];
    assert_eq!(instances, expected.map(|(state, n)| format!("{} {n}", of("prefill", state))));
    let blocked =
        |reason: &str| format!("lockstep_blocked{{namespace=\"ai\",set=\"llama\",reason=\"{reason}\"}}");
    let both = [format!("{} 1", blocked("Paused")), format!("{} 2", blocked("SkewHeld"))];
    assert_eq!(lines(&metrics, "lockstep_blocked{"), both);

    // Another role, another reason; the old ones do not linger.
    metrics.set_status("ai", "llama", &status(&[("decode", 2, 2)], &["Paused"]));
    assert_eq!(lines(&metrics, "lockstep_role_instances").len(), 4);
    assert_eq!(lines(&metrics, &of("decode", "ready")), [format!("{} 2", of("decode", "ready"))]);
    assert_eq!(lines(&metrics, "lockstep_blocked{"), [format!("{} 1", blocked("Paused"))]);
}

#[test]
fn a_set_that_is_gone_takes_its_numbers_along_and_no_others() {
    let metrics = Metrics::new();
    for (namespace, set) in [("ai", "llama"), ("ai", "mistral"), ("web", "llama")] {
        metrics.set_status(namespace, set, &status(&[("prefill", 4, 3)], &["Paused"]));
        metrics.set_skew(namespace, set, "together", 0.05);
    }
    metrics.forget_set("ai", "llama");
    let left = |prefix| lines(&metrics, prefix).len();
    assert_eq!(
        (left("lockstep_role_instances{"), left("lockstep_blocked{"), left("lockstep_skew_ratio{")),
        (8, 2, 2)
    );
    assert!(!metrics.encode().contains("namespace=\"ai\",set=\"llama\""));
    metrics.forget_set("ai", "llama");
    metrics.dialect("rbg", true);
    metrics.foreign_definitions("rbg", 1);
    assert_eq!((left("lockstep_dialect_served{"), left("lockstep_dialect_foreign_definitions{")), (1, 1));
    metrics.forget_all();
    for series in [
        "lockstep_role_instances{",
        "lockstep_blocked{",
        "lockstep_skew_ratio{",
        "lockstep_dialect_served{",
        "lockstep_dialect_foreign_definitions{",
    ] {
        assert_eq!(left(series), 0, "{series}");
    }
}

#[test]
fn ends_are_known_by_their_phase() {
    for (phase, outcome) in [
        ("Complete", Some(RolloutOutcome::Complete)),
        ("PartitionReached", Some(RolloutOutcome::PartitionReached)),
        ("Stalled", Some(RolloutOutcome::Stalled)),
        ("RolledBack", Some(RolloutOutcome::RolledBack)),
        ("Progressing", None),
        ("RollingBack", None),
    ] {
        assert_eq!(RolloutOutcome::of_phase(phase), outcome);
    }
}
