//! Fault profiles: what goes wrong in a simulated rollout, written for people.

use std::path::{Path, PathBuf};

use lockstep_api::Document;
use lockstep_core::coordinate;
use lockstep_core::model::{Role, Spec, StrategyKind};
use lockstep_core::names::RoleName;
use lockstep_core::revision::Revision;
use lockstep_core::simulate::faults::{Faults, Nature, Span};
use lockstep_core::time::Millis;

use super::changes;
use super::complaint::BadInput;
use super::manifest::read_text;
use super::reader::{Place, Reader};
use super::strikes;
use crate::show::words;

/// How long a faulty world is played after the last fault and the last change, if the profile does not say.
pub(super) const PLAYED_AFTER: Millis = Millis::minutes(7 * 24 * 60);

/// What a profile says, for one pair of manifests.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// How the world behaves.
    pub nature: Nature,
    /// What goes wrong.
    pub faults: Faults,
    /// What the user changes in mid-rollout.
    pub changes: Vec<(Millis, Spec)>,
    /// How long to play at most.
    pub limit: Millis,
}

/// The manifests a profile is read for.
pub struct About<'a> {
    /// What stands at the beginning.
    pub from: Option<&'a Spec>,
    /// What is wished for.
    pub to: &'a Spec,
    /// Where files named in the profile are.
    pub folder: PathBuf,
}

const FIELDS: &[&str] = &[
    "startUp",
    "termination",
    "nodes",
    "lag",
    "promote",
    "every",
    "until",
    "badImage",
    "strikes",
    "changes",
    "limit",
];
const EVERY: &[&str] = &["crash", "fail", "eviction", "blink", "nodeLoss", "controllerCrash", "memoryLoss"];

impl Profile {
    /// A world where nothing goes wrong.
    pub fn ideal() -> Self {
        let limit = Millis::minutes(365 * 24 * 60);
        Self { nature: Nature::default(), faults: Faults::default(), changes: Vec::new(), limit }
    }

    /// Reads a file.
    pub fn read(path: &Path, from: Option<&Spec>, to: &Spec) -> Result<Self, BadInput> {
        let (file, text) = read_text(path)?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::parse(&file, &text, &About { from, to, folder })
    }

    /// Reads a text.
    pub fn parse(file: &str, text: &str, about: &About<'_>) -> Result<Self, BadInput> {
        let document = Document::parse(text).map_err(|problems| {
            BadInput(problems.into_iter().map(|p| super::complaint::Complaint::error(file, p)).collect())
        })?;
        let value = document.to_json();
        let mut reader = Reader::new(file, &document);
        let root = Place::root(&value);
        let profile = reader.map(&root, FIELDS).then(|| profile(&mut reader, &root, about));
        reader.close(profile)
    }

    /// Whether the wish at the end can be met at all: not by an image that never works, nor without room.
    pub fn may_hold(&self, to: &Spec) -> Option<String> {
        let last = self.changes.last().map_or(to, |(_, spec)| spec);
        let faults = &self.faults;
        let bad = |role: &&Role| {
            [&faults.never_ready, &faults.failing, &faults.flapping]
                .iter()
                .any(|list| list.contains(&role.revision))
        };
        if let Some(role) = last.roles.iter().find(bad) {
            return Some(format!("the image of {} wished for at the end does not work", role.name));
        }
        if self.nature.nodes.is_empty() {
            return None;
        }
        let room: u64 = self.nature.nodes.iter().map(|n| u64::from(*n)).sum();
        let pods = pods_of_a_group(last) * u64::from(last.replicas);
        let extra = least_extra(last);
        match room {
            _ if room < pods => Some(format!("the nodes have room for {room} of {pods} pods")),
            _ if room < pods + extra => {
                Some(format!("the nodes have room for {room} pods, and {pods} with {extra} extra are needed"))
            }
            _ => None,
        }
    }
}

fn pods_of_a_group(spec: &Spec) -> u64 {
    spec.roles.iter().map(|role| u64::from(role.replicas) * u64::from(role.pods())).sum()
}

/// How many pods beyond those wished for must fit for anything to move: where none may be unavailable, one
/// instance of the role, or a whole group.
fn least_extra(spec: &Spec) -> u64 {
    if spec.replicas > 0 && spec.strategy.limits(spec.replicas).unavailable == 0 {
        return pods_of_a_group(spec);
    }
    if spec.strategy.kind != StrategyKind::RollingUpdate {
        return 0;
    }
    let covered = |role: &&Role| role.replicas > 0 && coordinate::limits(spec, role).0.unavailable == 0;
    spec.roles.iter().filter(covered).map(|role| u64::from(role.pods())).max().unwrap_or(0)
}

fn profile(reader: &mut Reader<'_>, root: &Place<'_>, about: &About<'_>) -> Profile {
    let nature = nature(reader, root, about);
    let mut faults = faults(reader, root);
    if let Some(at) = root.get("badImage") {
        for item in reader.list(&at) {
            bad_image(reader, &item, about, &mut faults);
        }
    }
    faults.strikes = root.get("strikes").map(|at| strikes::read(reader, &at, about)).unwrap_or_default();
    let changes = root.get("changes").map(|at| changes::read(reader, &at, about)).unwrap_or_default();
    let struck = faults.strikes.iter().map(|strike| strike.after).max().unwrap_or_default();
    let last = changes.last().map_or(Millis(0), |(at, _)| *at).max(faults.until).max(struck);
    let limit = root.get("limit").and_then(|at| reader.duration(&at)).unwrap_or(last + PLAYED_AFTER);
    Profile { nature, faults, changes, limit }
}

fn nature(reader: &mut Reader<'_>, root: &Place<'_>, about: &About<'_>) -> Nature {
    let mut nature = Nature::default();
    if let Some(at) = root.get("startUp") {
        start_up(reader, &at, about, &mut nature);
    }
    let span = |reader: &mut Reader<'_>, key: &str| root.get(key).and_then(|at| reader.span(&at));
    nature.termination = span(reader, "termination").unwrap_or(nature.termination);
    nature.lag = span(reader, "lag").unwrap_or_default();
    if let Some(at) = root.get("nodes") {
        nature.nodes = nodes(reader, &at);
    }
    nature.promote = root.get("promote").and_then(|at| reader.flag(&at)).unwrap_or(true);
    nature
}

/// `startUp: 5m`, or by role with `default` for the others.
fn start_up(reader: &mut Reader<'_>, at: &Place<'_>, about: &About<'_>, nature: &mut Nature) {
    if !at.value.is_object() {
        nature.start_up_default = reader.span(at).unwrap_or_default();
        return;
    }
    for (key, at) in at.entries() {
        let Some(span) = reader.span(&at) else { continue };
        if key == "default" {
            nature.start_up_default = span;
        } else if let Some(name) = role(reader, &at, key, about) {
            nature.start_up.insert(name, span);
        }
    }
}

/// A role that exists before or after the change.
pub fn role(reader: &mut Reader<'_>, at: &Place<'_>, name: &str, about: &About<'_>) -> Option<RoleName> {
    let name = RoleName::new(name);
    let specs: Vec<&Spec> = about.from.into_iter().chain([about.to]).collect();
    if specs.iter().any(|spec| spec.role(&name).is_some()) {
        return Some(name);
    }
    reader.refuse(at, format!("no role {:?}; {}", name.as_str(), super::roles::known(&specs)));
    None
}

/// `nodes: [8, 8]`, or `{count: 2, pods: 8}`.
fn nodes(reader: &mut Reader<'_>, at: &Place<'_>) -> Vec<u32> {
    const MOST: u32 = 100_000;
    if at.value.is_array() {
        return at.items().iter().filter_map(|item| reader.number(item)).collect();
    }
    if !reader.map(at, &["count", "pods"]) {
        return Vec::new();
    }
    match (at.get("count"), at.get("pods")) {
        (Some(count), Some(pods)) => match (reader.number(&count), reader.number(&pods)) {
            (Some(n), Some(_)) if n == 0 || n > MOST => {
                reader.refuse(&count, format!("must be from 1 to {MOST}"));
                Vec::new()
            }
            (Some(n), Some(pods)) => vec![pods; n as usize],
            _ => Vec::new(),
        },
        _ => {
            reader
                .refuse(at, "count and pods are required: how many nodes, each with room for how many pods");
            Vec::new()
        }
    }
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
        faults.node_loss = often("nodeLoss");
        faults.controller_crash = often("controllerCrash");
        faults.memory_loss = often("memoryLoss");
    }
    let until = root.get("until");
    faults.until = until.as_ref().and_then(|at| reader.duration(at)).unwrap_or_default();
    if let (Some(every), None) = (&every, &until) {
        reader.refuse(every, "until is required beside it: when the faults stop, such as 2h");
    }
    if faults.node_loss.is_some() && root.get("nodes").is_none() {
        reader
            .refuse(root, "every.nodeLoss needs nodes that can be lost, such as nodes: {count: 4, pods: 8}");
    }
    faults
}

/// `{role: prefill, revision: new, how: neverReady}`; without a role, of every role that changes.
fn bad_image(reader: &mut Reader<'_>, at: &Place<'_>, about: &About<'_>, faults: &mut Faults) {
    if !reader.map(at, &["role", "revision", "how"]) {
        return;
    }
    let Some(how) = at.get("how") else {
        return reader.refuse(at, "how is required: neverReady, failing or flapping");
    };
    let how = reader.word(&how, &[("neverReady", 0), ("failing", 1), ("flapping", 2)]);
    let old = at.get("revision").map_or(Some(false), |at| reader.word(&at, &[("new", false), ("old", true)]));
    let named = match at.get("role") {
        Some(named) => reader.text(&named).and_then(|text| role(reader, &named, text, about)).map(Some),
        None => Some(None),
    };
    let (Some(how), Some(old), Some(named)) = (how, old, named) else { return };
    let found = match named {
        Some(name) => bad_revision(about, &name, old).map(|revision| vec![revision]),
        None => {
            let names = about.to.roles.iter().map(|role| &role.name);
            let bad: Vec<Revision> = names.filter_map(|name| bad_revision(about, name, old).ok()).collect();
            if bad.is_empty() { Err("no role changes".to_owned()) } else { Ok(bad) }
        }
    };
    match found {
        Ok(bad) => [&mut faults.never_ready, &mut faults.failing, &mut faults.flapping][how].extend(bad),
        Err(message) => reader.refuse(at, message),
    }
}

/// The revision of a role that is to be bad. A new one must not be the old one too.
fn bad_revision(about: &About<'_>, name: &RoleName, old: bool) -> Result<Revision, String> {
    let before = about.from.and_then(|spec| revision(spec, name));
    let found = if old { before } else { revision(about.to, name) };
    let which = if old { "old" } else { "new" };
    let found = found.ok_or_else(|| format!("there is no {which} revision of {name}"))?;
    if !old && before == Some(found) {
        return Err(format!("{name} does not change, so its new revision is the old one too"));
    }
    Ok(found)
}

fn revision(spec: &Spec, role: &RoleName) -> Option<Revision> {
    spec.role(role).map(|role| role.revision)
}

/// What a profile does, in one line.
pub fn say(profile: &Profile) -> String {
    let faults = &profile.faults;
    let often = [
        ("crash", faults.crash),
        ("failure", faults.fail),
        ("eviction", faults.eviction),
        ("blink", faults.blink),
        ("lost node", faults.node_loss),
        ("controller crash", faults.controller_crash),
        ("memory loss", faults.memory_loss),
    ];
    let mut parts: Vec<String> =
        often.iter().filter_map(|(what, every)| Some(format!("{what} every {}", (*every)?))).collect();
    if !parts.is_empty() {
        parts.push(format!("until {}", faults.until));
    }
    let bad = faults.never_ready.len() + faults.failing.len() + faults.flapping.len();
    if bad > 0 {
        parts.push(format!("{bad} bad {}", words::plural(bad, "image")));
    }
    if !faults.strikes.is_empty() {
        parts.push(words::count(faults.strikes.len() as u64, "strike"));
    }
    if profile.nature.lag != Span::default() {
        parts.push(format!("view up to {} behind", profile.nature.lag.max));
    }
    if !profile.changes.is_empty() {
        parts.push(format!("{} in mid-rollout", words::count(profile.changes.len() as u64, "change")));
    }
    if parts.is_empty() { "no faults".to_owned() } else { parts.join(", ") }
}
