//! The embedded cluster and a real API server, side by side: the same requests, the same answers.
//!
//! `LOCKSTEP_CONFORMANCE=2000` plays so many sequences, `LOCKSTEP_CONFORMANCE=seed:17` only that one, `seed:100..200` a
//! hundred of them. From a million on they are about a kind with several versions, from two million on about one that a
//! webhook converts, from three million on about objects that many write.

#![allow(clippy::expect_used)]

mod compare;
mod convert;
mod crowd;
mod ends;
mod kinds;
mod normal;
mod parts;
mod patches;
mod play;
mod reads;
mod rng;
mod sequence;
mod writes;
mod wrong;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use lockstep_sandbox::cluster::{Cluster as Embedded, Setup};
use lockstep_testkit::serve::Server;
use lockstep_testkit::{Cluster, Component};
use serde_json::Value;

use crate::compare::Difference;
use crate::sequence::{CROWDS, Sequence, Step, VERSIONS, WEBHOOKS, generate};

/// How many sequences are played unless told.
const FEW: u64 = 300;
/// Sequences that once differed, and are played with whatever else is: a held pod that is deleted again, something that
/// was in a set twice and is there once, what is no number where a scale looks for one.
const ONCE_DIFFERED: [u64; 4] = [8_960, 1_030_251, 1_030_531, 2_030_485];
/// How many are under way at a time.
const TOGETHER: usize = 16;

/// The two servers.
struct Both {
    real: Client,
    ours: Client,
    played: AtomicU32,
}

impl Both {
    async fn new(cluster: &Cluster) -> Self {
        let real = cluster.access().expect("our own").client(play::AGENT).await.expect("a client");
        let mut setup = Setup::now();
        // Nobody but the sequences writes.
        setup.without = ["kube-controller-manager", "kube-scheduler"].map(str::to_owned).into();
        let ours = Client::new(Embedded::start(setup).service(), "default");
        Self { real, ours, played: AtomicU32::new(0) }
    }

    /// Defines the custom resources, and waits until both serve it.
    async fn define(&self, conversion: &Server) {
        let gizmos = convert::definition(conversion);
        let all = [
            ("widgets", include_str!("widget.json")),
            ("gadgets", include_str!("gadget.json")),
            ("gizmos", &gizmos),
        ];
        for (plural, definition) in all {
            self.define_one(plural, definition).await;
        }
        // A definition is served a moment before all of it is.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }

    async fn define_one(&self, plural: &str, definition: &str) {
        let definition: Value = serde_json::from_str(definition).expect("JSON");
        let create = Step::new("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        let create = create.with("application/json", &definition);
        let list = Step::new("GET", format!("/apis/conformance.lockstep.dev/v1/{plural}"));
        for client in [&self.real, &self.ours] {
            let said = play::once(client, &create).await;
            assert_eq!(said.code, 201, "{said:?}");
            for _ in 0..200 {
                if play::once(client, &list).await.code == 200 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Plays a sequence on both. Every time in a namespace of its own.
    async fn differ(&self, seed: u64, keep: Option<&[bool]>) -> Option<Difference> {
        let number = self.played.fetch_add(1, Ordering::Relaxed);
        let space = format!("s{seed}-{number}");
        let mut sequence = generate(seed, &space);
        if let Some(keep) = keep {
            let mut kept = keep.iter();
            sequence.steps.retain(|_| *kept.next().unwrap_or(&true));
        }
        let (real, ours) = tokio::join!(play::play(&self.real, &sequence), play::play(&self.ours, &sequence));
        compare::first(&sequence, &normal::normal(real), &normal::normal(ours), &space)
    }

    /// The fewest steps that still show a difference of this kind.
    async fn reduced(&self, seed: u64, found: &Difference) -> (Difference, Sequence) {
        let length = generate(seed, "s").steps.len();
        let mut keep = vec![true; length];
        let mut best = found.clone();
        for index in (0..length).rev() {
            keep[index] = false;
            match self.differ(seed, Some(&keep)).await {
                Some(difference) if difference.mark == found.mark => best = difference,
                _ => keep[index] = true,
            }
        }
        let mut sequence = generate(seed, "s");
        let mut kept = keep.iter();
        sequence.steps.retain(|_| *kept.next().unwrap_or(&true));
        (best, sequence)
    }
}

/// Which seeds are wanted.
fn seeds() -> Vec<u64> {
    let told = std::env::var("LOCKSTEP_CONFORMANCE").unwrap_or_default();
    match told.strip_prefix("seed:") {
        Some(seeds) => match seeds.split_once("..") {
            Some((first, last)) => (first.parse().expect("a seed")..last.parse().expect("a seed")).collect(),
            None => vec![seeds.parse().expect("a seed")],
        },
        None => {
            let many = told.parse().unwrap_or(FEW);
            let others = [VERSIONS, WEBHOOKS, CROWDS].into_iter().flat_map(|first| first..first + many / 5);
            let kept = ONCE_DIFFERED.into_iter().filter(|seed| *seed >= many);
            (0..many).chain(others).chain(kept).collect()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_cluster_answers_as_a_real_one() {
    let cluster = Cluster::builder()
        .without(Component::ControllerManager)
        .without(Component::Scheduler)
        .our_own("a real API server to compare with");
    let Some(cluster) = cluster.start_or_skip().await else { return };
    let both = Both::new(&cluster).await;
    let conversion = convert::start().await;
    both.define(&conversion).await;
    let seeds = seeds();
    let count = seeds.len();
    let found: Vec<(u64, Difference)> = futures::stream::iter(seeds)
        .map(|seed| {
            let both = &both;
            async move { both.differ(seed, None).await.map(|difference| (seed, difference)) }
        })
        .buffer_unordered(TOGETHER)
        .filter_map(|found| async { found })
        .collect()
        .await;
    if found.is_empty() {
        return;
    }
    report(&both, found, count).await;
}

/// Tells of the differences, the most frequent first.
async fn report(both: &Both, mut found: Vec<(u64, Difference)>, count: usize) {
    found.sort_by_key(|(seed, _)| *seed);
    let total = found.len();
    let mut groups: BTreeMap<String, Vec<(u64, Difference)>> = BTreeMap::new();
    for (seed, difference) in found {
        groups.entry(difference.mark.clone()).or_default().push((seed, difference));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
    let most =
        std::env::var("LOCKSTEP_CONFORMANCE_SHOWN").ok().and_then(|most| most.parse().ok()).unwrap_or(5);
    for (_, found) in groups.iter().take(most) {
        let (seed, difference) = &found[0];
        let (difference, sequence) = both.reduced(*seed, difference).await;
        println!("\n=== {} times; seed {seed}\n{}", found.len(), cut(&difference.request, 400));
        for step in &sequence.steps {
            println!("   . {} {} [{}] {}", step.method, step.path, step.content_type, cut(&shown(step), 700));
        }
        for place in difference.places.iter().take(6) {
            println!("   {}", cut(place, 900));
        }
    }
    for (mark, found) in groups.iter().skip(most) {
        println!("--- {} times; seed {}: {}", found.len(), found[0].0, cut(mark, 700));
    }
    panic!("{total} of {count} sequences differ, in {} ways", groups.len());
}

fn shown(step: &Step) -> String {
    match &step.body {
        sequence::Body::Text(text) => text.clone(),
        sequence::Body::Changed { of, patch } => format!("{of} with {patch}"),
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
