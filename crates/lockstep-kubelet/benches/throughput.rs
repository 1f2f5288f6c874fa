//! How many pods per second the stand-in starts and ends when the API server takes no time: a small one in this
//! process, without a network. What is left is reading, deciding and writing.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code, unused_imports)]

#[path = "../tests/fake/mod.rs"]
mod fake;

use std::time::{Duration, Instant};

use fake::Fake;
use lockstep_kubelet::{Counters, Kubelet};

const PODS: u64 = 20_000;
const ROUNDS: usize = 3;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let fake = Fake::new();
    let kubelet = fake.kubelet();
    while kubelet.nodes().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for round in 1..=ROUNDS {
        let goal = PODS * round as u64;
        let began = Instant::now();
        for i in 0..PODS {
            fake.create(&format!("pod-{i}"), &[]);
        }
        let created = began.elapsed();
        until(&kubelet, |counters| counters.started >= goal).await;
        let started = began.elapsed();
        let began = Instant::now();
        for i in 0..PODS {
            fake.delete(&format!("pod-{i}"));
        }
        until(&kubelet, |counters| counters.finished >= goal).await;
        let finished = began.elapsed();
        let rate = |time: Duration| u128::from(PODS) * 1000 / time.as_millis().max(1);
        println!(
            "{PODS} pods: started {}/s, ended {}/s (creating them took {created:.1?})",
            rate(started),
            rate(finished)
        );
    }
}

async fn until(kubelet: &Kubelet, reached: impl Fn(&Counters) -> bool) {
    while !reached(&kubelet.counters()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
