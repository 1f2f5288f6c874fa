//! Fault profiles for rollouts over clusters: the words of those for sets where they fit, and outages.

use std::path::{Path, PathBuf};

use lockstep_api::Document;
use lockstep_core::align::{Target, Wish};
use lockstep_core::simulate::faults::Span;
use lockstep_core::simulate::federation::faults::{Blow, Faults, Nature, Outage, Strike};
use lockstep_core::simulate::federation::workload::template;
use lockstep_core::time::Millis;

use super::super::complaint::{BadInput, Complaint};
use super::super::fault_profile::PLAYED_AFTER;
use super::super::manifest::read_text;
use super::super::reader::{Place, Reader};
use super::Change;
use crate::show::words;

/// What a profile says, for one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// How the world behaves.
    pub nature: Nature,
    /// What goes wrong.
    pub faults: Faults,
    /// What the user changes in mid-rollout.
    pub changes: Vec<(Millis, Wish)>,
    /// How long to play at most.
    pub limit: Millis,
}

const FIELDS: &[&str] = &[
    "startUp",
    "termination",
    "lag",
    "every",
    "until",
    "badImage",
    "strikes",
    "outages",
    "changes",
    "limit",
];
const EVERY: &[&str] = &["crash", "fail", "eviction", "blink", "outage", "controllerCrash"];
const CHANGES: &[&str] = &["at", "revert", "clusters", "paused", "partition", "apply"];

impl Profile {
    /// A world where nothing goes wrong.
    pub fn ideal() -> Self {
        let limit = Millis::minutes(365 * 24 * 60);
        Self { nature: Nature::default(), faults: Faults::default(), changes: Vec::new(), limit }
    }

    /// Reads a file.
    pub fn read(path: &Path, change: &mut Change) -> Result<Self, BadInput> {
        let (file, text) = read_text(path)?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let document = Document::parse(&text).map_err(|problems| {
            BadInput(problems.into_iter().map(|it| Complaint::error(&file, it)).collect())
        })?;
        let value = document.to_json();
        let mut reader = Reader::new(&file, &document);
        let root = Place::root(&value);
        let read = reader.map(&root, FIELDS).then(|| profile(&mut reader, &root, change, folder));
        reader.close(read)
    }

    /// Why the wish at the end cannot be met.
    pub fn may_hold(&self, to: &Wish) -> Option<String> {
        let last = self.changes.last().map_or(to, |(_, wish)| wish);
        let bad = self.faults.never_ready.contains(&template(&last.template));
        bad.then(|| "the image wished for at the end does not work".to_owned())
    }
}

fn profile(reader: &mut Reader<'_>, root: &Place<'_>, change: &mut Change, folder: PathBuf) -> Profile {
    let nature = nature(reader, root, change);
    let mut faults = faults(reader, root);
    for item in root.get("badImage").map(|at| reader.list(&at)).unwrap_or_default() {
        bad_image(reader, &item, change, &mut faults);
    }
    for item in root.get("strikes").map(|at| reader.list(&at)).unwrap_or_default() {
        faults.strikes.extend(strike(reader, &item, change));
    }
    for item in root.get("outages").map(|at| reader.list(&at)).unwrap_or_default() {
        faults.outages.extend(outage(reader, &item, change));
    }
    let changes = root.get("changes").map(|at| changes(reader, &at, change, folder)).unwrap_or_default();
    let struck = faults.strikes.iter().map(|it| it.after).max().unwrap_or_default();
    let back = faults.outages.iter().map(|it| it.after + it.length).max().unwrap_or_default();
    let last = changes.last().map_or(Millis(0), |(at, _)| *at).max(faults.until).max(struck).max(back);
    let limit = root.get("limit").and_then(|at| reader.duration(&at)).unwrap_or(last + PLAYED_AFTER);
    Profile { nature, faults, changes, limit }
}

fn nature(reader: &mut Reader<'_>, root: &Place<'_>, change: &Change) -> Nature {
    let mut nature = Nature::default();
    match root.get("startUp") {
        Some(at) if at.value.is_object() => {
            for (key, at) in at.entries() {
                let Some(span) = reader.span(&at) else { continue };
                if key == "default" {
                    nature.start_up_default = span;
                } else if is_known(reader, &at, key, change) {
                    nature.start_up.insert(key.to_owned(), span);
                }
            }
        }
        Some(at) => nature.start_up_default = reader.span(&at).unwrap_or_default(),
        None => {}
    }
    let mut span = |key: &str| root.get(key).and_then(|at| reader.span(&at));
    nature.termination = span("termination").unwrap_or(nature.termination);
    nature.lag = span("lag").unwrap_or_default();
    nature
}

/// Whether there is such a cluster.
fn is_known(reader: &mut Reader<'_>, at: &Place<'_>, name: &str, change: &Change) -> bool {
    let known = change.to.wish.clusters.iter().any(|it| it.cluster == name);
    if !known {
        reader.refuse(at, format!("no cluster {name:?}; {}", change.known_clusters()));
    }
    known
}

fn faults(reader: &mut Reader<'_>, root: &Place<'_>) -> Faults {
    let mut faults = Faults::default();
    let every = root.get("every");
    if let Some(at) = &every
        && reader.map(at, EVERY)
    {
        let mut often = |key: &str| reader.often(&at.get(key)?);
        faults.crash = often("crash");
        faults.fail = often("fail");
        faults.eviction = often("eviction");
        faults.blink = often("blink");
        faults.outage = often("outage");
        faults.controller_crash = often("controllerCrash");
    }
    let until = root.get("until");
    faults.until = until.as_ref().and_then(|at| reader.duration(at)).unwrap_or_default();
    if let (Some(every), None) = (&every, &until) {
        reader.refuse(every, "until is required beside it: when the faults stop, such as 2h");
    }
    faults
}

/// `{revision: new, how: neverReady}`.
fn bad_image(reader: &mut Reader<'_>, at: &Place<'_>, change: &Change, faults: &mut Faults) {
    if !reader.map(at, &["revision", "how"]) {
        return;
    }
    match at.get("how") {
        Some(how) => reader.word(&how, &[("neverReady", ())]),
        None => {
            reader.refuse(at, "how is required: neverReady");
            None
        }
    };
    let old = at.get("revision").map_or(Some(false), |at| reader.word(&at, &[("new", false), ("old", true)]));
    let from = change.from.as_ref().map(|it| template(&it.wish.template));
    let to = template(&change.to.wish.template);
    match (old, from) {
        (Some(false), Some(from)) if from == to => {
            reader.refuse(at, "the template does not change, so the new one is the old one too");
        }
        (Some(false), _) => faults.never_ready.push(to),
        (Some(true), Some(from)) => faults.never_ready.push(from),
        (Some(true), None) => reader.refuse(at, "there is no old template at a first start"),
        (None, _) => {}
    }
}

/// `{at: 10m, what: evict, cluster: member1}`.
fn strike(reader: &mut Reader<'_>, at: &Place<'_>, change: &Change) -> Option<Strike> {
    if !reader.map(at, &["at", "what", "cluster"]) {
        return None;
    }
    let after = moment(reader, at);
    let by = match at.get("what") {
        Some(what) => {
            reader.word(&what, &[("evict", Blow::Evict), ("crash", Blow::Crash), ("blink", Blow::Blink)])
        }
        None => {
            reader.refuse(at, "what is required: evict, crash or blink");
            None
        }
    };
    let cluster = cluster(reader, at, change);
    Some(Strike { after: after?, cluster: cluster?, by: by? })
}

/// `{at: 10m, cluster: member1, for: 20m}`.
fn outage(reader: &mut Reader<'_>, at: &Place<'_>, change: &Change) -> Option<Outage> {
    if !reader.map(at, &["at", "cluster", "for"]) {
        return None;
    }
    let after = moment(reader, at);
    let length = match at.get("for") {
        Some(length) => reader.duration(&length),
        None => {
            reader.refuse(at, "for is required: how long it cannot be reached, such as 20m");
            None
        }
    };
    let cluster = cluster(reader, at, change);
    Some(Outage { after: after?, cluster: cluster?, length: length? })
}

fn moment(reader: &mut Reader<'_>, item: &Place<'_>) -> Option<Millis> {
    let Some(at) = item.get("at") else {
        reader.refuse(item, "at is required: how long after the change, such as 10m");
        return None;
    };
    reader.duration(&at)
}

fn cluster(reader: &mut Reader<'_>, item: &Place<'_>, change: &Change) -> Option<String> {
    let Some(at) = item.get("cluster") else {
        reader.refuse(item, format!("cluster is required; {}", change.known_clusters()));
        return None;
    };
    let name = reader.text(&at)?;
    is_known(reader, &at, name, change).then(|| name.to_owned())
}

/// The list under `changes`, each applied to what the ones before left.
fn changes(
    reader: &mut Reader<'_>,
    at: &Place<'_>,
    change: &mut Change,
    folder: PathBuf,
) -> Vec<(Millis, Wish)> {
    let mut found: Vec<(Millis, Wish)> = Vec::new();
    for item in reader.list(at) {
        if !reader.map(&item, CHANGES) {
            continue;
        }
        let mut wish = found.last().map_or(&change.to.wish, |(_, wish)| wish).clone();
        let time = moment(reader, &item);
        let given: Vec<&str> = CHANGES[1..].iter().copied().filter(|it| item.get(it).is_some()).collect();
        if given.is_empty() {
            reader.refuse(&item, format!("one of {} is required", CHANGES[1..].join(", ")));
        }
        for word in given {
            if let Some(at) = item.get(word) {
                apply(reader, &at, word, (&mut *change, &folder), &mut wish);
            }
        }
        let Some(time) = time else { continue };
        if found.last().is_some_and(|(earlier, _)| time < *earlier) {
            reader.refuse(&item, "must not come before the change above it");
        }
        found.push((time, wish));
    }
    found
}

fn apply(
    reader: &mut Reader<'_>,
    at: &Place<'_>,
    word: &str,
    (change, folder): (&mut Change, &Path),
    wish: &mut Wish,
) {
    match word {
        "revert" => match (reader.flag(at), &change.from) {
            (Some(true), Some(from)) => {
                wish.template = from.wish.template.clone();
                wish.strategy = from.wish.strategy.clone();
            }
            (Some(true), None) => {
                reader.refuse(at, "there is nothing to go back to at a first start: give -f");
            }
            _ => {}
        },
        "paused" if !wish.kind.has_pause() => reader.refuse(at, format!("a {:?} has no pause", wish.kind)),
        "paused" => wish.strategy.paused = reader.flag(at),
        "partition" if !wish.kind.has_partition() => {
            reader.refuse(at, format!("a {:?} has no partition", wish.kind));
        }
        "partition" => wish.strategy.partition = reader.int_or_percent(at).or(wish.strategy.partition),
        "clusters" => reweigh(reader, at, wish),
        _ => {
            let Some(name) = reader.text(at) else { return };
            let read = read_text(&folder.join(name)).and_then(|(file, text)| change.also(&file, text));
            match read {
                Ok(next) => *wish = Wish { clusters: wish.clusters.clone(), ..next },
                Err(bad) => bad.0.iter().for_each(|it| reader.refuse(at, it.to_string())),
            }
        }
    }
}

/// `{member1: 2, member3: 2}`: those that are named have another share, or one at all.
fn reweigh(reader: &mut Reader<'_>, at: &Place<'_>, wish: &mut Wish) {
    if !at.value.is_object() {
        return reader
            .refuse(at, "must be a map from clusters to replicas, such as {member1: 2, member2: 4}");
    }
    for (cluster, at) in at.entries() {
        let Some(replicas) = reader.number(&at) else { continue };
        match wish.clusters.iter_mut().find(|it| it.cluster == cluster) {
            Some(known) => known.replicas = replicas,
            None => wish.clusters.push(Target { cluster: cluster.to_owned(), replicas }),
        }
    }
}

/// What a profile does, in one line.
pub fn say(profile: &Profile) -> String {
    let faults = &profile.faults;
    let often = [
        ("crash", faults.crash),
        ("failure", faults.fail),
        ("eviction", faults.eviction),
        ("blink", faults.blink),
        ("outage", faults.outage),
        ("aligner crash", faults.controller_crash),
    ];
    let mut parts: Vec<String> =
        often.iter().filter_map(|(what, every)| Some(format!("{what} every {}", (*every)?))).collect();
    if !parts.is_empty() {
        parts.push(format!("until {}", faults.until));
    }
    let counted = [
        (faults.never_ready.len(), "bad image"),
        (faults.strikes.len(), "strike"),
        (faults.outages.len(), "outage"),
    ];
    let counted = counted.iter().filter(|(n, _)| *n > 0);
    parts.extend(counted.map(|(n, word)| words::count(*n as u64, word)));
    if profile.nature.lag != Span::default() {
        parts.push(format!("messages up to {} late", profile.nature.lag.max));
    }
    if !profile.changes.is_empty() {
        parts.push(format!("{} in mid-rollout", words::count(profile.changes.len() as u64, "change")));
    }
    if parts.is_empty() { "no faults".to_owned() } else { parts.join(", ") }
}
