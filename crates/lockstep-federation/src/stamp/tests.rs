use lockstep_core::align::{LeaseId, RollingStrategy, Stance};
use lockstep_core::number::IntOrPercent::Int;

use super::*;
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

fn hash(generation: i64, image: &str) -> (i64, TemplateHash) {
    (generation, interpret::built_in()[0].template_hash(&written(generation, image)))
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

fn stamped(incoming: &Value, stored: Option<&Stamped>, page: &Page<'_>) -> Stamped {
    let stored =
        Stored { manifest: stored.map(|it| &it.manifest), next: stored.and_then(|it| it.next.as_ref()) };
    stamp(&interpret::built_in()[0], incoming, stored, page)
}

#[test]
fn what_nobody_knows_makes_no_pods() {
    let made = stamped(&written(1, "a"), None, &Page::default());
    assert_eq!(made.manifest["spec"]["replicas"], 0);
    assert_eq!(made.next.map(|next| next.generation), Some(1));
}

#[test]
fn a_lease_is_written_over_the_users_numbers() {
    let templates = [hash(1, "a")];
    let one = lease(7, &templates[0].1, 2);
    let page = Page { lease: Some(&one), templates: &templates };
    let made = stamped(&written(1, "a"), None, &page);
    assert_eq!(made.manifest["spec"]["replicas"], 5);
    assert_eq!(
        made.manifest["spec"]["strategy"]["rollingUpdate"],
        json!({"maxUnavailable": 2, "maxSurge": 0})
    );
    assert_eq!(made.manifest["metadata"]["annotations"][LEASE], "7");
    assert_eq!(made.next, None);
    // Whatever is written again, the same is stored.
    assert_eq!(stamped(&written(1, "a"), Some(&made), &page), made);
    assert_eq!(stamped(&made.manifest, Some(&made), &page), made);
}

#[test]
fn a_template_waits_for_a_lease_that_carries_it() {
    let (old, new) = (hash(1, "a"), hash(2, "b"));
    let first = lease(7, &old.1, 1);
    let templates = [old, new.clone()];
    let before = Page { lease: Some(&first), templates: &templates };
    let stands = stamped(&written(1, "a"), None, &before);
    let held = stamped(&written(2, "b"), Some(&stands), &before);
    assert_eq!((image(&held.manifest), generation(&held.manifest)), ("a", 1));
    assert_eq!(held.next.as_ref().map(|next| next.generation), Some(2));
    // The lease that carries it: whoever writes next, Karmada or we ourselves, the new template comes into force.
    let second = lease(8, &new.1, 2);
    let after = Page { lease: Some(&second), templates: &templates };
    for writer in [&held.manifest, &written(2, "b"), &written(1, "a")] {
        let rolled = stamped(writer, Some(&held), &after);
        assert_eq!((image(&rolled.manifest), generation(&rolled.manifest)), ("b", 2));
        assert_eq!((&rolled.next, &rolled.manifest["metadata"]["annotations"][LEASE]), (&None, &json!("8")));
    }
}

#[test]
fn a_template_nobody_has_seen_yet_changes_nothing_that_stands() {
    let templates = [hash(1, "a")];
    let one = lease(7, &templates[0].1, 2);
    let page = Page { lease: Some(&one), templates: &templates };
    let stands = stamped(&written(1, "a"), None, &page);
    let held = stamped(&written(2, "b"), Some(&stands), &page);
    assert_eq!(held.manifest["spec"], stands.manifest["spec"]);
    assert_eq!(held.next.map(|next| next.generation), Some(2));
}

#[test]
fn what_ran_before_it_was_taken_over_stays_as_it_is() {
    let ran = Stamped { manifest: written(1, "a"), next: None };
    let held = stamped(&written(2, "b"), Some(&ran), &Page::default());
    assert_eq!(held.manifest["spec"], ran.manifest["spec"]);
    assert!(held.manifest["metadata"]["annotations"].get(LEASE).is_none());
    // Its next write, by us, must not lose what waits.
    let again = stamped(&held.manifest, Some(&held), &Page::default());
    assert_eq!(again, held);
}

#[test]
fn going_back_to_a_template_is_a_generation_of_its_own() {
    let templates = [hash(1, "a"), hash(2, "b"), hash(3, "a")];
    let back = lease(9, &templates[0].1, 1);
    let page = Page { lease: Some(&back), templates: &templates };
    let stands =
        Stamped { manifest: written(1, "a"), next: Some(Next { generation: 2, template: json!({}) }) };
    let made = stamped(&written(3, "a"), Some(&stands), &page);
    assert_eq!((image(&made.manifest), generation(&made.manifest), made.next), ("a", 3, None));
}
