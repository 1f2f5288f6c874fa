//! What is known of the clusters of a binding.

use std::collections::BTreeMap;

use lockstep_core::align::{self, Kind, Ledger, Observation, Reach, Report, TemplateHash, Wish};
use lockstep_federation::interpret::{Interpretation, Interpreter};
use lockstep_federation::stamp::{Stored, rendered};
use lockstep_federation::work::Work;
use serde_json::Value;

use super::aligner::Aligner;
use super::book::Case;
use super::{FederationError, Key, namespaced, review, works};

impl Aligner {
    /// What is known of every cluster. Of a Deployment that rolls more is asked than Karmada tells.
    pub(super) async fn reports(
        &self,
        key: &Key,
        case: &Case,
        kind: &Interpretation,
        wish: &Wish,
        mut own: BTreeMap<String, TemplateHash>,
        ledger: &Ledger,
    ) -> Result<BTreeMap<String, Report>, FederationError> {
        let at_rest = |cluster: &str| {
            let template = own.get(cluster).unwrap_or(&wish.template);
            at_rest(wish, template, ledger, cluster)
        };
        let works = || case.works.iter().map(Work).filter_map(|it| Some((it.cluster()?, it)));
        let is_there = |cluster: &str| works().any(|(its, _)| its == cluster);
        self.settler.forget_where(key, |cluster| at_rest(cluster) || !is_there(cluster));
        let reports = works().map(async |(cluster, work)| {
            let reachable = case.reachable.get(cluster).copied().unwrap_or(false) && !work.is_going();
            let mut report = work.report(kind, reachable);
            if kind.like == Kind::Deployment {
                if at_rest(cluster) {
                    // Nothing is granted on the strength of these counts.
                    report.status = report.status.map(|seen| Observation { settled: true, ..seen });
                } else if let Some(manifest) = work.manifest().filter(|_| reachable) {
                    match self.settler.look(key, cluster, kind, manifest).await {
                        Ok(seen) => report.status = seen.or(report.status),
                        Err(error) => {
                            report.may_not_look =
                                Some(format!("its Deployment and ReplicaSets cannot be looked at: {error}"));
                        }
                    }
                }
            }
            (cluster.to_owned(), report)
        });
        let mut reports: BTreeMap<String, Report> =
            futures::future::join_all(reports).await.into_iter().collect();
        for (cluster, report) in &mut reports {
            report.template = own.remove(cluster);
        }
        for cluster in ledger.members.keys() {
            let placed = wish.clusters.iter().any(|it| it.cluster == *cluster);
            if !placed && !reports.contains_key(cluster) && self.is_gone(case, cluster).await? {
                reports.insert(cluster.clone(), Report { reach: Reach::Gone, ..Report::default() });
            }
        }
        Ok(reports)
    }

    /// Whether there is no Work for a cluster, in the API server itself.
    async fn is_gone(&self, case: &Case, cluster: &str) -> Result<bool, FederationError> {
        let Some(name) = case.works.first().and_then(|it| it["metadata"]["name"].as_str()) else {
            return Ok(false);
        };
        let space = format!("{}{cluster}", lockstep_federation::work::EXECUTION_SPACE);
        let found = namespaced(&self.client, &space, &works()).get_opt(name).await;
        Ok(found.map_err(FederationError::refused("read a Work"))?.is_none())
    }
}

/// The templates of clusters for which Karmada has made another than the rest has.
pub(super) fn own_templates(
    case: &Case,
    kind: &Interpretation,
    template: &Value,
) -> BTreeMap<String, TemplateHash> {
    let generation = template["metadata"]["generation"].as_i64().unwrap_or_default();
    let of_all = kind.template_hash(template);
    let own = case.works.iter().filter_map(|work| {
        let next = review::next(Work(work));
        let stored = Stored { manifest: Work(work).manifest(), next: next.as_ref() };
        let own = rendered(kind, stored, generation).filter(|it| *it != of_all)?;
        Some((Work(work).cluster()?.to_owned(), own))
    });
    own.collect()
}

/// Whether nothing is under way in a cluster: it has the user's own values for this very template, and said so.
fn at_rest(wish: &Wish, template: &TemplateHash, ledger: &Ledger, cluster: &str) -> bool {
    let Some(entry) = ledger.members.get(cluster) else { return false };
    let wanted = wish.clusters.iter().find(|it| it.cluster == cluster).map(|it| it.replicas);
    let free = entry.latest().is_some_and(|lease| {
        lease.stance == align::Stance::Free && lease.template == *template && Some(lease.replicas) == wanted
    });
    free && entry.is_acknowledged()
}
