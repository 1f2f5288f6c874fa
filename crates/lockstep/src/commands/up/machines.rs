//! Nodes and what is on them.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;
use lockstep_api::label;

use crate::show::node_state::is_ready;
use crate::view::scene::{NodeScene, PodScene, State, Tone};

const GPU: &str = "nvidia.com/gpu";

/// The node a pod is on; nothing, if it is on none.
pub fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

/// A node as it is shown, without its pods.
pub fn scene(node: &Node, pods: &[&Pod]) -> NodeScene {
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default();
    let (word, tone) = if is_ready(node) { ("Ready", Tone::Good) } else { ("NotReady", Tone::Bad) };
    let (state, tone) = match (cordoned, tone) {
        (true, Tone::Good) => (format!("{word}, cordoned"), Tone::Warn),
        (true, tone) => (format!("{word}, cordoned"), tone),
        (false, tone) => (word.to_owned(), tone),
    };
    let there = node.status.as_ref().and_then(|status| status.allocatable.as_ref()?.get(GPU)).map(whole);
    let used = pods.iter().map(|pod| gpus(pod)).sum();
    let gpus = there.filter(|there| *there > 0).map(|there| (used, there));
    NodeScene { name: node.name_any(), state, tone, gpus, pods: Vec::new() }
}

/// Pods as dots, by role and name.
pub fn dots(pods: &[&Pod], place: impl Fn(&Pod) -> (Option<usize>, State)) -> Vec<PodScene> {
    let mut dots: Vec<(Option<usize>, String, PodScene)> = pods
        .iter()
        .filter(|pod| !is_over(pod))
        .map(|pod| {
            let (role, state) = place(pod);
            let letter = pod.labels().get(label::ROLE).and_then(|role| role.chars().next()).unwrap_or('?');
            (role, pod.name_any(), PodScene { role, letter, state })
        })
        .collect();
    // Those of other sets, which have no place, come last.
    dots.sort_by(|a, b| (a.0.is_none(), a.0, &a.1).cmp(&(b.0.is_none(), b.0, &b.1)));
    dots.into_iter().map(|(_, _, dot)| dot).collect()
}

/// What has come to its end takes nothing of a node any more.
fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn gpus(pod: &Pod) -> u64 {
    if is_over(pod) {
        return 0;
    }
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let of_container = containers.filter_map(|container| {
        let resources = container.resources.as_ref()?;
        let asked =
            |of: &Option<std::collections::BTreeMap<String, Quantity>>| of.as_ref()?.get(GPU).map(whole);
        asked(&resources.requests).or_else(|| asked(&resources.limits))
    });
    of_container.sum()
}

/// GPUs come in whole numbers.
fn whole(quantity: &Quantity) -> u64 {
    quantity.0.parse().unwrap_or_default()
}
