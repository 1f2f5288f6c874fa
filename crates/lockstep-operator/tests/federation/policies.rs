//! What a FederationPolicy asks for: the order of clusters, the pace from one to the next, and shares.

use std::time::Duration;

use lockstep_testkit::federation::case::{CASES, Case, Step};
use lockstep_testkit::federation::{Played, Site, play_beside};
use serde_json::{Value, json};

const NEW: &str = "demo:v2";

/// A member that has this long had all its new pods has arrived.
const ARRIVES: Duration = Duration::from_secs(2);

/// Longer than a member has to stand before the next begins.
const BAKED: Duration = Duration::from_secs(8);

/// A policy for all of a namespace.
pub fn policy(spec: Value) -> [Value; 1] {
    let (version, kind) = ("lockstep.dev/v1alpha1", "FederationPolicy");
    [json!({"apiVersion": version, "kind": kind, "metadata": {"name": "careful"}, "spec": spec})]
}

/// When each member began with the new image, and when it had arrived.
fn rolled(played: &Played) -> [(Duration, Duration); 2] {
    played.assert_kept();
    [0, 1].map(|member| played.verdict.rolled(member, NEW).expect("it rolled"))
}

/// The second member goes first, and stands for a while before the other begins. Played where there are two.
pub async fn one_after_the_other<S: Site>(site: &S) {
    let case = Case { name: "one-after-the-other", ..CASES[0] };
    let last = site.names()[1].clone();
    let slow = policy(json!({"clusterOrder": [last], "bakeTime": "2s", "pauseBetweenClusters": "1s"}));
    let played = play_beside(&case, site, &slow).await.expect("played");
    let [first, second] = rolled(&played);
    assert!(first.0 >= second.1 + Duration::from_secs(3), "{first:?} after {second:?}");
}

/// While a member that had arrived is short of pods the other does not begin.
pub async fn nothing_begins_while_one_is_short_of_pods<S: Site>(site: &S) {
    let arrives = [Step::Roll(NEW), Step::UntilNew(4), Step::Wait(ARRIVES)];
    let steps = [&arrives[..], &[Step::Strike(0), Step::Wait(BAKED), Step::Heal(0)]].concat();
    let case = Case { name: "short-of-pods", steps: &steps, ..CASES[0] };
    let slow = policy(json!({"bakeTime": "6s"}));
    let played = play_beside(&case, site, &slow).await.expect("played");
    let [_, second] = rolled(&played);
    let healed = played.verdict.noted(&Step::Heal(0)).expect("it was healed");
    assert!(second.0 > healed, "{second:?} before {healed:?}");
}
