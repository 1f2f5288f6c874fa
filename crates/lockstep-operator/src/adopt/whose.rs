//! Whose a pod is: the object at the end of the chain of its owners, or the one its labels name if nobody owns it.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::{Valid, label};
use serde_json::Value;

/// What stands of one object of another operator.
#[derive(Debug, Clone, Default)]
pub struct Estate<'a> {
    /// Its pods.
    pub pods: Vec<&'a Value>,
    /// What stands between it and its pods, owners first.
    pub between: Vec<&'a Value>,
}

impl<'a> Estate<'a> {
    /// What is left of an object: pods and other objects of its namespace that it owns, directly or through others;
    /// pods that are its set's already; and pods that lost their owner, if their labels name it.
    pub fn of(object: &Value, wanted: &Valid, set: &str, others: &'a [Value], pods: &'a [Value]) -> Self {
        let by_uid: BTreeMap<&str, &Value> = others.iter().chain(pods).map(|it| (uid(it), it)).collect();
        let depth = |it: &Value| depth(it, uid(object), &by_uid);
        let mut between: Vec<(usize, &Value)> =
            others.iter().filter_map(|it| Some((depth(it)?, it))).collect();
        between.sort_by_key(|(depth, it)| (*depth, it["metadata"]["name"].as_str()));
        let is_its = |pod: &&Value| {
            let ours = !set.is_empty() && controller(pod).is_some_and(|owner| owner["uid"] == set);
            ours || depth(pod).is_some() || (controller(pod).is_none() && is_called_so(pod, wanted))
        };
        Self {
            pods: pods.iter().filter(is_its).collect(),
            between: between.into_iter().map(|(_, it)| it).collect(),
        }
    }
}

/// The reference to the object that controls another.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// How many owners are between an object and the one with this UID; nothing if it is not its. Where owners above were
/// removed already, what is left says whose it was.
fn depth(object: &Value, end: &str, by_uid: &BTreeMap<&str, &Value>) -> Option<usize> {
    let (mut at, mut seen) = (object, BTreeSet::new());
    loop {
        let owner = controller(at).and_then(|owner| owner["uid"].as_str());
        if owner == Some(end) {
            return Some(seen.len());
        }
        let above = owner.and_then(|owner| by_uid.get(owner).map(|above| (owner, *above)));
        let Some((owner, above)) = above else {
            return (at["metadata"]["annotations"][label::LEFT_BY] == end).then_some(seen.len());
        };
        // Nobody owns itself, but anybody may write that.
        if !seen.insert(owner) {
            return None;
        }
        at = above;
    }
}

/// Whether all labels of a pod that would name its set name this one, and there is one.
fn is_called_so(pod: &Value, wanted: &Valid) -> bool {
    let roles = wanted.spec.roles.iter().filter_map(|role| role.identity.as_ref());
    let identities = wanted.spec.identity.iter().chain(roles);
    let keys: BTreeSet<&String> = identities
        .flat_map(|identity| identity.labels.iter().filter(|(_, template)| *template == "{set}"))
        .map(|(key, _)| key)
        .collect();
    let mut named = keys.into_iter().filter_map(|key| pod["metadata"]["labels"][key].as_str()).peekable();
    named.peek().is_some() && named.all(|name| name == wanted.metadata.name)
}
