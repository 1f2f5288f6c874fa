//! What is on its way between the aligner and one cluster, and what runs there by the clock.

use std::collections::BTreeMap;

use super::happen::Job;
use super::trace::{Count, What, counts};
use super::workload::{Template, Workload};
use super::{Modelled, Sim};
use crate::align::{Lease, Observation};
use crate::time::{Millis, Time};

/// One cluster, as far as it is no model of its controllers.
#[derive(Debug, Clone, Default)]
pub(super) struct Desk {
    /// The Work that is stored for it.
    pub work: Option<Lease>,
    /// When which pods will be available, by template.
    pub starting: BTreeMap<Template, Vec<Time>>,
    /// Its controllers are about to act.
    pub acting: bool,
    /// What was told of its pods last.
    told: Vec<Count>,
    /// What it reported last, and how often it has.
    reported: Option<Observation>,
    reports: u64,
}

impl<W: Workload> Sim<'_, W> {
    pub(super) fn desk(&mut self, cluster: &str) -> &mut Desk {
        self.desks.entry(cluster.to_owned()).or_default()
    }

    /// A message's time on its way, or a controller's until it acts.
    pub(super) fn lag(&mut self) -> Millis {
        self.scenario.nature.lag.draw(&mut self.rng)
    }

    /// Stores a Work for a cluster, which gets there in a while.
    pub(super) fn write(&mut self, cluster: &str, lease: Lease) {
        self.desk(cluster).work = Some(lease);
        self.deliver_work(cluster);
    }

    pub(super) fn deliver_work(&mut self, cluster: &str) {
        let lag = self.lag();
        self.after(lag, Job::Work(cluster.to_owned()));
    }

    /// The Work that is stored gets to its cluster. One that cannot be reached gets it when it is back.
    pub(super) fn apply(&mut self, cluster: &str) {
        let Some(lease) = self.desk(cluster).work.clone() else { return };
        let site = self.world.sites.get(cluster);
        let in_force = site.and_then(|site| site.workload.as_ref()).and_then(|w| w.spec().lease);
        // Never back to an older one.
        if in_force >= Some(lease.id) || !self.world.carry_out(cluster, &lease) {
            return;
        }
        self.tell(What::Applied { cluster: cluster.to_owned(), lease: lease.id });
        self.touch(cluster);
    }

    /// Something changed in a cluster: its pods start, its controllers act, its status goes out.
    pub(super) fn touch(&mut self, cluster: &str) {
        let Some(site) = self.world.sites.get(cluster) else { return };
        let pods = counts(site.workload.as_ref());
        let acts = site.workload.as_ref().is_some_and(|w| !w.steps().is_empty());
        let report = site.workload.as_ref().and_then(W::report);
        let desk = self.desk(cluster);
        let changed = desk.told != pods;
        desk.told.clone_from(&pods);
        let act = acts && !std::mem::replace(&mut desk.acting, acts);
        let news = report.filter(|report| desk.reported.as_ref() != Some(report));
        if changed {
            self.start(cluster, &pods);
            self.tell(What::Pods { cluster: cluster.to_owned(), pods });
        }
        if act {
            let lag = self.lag();
            self.after(lag, Job::Act(cluster.to_owned()));
        }
        if let Some(report) = news {
            self.desk(cluster).reported = Some(report.clone());
            self.send(cluster, report);
        }
    }

    fn send(&mut self, cluster: &str, report: Observation) {
        let desk = self.desk(cluster);
        desk.reports += 1;
        let report = Observation { sequence: desk.reports, ..report };
        if let Some(site) = self.world.sites.get_mut(cluster) {
            site.in_flight.push(report.clone());
        }
        let lag = self.lag();
        self.after(lag, Job::Status(cluster.to_owned(), Box::new(report)));
    }

    /// Every pod that does not serve yet has a time at which it will; those of a template that does not work have
    /// none. Pods of one template are alike.
    fn start(&mut self, cluster: &str, pods: &[Count]) {
        let mut starting = std::mem::take(&mut self.desk(cluster).starting);
        starting.retain(|template, _| pods.iter().any(|it| it.template == *template));
        for Count { template, pods, available } in pods {
            if self.scenario.faults.never_ready.contains(template) {
                continue;
            }
            let times = starting.entry(*template).or_default();
            let missing = usize::try_from(pods - available).unwrap_or(usize::MAX);
            times.truncate(missing);
            while times.len() < missing {
                let time = self.now + self.start_up(cluster);
                let at = times.partition_point(|it| *it <= time);
                times.insert(at, time);
                self.at(time, Job::Ready(cluster.to_owned(), *template));
            }
        }
        self.desk(cluster).starting = starting;
    }

    fn start_up(&mut self, cluster: &str) -> Millis {
        let nature = &self.scenario.nature;
        let start = nature.start_up_of(cluster).draw(&mut self.rng);
        match self.scenario.model {
            // The one before has to be gone.
            Modelled::StatefulSet => nature.termination.draw(&mut self.rng) + start,
            Modelled::Deployment | Modelled::CloneSet => start,
        }
    }
}
