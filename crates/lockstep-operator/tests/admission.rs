//! Admission as a user meets it: a real API server, kubectl, and certificates that change under it.

#![allow(clippy::expect_used)]

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::watch_object;
use lockstep_operator::admission::{self, Limits};
use lockstep_operator::certificates::stored::Stored;
use lockstep_operator::certificates::{Lifetimes, SecretStore, bundle};
use lockstep_operator::metrics::Metrics;
use lockstep_operator::serve::{
    Readiness, ServingCertificate, Trigger, health, serve_plain, serve_tls, shutdown,
};
use lockstep_testkit::{Cluster, Component};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

const CONFLICT: &str = include_str!("../../../examples/conflict.yaml");
const FINE: &str = include_str!("../../../examples/prefill-decode.yaml");
const SECRET: &str = "lockstep-webhook-cert";

/// Long enough for anything that happens.
const SOON: Duration = Duration::from_secs(60);

/// One replica of the operator, as far as admission goes.
struct Replica {
    port: u16,
    health: u16,
    metrics: Metrics,
    shown: Arc<ServingCertificate>,
    trigger: Trigger,
    tasks: JoinSet<()>,
}

impl Replica {
    async fn start(client: kube::Client, lives: Lifetimes, limits: Limits) -> Self {
        let bind = async || TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (listener, plain) = (bind().await, bind().await);
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let (port, health_port) = (port(&listener), port(&plain));
        let (metrics, readiness) = (Metrics::new(), Readiness::default());
        let shown = ServingCertificate::none();
        let (trigger, told) = shutdown();
        let (authorities, trusted) = watch::channel(None);
        let mut tasks = JoinSet::new();

        let router = health(metrics.clone(), readiness.clone());
        let plain_told = told.clone();
        tasks.spawn(async move { serve_plain(plain, router, plain_told).await.expect("served") });
        let (router, certificate) =
            (admission::router(metrics.clone(), limits, None, None), Arc::clone(&shown));
        tasks.spawn(async move { serve_tls(listener, router, certificate, told).await.expect("served") });
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let store = SecretStore::new(client.clone(), "default", SECRET, names).lifetimes(lives);
        let certificate = Arc::clone(&shown);
        tasks.spawn(async move { store.follow(&certificate, &readiness, &authorities).await });
        tasks.spawn(async move { bundle::keep_all(&client, "lockstep", None, trusted).await });
        let replica = Self { port, health: health_port, metrics, shown, trigger, tasks };
        tokio::time::timeout(SOON, replica.ready()).await.expect("it gets a certificate");
        replica
    }

    /// Nobody is sent to a replica that is not ready.
    async fn ready(&self) {
        while !self.get("/readyz").await.starts_with("HTTP/1.1 200") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the plain server says, with its status line.
    async fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.health)).await.expect("connected");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answered");
        answer
    }
}

/// A kind that accepts anything, as the API server's schema is not what is tested.
fn crd() -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lockstepsets.lockstep.dev"},
        "spec": {
            "group": "lockstep.dev", "scope": "Namespaced",
            "names": {"plural": "lockstepsets", "singular": "lockstepset", "kind": "LockstepSet"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    })
}

fn configuration(port: u16) -> ValidatingWebhookConfiguration {
    serde_json::from_value(json!({
        "metadata": {"name": "lockstep"},
        "webhooks": [{
            "name": "validate.lockstep.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "timeoutSeconds": 10,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/validate")},
            "rules": [{
                "apiGroups": ["lockstep.dev"], "apiVersions": ["*"], "resources": ["lockstepsets"],
                "operations": ["CREATE", "UPDATE"],
            }],
        }],
    }))
    .expect("a configuration")
}

/// A cluster that knows the kind and asks the replica, and has begun to.
struct World {
    cluster: Cluster,
    kubectl: PathBuf,
    /// With the rights an operator is installed with, and no others.
    operator: kube::Client,
}

/// What the operator may do here, as `lockstep install` has it.
fn rights() -> Value {
    let version = "rbac.authorization.k8s.io/v1";
    let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}]);
    let role = |kind| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "operator"});
    let metadata = json!({"name": "operator"});
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET],
             "verbs": ["get", "list", "watch", "update"]},
        ]},
        {"apiVersion": version, "kind": "RoleBinding", "metadata": metadata, "roleRef": role("Role"),
         "subjects": subjects},
        {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"],
             "resourceNames": ["lockstep"], "verbs": ["get", "list", "watch", "patch"]},
        ]},
        {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata,
         "roleRef": role("ClusterRole"), "subjects": subjects},
    ]})
}

impl World {
    async fn start() -> Option<Self> {
        let builder = Cluster::builder().without(Component::Scheduler).without(Component::ControllerManager);
        let cluster =
            builder.our_own("rights, which an embedded cluster does not tell apart").start_or_skip().await?;
        let kubectl = cluster.program("kubectl").expect("kubectl");
        let operator =
            cluster.access_as("operator", &[]).expect("our own").client("operator").await.expect("a client");
        let world = Self { cluster, kubectl, operator };
        let made = world.kubectl(&["create", "-f", "-"], &rights().to_string()).await;
        assert!(made.status.success(), "{}", said(&made));
        let made = world.kubectl(&["create", "-f", "-"], &crd().to_string()).await;
        assert!(made.status.success(), "{}", said(&made));
        let wait = ["wait", "--for=condition=Established", "crd/lockstepsets.lockstep.dev", "--timeout=30s"];
        assert!(world.kubectl(&wait, "").await.status.success());
        Some(world)
    }

    async fn register(&self, replica: &Replica) {
        let all: Api<ValidatingWebhookConfiguration> = Api::all(self.cluster.client());
        all.create(&PostParams::default(), &configuration(replica.port)).await.expect("registered");
        let asked = async {
            // The API server notices after a moment; until then everything passes, or nothing.
            while !replica.metrics.encode().contains("lockstep_admission_reviews_total{") {
                self.kubectl(&["create", "--dry-run=server", "-f", "-"], FINE).await;
            }
        };
        tokio::time::timeout(SOON, asked).await.expect("the webhook is asked");
    }

    async fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = tokio::process::Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.cluster.kubeconfig()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl runs");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).await.expect("written");
        child.wait_with_output().await.expect("kubectl ends")
    }

    fn sets(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("lockstep.dev", "v1alpha1", "LockstepSet");
        Api::default_namespaced_with(
            self.cluster.client(),
            &ApiResource::from_gvk_with_plural(&kind, "lockstepsets"),
        )
    }

    async fn stored(&self) -> Stored {
        let secrets: Api<Secret> = Api::default_namespaced(self.cluster.client());
        let secret = secrets.get(SECRET).await.expect("a secret");
        Stored::from_data(&secret.data.expect("data")).expect("all parts")
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn what_a_user_sees() {
    let Some(world) = World::start().await else { return };
    let replica = Replica::start(world.operator.clone(), Lifetimes::default(), Limits::default()).await;
    world.register(&replica).await;

    // Every error at once.
    let bad = FINE.replacen("replicas: 2", "replicas: -2", 1).replacen("minAvailable", "minAvailabel", 1);
    assert_ne!(bad, FINE);
    let output = world.kubectl(&["apply", "-f", "-"], &bad).await;
    let text = said(&output);
    assert!(!output.status.success());
    let problems = lockstep_api::parse(&bad).expect_err("it is wrong");
    assert!(problems.len() >= 2, "{problems:?}");
    assert!(text.starts_with("The LockstepSet \"llama\" is invalid"), "{text}");
    for problem in &problems {
        assert!(
            text.contains(&problem.path) && text.contains(&problem.message),
            "{problem}\nis not in\n{text}"
        );
    }

    // Rules that block each other, by name, and what to do.
    let output = world.kubectl(&["apply", "-f", "-"], CONFLICT).await;
    let text = said(&output);
    assert!(!output.status.success());
    assert!(text.contains("an update of every role cannot finish"), "{text}");
    assert!(
        text.contains("prefill-first (steps) and spec.coordination[0] together (skew) block each other"),
        "{text}"
    );
    assert!(
        text.contains("Raise maxSkew of together, or move decode in step 1 of prefill-first too."),
        "{text}"
    );

    // What is right passes without a word; an update that cannot finish does not.
    let output = world.kubectl(&["apply", "-f", "-"], FINE).await;
    assert!(output.status.success() && !said(&output).contains("Warning"), "{}", said(&output));
    let output = world.kubectl(&["annotate", "lockstepset", "llama", "a=b"], "").await;
    assert!(output.status.success(), "{}", said(&output));

    // What is accepted but probably not meant.
    let odd =
        FINE.replacen("name: llama", "name: odd", 1).replacen("maxSurge: 1", "maxSurge: 1, partition: 4", 1);
    let warnings = lockstep_api::parse(&odd).expect("it is right").warnings;
    assert!(!warnings.is_empty());
    let output = world.kubectl(&["apply", "-f", "-"], &odd).await;
    assert!(output.status.success(), "{}", said(&output));
    for warning in &warnings {
        assert!(said(&output).contains(&format!("Warning: {warning}")), "{warning}\n{}", said(&output));
    }

    // The rights suffice, to watch, too.
    let secrets: Api<Secret> = Api::default_namespaced(world.operator.clone());
    let seen = watch_object(secrets, SECRET).boxed().next().await.expect("an answer");
    assert!(seen.expect("allowed").is_some());
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(world.operator.clone());
    assert!(
        watch_object(hooks, "lockstep").boxed().next().await.expect("an answer").expect("allowed").is_some()
    );

    // Health and metrics.
    assert!(replica.get("/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(replica.get("/readyz").await.starts_with("HTTP/1.1 200"));
    let metrics = replica.get("/metrics").await;
    assert!(
        metrics.contains("openmetrics") && metrics.contains("lockstep_admission_reviews_total"),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_proof_that_takes_too_long_stops_nobody() {
    let Some(world) = World::start().await else { return };
    let hurried = Limits { proof: Duration::ZERO, ..Limits::default() };
    let replica = Replica::start(world.operator.clone(), Lifetimes::default(), hurried).await;
    world.register(&replica).await;
    let output = world.kubectl(&["apply", "-f", "-"], CONFLICT).await;
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("Warning: spec: nobody knows whether this rollout can finish"),
        "{}",
        said(&output)
    );

    // It got in, and somebody with more time looks at it. To take a finalizer off and to delete it stays possible.
    let mut set = world.sets().get("stuck").await.expect("it is there");
    set.data["spec"]["roles"][0]["template"]["spec"]["containers"][0]["image"] = json!("other:2");
    set.data["spec"]["roles"][1]["template"]["spec"]["containers"][0]["image"] = json!("other:2");
    let patient = Replica::start(world.operator.clone(), Lifetimes::default(), Limits::default()).await;
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(world.cluster.client());
    let url = format!("https://127.0.0.1:{}/validate", patient.port);
    let patch = json!({"webhooks": [{"name": "validate.lockstep.dev", "clientConfig": {"url": url}}]});
    hooks.patch("lockstep", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("moved");
    let refused = async {
        loop {
            let dry_run = PostParams { dry_run: true, ..PostParams::default() };
            if let Err(kube::Error::Api(status)) = world.sets().replace("stuck", &dry_run, &set).await {
                return status;
            }
        }
    };
    let status = tokio::time::timeout(SOON, refused).await.expect("asked");
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");
    assert!(status.message.contains("this update cannot finish"), "{status:?}");
    let causes = status.details.expect("details").causes;
    assert_eq!((causes.len(), causes[0].field.as_str()), (1, "spec.coordination[0]"));
    let finalizer = json!({"metadata": {"finalizers": ["x.dev/y"]}});
    let sets = world.sets();
    sets.patch("stuck", &PatchParams::default(), &Patch::Merge(&finalizer))
        .await
        .expect("the spec is the same");
    sets.delete("stuck", &Default::default()).await.expect("on its way");
    let finalizer = json!({"metadata": {"finalizers": null}, "spec": {"replicas": 7}});
    sets.patch("stuck", &PatchParams::default(), &Patch::Merge(&finalizer)).await.expect("gone");
}

#[tokio::test]
async fn certificates_change_and_no_review_is_lost() {
    let Some(world) = World::start().await else { return };
    let seconds = Duration::from_secs;
    let lives =
        Lifetimes { authority: seconds(18), certificate: seconds(6), overlap: seconds(3), skew: seconds(1) };
    let one = Replica::start(world.operator.clone(), lives, Limits::default()).await;
    let two = Replica::start(world.operator.clone(), lives, Limits::default()).await;
    world.register(&one).await;
    let first = world.stored().await.read().expect("readable");

    let end = tokio::time::Instant::now() + seconds(25);
    let mut load = JoinSet::new();
    for name in ["llama", "stuck"] {
        let (sets, yaml) = (world.sets(), if name == "stuck" { CONFLICT } else { FINE });
        let set: DynamicObject =
            serde_json::from_value(lockstep_api::yaml_to_json(yaml).expect("YAML")).expect("an object");
        load.spawn(async move {
            let dry_run = PostParams { dry_run: true, ..PostParams::default() };
            let mut asked = 0;
            while tokio::time::Instant::now() < end {
                match (name, sets.create(&dry_run, &set).await) {
                    ("llama", Ok(_)) => asked += 1,
                    ("stuck", Err(kube::Error::Api(status))) if status.code == 422 => asked += 1,
                    (_, other) => panic!("after {asked} reviews of {name}: {other:?}"),
                }
            }
            assert!(asked > 50, "only {asked}");
        });
    }
    // What an API server with a new connection would meet, at any moment, from either replica.
    for port in [one.port, two.port] {
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(world.cluster.client());
        load.spawn(async move {
            while tokio::time::Instant::now() < end {
                let hook = hooks.get("lockstep").await.expect("there").webhooks.expect("one").remove(0);
                let trusted = hook.client_config.ca_bundle.expect("authorities").0;
                let answer = post(port, &trusted, "nonsense").await.expect("a handshake");
                assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    }
    while let Some(done) = load.join_next().await {
        done.expect("nothing was lost");
    }
    let last = world.stored().await.read().expect("readable");
    assert_ne!(first.authorities[0].subject, last.authorities[0].subject, "the authority has changed");
    assert!(last.authorities.iter().all(|authority| authority.subject != first.authorities[0].subject));
    assert_eq!(one.shown.chain(), two.shown.chain(), "both show the same");

    // In the end it stops accepting.
    let Replica { trigger, port, tasks, .. } = one;
    trigger.shut_down();
    let refused = async { while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {} };
    tokio::time::timeout(SOON, refused).await.expect("closed");
    drop(tasks);
}

/// Asks the webhook over a connection of its own, trusting these authorities and nobody else.
async fn post(port: u16, authorities: &[u8], body: &str) -> std::io::Result<String> {
    let mut roots = rustls::RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(authorities) {
        roots.add(authority.expect("PEM")).expect("an authority");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let length = body.len();
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
