//! A namespace in which another operator has worked, and `lockstep migrate` run against it.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Client, ResourceExt};
use lockstep_api::yaml_to_json;
use lockstep_dialects::Dialect;
use lockstep_testkit::Cluster;
use lockstep_testkit::operator::Operator;
use lockstep_testkit::pods::is_ready;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::cluster::{LOCKSTEP, with_operator};

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(180);

/// A namespace in which another operator has worked.
pub struct Laid {
    pub cluster: Cluster,
    pub client: Client,
    pub namespace: String,
    _operator: Operator,
    dialect: &'static str,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Laid {
    /// A cluster that has long known the kinds, as somebody else defined them, and further ones that nobody looks after;
    /// nothing where there is none to be had.
    pub async fn open(dialect: &'static dyn Dialect, more: &[(&str, &str)]) -> Option<Self> {
        let theirs = dialect.definitions().into_iter().map(|mut definition| {
            definition["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
            // Somebody else takes what we would not.
            for version in definition["spec"]["versions"].as_array_mut().expect("versions") {
                version["schema"]["openAPIV3Schema"] = open_schema();
            }
            definition
        });
        let more = more.iter().map(|(version, kind)| nobodys(version, kind));
        let builder = Cluster::builder().kinds(theirs.chain(more));
        let (cluster, operator) = with_operator(builder, &[]).await?;
        let namespace = cluster.new_namespace("laid").await.expect("a namespace");
        let client = cluster.client();
        Some(Self { cluster, client, namespace, _operator: operator, dialect: dialect.name() })
    }

    /// Any objects of a kind in the namespace.
    pub fn api(&self, object: &Value) -> Api<DynamicObject> {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let version = text(&object["apiVersion"]);
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &text(&object["kind"])));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Creates an object, and gives it as it stands. One that a controller has made already will do.
    pub async fn create(&self, object: Value) -> Value {
        let typed: DynamicObject = serde_json::from_value(object.clone()).expect("an object");
        let api = self.api(&object);
        let made = match api.create(&PostParams::default(), &typed).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                api.get(&typed.name_any()).await.expect("it is there")
            }
            made => made.unwrap_or_else(|error| panic!("{error}: {object:#}")),
        };
        let mut made = serde_json::to_value(made).expect("JSON");
        made["apiVersion"] = object["apiVersion"].clone();
        made["kind"] = object["kind"].clone();
        made
    }

    /// How many objects of a kind there are; nothing where the cluster does not know it.
    pub async fn count(&self, version: &str, kind: &str) -> Option<usize> {
        let listed =
            self.api(&json!({"apiVersion": version, "kind": kind})).list(&ListParams::default()).await;
        match listed {
            Ok(list) => Some(list.items.len()),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates what a manifest says.
    pub async fn apply(&self, manifest: &str) -> Value {
        self.create(yaml_to_json(manifest).expect("YAML")).await
    }

    /// The pods that are not on their way out, by name.
    pub async fn pods(&self) -> BTreeMap<String, Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let pods = pods.list(&ListParams::default()).await.expect("pods").items;
        let stays = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        stays.map(|pod| (pod.name_any(), pod)).collect()
    }

    /// The UIDs of the pods, by name.
    pub async fn uids(&self) -> BTreeMap<String, String> {
        let pods = self.pods().await.into_iter();
        pods.map(|(name, pod)| (name, pod.uid().expect("a UID"))).collect()
    }

    /// Waits until it is so.
    pub async fn until(&self, what: &str, so: impl AsyncFn() -> bool) {
        let waiting = async {
            while !so().await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        if tokio::time::timeout(SOON, waiting).await.is_err() {
            let pods: Vec<_> =
                self.pods().await.into_iter().map(|(name, pod)| (name, pod.metadata.labels)).collect();
            panic!("never {what}: {pods:#?}\n{}", self.collected().await);
        }
    }

    /// The set and whom it belongs to, as they stand, and what the garbage collector knows of them.
    async fn collected(&self) -> String {
        let set = self.set().await;
        let owner = &set["metadata"]["ownerReferences"][0];
        let found = match owner["name"].as_str() {
            Some(name) => self.api(owner).get_opt(name).await.expect("read"),
            None => None,
        };
        let uids =
            [&set, &json!({"metadata": owner})].map(|it| it["metadata"]["uid"].as_str().map(str::to_owned));
        let uids: Vec<String> = uids.into_iter().flatten().collect();
        let known = self.cluster.known_to_the_collector(&uids).await;
        let owner = json!(found);
        format!("the set: {set:#}\nits owner: {owner:#}\nthe garbage collector knows:\n{known}")
    }

    /// Waits until so many pods are ready.
    pub async fn until_ready(&self, count: usize) {
        let so = async || {
            let pods = self.pods().await;
            pods.len() == count && pods.values().all(is_ready)
        };
        self.until(&format!("{count} ready"), so).await;
    }

    /// Waits until the set says that it is complete.
    pub async fn until_complete(&self) {
        let so = async || self.set().await["status"]["rollout"]["phase"] == "Complete";
        self.until("complete", so).await;
    }

    /// The set that was made.
    pub async fn set(&self) -> Value {
        let set = json!({"apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND});
        let found = self.api(&set).get_opt("llama").await.expect("read");
        serde_json::to_value(found).expect("JSON")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(LOCKSTEP);
        command.args(["migrate", self.dialect]).args(more).arg("--kubeconfig").arg(self.cluster.kubeconfig());
        command.kill_on_drop(true);
        command
    }

    /// Runs `lockstep migrate`.
    pub async fn migrate(&self, more: &[&str]) -> Ran {
        let done = self.command(more).output().await.expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
    }

    /// Runs it, and kills it as soon as it has said so many lines. Returns whether it came so far.
    pub async fn migrate_and_kill(&self, lines: usize) -> bool {
        let mut child = self.command(&["--yes"]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("its words")).lines();
        for _ in 0..lines {
            if said.next_line().await.expect("a line").is_none() {
                let _ = child.wait().await;
                return false;
            }
        }
        child.kill().await.expect("killed");
        true
    }
}

fn open_schema() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The definition of a kind that nobody looks after.
fn nobodys(version: &str, kind: &str) -> Value {
    let (group, version) = version.split_once('/').expect("a group");
    let singular = kind.to_lowercase();
    let schema = json!({"openAPIV3Schema": open_schema()});
    let version = json!({"name": version, "served": true, "storage": true, "schema": schema});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "versions": [version],
            "names": {"kind": kind, "plural": format!("{singular}s"), "singular": singular, "listKind": format!("{kind}List")},
        },
    })
}

/// The reference by which an object owns others.
pub fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

/// An object that another was made for.
pub fn made(version: &str, kind: &str, name: &str, of: &Value, spec: Value) -> Value {
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "ownerReferences": [owner(of)]}, "spec": spec,
    })
}

/// A pod as an operator lays it.
pub fn pod(name: &str, of: &Value, labels: Value, mut spec: Value, image: &str, env: Value) -> Value {
    spec["containers"] = json!([{"name": "main", "image": image, "env": env}]);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner(of)]},
        "spec": spec,
    })
}
