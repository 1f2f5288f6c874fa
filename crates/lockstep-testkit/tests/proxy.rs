//! Every fault of the proxy, with its rule and without it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake;

use std::pin::Pin;
use std::time::{Duration, Instant};

use fake::{World, pod};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use lockstep_testkit::proxy::{Fault, Held, Refusal, Rule, Verb, Which};

/// Long enough for anything that happens, short enough to wait for what does not.
const SOON: Duration = Duration::from_secs(60);
const NOT_YET: Duration = Duration::from_millis(100);

fn creates() -> Which {
    Which::verbs([Verb::Create]).of("pods")
}

fn watches() -> Which {
    Which::verbs([Verb::Watch]).of("pods").namespace("x")
}

async fn create(world: &World, name: &str) -> Result<Pod, kube::Error> {
    world.api().create(&PostParams::default(), &pod(name)).await
}

type Events = Pin<Box<dyn Stream<Item = Result<WatchEvent<Pod>, kube::Error>> + Send>>;

async fn watch(world: &World) -> Events {
    let before = world.pods.watchers();
    let events = world.api().watch(&WatchParams::default(), "0").await.unwrap();
    while world.pods.watchers() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Box::pin(events)
}

/// What the next event is about; nothing at the end of the stream.
async fn next(events: &mut Events) -> Option<String> {
    let event = tokio::time::timeout(SOON, events.next()).await.expect("an event or the end");
    Some(match event?.unwrap() {
        WatchEvent::Added(pod) => pod.metadata.name.unwrap(),
        WatchEvent::Error(status) => format!("{} {}", status.code, status.reason),
        other => format!("{other:?}"),
    })
}

async fn silent(events: &mut Events) -> bool {
    tokio::time::timeout(NOT_YET, events.next()).await.is_err()
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// The rule happens once to pod `a` and never to pod `b`; what pod `a` gets is returned.
async fn once(world: &World, fault: Fault) -> (Result<Pod, kube::Error>, Held) {
    let held = world.proxy.add(Rule::new(creates().name("a"), fault).times(1));
    create(world, "b").await.unwrap();
    assert_eq!(held.hits(), 0);
    let result = create(world, "a").await;
    assert_eq!(held.hits(), 1);
    create(world, "c").await.unwrap();
    (result, held)
}

#[tokio::test]
async fn without_rules_all_passes() {
    let world = World::start().await;
    create(&world, "a").await.unwrap();
    assert_eq!(world.api().list(&ListParams::default()).await.unwrap().items.len(), 1);
    let mut events = watch(&world).await;
    world.pods.event("a");
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
    assert!(silent(&mut events).await);
    world.pods.event("b");
    assert_eq!(next(&mut events).await.as_deref(), Some("b"));
    let missing = world.api().get("none").await.unwrap_err();
    assert_eq!(code(&missing), Some(404));
    assert!(world.pods.tokens.lock().unwrap().iter().all(|token| token == "Bearer secret"));
    assert_eq!(world.pods.tokens.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn what_passed_is_counted() {
    let world = World::start().await;
    world.proxy.add(Rule::new(creates(), Fault::Duplicate).times(1));
    world.proxy.add(Rule::new(creates(), Fault::Drop).times(1));
    create(&world, "a").await.unwrap();
    create(&world, "a").await.unwrap_err();
    create(&world, "b").await.unwrap();
    world.api().list(&ListParams::default()).await.unwrap();
    assert_eq!((world.proxy.arrived(&creates()), world.proxy.sent(&creates())), (3, 3));
    assert_eq!(world.proxy.sent(&creates().name("a")), 2);
    assert_eq!(world.proxy.arrived(&Which::any()), 4);
    let sent: Vec<u32> = world.proxy.seen().iter().map(|seen| seen.sent).collect();
    assert_eq!(sent, [2, 0, 1, 1]);
}

#[tokio::test]
async fn delay() {
    let world = World::start().await;
    let wait = Duration::from_millis(500);
    create(&world, "first, to connect").await.unwrap();
    for expected in [false, true] {
        let start = Instant::now();
        create(&world, "a").await.unwrap();
        assert_eq!(start.elapsed() >= wait, expected);
        world.proxy.add(Rule::new(creates(), Fault::Delay(wait.into())));
    }
}

#[tokio::test]
async fn refuse_happens_before_the_write() {
    let world = World::start().await;
    let refusal = Refusal::new(429, "TooManyRequests").retry_after(3);
    let (result, _) = once(&world, Fault::Refuse(refusal)).await;
    let Err(kube::Error::Api(status)) = result else { panic!("not refused") };
    assert_eq!((status.code, status.reason.as_str()), (429, "TooManyRequests"));
    assert_eq!(status.details.unwrap().retry_after_seconds, 3);
    assert_eq!(world.pods.names(), ["b", "c"]);
}

#[tokio::test]
async fn fail_applied_happens_after_the_write() {
    let world = World::start().await;
    let (result, _) = once(&world, Fault::FailApplied(Refusal::new(504, "Timeout"))).await;
    assert_eq!(code(&result.unwrap_err()), Some(504));
    assert_eq!(world.pods.names(), ["b", "a", "c"]);
}

#[tokio::test]
async fn lose_answer_breaks_the_connection_after_the_write() {
    let world = World::start().await;
    let (result, _) = once(&world, Fault::LoseAnswer).await;
    assert_eq!(code(&result.unwrap_err()), None);
    assert_eq!(world.pods.names(), ["b", "a", "c"]);
}

#[tokio::test]
async fn the_answer_of_a_watch_can_be_lost_too() {
    let world = World::start().await;
    let held = world.proxy.add(Rule::new(watches(), Fault::LoseAnswer).times(1));
    let (api, all) = (world.api(), WatchParams::default());
    let lost = tokio::time::timeout(SOON, api.watch(&all, "0")).await.unwrap();
    assert!(lost.is_err());
    assert_eq!(held.hits(), 1);
    let mut events = watch(&world).await;
    world.pods.event("a");
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
}

#[tokio::test]
async fn drop_breaks_the_connection_before_the_write() {
    let world = World::start().await;
    let (result, _) = once(&world, Fault::Drop).await;
    assert_eq!(code(&result.unwrap_err()), None);
    assert_eq!(world.pods.names(), ["b", "c"]);
}

#[tokio::test]
async fn duplicate_sends_twice() {
    let world = World::start().await;
    let (result, _) = once(&world, Fault::Duplicate).await;
    assert_eq!(result.unwrap().metadata.name.as_deref(), Some("a"));
    assert_eq!(world.pods.names(), ["b", "a", "a", "c"]);
}

#[tokio::test]
async fn hold_keeps_events_of_new_and_open_watches_in_order() {
    let world = World::start().await;
    let mut open = watch(&world).await;
    world.pods.event("before");
    assert_eq!(next(&mut open).await.as_deref(), Some("before"));
    let held = world.proxy.add(Rule::new(watches(), Fault::HoldWatch { at_most: None }));
    let mut new = watch(&world).await;
    let names = ["a", "b", "c"];
    names.iter().for_each(|name| world.pods.event(name));
    for events in [&mut open, &mut new] {
        assert!(silent(events).await);
    }
    assert_eq!(held.hits(), 2);
    held.remove();
    for events in [&mut open, &mut new] {
        for name in names {
            assert_eq!(next(events).await.as_deref(), Some(name));
        }
    }
    world.pods.event("after");
    assert_eq!(next(&mut open).await.as_deref(), Some("after"));
}

#[tokio::test]
async fn hold_ends_when_its_time_is_over() {
    let world = World::start().await;
    let at_most = Duration::from_millis(300);
    let start = Instant::now();
    world.proxy.add(Rule::new(watches(), Fault::HoldWatch { at_most: Some(at_most.into()) }));
    let mut events = watch(&world).await;
    world.pods.event("a");
    assert_eq!(next(&mut events).await.as_deref(), Some("a"));
    assert!(start.elapsed() >= at_most);
}

#[tokio::test]
async fn cut_ends_the_stream_after_its_events() {
    let world = World::start().await;
    let held = world.proxy.add(Rule::new(watches(), Fault::CutWatch { after_events: 2 }).times(1));
    let mut cut = watch(&world).await;
    let mut whole = watch(&world).await;
    ["a", "b", "c"].iter().for_each(|name| world.pods.event(name));
    assert_eq!(next(&mut cut).await.as_deref(), Some("a"));
    assert_eq!(next(&mut cut).await.as_deref(), Some("b"));
    assert_eq!(next(&mut cut).await, None);
    for name in ["a", "b", "c"] {
        assert_eq!(next(&mut whole).await.as_deref(), Some(name));
    }
    assert!(silent(&mut whole).await);
    assert_eq!(held.hits(), 1);
    // One that is open, with nothing more to deliver.
    world.proxy.add(Rule::new(watches(), Fault::CutWatch { after_events: 0 }));
    assert_eq!(next(&mut whole).await, None);
}

#[tokio::test]
async fn gone_ends_the_stream_with_an_error_event() {
    let world = World::start().await;
    let mut open = watch(&world).await;
    world.pods.event("a");
    assert_eq!(next(&mut open).await.as_deref(), Some("a"));
    let held = world.proxy.add(Rule::new(watches(), Fault::GoneWatch).times(1));
    assert_eq!(next(&mut open).await.as_deref(), Some("410 Expired"));
    assert_eq!(next(&mut open).await, None);
    let mut again = watch(&world).await;
    assert!(silent(&mut again).await);
    assert_eq!(held.hits(), 1);
}

#[tokio::test]
async fn a_rule_stays_when_its_handle_is_dropped_and_goes_when_it_is_removed() {
    let world = World::start().await;
    drop(world.proxy.add(Rule::new(creates(), Fault::Drop)));
    create(&world, "a").await.unwrap_err();
    world.proxy.clear();
    create(&world, "a").await.unwrap();
    let held = world.proxy.add(Rule::new(creates(), Fault::Drop));
    create(&world, "b").await.unwrap_err();
    held.remove();
    create(&world, "b").await.unwrap();
    assert_eq!((held.hits(), world.pods.names()), (1, vec!["a".to_owned(), "b".to_owned()]));
}

#[tokio::test]
async fn an_upstream_that_is_gone_is_a_broken_connection() {
    let world = World::start().await;
    create(&world, "a").await.unwrap();
    let mut events = watch(&world).await;
    let World { pods, proxy, client, upstream } = world;
    upstream.stop().await;
    let end = tokio::time::timeout(SOON, events.next()).await.unwrap();
    assert!(end.is_none_or(|event| event.is_err()));
    let api: kube::Api<Pod> = kube::Api::namespaced(client, "x");
    let error = api.create(&PostParams::default(), &pod("b")).await.unwrap_err();
    assert_eq!((code(&error), pods.names()), (None, vec!["a".to_owned()]));
    tokio::time::timeout(SOON, proxy.stop()).await.unwrap();
}
