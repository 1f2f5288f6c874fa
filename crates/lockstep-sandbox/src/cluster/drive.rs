//! The controllers, round after round.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::{Turn, Wish};
use crate::kinds::Kind;
use crate::request::{Method, Request, User};
use crate::server::{Answer, Catalogue};
use crate::store::Key;

use super::Shared;
use super::tidings::Changes;

/// Runs the controllers for as long as there is a cluster.
pub(super) async fn drive(shared: Weak<Shared>) {
    let Some(mut changes) = shared.upgrade().map(|shared| Changes::new(&shared.revision)) else { return };
    loop {
        let Some(cluster) = shared.upgrade() else { return };
        let before = changes.catch_up();
        let again = round(&cluster).await;
        let after = cluster.revision.get();
        if after != before {
            drop(cluster);
            // Others have their turn, whatever the controllers are about.
            tokio::task::yield_now().await;
            continue;
        }
        let wake = again.map(|time| cluster.instant(time));
        // Nobody is kept alive by being waited for.
        drop(cluster);
        tokio::select! {
            biased;
            _ = changes.next() => {}
            () = until(wake) => {}
        }
    }
}

async fn until(wake: Option<tokio::time::Instant>) {
    match wake {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// One round: what every controller wishes is done. When to look again even if nothing changes.
async fn round(shared: &Shared) -> Option<Timestamp> {
    let now = shared.now();
    let turns: Vec<(&'static str, Turn)> = {
        let mut state = shared.lock();
        let state = &mut *state;
        state.controllers.turn(state.server.store(), now)
    };
    let mut again: Option<Timestamp> = None;
    for (name, turn) in turns {
        again = turn.again.into_iter().chain(again).min();
        let mut refused = false;
        for (index, wish) in turn.wishes.iter().enumerate() {
            // Nobody is told of what was not done.
            let idle = refused && matches!(wish, Wish::Event(event) if event.afterwards);
            refused = !idle && !fulfil(shared, name, wish, index).await;
        }
    }
    again
}

/// Does what is wished. Whether it was not refused.
async fn fulfil(shared: &Shared, name: &'static str, wish: &Wish, index: usize) -> bool {
    let (request, manager) = {
        let state = shared.lock();
        let mark = state.server.store().revision() * 1000 + index as u64;
        (request(state.server.catalogue(), wish, shared.now(), mark), state.controllers.manager(name))
    };
    let Some(mut request) = request else { return false };
    tracing::trace!(controller = name, ?wish, "wishes");
    request.user = User::system(name);
    request.user_agent = manager.unwrap_or(name).to_owned();
    if let Answer::Done(done) = shared.respond(&request).await
        && done.code >= 400
    {
        let why = done.message();
        tracing::debug!(controller = name, %why, "refused");
        shared.lock().controllers.refused(name, wish, &why);
        return false;
    }
    true
}

/// A wish as a request.
fn request(catalogue: &Catalogue, wish: &Wish, now: Timestamp, mark: u64) -> Option<Request> {
    const JSON: &str = "application/json";
    match wish {
        Wish::Create { resource, namespace, object } => {
            let key =
                Key { resource: Arc::clone(resource), namespace: Arc::clone(namespace), name: "".into() };
            let path = path(&*catalogue.by_resource(resource)?, &key, None);
            Some(Request::new(Method::Post, &path).with_body(JSON, object.to_string()))
        }
        Wish::Update { key, subresource, object } => {
            let path = path(&*catalogue.by_resource(&key.resource)?, key, *subresource);
            Some(Request::new(Method::Put, &path).with_body(JSON, object.to_string()))
        }
        Wish::Merge { key, subresource, patch } => {
            let path = path(&*catalogue.by_resource(&key.resource)?, key, *subresource);
            let request = Request::new(Method::Patch, &path);
            Some(request.with_body("application/merge-patch+json", patch.to_string()))
        }
        Wish::Delete { key, uid, policy, grace } => {
            let path = path(&*catalogue.by_resource(&key.resource)?, key, None);
            let mut options = json!({"preconditions": {"uid": uid}});
            if let Some(policy) = policy {
                options["propagationPolicy"] = Value::from(policy.name());
            }
            if let Some(grace) = grace {
                options["gracePeriodSeconds"] = Value::from(*grace);
            }
            Some(Request::new(Method::Delete, &path).with_body(JSON, options.to_string()))
        }
        Wish::Bind { pod, uid, node } => {
            let path = path(&*catalogue.by_resource(&pod.resource)?, pod, Some("binding"));
            let binding = json!({
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": &*pod.name, "uid": uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": &**node},
            });
            Some(Request::new(Method::Post, &path).with_body(JSON, binding.to_string()))
        }
        Wish::Event(event) => {
            let object = event.object(now, mark);
            let key = Key { resource: "events".into(), namespace: event.namespace().into(), name: "".into() };
            let kind = catalogue.of(object["apiVersion"].as_str().unwrap_or("v1"), "Event")?;
            Some(Request::new(Method::Post, &path(&kind, &key, None)).with_body(JSON, object.to_string()))
        }
    }
}

/// Where an object lies, as a path. Without a name it is all of them.
fn path(kind: &Kind, key: &Key, part: Option<&str>) -> String {
    let root = match kind.of.group.as_str() {
        "" => format!("/api/{}", kind.of.version),
        group => format!("/apis/{group}/{}", kind.of.version),
    };
    let space = if kind.namespaced { format!("/namespaces/{}", key.namespace) } else { String::new() };
    let name = if key.name.is_empty() { String::new() } else { format!("/{}", key.name) };
    let part = part.map(|part| format!("/{part}")).unwrap_or_default();
    format!("{root}{space}/{}{name}{part}", kind.plural)
}
