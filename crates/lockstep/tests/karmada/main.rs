//! `lockstep federation` as it is installed beside real Karmada: it runs with the token of its own account and the very
//! flags of its Deployment. Its rights are enough, none of them is idle, and where one is missing that is said.

#![allow(clippy::expect_used)]

mod installed;
#[path = "../rights/rules.rs"]
mod rules;

use installed::{Installed, until};
use lockstep_testkit::Federation;
use lockstep_testkit::federation::case::{CASES, Case, Kind, Step, Strategy};
use lockstep_testkit::federation::play;

/// A member is left, and comes back: what stood there is gone at once.
const LEFT: Case = Case {
    name: "left",
    kind: Kind::Deployment,
    split: &[3, 3],
    strategy: Strategy { max_unavailable: 1, max_surge: 1, partition: 0 },
    steps: &[Step::Split(&[6, 0]), Step::UntilStill, Step::Roll("demo:v2")],
    ends: &[6, 0],
    new: 6,
    broken_alone: false,
};

/// Rights that the run below never needs, and why they are given all the same.
const JUSTIFIED: [(&str, &str); 5] = [
    // Karmada's own server answers for clusters; watches of it are not in this log.
    ("cluster.karmada.io clusters", "watch"),
    // Read as Deployments are, where they are spread.
    ("apps statefulsets", "get"),
    // Kinds that are not there.
    ("apps.kruise.io clonesets", "get watch"),
    ("leaderworkerset.x-k8s.io leaderworkersets", "get watch"),
    ("lockstep.dev lockstepsets", "get watch"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Karmada from Go modules, some minutes: see docs/federation.md"]
async fn its_own_account_is_enough_for_it_and_a_missing_right_is_said() {
    let Some(installed) = Installed::start(Federation::builder().by_rights()).await else { return };
    let mut first = installed.replica("federation-a").await;
    installed.route_admission_to(&first).await;
    installed.until_leading(&first).await;
    let mut second = installed.replica("federation-b").await;
    rolls(&installed, &CASES[0]).await;
    rolls(&installed, &LEFT).await;
    installed.nobody_asks_any_more().await;
    installed.certificates_are_mended().await;

    // The other takes over, its admission as well.
    installed.route_admission_to(&second).await;
    first.operator.stop().await;
    installed.until_leading(&second).await;
    rolls(&installed, &CASES[0]).await;
    let audit = installed.federation.host().audit().expect("the audit log");
    rules::are_enough_and_none_is_idle(&installed.federation.client(), &audit, &JUSTIFIED).await;

    let client = installed.federation.client();
    for (right, words) in [
        ("cluster.karmada.io clusters/proxy get", "cannot be looked at"),
        ("work.karmada.io works update", "cannot write Work"),
        ("lockstep.dev federatedrollouts/status update", "cannot store the ledger"),
        ("coordination.k8s.io leases update", "cannot write the lease"),
    ] {
        println!("without {right}");
        let without = async {
            let taken = rules::take_away(&client, right).await;
            until(words, async || {
                second.has_logged(&[words, "forbidden"]) || installed.rollouts_say(words).await
            })
            .await;
            rules::give_back(&client, right, taken).await;
        };
        let (played, ()) = tokio::join!(play(&CASES[0], &installed.federation), without);
        played.expect("played").assert_kept();
    }
    assert_eq!(second.operator.ended(), None);
    second.operator.stop().await;
}

async fn rolls(installed: &Installed, case: &Case<'_>) {
    let played = play(case, &installed.federation).await.expect("played");
    println!("{}: {:.1} s", case.name, played.took.as_secs_f64());
    played.assert_kept();
}
