//! What happens next, one thing at a time.

use super::Sim;
use super::faults::Blow;
use super::trace::What;
use super::workload::{Template, Workload};
use crate::align::Observation;
use crate::time::{Millis, Time};

/// Something that is going to happen.
#[derive(Debug, Clone)]
pub(super) enum Job {
    Change(usize),
    Align,
    Wake,
    Work(String),
    Act(String),
    Ready(String, Template),
    Status(String, Box<Observation>),
    Often(Often),
    Strike(String, Blow),
    Cut(String, Millis),
    Back(String),
    Restart,
}

/// What happens about every so often.
#[derive(Debug, Clone, Copy)]
pub(super) enum Often {
    Crash,
    Fail,
    Evict,
    Blink,
    Outage,
    Kill,
}

impl<W: Workload> Sim<'_, W> {
    pub(super) fn begin(&mut self) {
        let changes: Vec<Millis> = self.scenario.changes.iter().map(|(after, _)| *after).collect();
        for (i, after) in changes.into_iter().enumerate() {
            self.after(after, Job::Change(i));
        }
        let clusters: Vec<String> = self.world.sites.keys().cloned().collect();
        for cluster in &clusters {
            let entry = self.world.ledger.members.get(cluster);
            let latest = entry.and_then(|entry| entry.latest()).filter(|lease| lease.id.0 > 0).cloned();
            if let Some(lease) = latest.clone().map(Box::new) {
                self.tell(What::Lease { cluster: cluster.clone(), lease });
            }
            self.desk(cluster).work = latest;
            self.touch(cluster);
            self.deliver_work(cluster);
        }
        self.begin_faults();
        self.stir();
    }

    fn begin_faults(&mut self) {
        let faults = &self.scenario.faults;
        let often = [
            (Often::Crash, faults.crash),
            (Often::Fail, faults.fail),
            (Often::Evict, faults.eviction),
            (Often::Blink, faults.blink),
            (Often::Outage, faults.outage),
            (Often::Kill, faults.controller_crash),
        ];
        for (what, every) in often {
            if let Some(every) = every {
                let first = Millis(self.rng.between(0, every.0));
                self.often(first, what);
            }
        }
        for strike in &self.scenario.faults.strikes {
            self.after(strike.after, Job::Strike(strike.cluster.clone(), strike.by));
        }
        for outage in &self.scenario.faults.outages {
            self.after(outage.after, Job::Cut(outage.cluster.clone(), outage.length));
        }
    }

    fn often(&mut self, wait: Millis, what: Often) {
        if self.now + wait <= Time(0) + self.scenario.faults.until {
            self.after(wait, Job::Often(what));
        }
    }

    pub(super) fn happen(&mut self, job: Job) {
        match job {
            Job::Change(i) => self.change(i),
            Job::Align => self.align(),
            Job::Wake => self.stir(),
            Job::Work(cluster) => self.apply(&cluster),
            Job::Act(cluster) => self.act(&cluster),
            Job::Ready(cluster, template) => self.ready(&cluster, template),
            Job::Status(cluster, report) => self.hear(&cluster, &report),
            Job::Often(what) => self.go_wrong(what),
            Job::Strike(cluster, blow) => self.strike(&cluster, blow),
            Job::Cut(cluster, length) => self.cut(&cluster, length),
            Job::Back(cluster) => self.back(&cluster),
            Job::Restart => self.restart(),
        }
    }

    fn change(&mut self, i: usize) {
        self.changes_left = self.changes_left.saturating_sub(1);
        let Some((_, wish)) = self.scenario.changes.get(i) else { return };
        self.world.change(|it| it.clone_from(wish));
        self.settled = false;
        self.tell(What::Wish(Box::new(wish.clone())));
        self.stir();
    }

    /// A controller of a cluster takes its turn. Where nothing is late, whoever makes pods goes before whoever counts
    /// them.
    fn act(&mut self, cluster: &str) {
        self.desk(cluster).acting = false;
        let Some(site) = self.world.sites.get_mut(cluster) else { return };
        let mut steps = site.workload.as_ref().map(W::steps).unwrap_or_default();
        if steps.is_empty() {
            return;
        }
        let last = steps.len() - 1;
        let late = self.scenario.nature.lag.max > Millis(0);
        let chosen = if late { self.rng.below(steps.len() as u64) } else { last as u64 };
        site.workload = Some(steps.swap_remove(usize::try_from(chosen).unwrap_or(last)));
        self.touch(cluster);
    }

    fn ready(&mut self, cluster: &str, template: Template) {
        let now = self.now;
        let times = self.desk(cluster).starting.entry(template).or_default();
        let Some(at) = times.iter().position(|time| *time == now) else { return };
        times.remove(at);
        let Some(site) = self.world.sites.get_mut(cluster) else { return };
        let Some(workload) = &mut site.workload else { return };
        let waiting: Vec<_> = workload.pods().into_iter().filter(|pod| !pod.available).collect();
        let nth = waiting.iter().position(|pod| pod.template == template);
        if let Some(nth) = nth.and_then(|nth| u32::try_from(nth).ok()) {
            workload.ready(nth);
        }
        self.touch(cluster);
    }

    /// A report arrives. One that was overtaken says nothing any more: what is stored is what was said last.
    fn hear(&mut self, cluster: &str, report: &Observation) {
        let Some(site) = self.world.sites.get_mut(cluster) else { return };
        let Some(index) = site.in_flight.iter().position(|it| it == report) else { return };
        if site.reachable && site.arrived.as_ref().is_some_and(|known| known.sequence > report.sequence) {
            site.in_flight.remove(index);
        } else if self.world.deliver(cluster, index) {
            self.stir();
        }
    }

    fn go_wrong(&mut self, what: Often) {
        let faults = &self.scenario.faults;
        let every = match what {
            Often::Crash => faults.crash,
            Often::Fail => faults.fail,
            Often::Evict => faults.eviction,
            Often::Blink => faults.blink,
            Often::Outage => faults.outage,
            Often::Kill => faults.controller_crash,
        };
        let every = every.unwrap_or_default().0;
        let wait = Millis(self.rng.between(every / 2, every + every / 2).max(1));
        self.often(wait, what);
        let clusters: Vec<String> = self.world.sites.keys().cloned().collect();
        let Some(cluster) = self.rng.pick(&clusters).cloned() else { return };
        match what {
            Often::Crash => self.strike(&cluster, Blow::Crash),
            Often::Fail | Often::Evict => self.strike(&cluster, Blow::Evict),
            Often::Blink => self.strike(&cluster, Blow::Blink),
            Often::Outage => {
                let length = Millis(self.rng.between(30_000, every.max(60_000)));
                self.cut(&cluster, length);
            }
            Often::Kill => self.kill(),
        }
    }

    fn strike(&mut self, cluster: &str, blow: Blow) {
        let serving = self.world.sites.get(cluster).and_then(|site| site.workload.as_ref());
        let serving = serving.map_or(0, W::available);
        let nth = u32::try_from(self.rng.below(u64::from(serving))).unwrap_or(0);
        let before = self.templates_down(cluster);
        if serving == 0 || !self.world.lose(cluster, nth, blow != Blow::Evict) {
            return;
        }
        let how = match blow {
            Blow::Crash => "crash",
            Blow::Evict => "evict",
            Blow::Blink => "blink",
        };
        self.tell(What::Lost { cluster: cluster.to_owned(), how });
        if blow == Blow::Blink {
            self.blink(cluster, &before);
        }
        self.touch(cluster);
    }

    /// The pod that has just stopped to serve does so again in a moment.
    fn blink(&mut self, cluster: &str, before: &[Template]) {
        let mut down = self.templates_down(cluster);
        for template in before {
            if let Some(at) = down.iter().position(|it| it == template) {
                down.swap_remove(at);
            }
        }
        let Some(template) = down.pop() else { return };
        let back = self.now + Millis(self.rng.between(1000, 10_000));
        let times = self.desk(cluster).starting.entry(template).or_default();
        let at = times.partition_point(|time| *time <= back);
        times.insert(at, back);
        self.at(back, Job::Ready(cluster.to_owned(), template));
    }

    fn templates_down(&self, cluster: &str) -> Vec<Template> {
        let workload = self.world.sites.get(cluster).and_then(|site| site.workload.as_ref());
        let pods = workload.map(W::pods).unwrap_or_default();
        pods.iter().filter(|pod| !pod.available).map(|pod| pod.template).collect()
    }

    fn cut(&mut self, cluster: &str, length: Millis) {
        let Some(site) = self.world.sites.get_mut(cluster) else { return };
        if std::mem::replace(&mut site.reachable, false) {
            self.tell(What::Cut { cluster: cluster.to_owned() });
            self.after(length, Job::Back(cluster.to_owned()));
            self.stir();
        }
    }

    /// What could not be said meanwhile is said now, and what was written for it gets there.
    fn back(&mut self, cluster: &str) {
        let Some(site) = self.world.sites.get_mut(cluster) else { return };
        site.reachable = true;
        let waiting = site.in_flight.clone();
        self.tell(What::Back { cluster: cluster.to_owned() });
        for report in waiting {
            let lag = self.lag();
            self.after(lag, Job::Status(cluster.to_owned(), Box::new(report)));
        }
        self.deliver_work(cluster);
        self.stir();
    }
}
