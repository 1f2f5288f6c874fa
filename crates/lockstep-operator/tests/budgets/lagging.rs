//! Evictions of pods that have changed since the replica's watch last showed them.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use lockstep_sandbox::cluster::faults::{Chance, Fault, Profile, Span, Watches};
use lockstep_testkit::embedded::in_virtual_time;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::world::World;

/// A replica hears of everything some seconds late, and reads faster than it writes.
fn behind() -> Profile {
    Profile {
        travel: Span::new(1, 1),
        writes: vec![Chance::of(1000, Fault::Late(Span::new(200, 200)))],
        watches: Watches { held: 1000, held_for: Span::new(3000, 3000), ..Watches::default() },
        ..Profile::default()
    }
}

/// Two groups of a pod each, of which one may be unavailable, and a replica that has heard of all this.
async fn two_groups() -> World {
    let world = World::virtually(7, 1, &behind()).await;
    world.groups(2, 1).await;
    let budget = |most: u32| {
        json!({
            "selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": most,
            "podGroupPolicy": {"groupLabelKey": "group"},
        })
    };
    world.budget("b", budget(0)).await;
    assert!(world.is_known("budgets/b:", "llm-0-0").await);
    world.budget("b", budget(1)).await;
    world.settled("b", |status| status.unavailable_allowed == 1).await;
    world
}

async fn change(world: &World, metadata: &Value) {
    let patch = Patch::Merge(json!({"metadata": metadata}));
    world.pods().patch("llm-0-0", &PatchParams::default(), &patch).await.expect("patched");
}

/// The answer about the pod as it was must not keep the turn from the answer about the pod as it is.
#[test]
fn a_pod_that_has_just_changed_is_answered_about_at_once() {
    for change in [json!({"annotations": {"note": "x"}}), json!({"labels": {"note": "x"}})] {
        in_virtual_time(async {
            let world = two_groups().await;
            self::change(&world, &change).await;
            let asked = Instant::now();
            let refusal = world.evict("llm-0-0").await;
            assert!(refusal.is_none(), "{change}: {refusal:?}");
            assert!(asked.elapsed() < Duration::from_secs(5), "{change}: {:?}", asked.elapsed());
            let refusal = world.evict("llm-1-0").await.expect("one may go");
            assert!(refusal.code == 429 && refusal.message.contains("budgets/b:"), "{change}: {refusal:?}");
        });
    }
}

/// What the budget paid for the pod as it was is free again, long before promises lapse.
#[test]
fn what_was_promised_for_a_pod_that_has_changed_is_given_back() {
    in_virtual_time(async {
        let world = two_groups().await;
        world.pod("other", &json!({"kept": "yes"}), None).await;
        world.ready("other", true).await;
        let nobody_goes = json!({"selector": {"matchLabels": {"kept": "yes"}}, "minAvailable": 5});
        world.budget("keeps", nobody_goes).await;
        assert!(world.is_known("budgets/keeps:", "other").await);
        change(&world, &json!({"labels": {"kept": "yes"}})).await;
        let asked = Instant::now();
        let refusal = world.evict("llm-0-0").await.expect("kept by the other budget");
        assert!(refusal.message.contains("budgets/keeps:"), "{refusal:?}");
        world
            .settled("b", |status| status.disrupted_pods.is_empty() && status.unavailable_allowed == 1)
            .await;
        assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
    });
}
