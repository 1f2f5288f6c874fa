//! The controller of a dialect, on a cluster in this process and in virtual time.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::events::v1::Event;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
};
use kube::{Client, ResourceExt};
use lockstep_dialects::Dialect;
use lockstep_operator::dialects::Dialects;
use lockstep_operator::operator::OperatorOptions;
use lockstep_operator::set::resource;
use lockstep_testkit::embedded::{Embedded, in_virtual_time};
use serde_json::{Value, json};

use crate::inside::{Operator, nodes};
use crate::toy::{GROUP, Toys};

struct Nursery {
    embedded: Embedded,
    client: Client,
}

impl Nursery {
    async fn open() -> Self {
        let embedded = Embedded::start(0, &nodes()).await.expect("an embedded cluster");
        let client = embedded.client();
        for definition in Toys.definitions() {
            lockstep_testkit::cluster::define(&client, &definition).await.expect("a kind");
        }
        Self { embedded, client }
    }

    fn operator(&self) -> Operator {
        let options = OperatorOptions { dialects: Dialects(vec![&Toys]), ..Default::default() };
        Operator::with(&self.embedded, self.client.clone(), options)
    }

    fn of(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", kind), plural);
        Api::namespaced_with(self.client.clone(), "default", &kind)
    }

    fn toys(&self) -> Api<DynamicObject> {
        self.of("Toy", "toys")
    }

    fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &resource())
    }

    async fn apply(&self, kind: &str, plural: &str, name: &str, spec: Value) {
        let body = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": kind,
            "metadata": {"name": name, "labels": {"team": "a"}}, "spec": spec,
        });
        let how = PatchParams::apply("someone").force();
        self.of(kind, plural).patch(name, &how, &Patch::Apply(&body)).await.expect("applied");
    }

    async fn toy(&self, spec: Value) {
        self.apply("Toy", "toys", "llama", spec).await;
    }

    async fn status(&self) -> Value {
        let toy = self.toys().get("llama").await.expect("a toy");
        toy.data["status"].clone()
    }

    /// Waits until it is so; nobody waits for real.
    async fn until<F: Future<Output = bool>>(&self, what: &str, so: impl Fn() -> F) {
        for _ in 0..600 {
            if so().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let (toy, set) = (self.toys().get_opt("llama").await, self.sets().get_opt("llama").await);
        panic!("never {what}: {toy:#?}\n{set:#?}");
    }

    async fn until_phase(&self, phase: &str) {
        self.until(phase, || async { self.status().await["phase"] == phase }).await;
    }

    async fn images(&self) -> Vec<String> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pods = pods.list(&ListParams::default()).await.expect("pods").items;
        let image = |pod: Pod| pod.spec.expect("a spec").containers.remove(0).image.unwrap_or_default();
        let mut images: Vec<String> = pods.into_iter().map(image).collect();
        images.sort();
        images
    }

    async fn until_images(&self, images: &[&str]) {
        self.until(&format!("{images:?}"), || async { self.images().await == images }).await;
    }

    async fn events(&self, kind: &str) -> Vec<(String, String)> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        let events = events.list(&ListParams::default()).await.expect("events").items;
        let about =
            |event: &Event| event.regarding.as_ref().is_some_and(|it| it.kind.as_deref() == Some(kind));
        let said = |event: Event| (event.reason.unwrap_or_default(), event.note.unwrap_or_default());
        events.into_iter().filter(about).map(said).collect()
    }
}

#[test]
fn a_toy_becomes_a_set_that_rolls_and_its_status_is_the_sets() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 2, "image": "toy:1", "note": "first"})).await;
        nursery.until_phase("Complete").await;
        nursery.until_images(&["toy:1", "toy:1"]).await;
        let set = nursery.sets().get("llama").await.expect("its set");
        assert_eq!(set.labels().get("team").map(String::as_str), Some("a"));
        let owner = &set.owner_references()[0];
        assert_eq!((owner.kind.as_str(), owner.controller), ("Toy", Some(true)));

        nursery.toy(json!({"size": 2, "image": "toy:2", "note": "second"})).await;
        nursery.until_images(&["toy:2", "toy:2"]).await;
        nursery.until_phase("Complete").await;
        let reasons: Vec<String> =
            nursery.events("Toy").await.into_iter().map(|(reason, _)| reason).collect();
        assert!(reasons.iter().filter(|reason| *reason == "RolloutStarted").count() == 2, "{reasons:?}");
        let notes: Api<ConfigMap> = Api::namespaced(nursery.client.clone(), "default");
        let note = notes.get("llama-note").await.expect("a note");
        assert_eq!(note.data.expect("data")["note"], "second");

        // What stands besides is brought back, and goes when it is not wanted any more.
        notes.delete("llama-note", &DeleteParams::default()).await.expect("deleted");
        nursery
            .until("the note is back", || async {
                notes.get_opt("llama-note").await.expect("read").is_some()
            })
            .await;
        nursery.toy(json!({"size": 2, "image": "toy:2"})).await;
        nursery
            .until("the note is gone", || async {
                notes.get_opt("llama-note").await.expect("read").is_none()
            })
            .await;
    });
}

#[test]
fn a_service_beside_a_set_stands_before_the_set_could_make_its_own() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1", "port": 80})).await;
        nursery.until_phase("Complete").await;
        let services: Api<Service> = Api::namespaced(nursery.client.clone(), "default");
        let service = services.get("llama").await.expect("a service");
        assert_eq!(service.owner_references()[0].kind, "Toy");
        let ports = service.spec.and_then(|spec| spec.ports).expect("ports");
        assert_eq!(ports[0].port, 80);
        assert_eq!(nursery.status().await["wrong"], json!([]));
        let history = nursery.embedded.history();
        let is_of = |line: &str, what: &str| {
            line.split_whitespace().nth(2).is_some_and(|resource| resource.starts_with(what))
        };
        let first = |what| history.iter().position(|line| is_of(line, what)).expect("it was made");
        assert!(first("services") < first("lockstepsets"), "the service is there first");
    });
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1", "note": "n"})).await;
        nursery.until_phase("Complete").await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let changes = || {
            let of_us = |line: &&String| {
                line.contains("lockstepset") || line.contains("toys") || line.contains("configmaps")
            };
            nursery.embedded.history().iter().filter(of_us).count()
        };
        let before = changes();
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(changes(), before);
    });
}

#[test]
fn what_is_wrong_is_said_and_the_last_good_set_stays() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1"})).await;
        nursery.until_phase("Complete").await;
        nursery.toy(json!({"size": 10, "image": 3})).await;
        let wrong = json!(["spec.image: 3: must be text", "spec.size: 10: must be at most 9"]);
        nursery.until("both problems", || async { nursery.status().await["wrong"] == wrong }).await;
        assert_eq!(nursery.images().await, ["toy:1"]);
        let told = nursery.events("Toy").await;
        let invalid: Vec<&String> =
            told.iter().filter(|(reason, _)| reason == "InvalidSpec").map(|(_, note)| note).collect();
        assert_eq!(invalid, ["spec.image: 3: must be text\nspec.size: 10: must be at most 9"]);
        nursery.toy(json!({"size": 2, "image": "toy:1"})).await;
        nursery.until_images(&["toy:1", "toy:1"]).await;
        nursery.until("nothing wrong", || async { nursery.status().await["wrong"] == json!([]) }).await;
    });
}

#[test]
fn a_set_that_is_not_ours_is_never_touched() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let own = json!({
            "apiVersion": lockstep_api::API_VERSION, "kind": "LockstepSet", "metadata": {"name": "llama"},
            "spec": {"roles": [{"name": "own", "template": {"spec": {"containers": [{"name": "main", "image": "own:1"}]}}}]},
        });
        let how = PatchParams::apply("someone").force();
        let made = nursery.sets().patch("llama", &how, &Patch::Apply(&own)).await.expect("a set");
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1"})).await;
        let wrong = "metadata.name: a LockstepSet named llama is there and was not made from this Toy; delete or rename either";
        nursery.until("it says so", || async { nursery.status().await["wrong"] == json!([wrong]) }).await;
        let now = nursery.sets().get("llama").await.expect("the set");
        assert_eq!((now.metadata.generation, now.owner_references()), (made.metadata.generation, &[][..]));
        nursery.until_images(&["own:1"]).await;
        // When it has gone, the name is free.
        nursery.sets().delete("llama", &DeleteParams::default()).await.expect("deleted");
        nursery.until_images(&["toy:1"]).await;
    });
}

/// What the cluster does not serve, or refuses, holds up nothing else; it is said, and tried again.
#[test]
fn what_cannot_be_written_beside_a_set_is_said_and_holds_up_nothing_else() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1", "most": 3, "note": "n"})).await;
        nursery.until_phase("Complete").await;
        let notes: Api<ConfigMap> = Api::namespaced(nursery.client.clone(), "default");
        notes.get("llama-note").await.expect("what comes after it is made");
        let said = "apply HorizontalPodAutoscaler llama: the cluster does not serve HorizontalPodAutoscalers, \
                    or did not when the operator started";
        let status = nursery.status().await;
        assert_eq!(status["lacking"], json!([format!("WriteFailed: {said}")]));
        assert_eq!(status["wrong"], json!([]));
        let told = async || {
            let all = nursery.events("Toy").await;
            all.into_iter().filter(|(reason, _)| reason == "WriteFailed").collect::<Vec<_>>()
        };
        assert_eq!(told().await, [("WriteFailed".to_owned(), said.to_owned())]);
        // It rolls, too.
        nursery.toy(json!({"size": 1, "image": "toy:2", "most": 3, "note": "n"})).await;
        nursery.until_images(&["toy:2"]).await;
        nursery.until_phase("Complete").await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(told().await.len(), 1, "it is told once");
        nursery.toy(json!({"size": 1, "image": "toy:2", "note": "n"})).await;
        nursery.until("nothing lacks", || async { nursery.status().await["lacking"] == json!([]) }).await;
    });
}

/// A name that somebody else has is theirs; who waits for it is told, and gets it when it is free.
#[test]
fn a_name_beside_a_set_that_somebody_else_has_is_said_until_it_is_free() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let notes: Api<ConfigMap> = Api::namespaced(nursery.client.clone(), "default");
        let services: Api<Service> = Api::namespaced(nursery.client.clone(), "default");
        let how = PatchParams::apply("someone").force();
        let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "llama-note"}, "data": {"note": "theirs"}});
        notes.patch("llama-note", &how, &Patch::Apply(&note)).await.expect("a note");
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llama"}, "spec": {"clusterIP": "None", "selector": {"app": "other"}}});
        services.patch("llama", &how, &Patch::Apply(&service)).await.expect("a service");
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1", "note": "ours"})).await;
        let lacks = [
            "NameTaken: a ConfigMap named llama-note is there and was not made from this Toy; delete or rename either",
            "NameTaken: a Service named llama is there and was not made from this set: pods have names in DNS only \
             as far as it is headless and selects them; delete or rename it",
        ];
        nursery.until_images(&["toy:1"]).await;
        nursery.until_phase("Complete").await;
        nursery.until("both", || async { nursery.status().await["lacking"] == json!(lacks) }).await;
        let set = nursery.sets().get("llama").await.expect("the set");
        let of_set = set.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        assert!(of_set.iter().any(|it| it["type"] == "ChildrenApplied" && it["reason"] == "NameTaken"));
        let told: Vec<String> =
            nursery.events("Toy").await.into_iter().map(|(why, it)| format!("{why}: {it}")).collect();
        assert!(lacks.iter().all(|lack| told.iter().any(|it| it == lack)), "{told:#?}");
        let theirs = notes.get("llama-note").await.expect("their note");
        assert_eq!(theirs.data.expect("data")["note"], "theirs");

        notes.delete("llama-note", &DeleteParams::default()).await.expect("deleted");
        services.delete("llama", &DeleteParams::default()).await.expect("deleted");
        nursery.until("nothing lacks", || async { nursery.status().await["lacking"] == json!([]) }).await;
        assert_eq!(notes.get("llama-note").await.expect("a note").owner_references()[0].kind, "Toy");
        assert_eq!(services.get("llama").await.expect("a service").owner_references()[0].kind, "LockstepSet");
    });
}

#[test]
fn another_object_is_read_beside_it() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1"})).await;
        nursery.until_images(&["toy:1"]).await;
        nursery.apply("ToyBox", "toyboxes", "llama", json!({"size": 3})).await;
        nursery.until_images(&["toy:1", "toy:1", "toy:1"]).await;
        nursery.of("ToyBox", "toyboxes").delete("llama", &DeleteParams::default()).await.expect("deleted");
        nursery.until_images(&["toy:1"]).await;
    });
}

#[test]
fn a_paused_set_stays_paused_and_other_changes_of_its_spec_do_not_stay() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 2, "image": "toy:1"})).await;
        nursery.until_phase("Complete").await;
        let sets = nursery.sets();
        let patch = async |spec: Value| {
            let patch = Patch::Merge(json!({"spec": spec}));
            sets.patch("llama", &PatchParams::apply("cli"), &patch).await.expect("patched");
        };
        patch(json!({"paused": true})).await;
        nursery.toy(json!({"size": 2, "image": "toy:2"})).await;
        nursery.until_phase("Paused").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(nursery.images().await, ["toy:1", "toy:1"]);
        patch(json!({"paused": false, "replicas": 2})).await;
        nursery.until_images(&["toy:2", "toy:2"]).await;
        let set = nursery.sets().get("llama").await.expect("the set");
        assert_eq!(set.data["spec"]["replicas"], 1);
    });
}

#[test]
fn the_next_operator_goes_on_where_the_last_was_killed() {
    in_virtual_time(async {
        let nursery = Nursery::open().await;
        let mut operator = nursery.operator();
        nursery.toy(json!({"size": 3, "image": "toy:0", "note": "n"})).await;
        nursery.until_images(&["toy:0"; 3]).await;
        for round in 1..=6u64 {
            let image = format!("toy:{round}");
            nursery.toy(json!({"size": 3, "image": image, "note": image})).await;
            tokio::time::sleep(Duration::from_millis(round * 7)).await;
            drop(operator);
            tokio::time::sleep(Duration::from_secs(1)).await;
            operator = nursery.operator();
            nursery.until_images(&[image.as_str(); 3]).await;
            nursery.until_phase("Complete").await;
        }
        nursery.toys().delete("llama", &DeleteParams::default()).await.expect("deleted");
        nursery.until_images(&[]).await;
    });
}

#[test]
fn definitions_of_somebody_else_are_left_alone_until_they_are_ours() {
    in_virtual_time(async {
        let embedded = Embedded::start(0, &nodes()).await.expect("an embedded cluster");
        let client = embedded.client();
        for mut definition in Toys.definitions() {
            definition["metadata"]["labels"] = json!({});
            lockstep_testkit::cluster::define(&client, &definition).await.expect("a kind");
        }
        let nursery = Nursery { embedded, client };
        let _operator = nursery.operator();
        nursery.toy(json!({"size": 1, "image": "toy:1"})).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(nursery.sets().get_opt("llama").await.expect("read").is_none());
        let told = nursery.events("CustomResourceDefinition").await;
        assert!(told.len() == 2 && told[0].0 == "NotServed", "{told:?}");
        for definition in Toys.definitions() {
            lockstep_testkit::cluster::define(&nursery.client, &definition).await.expect("ours");
        }
        nursery.until_images(&["toy:1"]).await;
    });
}
