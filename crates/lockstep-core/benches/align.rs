//! One alignment of a hundred clusters of twenty thousand pods each, in the middle of a rollout. The bound is
//! five milliseconds; the cost depends on the number of clusters alone.

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_core::align::{
    Kind, LeaseId, Ledger, Observation, Report, RollingStrategy, SplitMode, Target, TemplateHash, Wish, align,
};
use lockstep_core::number::IntOrPercent::Percent;

const CLUSTERS: u32 = 100;
const PODS: u32 = 20_000;

fn wish(kind: Kind, split: SplitMode, template: &str) -> Wish {
    Wish {
        held: Default::default(),
        kind,
        template: TemplateHash(template.to_owned()),
        strategy: RollingStrategy {
            paused: None,
            partition: kind.has_partition().then_some(Percent(30)),
            max_unavailable: Some(Percent(10)),
            max_surge: Some(Percent(5)),
        },
        split,
        clusters: (0..CLUSTERS)
            .map(|i| Target { cluster: format!("member-{i:03}"), replicas: PODS })
            .collect(),
    }
}

/// What a cluster says when it has `updated` new pods under the given lease.
fn status(template: &str, updated: u32, lease: Option<LeaseId>) -> Report {
    let status = Observation {
        replicas: PODS,
        total: PODS,
        available: PODS - 7,
        updated,
        updated_available: Some(updated.saturating_sub(7)),
        under_way: 0,
        creates_updated: false,
        unavailable: Some(7),
        template: TemplateHash(template.to_owned()),
        acknowledged: lease,
        strategy: RollingStrategy::default(),
        settled: true,
        sequence: 0,
    };
    Report { status: Some(status), ..Report::default() }
}

/// A ledger with grants out and some clusters partly rolled, and the reports that come next.
fn in_the_middle(wish: &Wish) -> (Ledger, BTreeMap<String, Report>) {
    let all = |report: &dyn Fn(usize, &str) -> Report| -> BTreeMap<String, Report> {
        wish.clusters.iter().enumerate().map(|(i, t)| (t.cluster.clone(), report(i, &t.cluster))).collect()
    };
    let first = align(wish, &all(&|_, _| status("old", PODS, None)), &Ledger::default());
    let lease = |ledger: &Ledger, c: &str| ledger.members.get(c).and_then(|e| e.latest()).map(|l| l.id);
    let rolling = all(&|i, c| {
        let template = first.ledger.members.get(c).and_then(|e| e.latest()).map_or("old", |l| &l.template.0);
        let updated = if template == "old" { PODS } else { (i as u32 * 997) % PODS };
        status(template, updated, lease(&first.ledger, c))
    });
    (first.ledger, rolling)
}

fn benchmark(c: &mut Criterion) {
    for (kind, split) in [
        (Kind::Deployment, SplitMode::Sequential),
        (Kind::CloneSet, SplitMode::Sequential),
        (Kind::CloneSet, SplitMode::Proportional),
    ] {
        let wish = wish(kind, split, "new");
        let (ledger, reports) = in_the_middle(&wish);
        c.bench_function(&format!("align {CLUSTERS} clusters of {PODS} pods, {kind:?}, {split:?}"), |b| {
            b.iter(|| align(black_box(&wish), black_box(&reports), black_box(&ledger)));
        });
    }
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
