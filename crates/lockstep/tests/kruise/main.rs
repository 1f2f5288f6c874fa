//! The same budgets beside the real Kruise manager and beside ours: one cluster with each, since both define the
//! same kind, and one table for both.

#![allow(clippy::expect_used)]

#[path = "../cluster/mod.rs"]
mod cluster;
#[path = "../rights/installed.rs"]
#[allow(dead_code)]
mod installed;
mod side;
mod table;

use self::side::{Keeper, Side};

async fn agrees_with_the_table(keeper: Keeper) {
    let Some(side) = Side::start(keeper).await else { return };
    let mut wrong = Vec::new();
    for case in table::cases() {
        let want = case.want.of(keeper);
        let seen = side.play(&case).await;
        if seen != *want {
            wrong.push(format!("{}: {seen:?} instead of {want:?}", case.name));
        }
    }
    for object in table::objects() {
        let want = object.want.of(keeper);
        let taken = side.takes(&object).await;
        if taken.is_ok() != *want {
            wrong.push(format!("{}: {taken:?}", object.name));
        }
    }
    assert!(wrong.is_empty(), "{keeper:?}:\n{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "builds Kruise from Go modules, some minutes: see docs/testing.md"]
async fn kruise() {
    agrees_with_the_table(Keeper::Kruise).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours() {
    agrees_with_the_table(Keeper::Ours).await;
}
