//! Many who want the same at once, through several replicas: never more than the budget allows, at any instant that a
//! watch shows.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use lockstep_core::simulate::rng::Rng;
use lockstep_testkit::embedded::in_virtual_time;
use lockstep_testkit::groups::{Groups, Judge};
use lockstep_testkit::seeds::{number, play_all};
use lockstep_testkit::ways::way;
use serde_json::json;
use tokio::task::JoinSet;

use super::world::{Refusal, Where, World};

const GROUPS: u32 = 5;
const SIZE: u32 = 2;
const MOST: u32 = 1;

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(60);

/// What else happens meanwhile.
#[derive(Debug, Clone, Copy, Default)]
struct Trouble {
    /// Replicas of the webhook die in the middle and others take their place.
    kills: bool,
    /// Somebody else keeps writing to the budget.
    conflicts: bool,
}

/// What was counted.
#[derive(Debug, Default)]
struct Tally {
    admitted: AtomicU32,
    refused: AtomicU32,
    gone: AtomicU32,
    late: AtomicU32,
    failed: AtomicU32,
    last_failure: Mutex<Option<String>>,
}

impl Tally {
    fn is_plausible(&self, trouble: Trouble) {
        assert!(self.admitted.load(Ordering::Relaxed) > 0, "nobody was let through: {self:?}");
        assert!(self.refused.load(Ordering::Relaxed) > 0, "nobody was refused: {self:?}");
        assert!(trouble.kills || self.failed.load(Ordering::Relaxed) == 0, "{self:?}");
        let counts = [&self.admitted, &self.refused, &self.gone].map(|count| count.load(Ordering::Relaxed));
        let answered: u32 = counts.iter().sum();
        assert!(self.late.load(Ordering::Relaxed) <= answered / 10, "too many were not answered: {self:?}");
    }

    /// What is wrong with it where everybody may be lied to and cut off.
    fn is_idle(&self) -> Option<&'static str> {
        let none = |count: &AtomicU32| count.load(Ordering::Relaxed) == 0;
        [(&self.admitted, "nobody was let through"), (&self.refused, "nobody was refused")]
            .into_iter()
            .find_map(|(count, idle)| none(count).then_some(idle))
    }
}

/// Watches all groups, and rebuilds what is gone.
fn judge(world: &Arc<World>, uid: String) -> Judge {
    let (selector, label) = ("app=llm".to_owned(), "group".to_owned());
    let builder = Arc::clone(world);
    Judge::start_with(world.pods(), Groups { selector, label, count: GROUPS, ready: SIZE }, move |pod| {
        let parts: Vec<u32> = pod.name_any().split('-').filter_map(|part| part.parse().ok()).collect();
        let (world, uid) = (Arc::clone(&builder), uid.clone());
        tokio::spawn(async move { world.member(parts[0], parts[1], &uid).await });
    })
}

async fn attack(world: Arc<World>, tally: Arc<Tally>, seed: u64) {
    let mut random = Rng::new(seed);
    let (group, pod) = (random.below(u64::from(GROUPS)), random.below(u64::from(SIZE)));
    let name = format!("llm-{group}-{pod}");
    let answer = if random.below(2) == 0 { world.evict(&name).await } else { world.delete(&name).await };
    let count = match answer {
        None => &tally.admitted,
        Some(Refusal { code: 429, .. }) => &tally.refused,
        Some(Refusal { code: 404 | 409, .. }) => &tally.gone,
        // A machine that is full: nobody was reached in time, and so nothing was let through.
        Some(other) if other.code == 0 || unreached(&other.message) => &tally.late,
        Some(other) => {
            tally.last_failure.lock().expect("not poisoned").replace(other.message);
            &tally.failed
        }
    };
    count.fetch_add(1, Ordering::Relaxed);
}

/// The webhook was not asked, or did not get to its answer.
fn unreached(message: &str) -> bool {
    ["context deadline exceeded", "tls handshake", "error writing a body"]
        .iter()
        .any(|it| message.contains(it))
}

async fn race(at: Where, rounds: u64, requests: u64, trouble: Trouble) {
    let Some(world) = World::start(at, 3).await else { return };
    let tally = race_in(Arc::new(world), rounds, requests, trouble).await.expect("every replica hears of it");
    println!("{at:?}, {trouble:?}: {rounds} rounds of {requests}: {tally:?}");
    tally.is_plausible(trouble);
}

async fn race_in(world: Arc<World>, rounds: u64, requests: u64, trouble: Trouble) -> Option<Arc<Tally>> {
    let policy = json!({"groupLabelKey": "group", "minReadyReplicas": SIZE});
    let selector = json!({"matchLabels": {"app": "llm"}});
    let budget = |most: u32| json!({"selector": selector, "maxUnavailable": most, "podGroupPolicy": policy});
    let uid = world.groups(GROUPS, SIZE).await;
    // A budget counts from when every replica has heard of it.
    world.budget("b", budget(0)).await;
    if !world.is_known("budgets/b:", "llm-0-0").await {
        return None;
    }
    world.budget("b", budget(MOST)).await;
    world.settled("b", |status| status.unavailable_allowed == MOST).await;
    let judge = judge(&world, uid);
    let mut beside = JoinSet::new();
    if trouble.conflicts {
        let world = Arc::clone(&world);
        beside.spawn(async move {
            for count in 0_u64.. {
                let note = json!({"metadata": {"annotations": {"count": count.to_string()}}});
                let _ = world.budgets().patch("b", &PatchParams::default(), &Patch::Merge(&note)).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
    let tally = Arc::new(Tally::default());
    for round in 0..rounds {
        assert!(judge.whole(SOON).await, "round {round}: not all groups came back");
        let mut all = JoinSet::new();
        for request in 0..requests {
            all.spawn(attack(Arc::clone(&world), Arc::clone(&tally), round * requests + request));
            if trouble.kills && request % 50 == 25 {
                world.replicas.replace(usize::try_from(request).expect("few"));
                tokio::task::yield_now().await;
            }
        }
        all.join_all().await;
        assert!(judge.whole(SOON).await, "round {round}: not all groups came back");
        let worst = judge.worst();
        assert!(worst <= MOST, "round {round}: {worst} groups were unavailable at once; {tally:?}");
    }
    Some(tally)
}

/// So many rounds, or as many as `LOCKSTEP_LONG` says.
fn rounds(usual: u64) -> u64 {
    number("LOCKSTEP_LONG").unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_a_thousand_at_once() {
    race(Where::Embedded, rounds(3), 1000, Trouble::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_with_kills_and_conflicts() {
    race(Where::Embedded, rounds(3), 300, Trouble { kills: true, conflicts: true }).await;
}

/// Everybody's requests take their time and arrive in any order; watches lag, writes fail and are answered too late.
#[test]
fn virtual_with_every_trouble() {
    let one = number("LOCKSTEP_SEED");
    let from = one.or(number("LOCKSTEP_FROM")).unwrap_or(0);
    let count = if one.is_some() { 1 } else { rounds(16) };
    // On some ways a replica hears of nothing for ten minutes: there is no race then.
    let raced = AtomicU32::new(0);
    let wrong = play_all(from, count, |seed| {
        let mut random = Rng::new(seed);
        let trouble = Trouble { kills: random.chance(50), conflicts: random.chance(50) };
        let way = way(&mut random, 60_000);
        let tally = in_virtual_time(async {
            let world = World::virtually(seed, 3, &way).await;
            race_in(Arc::new(world), 5, 200, trouble).await
        });
        raced.fetch_add(u32::from(tally.is_some()), Ordering::Relaxed);
        println!("seed {seed}, {trouble:?}: {tally:?}");
        tally.and_then(|tally| Some(format!("seed {seed}: {}: {tally:?}", tally.is_idle()?)))
    });
    assert!(wrong.is_empty(), "{wrong:?}");
    let raced = u64::from(raced.into_inner());
    assert!(one.is_some() || raced * 4 >= count * 3, "only {raced} of {count} came to race");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_a_thousand_at_once() {
    race(Where::Real, rounds(1), 1000, Trouble::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_with_kills_and_conflicts() {
    race(Where::Real, rounds(1), 300, Trouble { kills: true, conflicts: true }).await;
}
