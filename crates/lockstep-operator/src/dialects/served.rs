//! What the cluster can do, asked of the API server.

use kube::Client;
use kube::api::ApiResource;
use lockstep_core::model::GangScheduler;
use lockstep_dialects::Served;

use crate::act::gang_resource;

/// Gangs the cluster knows.
pub async fn ask(client: &Client) -> Served {
    Served {
        pod_groups: pod_groups(client).await,
        volcano: knows(client, GangScheduler::Volcano).await,
        pod_gangs: knows(client, GangScheduler::PodGang).await,
    }
}

/// Whether the cluster knows Kubernetes' own PodGroups.
pub async fn pod_groups(client: &Client) -> bool {
    knows(client, GangScheduler::PodGroup).await
}

async fn knows(client: &Client, scheduler: GangScheduler) -> bool {
    match gang_resource(scheduler) {
        Some(resource) => is_served(client, &resource).await,
        None => false,
    }
}

/// Whether the API server knows a kind.
pub async fn is_served(client: &Client, resource: &ApiResource) -> bool {
    let served = match resource.group.as_str() {
        "" => client.list_core_api_resources(&resource.version).await,
        _ => client.list_api_group_resources(&resource.api_version).await,
    };
    served.is_ok_and(|list| list.resources.iter().any(|it| it.name == resource.plural))
}
