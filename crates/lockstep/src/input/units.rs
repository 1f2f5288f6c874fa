//! Instances in short form: `{instances: 0-3, revision: old, ready: true}` becomes whole pods.

use lockstep_core::model::{Member, Role};
use lockstep_core::names::Uid;
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::{Instance, Pod};
use lockstep_core::time::{Millis, Time};

use super::moment::{self, ACCEPTED};
use super::reader::{Place, Reader};

const FIELDS: &[&str] = &[
    "instance",
    "instances",
    "revision",
    "ready",
    "available",
    "scheduled",
    "gated",
    "failed",
    "terminating",
    "since",
];
/// The most instances one file may describe.
const MOST: u32 = 100_000;
/// How long something lasts that nobody gave a time for.
const A_WHILE: Millis = Millis::minutes(10);

/// Where the units stand and what they are made of.
pub struct Home<'a> {
    /// The group.
    pub group: u32,
    /// The role as wished for.
    pub role: &'a Role,
    /// Now.
    pub now: Time,
}

/// How one unit is.
struct State {
    created: Time,
    bound: Option<Time>,
    ready: Option<Time>,
    gated: bool,
    failed: bool,
    terminating: bool,
}

/// Reads one entry and turns it into instances. `resolve` gives words like `old` their revision, `layout` the
/// members of a revision.
pub fn read(
    reader: &mut Reader<'_>,
    at: &Place<'_>,
    home: &Home<'_>,
    resolve: &mut dyn FnMut(&mut Reader<'_>, &Place<'_>) -> Option<Revision>,
    layout: &dyn Fn(Revision) -> Vec<Member>,
) -> Vec<Instance> {
    if !reader.map(at, FIELDS) {
        return Vec::new();
    }
    let ordinals = ordinals(reader, at);
    let revision = match at.get("revision") {
        Some(place) => resolve(reader, &place),
        None => Some(home.role.revision),
    };
    let state = state(reader, at, home);
    let (Some(revision), Some(state)) = (revision, state) else { return Vec::new() };
    ordinals.into_iter().map(|i| instance(i, revision, &state, home, &layout(revision))).collect()
}

fn instance(
    ordinal: u32,
    revision: Revision,
    state: &State,
    home: &Home<'_>,
    members: &[Member],
) -> Instance {
    let mut pods = Vec::new();
    for member in members {
        for index in 0..member.count {
            let uid = format!("{}-{}-{ordinal}-{}-{index}", home.group, home.role.name, member.name);
            pods.push(Pod {
                member: member.name.clone(),
                index,
                uid: Uid::new(&uid),
                revision,
                created: state.created,
                bound: state.bound,
                ready: state.ready,
                failed: state.failed,
                terminating: state.terminating,
                gated: state.gated,
                ..Pod::default()
            });
        }
    }
    Instance { instance: ordinal, pods }
}

/// `instance: 3`, `instances: 0-3` or `instances: [0, 2]`.
fn ordinals(reader: &mut Reader<'_>, at: &Place<'_>) -> Vec<u32> {
    match (at.get("instance"), at.get("instances")) {
        (Some(one), None) => reader.number(&one).into_iter().collect(),
        (None, Some(many)) if many.value.is_array() => {
            many.items().iter().filter_map(|item| reader.number(item)).collect()
        }
        (None, Some(many)) => {
            let range = many.value.as_str().and_then(|text| text.split_once('-'));
            let range = range.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
            match range {
                Some((first, last)) if first <= last && last < MOST => (first..=last).collect(),
                _ => {
                    reader.refuse(&many, "must be a range such as 0-3 or a list such as [0, 2]");
                    Vec::new()
                }
            }
        }
        _ => {
            reader.refuse(at, "either instance: 3 or instances: 0-3 is required");
            Vec::new()
        }
    }
}

fn state(reader: &mut Reader<'_>, at: &Place<'_>, home: &Home<'_>) -> Option<State> {
    let mut flag = |key: &str, otherwise: bool| at.get(key).map_or(Some(otherwise), |at| reader.flag(&at));
    let gated = flag("gated", false)?;
    let failed = flag("failed", false)?;
    let terminating = flag("terminating", false)?;
    let scheduled = flag("scheduled", !gated)?;
    let ready = flag("ready", scheduled && !failed && !terminating)?;
    let available = flag("available", ready)?;
    let since = match at.get("since") {
        None => None,
        Some(place) => {
            let found = moment::moment(place.value, home.now);
            if found.is_none() {
                reader.refuse(&place, ACCEPTED);
            }
            Some(found?)
        }
    };
    if (available && !ready) || (ready && (!scheduled || failed)) {
        reader.refuse(
            at,
            "available means ready, ready means scheduled and not failed: these do not go together",
        );
        return None;
    }
    let ago = |length: Millis| Time(home.now.0.saturating_sub(length.0));
    let wait = home.role.min_ready;
    let since = since.unwrap_or(match (ready, available) {
        (true, true) => ago(wait + A_WHILE),
        (true, false) => home.now,
        _ => ago(A_WHILE),
    });
    let counts = since + wait <= home.now;
    if ready && available != counts {
        let (word, why) = if available { ("available", "not yet") } else { ("not available", "already") };
        let role = &home.role.name;
        reader.refuse(
            at,
            format!("is said to be {word}, but minReadySeconds of {role} ({wait}) have {why} passed since"),
        );
        return None;
    }
    let created = Time(since.0.saturating_sub(if ready { 60_000 } else { 0 }));
    let bound = scheduled.then_some(created);
    Some(State { created, bound, ready: ready.then_some(since), gated, failed, terminating })
}
