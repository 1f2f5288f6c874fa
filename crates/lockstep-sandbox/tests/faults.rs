//! Misfortunes between a client and the server: what arrives, what is told, and what a watch shows.

#![allow(clippy::expect_used)]

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use lockstep_sandbox::cluster::faults::{Chance, Fault, Faulty, Link, Profile, Span, Watches};
use lockstep_sandbox::cluster::{Answered, Cluster, Setup};
use tokio::time::{Instant, timeout};
use tower::Service;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn profile(writes: Fault) -> Profile {
    Profile { writes: vec![Chance::of(1000, writes)], ..Profile::default() }
}

fn cluster() -> Cluster {
    Cluster::start(Setup::at(Timestamp::UNIX_EPOCH))
}

async fn send(
    service: &mut Faulty,
    method: Method,
    path: &str,
    body: &str,
) -> Result<http::Response<Answered>, String> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
    service.call(request).await.map_err(|error| error.to_string())
}

async fn make(service: &mut Faulty, name: &str) -> Result<u16, String> {
    let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#);
    Ok(send(service, Method::POST, MAPS, &body).await?.status().as_u16())
}

fn is_there(cluster: &Cluster, name: &str) -> bool {
    cluster.look(|server| {
        server.store().all().any(|(key, _)| &*key.resource == "configmaps" && &*key.name == name)
    })
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_done_or_not_as_the_profile_says() {
    // What goes wrong, what the client is told (nothing: there is no answer), and whether it is done.
    let rows = [
        (Fault::Busy, Some(Ok(429)), false),
        (Fault::Failed { applied: false }, Some(Ok(500)), false),
        (Fault::Failed { applied: true }, Some(Ok(500)), true),
        (Fault::TimedOut { applied: false }, Some(Ok(504)), false),
        (Fault::TimedOut { applied: true }, Some(Ok(504)), true),
        (Fault::Reset { applied: false }, Some(Err("connection reset".to_owned())), false),
        (Fault::Reset { applied: true }, Some(Err("connection reset".to_owned())), true),
        (Fault::Silent { applied: false }, None, false),
        (Fault::Silent { applied: true }, None, true),
        // A name is taken or not; nobody is told so for nothing.
        (Fault::Conflict, Some(Ok(201)), true),
        (Fault::Late(Span::new(5_000, 5_000)), Some(Ok(201)), true),
    ];
    for (fault, told, done) in rows {
        let cluster = cluster();
        let (mut service, _) = Faulty::before(cluster.service(), profile(fault), 1);
        let answer = timeout(Duration::from_secs(60), make(&mut service, "x")).await.ok();
        assert_eq!(answer, told, "{fault:?}");
        assert_eq!(is_there(&cluster, "x"), done, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_late_arrives_though_nobody_waits() {
    let cluster = cluster();
    let late = Fault::Late(Span::new(5_000, 5_000));
    let (mut service, _) = Faulty::before(cluster.service(), profile(late), 1);
    assert!(timeout(Duration::from_secs(1), make(&mut service, "x")).await.is_err());
    assert!(!is_there(&cluster, "x"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(is_there(&cluster, "x"));
}

#[tokio::test(start_paused = true)]
async fn who_dies_with_a_write_never_learns_that_it_was_done() {
    let cluster = cluster();
    let (mut service, link) = Faulty::before(cluster.service(), Profile::default(), 1);
    link.kill_after(2);
    assert_eq!(make(&mut service, "one").await, Ok(201));
    assert!(timeout(Duration::from_secs(60), make(&mut service, "two")).await.is_err());
    link.dead().await;
    assert!(is_there(&cluster, "two"));
    link.mend();
    assert!(timeout(Duration::from_secs(60), make(&mut service, "three")).await.is_err());
    assert!(!is_there(&cluster, "three"));
    assert_eq!(link.writes(), 2);
}

/// Watches from the beginning.
async fn lines(service: &mut Faulty) -> impl AsyncFnMut() -> Option<String> + use<> {
    let path = format!("{MAPS}?watch=true&resourceVersion=0");
    let mut body = send(service, Method::GET, &path, "").await.expect("a watch").into_body();
    async move || {
        let frame = body.frame().await?.ok()?;
        let line: serde_json::Value = serde_json::from_slice(&frame.into_data().ok()?).ok()?;
        let name = line["object"]["metadata"]["name"].as_str().unwrap_or_default();
        Some(format!("{} {name}", line["type"].as_str().unwrap_or_default()))
    }
}

fn made(cluster: &Cluster) -> (Faulty, Link) {
    Faulty::before(cluster.service(), Profile::default(), 0)
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_held_back_shows_everything_in_order() {
    let cluster = cluster();
    let watches = Watches { held: 500, held_for: Span::new(1_000, 2_000), live: None };
    let (mut service, _) = Faulty::before(cluster.service(), Profile { watches, ..Profile::default() }, 3);
    let mut next = lines(&mut service).await;
    let (mut maker, _) = made(&cluster);
    let began = Instant::now();
    for name in ["a", "b", "c", "d", "e", "f"] {
        make(&mut maker, name).await.expect("made");
    }
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(next().await, Some(format!("ADDED {name}")));
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "something was held back");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_seen_while_the_way_is_cut() {
    let cluster = cluster();
    let (mut service, link) = made(&cluster);
    let mut next = lines(&mut service).await;
    link.cut();
    let (mut maker, _) = made(&cluster);
    make(&mut maker, "a").await.expect("made");
    assert!(timeout(Duration::from_secs(30), next()).await.is_err());
    assert!(timeout(Duration::from_secs(30), make(&mut service, "b")).await.is_err());
    assert!(!is_there(&cluster, "b"));
}

#[tokio::test(start_paused = true)]
async fn after_its_time_nothing_goes_wrong_any_more() {
    let cluster = cluster();
    let short = Profile { lasts: Some(10_000), ..profile(Fault::Busy) };
    let (mut service, _) = Faulty::before(cluster.service(), short, 1);
    assert_eq!(make(&mut service, "x").await, Ok(429));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(make(&mut service, "x").await, Ok(201));
}
