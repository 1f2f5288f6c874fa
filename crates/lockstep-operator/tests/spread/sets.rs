//! Sets of groups over several clusters, with an operator in each: aligned over all, and coordinated inside each group.

use std::collections::BTreeMap;

use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::embedded::in_virtual_time;
use lockstep_testkit::federation::case::{Case, FIRST, SETS};
use lockstep_testkit::federation::record::{Pod, Verdict, What};
use lockstep_testkit::federation::{Played, Ways, play};

use crate::world::World;

fn cases() -> impl Iterator<Item = &'static Case<'static>> {
    let only = std::env::var("LOCKSTEP_CASE").ok();
    SETS.iter().filter(move |case| only.as_deref().is_none_or(|only| only == case.name))
}

#[test]
fn sets_keep_their_own_numbers() {
    for case in cases() {
        let played = in_virtual_time(async {
            let world = World::start(case.split.len(), &Ways::default()).await;
            let (_operators, _aligner) = (world.operators(), world.aligner(world.client()));
            play(case, world.federation()).await.expect("played")
        });
        println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
        assert_kept(&played);
    }
}

/// Without us each cluster goes by the numbers of the whole: the judge says so. Inside each the order holds.
#[test]
fn without_an_aligner_sets_are_broken() {
    for case in cases().filter(|case| case.broken_alone) {
        let played = in_virtual_time(async {
            let world = World::without_us(case.split.len()).await;
            let _operators = world.operators();
            play(case, world.federation()).await.expect("played")
        });
        assert!(!played.verdict.breaches.is_empty(), "{}: {}", case.name, played.end);
        assert_eq!(out_of_order(&played.verdict), Vec::<String>::new(), "{}", case.name);
    }
}

/// Aligners die with their n-th write, one after the other.
#[test]
fn killed_with_any_write_sets_go_on() {
    for writes in [7, 13, 22] {
        in_virtual_time(async {
            let world = World::start(2, &Ways::default()).await;
            let _operators = world.operators();
            let kill = async {
                for life in 0..8 {
                    let (client, link) = world.federation().client_through(Profile::default(), life);
                    let _aligner = world.aligner(client);
                    link.kill_after(writes);
                    link.dead().await;
                }
                let _aligner = world.aligner(world.client());
                std::future::pending::<()>().await
            };
            tokio::select! {
                biased;
                played = play(&SETS[0], world.federation()) => assert_kept(&played.expect("played")),
                () = kill => unreachable!("the last aligner never dies"),
            }
        });
    }
}

fn assert_kept(played: &Played) {
    played.assert_kept();
    assert_eq!(out_of_order(&played.verdict), Vec::<String>::new());
}

/// Prefill pods that came before both decode pods of their group were ready at the image that is wished for. A group that
/// only stands in for others starts as a whole, and on the way back to what stood before a role of which nothing is new
/// has no step to take.
fn out_of_order(verdict: &Verdict) -> Vec<String> {
    let mut wish = None;
    let mut pods: BTreeMap<(usize, &str), &Pod> = BTreeMap::new();
    let mut sizes: BTreeMap<usize, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for event in &verdict.events {
        match &event.what {
            What::Wish(promise) => wish = Some(promise.image.as_str()),
            What::Pod { member, uid, pod: Some(pod) } => {
                let is_first = pods.insert((*member, uid), pod).is_none();
                let decode = |(of, other): (&(usize, &str), &&Pod)| {
                    of.0 == *member
                        && other.group == pod.group
                        && other.name.contains("-decode-")
                        && other.image == pod.image
                        && other.ready.is_some()
                        && !other.terminating
                };
                let group: Option<u32> = pod.group.as_ref().and_then(|group| group.parse().ok());
                let stands_in = group >= sizes.get(member).copied();
                let of_the_wish =
                    pod.image != FIRST && wish == Some(pod.image.as_str()) && pod.name.contains("-prefill-");
                let before = pods.iter().filter(|it| decode(*it)).count();
                if is_first && of_the_wish && !stands_in && before < 2 {
                    found.push(format!("{:?}: member {member}, {} with {before} decode", event.at, pod.name));
                }
            }
            What::Pod { member, uid, pod: None } => drop(pods.remove(&(*member, uid.as_str()))),
            What::Workload { member, workload: Some(workload) } => {
                sizes.insert(*member, workload.replicas);
            }
            What::Workload { .. } | What::ReplicaSet { .. } | What::Deed(_) => {}
        }
    }
    found
}
