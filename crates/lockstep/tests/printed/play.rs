//! Playing a row on a cluster, whichever it is.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::events::v1::Event as Told;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch,
    PatchParams, PostParams,
};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use lockstep_core::promises::Promise;
use lockstep_core::simulate::trace::{End, Event, What};
use lockstep_dialects::{Dialect, Kind};
use lockstep_operator::dialects::world;
use lockstep_operator::set::resource;
use lockstep_testkit::recorder::Recorder;
use lockstep_testkit::scenario::judge;
use lockstep_testkit::workload::Workload;
use serde_json::{Value, json};

use crate::manifest::dressed;
use crate::row::{Deed, Row};
use crate::story::Story;
use crate::watched::Watched;

/// An object on a stage of its own.
struct Stage<'a> {
    row: &'a Row,
    client: Client,
    namespace: String,
    dialect: &'static dyn Dialect,
    objects: Api<DynamicObject>,
    name: String,
    limit: Duration,
    recorder: Option<Recorder>,
    watched: Watched,
    end: End,
}

/// Plays all rows at once, each in a namespace of its own. What goes wrong in one does not hide the others.
pub async fn play_all(rows: &[&Row], client: &Client, limit: Duration) {
    let played = rows.iter().map(|row| AssertUnwindSafe(play(row, client.clone(), limit)).catch_unwind());
    let played = join_all(played).await;
    let failed: Vec<String> =
        rows.iter().zip(played).filter_map(|(row, played)| Some(told(row, &*played.err()?))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What went wrong in a row, said once more at the end, where it is read first.
fn told(row: &Row, panic: &dyn Any) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let said: String = said.unwrap_or("it panicked").chars().take(3000).collect();
    format!("{}: {said}", row.name)
}

/// Plays a row: the promises hold at every moment, and whatever else the row says.
async fn play(row: &Row, client: Client, limit: Duration) {
    let first = row.deeds.iter().find_map(|deed| match deed {
        Deed::Apply(object, _) | Deed::Begin(object) => Some(object),
        _ => None,
    });
    let first = first.expect("something is applied");
    let (dialect, kind) = lockstep_dialects::of(first).expect("one of theirs");
    let namespace = new_namespace(&client).await;
    let objects = Api::namespaced_with(client.clone(), &namespace, &api_resource(kind, first));
    let name = first["metadata"]["name"].as_str().expect("a name").to_owned();
    let watched = Watched::start(objects.clone(), &name);
    let mut stage = Stage {
        row,
        client,
        namespace,
        dialect,
        objects,
        name,
        limit,
        recorder: None,
        watched,
        end: End::Complete,
    };
    for deed in &row.deeds {
        stage.perform(deed).await;
    }
    stage.close().await;
}

async fn new_namespace(client: &Client) -> String {
    let metadata = ObjectMeta { generate_name: Some("printed-".to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let made = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    made.expect("a namespace").name_any()
}

/// The kind in the version in which the manifest is written.
fn api_resource(kind: &Kind, object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().and_then(|it| it.split_once('/')).expect("a version").1;
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, version, kind.kind), kind.plural)
}

impl Stage<'_> {
    async fn perform(&mut self, deed: &Deed) {
        match deed {
            Deed::Begin(object) => self.apply(object).await,
            Deed::Apply(object, end) => {
                self.apply(object).await;
                let recorder = self.recorder.as_mut().expect("it records");
                let came = loop {
                    // What is stalled and should not be may yet go on.
                    match recorder.until_settled(self.limit).await {
                        End::Stuck if *end != End::Stuck => {}
                        came => break came,
                    }
                };
                assert_eq!(came, *end, "{}: {:#}", self.row.name, self.status().await);
                self.end = came;
            }
            Deed::Refused(object, words) => {
                let said = self.try_apply(object).await.expect_err("it must not be taken").to_string();
                for word in *words {
                    assert!(said.contains(word), "{}: {word:?} is not in {said}", self.row.name);
                }
            }
            Deed::Until(what, so) => {
                let found = self.watched.until(self.limit, |object| so(&object["status"])).await;
                if let Err(last) = found {
                    panic!("{}: never {what}: {:#}", self.row.name, last["status"]);
                }
            }
            Deed::Happened(what, so) => {
                let recorder = self.recorder.as_mut().expect("it records");
                let happened = recorder.until_written(self.limit, so).await;
                assert!(happened, "{}: never {what}: {:#}", self.row.name, self.status().await);
            }
            Deed::Delete(prefix) => {
                let deleted = self.delete(prefix).await;
                self.until_back(&deleted).await;
            }
            Deed::Remove(prefix) => drop(self.delete(prefix).await),
        }
    }

    /// What an object becomes, in the words of the engine.
    async fn becomes(&self, object: &Value) -> Workload {
        let world = world::read(&self.client, self.dialect, Some(&self.namespace)).await.expect("a world");
        let lowered = self.dialect.lower(object, &world).expect("it is right");
        Workload::read(&serde_json::to_string(&*lowered.set).expect("JSON")).expect("a workload")
    }

    async fn try_apply(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        let how = PatchParams::apply("someone").force();
        let object = dressed(object);
        loop {
            match self.objects.patch(&self.name, &how, &Patch::Apply(&object)).await {
                // On a busy machine admission or the server may not answer in time; everybody would try again.
                Err(kube::Error::Api(status))
                    if status.code == 504 || status.message.contains("failed calling webhook") =>
                {
                    println!("{}: {}", self.row.name, status.message);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                answer => return answer,
            }
        }
    }

    /// Applies an object, and waits until its set's controller has seen it.
    async fn apply(&mut self, object: &Value) {
        let workload = self.becomes(&dressed(object)).await;
        if self.recorder.is_none() {
            self.recorder = Some(Recorder::of(self.client.clone(), &self.namespace, &workload).await);
        }
        let recorder = self.recorder.as_ref().expect("it records");
        recorder.wish(&workload);
        let applied = self.try_apply(object).await;
        let applied = applied.unwrap_or_else(|error| panic!("{}: {error}", self.row.name));
        let generation = applied.metadata.generation;
        let seen = |it: &Value| it["status"]["observedGeneration"].as_i64() >= generation;
        let seen = self.watched.until(self.limit, seen).await;
        assert!(seen.is_ok(), "{}: never seen: {:#}", self.row.name, self.status().await);
        let sets: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource());
        let set = sets.get(&self.name).await.expect("its set");
        let made = Workload::read(&json!(set).to_string()).expect("a workload");
        assert_eq!(made.spec(), workload.spec(), "{}: it became something else", self.row.name);
        self.recorder
            .as_ref()
            .expect("it records")
            .wish_is_known(set.metadata.generation.unwrap_or_default());
    }

    /// Somebody deletes all pods whose names begin so.
    async fn delete(&self, prefix: &str) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut found = pods.list(&ListParams::default()).await.expect("pods").items;
        found.retain(|pod| pod.name_any().starts_with(prefix));
        for pod in &found {
            let recorder = self.recorder.as_ref().expect("it records");
            recorder.blame_the_world(&pod.uid().unwrap_or_default());
            pods.delete(&pod.name_any(), &DeleteParams::default()).await.expect("deleted");
        }
        assert!(!found.is_empty(), "{}: no pod is called {prefix}…", self.row.name);
        found
    }

    async fn until_back(&self, deleted: &[Pod]) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        for pod in deleted {
            let (uid, name) = (pod.uid(), pod.name_any());
            let back = |it: Option<&Pod>| it.is_some_and(|it| it.uid() != uid);
            let back = await_condition(pods.clone(), &name, back);
            let back = tokio::time::timeout(self.limit, back).await;
            assert!(back.is_ok(), "{}: {name} never came back", self.row.name);
        }
    }

    /// Everything that says where it stands, for whoever has to find out why a test failed.
    async fn status(&self) -> Value {
        let theirs = self.objects.get_opt(&self.name).await.ok().flatten();
        let sets: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource());
        let set = sets.get_opt(&self.name).await.ok().flatten();
        let status = |it: Option<DynamicObject>| it.map(|it| it.data["status"].clone());
        json!({"theirs": status(theirs), "set": status(set)})
    }

    /// Judges, checks, and clears the stage.
    async fn close(mut self) {
        let name = self.row.name;
        let recorder = self.recorder.take().expect("it records");
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let pods = pods.list(&ListParams::default()).await.expect("pods").items;
        let services: Api<Service> = Api::namespaced(self.client.clone(), &self.namespace);
        let services = services.list(&ListParams::default()).await.expect("services").items;
        let told = self.told().await;
        let (events, interruptions) = recorder.finish(self.end);
        assert!(interruptions.is_empty(), "{name}: the watch was interrupted: {interruptions:?}");
        let broken = judge(&events, &Promise::ALL);
        let broken: Vec<String> = broken
            .iter()
            .filter(|broken| broken.promise != Promise::Convergence || self.end.is_good())
            .map(ToString::to_string)
            .collect();
        let tail: Vec<String> = events.iter().filter_map(|event| serde_json::to_string(event).ok()).collect();
        assert!(broken.is_empty(), "{name}: {}\n{}", broken.join("\n"), tail.join("\n"));
        let changed = last_change(&events);
        let (object, statuses) = (self.watched.last(), self.watched.statuses());
        let story = Story { events, changed, statuses, object, pods, services, told };
        println!("{name}");
        (self.row.check)(&story);
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(&self.namespace, &DeleteParams::default()).await.expect("deleted");
    }

    async fn told(&self) -> Vec<(String, String)> {
        let events: Api<Told> = Api::namespaced(self.client.clone(), &self.namespace);
        let events = events.list(&ListParams::default()).await.expect("events").items;
        let kind = self.dialect.kinds().first().map(|kind| kind.kind);
        let about = |event: &Told| event.regarding.as_ref().is_some_and(|it| it.kind.as_deref() == kind);
        let said = |event: Told| (event.reason.unwrap_or_default(), event.note.unwrap_or_default());
        events.into_iter().filter(about).map(said).collect()
    }
}

/// Where the last change begins: the first of the wishes for the last revisions.
fn last_change(events: &[Event]) -> usize {
    let wished = |(i, event): (usize, &Event)| match &event.what {
        What::Spec(wish) => {
            let revisions: Vec<_> = wish.spec.roles.iter().map(|role| role.revision).collect();
            Some((i, revisions))
        }
        _ => None,
    };
    let wishes: Vec<_> = events.iter().enumerate().filter_map(wished).collect();
    let last = wishes.last().map(|(_, last)| last.clone());
    let before = wishes.iter().rposition(|(_, it)| Some(it) != last.as_ref());
    wishes.get(before.map_or(0, |at| at + 1)).map_or(0, |(i, _)| *i)
}
