//! Claims that the pods of a PodCliqueSet share, with the scheduler that gives them out.

use std::collections::BTreeMap;

use lockstep_testkit::Cluster;
use serde_json::Value;

use crate::cluster::{Line, Stage, with_operator};

const MANIFEST: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llama}
spec:
  replicas: 1
  template:
    resourceClaimTemplates: [{name: net, templateSpec: {spec: {}}}]
    resourceSharing: [{name: net, scope: AllReplicas}]
    cliques:
    - name: worker
      resourceSharing: [{name: net, scope: PerReplica}]
      spec: {roleName: worker, replicas: REPLICAS, minAvailable: 1, podSpec: {containers: [{name: main, image: 'IMAGE'}]}}
";

/// The claims by name: who they are, and the pods they are given to.
async fn claims(stage: &Stage<'_>) -> BTreeMap<String, (String, Vec<String>)> {
    let listed = stage.kubectl(&["get", "resourceclaims", "-o", "json"]).await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let claim = |it: &Value| {
        let users = it["status"]["reservedFor"].as_array().into_iter().flatten();
        let mut users: Vec<String> = users.map(|user| text(&user["name"])).collect();
        users.sort();
        (text(&it["metadata"]["name"]), (text(&it["metadata"]["uid"]), users))
    };
    listed["items"].as_array().into_iter().flatten().map(claim).collect()
}

async fn until_given(stage: &Stage<'_>, expected: &[(&str, &[&str])]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for _ in 0..150 {
        found = claims(stage).await;
        let users = found
            .iter()
            .map(|(name, (_, users))| (name.as_str(), users.iter().map(String::as_str).collect()));
        if users.eq(expected.iter().map(|(name, users)| (*name, users.to_vec()))) {
            return found.into_iter().map(|(name, (uid, _))| (name, uid)).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    panic!("never {expected:?}: {found:#?}");
}

#[tokio::test]
async fn claims_are_made_given_out_kept_through_a_rollout_and_gone_with_their_pods() {
    let builder = Cluster::builder().our_own("the scheduler that gives out ResourceClaims");
    let Some((cluster, _operator)) = with_operator(builder, &[]).await else { return };
    for definition in lockstep_dialects::ALL.iter().flat_map(|dialect| dialect.definitions()) {
        cluster.define(&definition).await.expect("a kind");
    }
    let stage = Stage::new(&cluster).await;
    let apply = async |image: &str, replicas: usize| {
        stage.apply(&MANIFEST.replace("IMAGE", image).replace("REPLICAS", &replicas.to_string())).await;
        let all =
            |pods: &[Line]| pods.len() == replicas && pods.iter().all(|pod| pod.ready && pod.image == image);
        stage.until(&format!("{replicas} at {image}"), all).await;
    };
    let (first, second) = ("llama-0-worker-0", "llama-0-worker-1");
    let both: &[(&str, &[&str])] = &[
        ("llama-0-worker-0-net", &[first]),
        ("llama-0-worker-1-net", &[second]),
        ("llama-all-net", &[first, second]),
    ];
    apply("vllm:1", 2).await;
    let made = until_given(&stage, both).await;
    apply("vllm:2", 2).await;
    assert_eq!(until_given(&stage, both).await, made, "the same claims, not others of their names");
    apply("vllm:2", 1).await;
    until_given(&stage, &[("llama-0-worker-0-net", &[first]), ("llama-all-net", &[first])]).await;
    stage.kubectl(&["delete", "podcliquesets/llama", "--wait=true"]).await;
    stage.until("no pod", <[Line]>::is_empty).await;
    until_given(&stage, &[]).await;
}
