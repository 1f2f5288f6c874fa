//! Cuts the trace of an ideal rollout over clusters into waves: what is set in motion at one moment.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_core::align::{Code, Lease, LeaseId, Reason, Wish};
use lockstep_core::simulate::federation::trace::{Count, Event, What};
use lockstep_core::simulate::federation::workload::{Template, template};
use serde::Serialize;

/// What is set in motion at one moment, in all clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// When it begins, in milliseconds since the change.
    pub start: u64,
    /// When the next one begins, or the rollout ends.
    pub end: u64,
    /// What moves.
    pub moves: Vec<Move>,
    /// The leases that were given.
    pub leases: Vec<(String, Lease)>,
    /// The lowest number available over all clusters, of how many.
    pub least: (u32, u32),
}

/// What moves in one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The cluster.
    pub cluster: String,
    /// What.
    pub what: Moved,
    /// Why its turn has come.
    pub why: Why,
    /// What it is granted while it moves.
    pub grant: Grant,
}

/// What is set in motion in a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// Pods that are replaced.
    pub replaced: u32,
    /// Pods that are started to stand in for others.
    pub surge: u32,
    /// Pods that are no longer needed for that.
    pub surge_goes: u32,
    /// Pods that are started where none was.
    pub started: u32,
    /// Of all that is started, the pods of the old template.
    pub still_old: u32,
    /// Pods that go for good.
    pub removed: u32,
    /// It only stands and is watched.
    pub watched: bool,
}

/// Why a cluster moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is the first that has anything to do.
    First,
    /// Those before it need less than all of what may be on its way.
    Left(Vec<String>),
    /// Those before it have arrived.
    Done(String),
    /// Its share is another.
    Replicas(u32, u32),
    /// Nothing stood there.
    Start,
    /// The policy says so, with how long it has to stand.
    Watch,
}

/// What a cluster may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grant {
    /// How many pods may be unavailable.
    pub unavailable: u32,
    /// How many may be too many.
    pub surge: u32,
}

/// Cuts a trace into waves.
pub fn cut(events: &[Event]) -> Vec<Wave> {
    let mut cutter = Cutter::default();
    for event in events {
        cutter.see(event);
    }
    cutter.settle();
    if let (Some(last), Some(end)) = (cutter.waves.last_mut(), events.last()) {
        last.end = end.t;
    }
    cutter.waves
}

#[derive(Default)]
struct Cutter {
    now: u64,
    wish: Option<Wish>,
    /// Every cluster as it was when this moment began, and as it is.
    before: BTreeMap<String, Site>,
    sites: BTreeMap<String, Site>,
    granted: BTreeMap<(String, LeaseId), Lease>,
    leases: Vec<(String, Lease)>,
    /// The lowest number available at this moment.
    lowest: Option<u32>,
    /// Something stood before anything was wished for.
    stood: bool,
    /// How large every cluster was then.
    initial: BTreeMap<String, u32>,
    /// Clusters that have begun to replace pods.
    begun: BTreeSet<String>,
    watched: BTreeSet<String>,
    watching: Option<String>,
    waves: Vec<Wave>,
}

#[derive(Debug, Clone, Default)]
struct Site {
    pods: Vec<Count>,
    lease: Option<Lease>,
    replicas: u32,
}

impl Site {
    fn total(&self) -> u32 {
        self.pods.iter().map(|it| it.pods).sum()
    }

    fn of(&self, wanted: Template) -> u32 {
        self.pods.iter().filter(|it| it.template == wanted).map(|it| it.pods).sum()
    }

    /// Whether nothing more is on its way.
    fn is_over(&self, wanted: Template) -> bool {
        let serve = self.pods.iter().all(|it| it.available == it.pods);
        let lease = self.lease.as_ref().filter(|it| template(&it.template) == wanted);
        serve && lease.is_some_and(|it| self.of(wanted) >= it.updated)
    }
}

impl Cutter {
    fn see(&mut self, event: &Event) {
        if event.t != self.now {
            self.settle();
            self.now = event.t;
        }
        match &event.what {
            What::Wish(wish) => self.wish = Some((**wish).clone()),
            What::Lease { cluster, lease } => {
                self.granted.insert((cluster.clone(), lease.id), (**lease).clone());
                if self.wish.is_some() {
                    self.leases.push((cluster.clone(), (**lease).clone()));
                } else {
                    self.sites.entry(cluster.clone()).or_default().lease = Some((**lease).clone());
                }
            }
            What::Applied { cluster, lease } => {
                let lease = self.granted.get(&(cluster.clone(), *lease)).cloned();
                let site = self.sites.entry(cluster.clone()).or_default();
                site.replicas = lease.as_ref().map_or(site.replicas, |it| it.replicas);
                site.lease = lease;
            }
            What::Pods { cluster, pods } => self.pods(cluster, pods),
            What::Waiting { reasons } => self.waiting(reasons),
            _ => {}
        }
    }

    fn pods(&mut self, cluster: &str, pods: &[Count]) {
        // What stands before anything is wished for stands.
        let stood = self.wish.is_none();
        let site = self.sites.entry(cluster.to_owned()).or_default();
        pods.clone_into(&mut site.pods);
        if stood {
            site.replicas = site.lease.as_ref().map_or(site.total(), |it| it.replicas);
            self.stood |= site.replicas > 0;
            self.initial.insert(cluster.to_owned(), site.replicas);
            self.before.insert(cluster.to_owned(), site.clone());
        } else {
            let available = self.available();
            self.lowest = Some(self.lowest.map_or(available, |lowest| lowest.min(available)));
        }
    }

    fn available(&self) -> u32 {
        self.sites.values().flat_map(|it| &it.pods).map(|it| it.available).sum()
    }

    /// A cluster has to stand for a while before the next begins: a wave of its own.
    fn waiting(&mut self, reasons: &[Reason]) {
        let stands = reasons.iter().filter(|it| it.code == Code::WaitingForTurn).find_map(|it| {
            let rest = it.message.strip_prefix("waits until ")?;
            rest.split_once(" has stood for ").map(|(cluster, _)| cluster.to_owned())
        });
        self.watching = stands.filter(|cluster| !self.watched.contains(cluster));
    }

    /// What happened at one moment is a wave, if anything was set in motion.
    fn settle(&mut self) {
        let Some(wish) = self.wish.clone() else { return };
        let wanted = template(&wish.template);
        let mut moves: Vec<Move> = Vec::new();
        let order = wish.clusters.iter().map(|it| it.cluster.clone());
        let order: Vec<String> =
            order.chain(self.sites.keys().filter(|it| !named(&wish, it)).cloned()).collect();
        for cluster in order {
            let Some(site) = self.sites.get(&cluster).cloned() else { continue };
            let before = self.before.get(&cluster).cloned().unwrap_or_default();
            if let Some(what) = moved(&before, &site, wanted) {
                let why = self.why(&wish, &cluster, &what);
                let lease = site.lease.as_ref();
                let grant = lease
                    .map_or(Grant::default(), |it| Grant { unavailable: it.unavailable, surge: it.surge });
                moves.push(Move { cluster, what, why, grant });
            }
        }
        if !moves.is_empty() {
            self.open(moves, &wish);
        }
        if let (Some(lowest), Some(last)) = (self.lowest.take(), self.waves.last_mut()) {
            last.least.0 = last.least.0.min(lowest);
        }
        if let Some(last) = self.waves.last_mut() {
            last.leases.append(&mut self.leases);
        }
        if let Some(cluster) = self.watching.take() {
            self.watched.insert(cluster.clone());
            let what = Moved { watched: true, ..Moved::default() };
            self.open(vec![Move { cluster, what, why: Why::Watch, grant: Grant::default() }], &wish);
        }
        self.before.clone_from(&self.sites);
    }

    fn open(&mut self, moves: Vec<Move>, wish: &Wish) {
        if let Some(last) = self.waves.last_mut() {
            last.end = self.now;
        }
        let of = wish.clusters.iter().map(|it| it.replicas).sum();
        let least = (self.available(), of);
        self.waves.push(Wave { start: self.now, end: self.now, moves, leases: Vec::new(), least });
    }

    /// Why a cluster moves: its own size, or what those before it in the order leave.
    fn why(&mut self, wish: &Wish, cluster: &str, what: &Moved) -> Why {
        if !self.stood && what.started > 0 {
            return Why::Start;
        }
        let wished = wish.clusters.iter().find(|it| it.cluster == cluster).map_or(0, |it| it.replicas);
        let initial = self.initial.get(cluster).copied().unwrap_or(0);
        if what.started + what.removed > 0 && wished != initial {
            return Why::Replicas(initial, wished);
        }
        let wanted = template(&wish.template);
        let (mut done, mut busy) = (None, Vec::new());
        let earlier = wish.clusters.iter().take_while(|it| it.cluster != cluster);
        for it in earlier.filter(|it| it.replicas > 0) {
            let over = self.sites.get(&it.cluster).is_some_and(|site| site.is_over(wanted));
            match over {
                false => busy.push(it.cluster.clone()),
                true if self.begun.contains(&it.cluster) => done = Some(it.cluster.clone()),
                true => {}
            }
        }
        self.begun.insert(cluster.to_owned());
        match (busy.is_empty(), done) {
            (false, _) => Why::Left(busy),
            (true, Some(done)) => Why::Done(done),
            (true, None) => Why::First,
        }
    }
}

fn named(wish: &Wish, cluster: &str) -> bool {
    wish.clusters.iter().any(|it| it.cluster == cluster)
}

/// What was set in motion in a cluster between two moments.
fn moved(before: &Site, after: &Site, wanted: Template) -> Option<Moved> {
    let (mut made, mut gone, mut still_old) = (0, 0, 0);
    let templates: BTreeSet<Template> = before.pods.iter().chain(&after.pods).map(|it| it.template).collect();
    for template in templates {
        let (was, is) = (before.of(template), after.of(template));
        made += is.saturating_sub(was);
        gone += was.saturating_sub(is);
        still_old += if template == wanted { 0 } else { is.saturating_sub(was) };
    }
    if made + gone == 0 {
        return None;
    }
    let replaced = made.min(gone);
    let (more, fewer) = (made - replaced, gone - replaced);
    let beyond = |site: &Site| site.total().saturating_sub(site.replicas);
    let surge = more.min(beyond(after).saturating_sub(beyond(before)));
    let surge_goes = fewer.min(beyond(before));
    let surge_goes = if after.replicas < before.replicas { 0 } else { surge_goes };
    Some(Moved {
        replaced,
        surge,
        surge_goes,
        started: more - surge,
        still_old,
        removed: fewer - surge_goes,
        watched: false,
    })
}

/// What a rollout comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Pods that are replaced.
    pub replacements: u32,
    /// Pods that are started where none was.
    pub started: u32,
    /// Pods that go for good.
    pub removed: u32,
}

/// Adds the waves up.
pub fn add_up(waves: &[Wave]) -> Totals {
    let all = || waves.iter().flat_map(|wave| &wave.moves).map(|it| it.what);
    let made: u32 = all().map(|it| it.replaced + it.surge + it.started).sum();
    let gone: u32 = all().map(|it| it.replaced + it.surge_goes + it.removed).sum();
    let replacements = made.min(gone);
    Totals { replacements, started: made - replacements, removed: gone - replacements }
}
