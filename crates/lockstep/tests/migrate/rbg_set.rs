//! RoleBasedGroupSets: groups below the set, and below them leaders with workers of their own, which LeaderWorkerSets
//! made.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::laid::{Laid, made, owner, pod};
use crate::watched::Watched;

const LLAMA: &str = "
apiVersion: workloads.x-k8s.io/v1alpha1
kind: RoleBasedGroupSet
metadata: {name: llama}
spec:
  replicas: 2
  template:
    roles:
    - name: decode
      replicas: 1
      template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
    - name: prefill
      replicas: 1
      workload: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet}
      leaderWorkerSet: {size: 2, patchLeaderTemplate: null, patchWorkerTemplate: null}
      template: {spec: {containers: [{name: main, image: 'vllm:1'}]}}
";

const V1ALPHA1: &str = "workloads.x-k8s.io/v1alpha1";
const V1ALPHA2: &str = "workloads.x-k8s.io/v1alpha2";
const LEADERS: &str = "leaderworkerset.x-k8s.io/v1";
/// Stands where StatefulSets do: where Kubernetes runs those itself, it would make pods of its own.
const PODS_OF: (&str, &str) = (V1ALPHA2, "RoleInstanceSet");

/// One group and what belongs to it.
struct Group<'a> {
    laid: &'a Laid,
    object: Value,
    name: String,
}

impl Group<'_> {
    async fn of<'a>(laid: &'a Laid, set: &Value, group: u32) -> Group<'a> {
        let name = format!("llama-{group}");
        let object = laid.create(made(V1ALPHA1, "RoleBasedGroup", &name, set, json!({"roles": []}))).await;
        let config = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [owner(&object)]}, "data": {"config.yaml": "{}"},
        });
        laid.create(config).await;
        Group { laid, object, name }
    }

    async fn pods_of(&self, name: &str, of: &Value) -> Value {
        self.laid.create(made(PODS_OF.0, PODS_OF.1, name, of, json!({}))).await
    }

    /// A pod with the config map of its group.
    async fn pod(
        &self,
        role: &str,
        (name, service): (&str, &str),
        of: &Value,
        image: &str,
        env: Value,
    ) -> Value {
        let labels = json!({
            "rolebasedgroup.workloads.x-k8s.io/name": self.name,
            "rolebasedgroup.workloads.x-k8s.io/role": role,
        });
        let items = json!([{"key": "config.yaml", "path": "config.yaml"}]);
        let spec = json!({
            "hostname": name, "subdomain": service,
            "volumes": [{"name": "rbg-cluster-config", "configMap": {"name": self.name, "items": items}}],
        });
        let mut pod = pod(name, of, labels, spec, image, env);
        let mount = json!({"name": "rbg-cluster-config", "mountPath": "/etc/rbg", "readOnly": true});
        pod["spec"]["containers"][0]["volumeMounts"] = json!([mount]);
        self.laid.create(pod).await
    }

    async fn decode(&self) {
        let workload = format!("{}-decode", self.name);
        let owner = self.pods_of(&workload, &self.object).await;
        let at = (format!("{workload}-0"), format!("s-{workload}"));
        self.pod("decode", (&at.0, &at.1), &owner, "vllm:1", json!([])).await;
    }

    /// A LeaderWorkerSet makes leaders, and each leader has its workers.
    async fn prefill(&self, image: &str) {
        let workload = format!("{}-prefill", self.name);
        let set =
            self.laid.create(made(LEADERS, "LeaderWorkerSet", &workload, &self.object, json!({}))).await;
        let env = |k: u32| {
            let leader = format!("{workload}-0.{workload}.{}", self.laid.namespace);
            json!([
                {"name": "LWS_LEADER_ADDRESS", "value": leader},
                {"name": "LWS_GROUP_SIZE", "value": "2"},
                {"name": "LWS_WORKER_INDEX", "value": k.to_string()},
            ])
        };
        let (first, second) = (format!("{workload}-0"), format!("{workload}-0-1"));
        let leaders = self.pods_of(&workload, &set).await;
        let leader = self.pod("prefill", (&first, &workload), &leaders, image, env(0)).await;
        let workers = self.pods_of(&first, &leader).await;
        self.pod("prefill", (&second, &workload), &workers, image, env(1)).await;
    }
}

/// Two groups, the prefill of the second of an older template.
async fn lay(laid: &Laid) {
    let set = laid.apply(LLAMA).await;
    for (group, image) in [(0, "vllm:1"), (1, "vllm:0")] {
        let group = Group::of(laid, &set, group).await;
        group.decode().await;
        group.prefill(image).await;
    }
    laid.until_ready(6).await;
}

fn role(pod: &Pod) -> Option<String> {
    Some(pod.labels().get("rolebasedgroup.workloads.x-k8s.io/role")?.clone())
}

#[tokio::test]
async fn groups_of_a_set_and_leaders_with_workers_outlive_what_made_them() {
    let Some(laid) = Laid::open(lockstep_dialects::ALL[0], &[PODS_OF, (LEADERS, "LeaderWorkerSet")]).await
    else {
        return;
    };
    lay(&laid).await;
    let before = laid.uids().await;
    let plan = laid.migrate(&[]).await;
    assert!(plan.out.contains("4 stay, 2 roll"), "{}\n{}", plan.out, plan.err);
    assert_eq!(laid.uids().await, before, "a plan changes nothing");

    let watched = Watched::begin(&laid, role).await;
    let mut lines = 2;
    while laid.migrate_and_kill(lines).await {
        lines += 3;
    }
    laid.until_complete().await;
    laid.until_ready(6).await;
    let after = laid.pods().await;
    for (name, uid) in &before {
        let rolled = name.starts_with("llama-1-prefill-");
        let same = after.get(name).and_then(ResourceExt::uid).as_ref() == Some(uid);
        assert_eq!(same, !rolled, "{name}: {:?}", after.keys());
    }
    let image = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone());
    assert!(after.values().all(|pod| image(pod).as_deref() == Some("vllm:1")));
    assert_eq!(watched.least("decode"), 2);
    assert!(watched.least("prefill") >= 2, "one instance of two at a time");

    for (version, kind) in [(V1ALPHA1, "RoleBasedGroup"), (LEADERS, "LeaderWorkerSet"), PODS_OF] {
        assert_eq!(laid.count(version, kind).await.unwrap_or(0), 0, "{kind}");
    }
    // Pods that stay have it mounted.
    let configs: Api<ConfigMap> = Api::namespaced(laid.client.clone(), &laid.namespace);
    for group in ["llama-0", "llama-1"] {
        assert!(configs.get_opt(group).await.expect("read").is_some(), "{group}");
    }
}
