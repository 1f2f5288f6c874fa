//! Lockstep as it is installed: the operator runs under its own ServiceAccount with the very flags of its Deployment.
//! Its rights are enough, none of them is idle, and where one is missing that is said.

#![allow(clippy::expect_used)]

#[path = "../cluster/mod.rs"]
mod cluster;
mod deeds;
mod installed;
mod rules;

use deeds::Scene;
use installed::{Installed, until};
use lockstep_testkit::{Cluster, Component};

/// What no embedded cluster has.
const RIGHTS: &str = "rights (RBAC)";

/// Rights that the run below never needs, and why they are given all the same.
const JUSTIFIED: [(&str, &str); 7] = [
    // Asked for by an admission plugin that is off unless somebody switches it on (OpenShift does): who names an
    // owner whose end waits for the owned must be allowed to hold it back. The other test has it on.
    ("lockstep.dev lockstepsets/finalizers", "update"),
    // The kinds of gang schedulers that are not there. They are used as PodGroups of Kubernetes are.
    ("scheduling.volcano.sh podgroups", "list watch create patch delete"),
    ("scheduler.grove.io podgangs", "list watch create patch delete"),
    // Owners of pods whose kinds are not there. They are used as Deployments are.
    ("leaderworkerset.x-k8s.io leaderworkersets", "get list watch"),
    ("apps.kruise.io clonesets", "get list watch"),
    ("apps.kruise.io statefulsets", "get list watch"),
    ("apps.kruise.io daemonsets", "get list watch"),
];

#[tokio::test]
async fn the_installed_rights_are_enough_and_none_is_idle() {
    // Each controller under its own name, as everywhere but in tests: the garbage collector is not asked.
    let builder = Cluster::builder()
        .our_own(RIGHTS)
        .gangs()
        .flag(Component::ControllerManager, "--use-service-account-credentials");
    let Some(installed) = Installed::start(builder).await else { return };
    let mut first = installed.replica("lockstep-a").await;
    installed.route_admission_to(&first).await;
    installed.until_leading(&first).await;
    let mut second = installed.replica("lockstep-b").await;

    deeds::conflicts_are_refused(&installed).await;
    Scene::new(&installed, "life").await.a_life_of_changes().await;
    Scene::new(&installed, "order").await.a_start_in_order().await;
    Scene::new(&installed, "taken").await.names_that_are_taken().await;
    Scene::new(&installed, "crowd").await.somebody_else_writes_all_the_time().await;
    Scene::new(&installed, "guarded").await.a_budget_over_everybody_s_pods().await;
    deeds::certificates_are_mended(&installed).await;

    // The other takes over, its admission as well.
    installed.route_admission_to(&second).await;
    first.operator.stop().await;
    installed.until_leading(&second).await;
    deeds::conflicts_are_refused(&installed).await;
    let scene = Scene::new(&installed, "after").await;
    scene.starts("1").await;
    assert_eq!(second.operator.ended(), None);
    second.operator.stop().await;
    scene.without_an_operator().await;

    let audit = installed.cluster.audit().expect("the audit log");
    rules::are_enough_and_none_is_idle(&installed.cluster.client(), &audit, &JUSTIFIED).await;
}

/// Where it is said that a right is missing.
enum Said {
    /// In the status of the set: the reason, and words of the message.
    Status(&'static str, &'static str),
    /// In the log.
    Log(&'static str),
}

#[tokio::test]
async fn a_missing_right_is_said_and_once_given_all_goes_on() {
    // With the plugin for which one of the rights is there.
    let plugin = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    let builder = Cluster::builder().our_own(RIGHTS).flag(Component::ApiServer, plugin);
    let Some(installed) = Installed::start(builder).await else { return };
    let replica = installed.replica("lockstep-a").await;
    installed.route_admission_to(&replica).await;
    installed.until_leading(&replica).await;
    deeds::conflicts_are_refused(&installed).await;
    let rows = [
        ("lockstep.dev lockstepsets/finalizers update", Said::Status("WriteFailed", "blockOwnerDeletion")),
        (" pods delete", Said::Status("DeleteFailed", "cannot delete resource \"pods\"")),
        ("apps controllerrevisions create", Said::Status("WriteFailed", "store revision llama-")),
        ("lockstep.dev rolescales patch", Said::Status("WriteFailed", "write scale llama-web")),
        ("lockstep.dev lockstepsets/status patch", Said::Log("write the status of llama")),
        ("coordination.k8s.io leases update", Said::Log("cannot write the lease")),
    ];
    for (right, said) in rows {
        println!("without {right}");
        let scene = Scene::new(&installed, "without").await;
        scene.starts("1").await;
        let taken = rules::take_away(&installed.cluster.client(), right).await;
        scene.apply(&cluster::set("", &[cluster::role("web", 3, "2", "")])).await;
        match said {
            Said::Status(reason, words) => scene.until_blocked(reason, words).await,
            Said::Log(words) => {
                until(words, async || replica.has_logged(&[words, "forbidden"])).await;
            }
        }
        rules::give_back(&installed.cluster.client(), right, taken).await;
        scene.until_phase("Complete").await;
    }
}
