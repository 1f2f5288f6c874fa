use serde_json::{Value, json};

use crate::controllers::key;
use crate::controllers::testing::World;
use crate::controllers::wish::Propagation::{Background, Foreground, Orphan};
use crate::store::Key;

fn world() -> World {
    World::with(&["garbage-collector-controller"])
}

fn owned(kind: &str, name: &str, owners: &[(&World, &Key, bool)]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|(world, owner, blocks)| {
            let object = world.get(owner);
            json!({
                "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
                "uid": object["metadata"]["uid"], "blockOwnerDeletion": blocks,
            })
        })
        .collect();
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "a"}});
    if !references.is_empty() {
        object["metadata"]["ownerReferences"] = json!(references);
    }
    object
}

fn map(world: &mut World, name: &str, owners: &[&Key]) -> Key {
    let owners: Vec<(&World, &Key, bool)> = owners.iter().map(|owner| (&*world, *owner, true)).collect();
    let object = owned("ConfigMap", name, &owners);
    world.put("configmaps", object)
}

#[test]
fn dependents_follow_their_owners() {
    for forgetful in [false, true] {
        let mut world = world();
        world.forgetful = forgetful;
        let root = map(&mut world, "root", &[]);
        let child = map(&mut world, "child", &[&root]);
        map(&mut world, "grandchild", &[&child]);
        map(&mut world, "other", &[]);
        world.settle();
        assert_eq!(world.names("configmaps").len(), 4);
        world.delete(&root, Background);
        world.settle();
        assert_eq!(world.names("configmaps"), ["other"]);
    }
}

#[test]
fn who_has_another_owner_stays_and_forgets_the_one_that_went() {
    let mut world = world();
    let (one, other) = (map(&mut world, "one", &[]), map(&mut world, "other", &[]));
    let child = map(&mut world, "child", &[&one, &other]);
    world.delete(&one, Background);
    world.settle();
    let owners = &world.get(&child)["metadata"]["ownerReferences"];
    assert_eq!(owners.as_array().map(Vec::len), Some(1));
    assert_eq!(owners[0]["name"], "other");
}

#[test]
fn owners_that_never_were() {
    let owner = |kind: &str, name: &str, uid: &str| json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}]);
    for (what, owners, goes) in [
        ("another uid", owner("ConfigMap", "root", "uid-other"), true),
        ("another namespace", owner("ConfigMap", "elsewhere", "uid-elsewhere"), true),
        ("nobody of that name", owner("ConfigMap", "nobody", "uid-x"), true),
        ("the right one", owner("ConfigMap", "root", "uid-root"), false),
        ("in no namespace", owner("Namespace", "a", "uid-a"), false),
        ("an unknown kind", owner("Unheard", "root", "uid-x"), false),
    ] {
        let mut world = world();
        let named = |namespace: &str, name: &str| {
            let uid = format!("uid-{name}");
            json!({"metadata": {"name": name, "namespace": namespace, "uid": uid}})
        };
        world.put("configmaps", named("a", "root"));
        world.put("configmaps", named("b", "elsewhere"));
        world.put("namespaces", json!({"metadata": {"name": "a", "uid": "uid-a"}}));
        let child = json!({"metadata": {"name": "child", "namespace": "a", "ownerReferences": owners}});
        let child = world.put("configmaps", child);
        world.settle();
        assert_eq!(world.get(&child).is_null(), goes, "{what}");
    }
}

#[test]
fn the_owner_waits_in_the_foreground() {
    let mut world = world();
    let root = map(&mut world, "root", &[]);
    let child = map(&mut world, "child", &[&root]);
    world.edit(&child, |child| child["metadata"]["finalizers"] = json!(["x/y"]));
    let free = owned("ConfigMap", "free", &[(&world, &root, false)]);
    let free = world.put("configmaps", free);
    world.edit(&free, |free| free["metadata"]["finalizers"] = json!(["x/y"]));
    world.delete(&root, Foreground);
    world.settle();
    assert!(world.get(&child)["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(world.get(&root)["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    world.edit(&child, |child| child["metadata"]["finalizers"] = json!([]));
    world.delete(&child, Background);
    world.settle();
    // The one that does not block is not waited for.
    assert_eq!(world.names("configmaps"), ["free"]);
}

#[test]
fn the_foreground_goes_all_the_way_down() {
    let mut world = world();
    let root = map(&mut world, "root", &[]);
    let child = map(&mut world, "child", &[&root]);
    map(&mut world, "leaf", &[&child]);
    world.delete(&root, Foreground);
    world.round();
    let child = world.get(&child);
    assert_eq!(child["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    world.settle();
    assert!(world.names("configmaps").is_empty());
}

#[test]
fn orphans_stay_and_have_no_owner() {
    for forgetful in [false, true] {
        let mut world = world();
        world.forgetful = forgetful;
        let root = map(&mut world, "root", &[]);
        let child = map(&mut world, "child", &[&root]);
        world.delete(&root, Orphan);
        world.settle();
        assert_eq!(world.names("configmaps"), ["child"]);
        assert!(world.get(&child)["metadata"]["ownerReferences"].is_null());
    }
}

#[test]
fn a_circle_goes_too() {
    let mut world = world();
    let root = map(&mut world, "root", &[]);
    let child = map(&mut world, "child", &[&root]);
    let reference = owned("ConfigMap", "x", &[(&world, &child, true)])["metadata"]["ownerReferences"].clone();
    world.edit(&root, |root| root["metadata"]["ownerReferences"] = reference);
    world.delete(&root, Foreground);
    world.settle();
    assert!(world.names("configmaps").is_empty());
    assert!(world.store.get(&key("configmaps", "a", "root")).is_none());
}
