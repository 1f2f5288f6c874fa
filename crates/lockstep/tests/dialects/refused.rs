//! Dialects as they are installed: rights, admission and conversion on a real API server.

use lockstep_testkit::Cluster;

use crate::cluster::Stage;
use crate::installed::{Installed, USER, until};
use crate::theirs::{MODEL_SERVING, POD_CLIQUE_SET, ROLE_BASED_GROUP};

/// A group in the older version.
const OLDER: &str = "
apiVersion: workloads.x-k8s.io/v1alpha1
kind: RoleBasedGroup
metadata: {name: older}
spec:
  roles:
  - name: decode
    replicas: 1
    template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

/// A set whose pods share a claim.
const SHARING: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: sharing}
spec:
  replicas: 1
  template:
    resourceClaimTemplates:
    - {name: fabric, templateSpec: {spec: {}}}
    resourceSharing:
    - {name: fabric, scope: AllReplicas}
    cliques:
    - {name: worker, spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: main, image: 'vllm:1'}]}}}
";

/// Tries to apply a manifest, and gives what is said.
async fn tried(installed: &Installed, stage: &Stage<'_>, manifest: &str) -> Result<String, String> {
    let path = installed.cluster.dir().expect("a folder").join("tried.yaml");
    std::fs::write(&path, manifest).expect("written");
    let (file, namespace) = (path.display().to_string(), format!("--namespace={}", stage.namespace));
    let done = installed.kubectl(&["apply", "-f", &file, &namespace]).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
}

#[tokio::test]
async fn as_installed_they_are_checked_converted_and_served() {
    let dialects = ["--dialects", "rbg,kthena,grove"];
    let Some(installed) = Installed::start_with(Cluster::builder(), &dialects).await else { return };
    let replica = installed.replica("lockstep-a").await;
    installed.route_admission_to(&replica).await;
    installed.until_leading(&replica).await;
    let stage = Stage::new(&installed.cluster).await;

    // In their terms, by whoever knows more than a schema can say.
    let order = "rolloutStrategy: {type: RoleRollingUpdate, rollingUpdateConfiguration: {roleUpgrade: {steps: \
                 [{role: decode, updateTo: 1}]}}}";
    let bad = MODEL_SERVING.manifest.replace("  replicas: 2", &format!("  replicas: 2\n  {order}"));
    until("what is wrong is refused in their terms", async || {
        let said = tried(&installed, &stage, &bad).await.expect_err("it must never be let in");
        println!("{said}");
        said.contains("spec.rolloutStrategy.rollingUpdateConfiguration.roleUpgrade: only with type Serving")
    })
    .await;

    until("the older version is taken and converted", async || {
        tried(&installed, &stage, OLDER).await.is_ok()
    })
    .await;
    let newer =
        stage.kubectl(&["get", "rolebasedgroups.v1alpha2.workloads.x-k8s.io", "older", "-o", "json"]).await;
    assert!(newer.contains("standalonePattern"), "{newer}");
    let older =
        stage.kubectl(&["get", "rolebasedgroups.v1alpha1.workloads.x-k8s.io", "older", "-o", "json"]).await;
    assert!(!older.contains("standalonePattern"), "{older}");
    stage
        .until("its pod is ready", |pods| pods.iter().any(|pod| pod.name == "older-decode-0" && pod.ready))
        .await;

    // An embedded cluster has no claims.
    if !installed.cluster.is_embedded() {
        stage.apply(SHARING).await;
        stage
            .until("its pods share a claim and are ready", |pods| {
                pods.iter().filter(|pod| pod.name.starts_with("sharing-") && pod.ready).count() == 2
            })
            .await;
        stage.kubectl(&["get", "resourceclaims", "sharing-all-fabric"]).await;
    }

    for row in [MODEL_SERVING, ROLE_BASED_GROUP, POD_CLIQUE_SET] {
        let stage = Stage::new(&installed.cluster).await;
        row.apply(&stage, "vllm:1").await;
        row.until_all_are(&stage, "vllm:1").await;
        row.until_said(&stage).await;
        row.apply(&stage, "vllm:2").await;
        row.until_all_are(&stage, "vllm:2").await;
        row.until_said(&stage).await;
    }
    let audit = installed.cluster.audit().expect("the audit log");
    let refused: Vec<_> =
        audit.entries().iter().filter(|entry| entry.user == USER && entry.status == 403).cloned().collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
