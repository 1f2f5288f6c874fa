//! What a rollout over real clusters costs: what is written, and how long each step takes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use lockstep_testkit::Federation;
use lockstep_testkit::audit::Audit;
use lockstep_testkit::federation::case::CASES;
use lockstep_testkit::federation::play;

use crate::world::World;

/// What everybody writes all the time, rollout or not.
const ALWAYS: [&str; 3] = ["leases", "events", "clusters/status"];

/// So many rollouts.
const ROLLOUTS: usize = 5;

/// Rolls the first case over and over, with Lockstep and without, and prints what it took.
pub async fn print() {
    let Some(world) = World::start(|builder| builder).await else { return };
    let (took, audit) = roll(world.federation()).await;
    println!("with Lockstep: {} s a rollout", seconds(&took));
    print_writes(&audit);
    let mut waits = grants(&audit);
    waits.sort();
    if let Some(longest) = waits.last() {
        let half = waits[waits.len() / 2];
        println!(
            "from a status stored to the next grant stored: {} of them, half within {half:?}, longest {longest:?}",
            waits.len()
        );
    }
    for (name, what) in [
        ("lockstep_federation_work_review_duration_seconds", "a Work stamped"),
        ("lockstep_federation_align_duration_seconds", "a decision"),
    ] {
        if let Some((mean, count)) = mean(&world.metrics().encode(), name) {
            println!("{what}: {:.2} ms on average of {count}", mean * 1000.0);
        }
    }
    drop(world);
    let builder = Federation::builder().members(["member1", "member2", "member3"]).proxies();
    let Some(alone) = builder.start_or_skip().await else { return };
    let (took, audit) = roll(&alone).await;
    println!("Karmada alone: {} s a rollout", seconds(&took));
    print_writes(&audit);
}

async fn roll(federation: &Federation) -> (Vec<Duration>, Audit) {
    let began = Timestamp::now();
    let mut took = Vec::new();
    for _ in 0..ROLLOUTS {
        took.push(play(&CASES[0], federation).await.expect("played").took);
    }
    (took, federation.host().audit().expect("the audit log").since(began))
}

fn seconds(took: &[Duration]) -> String {
    took.iter().map(|it| format!("{:.1}", it.as_secs_f64())).collect::<Vec<_>>().join(", ")
}

/// What was written to Karmada's API server for each rollout: the first start, the rollout and the end of it.
fn print_writes(audit: &Audit) {
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for entry in audit.writes().filter(|it| it.succeeded()) {
        *writes.entry(entry.request.target()).or_default() += 1;
    }
    writes.retain(|what, _| !ALWAYS.contains(&what.as_str()));
    let total: usize = writes.values().sum();
    println!("  writes a rollout: {}", total / ROLLOUTS);
    for (what, count) in writes.iter().filter(|(_, count)| **count >= ROLLOUTS) {
        println!("    {what}: {}", count / ROLLOUTS);
    }
}

/// From the last status of a member that Karmada stored to the ledger that was stored after it.
fn grants(audit: &Audit) -> Vec<Duration> {
    let mut heard: Option<Timestamp> = None;
    let mut waits = Vec::new();
    for entry in audit.writes().filter(|it| it.succeeded()) {
        match entry.request.target().as_str() {
            "works/status" => heard = Some(entry.answered),
            "federatedrollouts/status" => {
                let since = |heard| Duration::try_from(entry.answered.duration_since(heard)).ok();
                waits.extend(heard.take().and_then(since));
            }
            _ => {}
        }
    }
    waits
}

/// The mean of a histogram, and how many it counts.
fn mean(metrics: &str, name: &str) -> Option<(f64, f64)> {
    let value = |suffix: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name}_{suffix}")))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let (sum, count) = (value("sum")?, value("count")?);
    (count > 0.0).then_some((sum / count, count))
}
