use lockstep_core::align::{LeaseId, RollingStrategy, Stance};
use lockstep_core::number::IntOrPercent::Int;

use super::*;
use crate::customization::retain;
use crate::interpret;

/// What Karmada writes for a cluster of six: always the user's own strategy, always the newest template.
fn written(generation: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "demo", "annotations": {GENERATION: generation.to_string()}},
        "spec": {
            "replicas": 6, "strategy": {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 1}},
            "template": {"spec": {"containers": [{"name": "main", "image": image}]}},
        },
    })
}

fn hash(image: &str) -> TemplateHash {
    interpret::built_in()[0].template_hash(&written(1, image))
}

fn lease(id: u64, template: &TemplateHash, unavailable: u32) -> Lease {
    Lease {
        id: LeaseId(id),
        template: template.clone(),
        replicas: 5,
        updated: 5,
        unavailable,
        surge: 0,
        stance: Stance::Open,
        strategy: RollingStrategy {
            paused: Some(false),
            partition: None,
            max_unavailable: Some(Int(unavailable)),
            max_surge: Some(Int(0)),
        },
    }
}

fn image(manifest: &Value) -> &str {
    manifest["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default()
}

fn stored(stored: Option<&Stamped>) -> Stored<'_> {
    Stored { manifest: stored.map(|it| &it.manifest), next: stored.and_then(|it| it.next.as_ref()) }
}

fn stamped(incoming: &Value, before: Option<&Stamped>, lease: Option<&Lease>) -> Stamped {
    stamp(&interpret::built_in()[0], incoming, stored(before), lease)
}

fn waits(made: &Stamped) -> Option<(i64, &str)> {
    let next = made.next.as_ref()?;
    let image = &next.template["spec.template"]["spec"]["containers"][0]["image"];
    Some((next.generation, image.as_str().unwrap_or_default()))
}

#[test]
fn what_nobody_knows_makes_no_pods() {
    let made = stamped(&written(1, "a"), None, None);
    assert_eq!(made.manifest["spec"]["replicas"], 0);
    assert_eq!(waits(&made), Some((1, "a")));
}

#[test]
fn a_lease_is_written_over_the_users_numbers() {
    let one = lease(7, &hash("a"), 2);
    let made = stamped(&written(1, "a"), None, Some(&one));
    assert_eq!(made.manifest["spec"]["replicas"], 5);
    assert_eq!(
        made.manifest["spec"]["strategy"]["rollingUpdate"],
        json!({"maxUnavailable": 2, "maxSurge": 0})
    );
    assert_eq!(made.manifest["metadata"]["annotations"][LEASE], "7");
    assert_eq!(made.next, None);
    // Whatever is written again, the same is stored.
    assert_eq!(stamped(&written(1, "a"), Some(&made), Some(&one)), made);
    assert_eq!(stamped(&made.manifest, Some(&made), Some(&one)), made);
}

#[test]
fn a_template_waits_for_a_lease_that_carries_it() {
    let first = lease(7, &hash("a"), 1);
    let stands = stamped(&written(1, "a"), None, Some(&first));
    let held = stamped(&written(2, "b"), Some(&stands), Some(&first));
    assert_eq!((image(&held.manifest), generation(&held.manifest)), ("a", 1));
    assert_eq!(held.manifest["spec"], stands.manifest["spec"]);
    assert_eq!(waits(&held), Some((2, "b")));
    // The lease that carries it: whoever writes next, Karmada or we ourselves, the new template comes into force.
    let second = lease(8, &hash("b"), 2);
    for writer in [&held.manifest, &written(2, "b"), &written(1, "a")] {
        let rolled = stamped(writer, Some(&held), Some(&second));
        assert_eq!((image(&rolled.manifest), generation(&rolled.manifest)), ("b", 2));
        assert_eq!((&rolled.next, &rolled.manifest["metadata"]["annotations"][LEASE]), (&None, &json!("8")));
    }
}

#[test]
fn what_ran_before_it_was_taken_over_stays_as_it_is() {
    let ran = Stamped { manifest: written(1, "a"), next: None };
    let held = stamped(&written(2, "b"), Some(&ran), None);
    assert_eq!(held.manifest["spec"], ran.manifest["spec"]);
    assert!(held.manifest["metadata"]["annotations"].get(LEASE).is_none());
    // Its next write, by us, must not lose what waits.
    let again = stamped(&held.manifest, Some(&held), None);
    assert_eq!(again, held);
}

#[test]
fn going_back_to_a_template_is_a_generation_of_its_own() {
    let back = lease(9, &hash("a"), 1);
    let stands =
        Stamped { manifest: written(1, "a"), next: Some(Next { generation: 2, template: json!({}) }) };
    let made = stamped(&written(3, "a"), Some(&stands), Some(&back));
    assert_eq!((image(&made.manifest), generation(&made.manifest), made.next), ("a", 3, None));
}

#[test]
fn another_size_is_another_generation_and_no_other_template() {
    let one = lease(7, &hash("a"), 1);
    let stands = stamped(&written(1, "a"), None, Some(&one));
    let made = stamped(&written(2, "a"), Some(&stands), Some(&one));
    assert_eq!((generation(&made.manifest), made.next), (2, None));
}

/// An override policy comes, is another, and goes, and the resource template stays as it is.
#[test]
fn an_image_of_a_clusters_own_waits_as_any_other_does() {
    let kind = &interpret::built_in()[0];
    let mut stands = stamped(&written(1, "a"), None, Some(&lease(7, &hash("a"), 1)));
    for (id, was, now) in [(8, "a", "here/a"), (9, "here/a", "there/a"), (10, "there/a", "a")] {
        let before = lease(id - 1, &hash(was), 1);
        let held = stamped(&written(1, now), Some(&stands), Some(&before));
        assert_eq!((image(&held.manifest), waits(&held)), (was, Some((1, now))));
        assert_eq!(rendered(kind, stored(Some(&held)), 1), Some(hash(now)));
        // Whoever writes back what stands takes nothing away of what waits.
        assert_eq!(stamped(&held.manifest, Some(&held), Some(&before)), held);
        // While it waits the policy is taken back: nothing waits any more.
        let back = stamped(&written(1, was), Some(&held), Some(&before));
        assert_eq!((image(&back.manifest), waits(&back)), (was, None));
        let after = lease(id, &hash(now), 1);
        for writer in [&held.manifest, &written(1, now)] {
            let rolled = stamped(writer, Some(&held), Some(&after));
            assert_eq!((image(&rolled.manifest), waits(&rolled)), (now, None));
            stands = rolled;
        }
    }
}

#[test]
fn what_karmada_has_not_made_yet_is_not_known() {
    let kind = &interpret::built_in()[0];
    let stands = stamped(&written(1, "a"), None, Some(&lease(7, &hash("a"), 1)));
    assert_eq!(rendered(kind, stored(Some(&stands)), 1), Some(hash("a")));
    assert_eq!(rendered(kind, stored(Some(&stands)), 2), None);
    assert_eq!(rendered(kind, stored(None), 1), None);
}

#[test]
fn what_is_given_back_keeps_what_a_policy_sets() {
    let kind = &interpret::built_in()[0];
    let leased = stamped(&written(1, "a"), None, Some(&lease(7, &hash("a"), 1)));
    let here = RollingStrategy { max_surge: Some(Int(4)), ..RollingStrategy::default() };
    let given = release(kind, &leased.manifest, leased.next, &written(1, "a"), 6, Some(&here));
    let strategy = &given.manifest["spec"]["strategy"]["rollingUpdate"];
    assert_eq!(strategy, &json!({"maxUnavailable": 2, "maxSurge": 4}));
    assert_eq!(given.manifest["spec"]["replicas"], 6);
}

#[test]
fn what_is_given_back_changes_in_the_member_from_then_on() {
    let kind = &interpret::built_in()[0];
    let live = stamped(&written(1, "a"), None, Some(&lease(7, &hash("a"), 1))).manifest;
    let given = release(kind, &live, None, &written(1, "a"), 6, None).manifest;
    let standing = retain(kind, &given, &live);
    assert_eq!((&standing["spec"]["replicas"], lease_of(&standing)), (&json!(6), None));
    let next = retain(kind, &written(2, "b"), &standing);
    assert_eq!(next["spec"], written(2, "b")["spec"]);
}
