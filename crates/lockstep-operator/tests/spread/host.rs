//! What the host says of workloads and of clusters.

use std::time::Duration;

use kube::api::{Api, DynamicObject, GroupVersionKind};
use kube::core::ApiResource;
use lockstep_testkit::embedded::in_virtual_time;
use lockstep_testkit::federation::case::{CASES, Case, SETS};
use lockstep_testkit::federation::{Site, Ways};
use tokio::time::sleep;

use crate::told;
use crate::world::World;

#[test]
fn a_template_says_what_all_members_say() {
    for case in [Case { split: &[2, 3, 5], ..CASES[0] }, SETS[0]] {
        in_virtual_time(async {
            let world = World::start(case.split.len(), &Ways::default()).await;
            let (_operators, _aligner) = (world.operators(), world.aligner(world.client()));
            told::nothing_is_rolled_out_too_soon(&case, world.federation()).await;
        });
    }
}

/// Of each cluster whether it is ready, if its version is known.
async fn clusters(world: &World) -> Vec<Option<String>> {
    let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
    let api: Api<DynamicObject> = Api::all_with(world.federation().client(), &ApiResource::from_gvk(&kind));
    let clusters = api.list(&Default::default()).await.expect("clusters").items;
    let ready = |it: DynamicObject| {
        let status = &it.data["status"];
        let known = status["kubernetesVersion"].as_str().is_some_and(|it| it.starts_with("v1."));
        status["conditions"][0]["status"].as_str().filter(|_| known).map(str::to_owned)
    };
    clusters.into_iter().map(ready).collect()
}

#[test]
fn a_cluster_says_its_version_and_whether_it_answers() {
    in_virtual_time(async {
        let world = World::without_us(2).await;
        let are = |first: &str, second: &str| [first, second].map(|it| Some(it.to_owned()));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(clusters(&world).await, are("True", "True"));
        let mend = world.federation().cut_off(1).expect("it can be cut off");
        sleep(Duration::from_secs(10)).await;
        assert_eq!(clusters(&world).await, are("True", "False"));
        mend();
        sleep(Duration::from_secs(5)).await;
        assert_eq!(clusters(&world).await, are("True", "True"));
    });
}
