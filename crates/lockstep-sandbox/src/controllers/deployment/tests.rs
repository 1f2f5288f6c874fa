use serde_json::{Value, json};

use crate::controllers::testing::{World, node};
use crate::controllers::{Propagation, key, read};
use crate::store::Key;

fn deployment(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "a", "annotations": {"note": "x"}},
        "spec": {
            "replicas": replicas, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "v1"}]},
            },
        },
    })
}

fn world() -> World {
    let mut world = World::with(&[
        "deployment-controller",
        "replicaset-controller",
        "kube-scheduler",
        "garbage-collector-controller",
    ]);
    for name in ["n0", "n1", "n2"] {
        world.put("nodes", node(name, "64", "0"));
    }
    world
}

fn set_image(world: &mut World, key: &Key, image: &str) {
    world.edit(key, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image));
}

fn condition(world: &World, key: &Key, kind: &str) -> (String, String, String) {
    let object = world.get(key);
    let found = read::condition(&object, kind).cloned().unwrap_or_default();
    let field = |name: &str| read::text(&found[name]).to_owned();
    (field("status"), field("reason"), field("message"))
}

/// How large each set is, by the image of its pods.
fn sizes(world: &World) -> Vec<(String, i64)> {
    let sets = world.list("replicasets.apps");
    let mut sizes: Vec<(String, i64)> = sets
        .iter()
        .map(|set| {
            let image = read::text(&set["spec"]["template"]["spec"]["containers"][0]["image"]);
            (image.to_owned(), read::number(&set["spec"]["replicas"]))
        })
        .collect();
    sizes.sort();
    sizes
}

fn sized(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(image, size)| ((*image).to_owned(), *size)).collect()
}

#[test]
fn a_new_deployment() {
    for forgetful in [false, true] {
        let mut world = world();
        world.forgetful = forgetful;
        let key = world.put("deployments.apps", deployment(2));
        world.settle();
        let sets = world.list("replicasets.apps");
        assert_eq!(sets.len(), 1);
        let hash = read::text(&sets[0]["metadata"]["labels"]["pod-template-hash"]).to_owned();
        let name = format!("web-{hash}");
        assert_eq!(read::name(&sets[0]), name);
        assert_eq!(
            sets[0]["spec"]["selector"]["matchLabels"],
            json!({"app": "web", "pod-template-hash": hash})
        );
        let annotations = json!({
            "note": "x", "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "2", "deployment.kubernetes.io/max-replicas": "3",
        });
        assert_eq!(sets[0]["metadata"]["annotations"], annotations);
        let web = world.get(&key);
        assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
        let mut status = web["status"].clone();
        let conditions = status["conditions"].take();
        let counts = json!({
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
            "availableReplicas": 2, "terminatingReplicas": 0, "conditions": null,
        });
        assert_eq!(status, counts);
        assert_eq!(conditions.as_array().map(Vec::len), Some(2));
        let done = format!("ReplicaSet \"{name}\" has successfully progressed.");
        let progressing = condition(&world, &key, "Progressing");
        assert_eq!(progressing, ("True".to_owned(), "NewReplicaSetAvailable".to_owned(), done));
        assert_eq!(condition(&world, &key, "Available").1, "MinimumReplicasAvailable");
        let scaled = world.events.iter().find(|event| event.reason == "ScalingReplicaSet").expect("an event");
        assert_eq!(scaled.message, format!("Scaled up replica set {name} from 0 to 2"));
    }
}

/// Pods that have a node, are not about to go, and are available.
fn running(world: &World) -> (i64, i64) {
    let pods = world.list("pods");
    let active = pods.iter().filter(|pod| read::is_active(pod));
    let ready = active.clone().filter(|pod| read::condition_status(pod, "Ready") == "True");
    (i64::try_from(active.count()).expect("few"), i64::try_from(ready.count()).expect("few"))
}

#[test]
fn a_rollout_keeps_its_bounds() {
    for (replicas, surge, unavailable) in [
        (1, json!(1), json!(0)),
        (4, json!("25%"), json!("25%")),
        (10, json!(0), json!(3)),
        (10, json!("30%"), json!(0)),
        (7, json!("100%"), json!("100%")),
        (3, json!(0), json!(0)),
    ] {
        for forgetful in [false, true] {
            let mut world = world();
            world.forgetful = forgetful;
            let mut web = deployment(replicas);
            web["spec"]["strategy"]["rollingUpdate"] =
                json!({"maxSurge": surge, "maxUnavailable": unavailable});
            let size = super::set::Size::read(&web);
            let key = world.put("deployments.apps", web);
            world.settle();
            set_image(&mut world, &key, "v2");
            let mut rounds = 0;
            while world.round() > 0 {
                let (active, ready) = running(&world);
                let what = format!("{replicas} {surge} {unavailable}: {active} active, {ready} ready");
                assert!(active <= size.most(), "{what}");
                assert!(ready >= size.least(), "{what}");
                rounds += 1;
                assert!(rounds < 300, "{what}");
            }
            assert_eq!(sizes(&world), sized(&[("v1", 0), ("v2", replicas)]));
            assert_eq!(condition(&world, &key, "Progressing").1, "NewReplicaSetAvailable");
            assert_eq!(world.get(&key)["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
        }
    }
}

#[test]
fn going_back_finds_the_old_set() {
    let mut world = world();
    let key = world.put("deployments.apps", deployment(2));
    world.settle();
    for image in ["v2", "v3", "v1"] {
        set_image(&mut world, &key, image);
        world.settle();
    }
    assert_eq!(sizes(&world), sized(&[("v1", 2), ("v2", 0), ("v3", 0)]));
    let sets = world.list("replicasets.apps");
    let first = sets.iter().find(|set| set["spec"]["replicas"] == 2).expect("the first set");
    let annotations = &first["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "4");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn only_so_many_old_sets_are_kept() {
    let mut world = world();
    let mut web = deployment(1);
    web["spec"]["revisionHistoryLimit"] = json!(1);
    let key = world.put("deployments.apps", web);
    for image in ["v2", "v3", "v4"] {
        world.settle();
        set_image(&mut world, &key, image);
    }
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v3", 0), ("v4", 1)]));
}

#[test]
fn recreate_waits_until_the_old_are_gone() {
    let mut world = world();
    world.pods_end = false;
    let mut web = deployment(2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    let deployment = world.put("deployments.apps", web);
    world.settle();
    let old = world.names("pods");
    set_image(&mut world, &deployment, "v2");
    world.settle();
    // They are asked to go, but are still there: no new one may come.
    assert_eq!(world.names("pods"), old);
    assert_eq!(sizes(&world), sized(&[("v1", 0)]));
    world.pods_end = true;
    for name in old {
        world.delete(&key("pods", "a", &name), Propagation::Background);
    }
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v1", 0), ("v2", 2)]));
    assert_eq!(condition(&world, &deployment, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn a_paused_one_scales_but_does_not_roll() {
    let mut world = world();
    let key = world.put("deployments.apps", deployment(2));
    world.settle();
    world.edit(&key, |web| {
        web["spec"]["paused"] = json!(true);
        web["spec"]["replicas"] = json!(3);
    });
    set_image(&mut world, &key, "v2");
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v1", 3)]));
    let paused = ("Unknown".to_owned(), "DeploymentPaused".to_owned(), "Deployment is paused".to_owned());
    assert_eq!(condition(&world, &key, "Progressing"), paused);
    world.edit(&key, |web| web["spec"]["paused"] = json!(false));
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v1", 0), ("v2", 3)]));
}

#[test]
fn scaling_in_the_middle_is_in_proportion() {
    let mut world = world();
    let mut web = deployment(10);
    web["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 3, "maxUnavailable": 2});
    let key = world.put("deployments.apps", web);
    world.settle();
    // The new ones never get ready.
    world.pods_run = false;
    set_image(&mut world, &key, "v2");
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v1", 8), ("v2", 5)]));
    world.edit(&key, |web| web["spec"]["replicas"] = json!(15));
    world.settle();
    assert_eq!(sizes(&world), sized(&[("v1", 11), ("v2", 7)]));
}

#[test]
fn a_rollout_that_is_stuck_is_told() {
    let mut world = world();
    let mut web = deployment(2);
    web["spec"]["progressDeadlineSeconds"] = json!(10);
    let key = world.put("deployments.apps", web);
    world.settle();
    world.pods_run = false;
    set_image(&mut world, &key, "v2");
    world.settle();
    assert_eq!(condition(&world, &key, "Progressing").1, "ReplicaSetUpdated");
    world.pass(10);
    assert_eq!(condition(&world, &key, "Progressing").1, "ReplicaSetUpdated");
    world.pass(1);
    let (status, reason, message) = condition(&world, &key, "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ProgressDeadlineExceeded"));
    assert!(message.ends_with("has timed out progressing."), "{message}");
    assert_eq!(condition(&world, &key, "Available").0, "True");
    world.pods_run = true;
    world.settle();
    assert_eq!(condition(&world, &key, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn a_set_that_has_its_name_makes_it_take_another() {
    let mut world = world();
    let key = world.put("deployments.apps", deployment(1));
    world.settle();
    let taken = world.names("replicasets.apps").remove(0);
    let mut other = self::world();
    let stranger = json!({
        "metadata": {"name": taken, "namespace": "a", "labels": {"app": "other"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "other"}}, "template": {}},
    });
    other.put("replicasets.apps", stranger);
    other.put("deployments.apps", deployment(1));
    other.settle();
    assert_eq!(other.names("replicasets.apps").len(), 2);
    assert_eq!(other.get(&key)["status"]["collisionCount"], 1);
    assert_eq!(condition(&other, &key, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn a_set_that_cannot_be_created_is_told() {
    let mut world = world();
    world.refuse = Some("replicasets.apps");
    let key = world.put("deployments.apps", deployment(1));
    world.settle();
    let (status, reason, message) = condition(&world, &key, "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ReplicaSetCreateError"));
    assert!(message.starts_with("Failed to create new replica set \"web-"), "{message}");
    assert_eq!(world.reasons()["ReplicaSetCreateError"], 1);
    world.refuse = None;
    world.pass(2);
    assert_eq!(condition(&world, &key, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn what_is_deleted_takes_all_with_it() {
    let mut world = world();
    let key = world.put("deployments.apps", deployment(2));
    world.settle();
    world.delete(&key, Propagation::Foreground);
    world.settle();
    assert!(world.list("deployments.apps").is_empty());
    assert!(world.list("replicasets.apps").is_empty());
    assert!(world.list("pods").is_empty());
}
