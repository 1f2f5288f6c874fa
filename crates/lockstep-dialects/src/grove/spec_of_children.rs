//! PodClique and PodCliqueScalingGroup, as we make them: handles by which somebody sees and scales a part of a group.

use schemars::JsonSchema;

use super::spec::MOST;

/// One standalone clique of one replica of a PodCliqueSet. Made by Lockstep.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)] // Only its schema is of use.
pub(super) struct PodCliqueSpec {
    /// The role that the template gives the clique.
    role_name: Option<String>,
    /// How many pods. `kubectl scale` and autoscalers write this; the number is taken over for every replica of the
    /// PodCliqueSet.
    #[schemars(range(max = MOST))]
    replicas: u32,
    /// How many of them have to be ready.
    #[schemars(range(max = MOST))]
    min_available: Option<u32>,
    /// The cliques it starts after.
    starts_after: Option<Vec<String>>,
}

/// One scaling group of one replica of a PodCliqueSet. Made by Lockstep.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)] // Only its schema is of use.
pub(super) struct ScalingGroupSpec {
    /// How many replicas of the group. `kubectl scale` and autoscalers write this; the number is taken over for every
    /// replica of the PodCliqueSet.
    #[schemars(range(max = MOST))]
    replicas: u32,
    /// How many of them have to be available.
    #[schemars(range(max = MOST))]
    min_available: Option<u32>,
    /// The cliques that are scaled together.
    clique_names: Vec<String>,
}
