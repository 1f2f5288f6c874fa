//! Names: their form, that each is there once, and that the pods' names fit.

use std::collections::BTreeMap;

use lockstep_core::gang::GangName;
use lockstep_core::names::{RoleName, RuleName};

pub(super) use crate::bounds::LONGEST_NAME as LONGEST;

use super::{role_path, rule_path};
use crate::coordination::{BatchMode, Coordination};
use crate::findings::Findings;
use crate::identity::{Identity, Values, default_pod_name, expand};
use crate::lockstep_set::{GangScheduler, LockstepSet, Role};
use crate::path::Path;

/// As long as a label's value can be.
const LONGEST_LABEL: &str = "012345678901234567890123456789012345678901234567890123456789012";

pub(super) const FORM: &str =
    "must be lower case letters, digits and '-', starting and ending with a letter or digit";

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    let metadata = Path::root().field("metadata");
    label(&set.metadata.name, &metadata.field("name"), found);
    if let Some(namespace) = &set.metadata.namespace {
        label(namespace, &metadata.field("namespace"), found);
    }
    let roles: Vec<_> = set.spec.roles.iter().map(|role| role.name.as_str()).collect();
    named_once(&roles, role_path, found);
    let rules: Vec<_> = set.spec.coordination.iter().map(|rule| rule.name.as_str()).collect();
    named_once(&rules, rule_path, found);
    for (i, role) in set.spec.roles.iter().enumerate() {
        let members: Vec<_> = role.members.iter().map(|member| member.name.as_str()).collect();
        named_once(&members, |j| role_path(i).field("members").index(j), found);
        pod_names_fit(set, i, role, found);
    }
    gang_names_fit(set, found);
    pods_share_no_name(set, found);
    written_names_differ(set, found);
}

/// Whether a name may be part of a pod's name (DNS-1123 label).
pub(super) fn is_label(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|b| plain(*b))
        && bytes.last().is_some_and(|b| plain(*b))
        && bytes.iter().all(|b| plain(*b) || *b == b'-')
}

/// Whether a label may have this value.
pub(crate) fn is_label_value(value: &str) -> bool {
    let plain = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.len() <= 63
        && plain(bytes.first())
        && plain(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// The key of a label or annotation: a name, or a domain, a slash and a name.
pub(crate) fn is_qualified(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((domain, name)) => {
            if domain.len() > 253 || !domain.split('.').all(is_label) {
                return false;
            }
            name
        }
        None => key,
    };
    !name.is_empty() && is_label_value(name)
}

fn label(name: &str, path: &Path, found: &mut Findings) {
    if !found.sound(path) {
        return;
    }
    if !is_label(name) {
        found.error(path, FORM);
    } else if name.len() > LONGEST {
        found.error(path, format!("has {} characters; up to {LONGEST} are accepted", name.len()));
    }
}

/// Every name is well formed and given once.
fn named_once(names: &[&str], place: impl Fn(usize) -> Path, found: &mut Findings) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        let path = place(i).field("name");
        label(name, &path, found);
        match first.get(name) {
            Some(first) if found.sound(&path) => {
                found.error(&path, format!("already the name of {}", place(*first)));
            }
            Some(_) => {}
            None => {
                first.insert(name, i);
            }
        }
    }
}

/// The largest ordinal of a level, surge included.
pub(super) fn last_ordinal(replicas: u32, surge: lockstep_core::number::IntOrPercent) -> u32 {
    (replicas + surge.ceil_of(replicas).min(replicas)).saturating_sub(1)
}

/// What the placeholders stand for in the pod of a role that gets the longest name.
pub(super) fn longest<'a>(set: &'a LockstepSet, role: &'a Role) -> Values<'a> {
    let width = |member: &(&'a str, u32)| member.0.len() + member.1.to_string().len();
    let members = role.members.iter().map(|member| (member.name.as_str(), member.count.saturating_sub(1)));
    let (member, pod) = members.max_by_key(width).unwrap_or((&role.name, 0));
    Values {
        set: &set.metadata.name,
        group: last_ordinal(set.spec.replicas, set.spec.update_strategy.max_surge),
        role: &role.name,
        instance: last_ordinal(role.replicas, role.strategy().max_surge),
        member,
        pod,
        revision: "0123456789",
        set_revision: "0123456789",
        leader: "",
        size: role.pods(),
        index: u32::try_from(role.pods()).unwrap_or(u32::MAX).saturating_sub(1),
        // Namespaces and UIDs are no longer than that.
        namespace: LONGEST_LABEL,
        uid: &LONGEST_LABEL[..36],
        gang: "",
    }
}

fn pod_names_fit(set: &LockstepSet, i: usize, role: &Role, found: &mut Findings) {
    let path = role_path(i).field("name");
    if has_written_name(set, role)
        || !found.sound(&path)
        || !found.sound(&Path::root().field("metadata").field("name"))
    {
        return;
    }
    let name = expand(default_pod_name(role.pods()), &longest(set, role));
    if let Some(more) = name.len().checked_sub(LONGEST).filter(|more| *more > 0) {
        let total = name.len();
        let message =
            format!("the pod name {name} has {total} characters, {more} too many; shorten a name in it");
        found.error(&path, message);
    }
}

/// Pods carry the name of their gang as a label.
fn gang_names_fit(set: &LockstepSet, found: &mut Findings) {
    if set.spec.gang.scheduler == GangScheduler::None {
        return;
    }
    for (i, role) in set.spec.roles.iter().enumerate().filter(|(_, role)| role.pods() > 1) {
        let last = last_ordinal(role.replicas, role.strategy().max_surge);
        let (name, members) = (RoleName::new(&role.name), role.members.len());
        let gang = match role.members.iter().all(|member| member.starts_after.is_empty()) {
            true => GangName::Instance(name, last),
            false => GangName::Stage(name, last, u32::try_from(members).unwrap_or(u32::MAX)),
        };
        gang_name_fits(gang, &role_path(i), found);
    }
    let batched = set.spec.coordination.iter().enumerate();
    let in_turn = |rule: &Coordination| {
        rule.affinity_scheduling.as_ref().is_some_and(|it| it.batch_mode == BatchMode::Sequential)
    };
    for (i, rule) in batched.filter(|(_, rule)| in_turn(rule)) {
        // There are no more batches than instances of a role.
        let most = set.spec.roles.iter().map(|role| role.replicas).max().unwrap_or_default();
        gang_name_fits(GangName::Batch(RuleName::new(&rule.name), most), &rule_path(i), found);
    }
}

fn gang_name_fits(gang: GangName, path: &Path, found: &mut Findings) {
    let (path, gang) = (path.field("name"), gang.to_string());
    if let Some(more) = gang.len().checked_sub(LONGEST).filter(|more| *more > 0 && found.sound(&path)) {
        let total = gang.len();
        let message =
            format!("the gang's label {gang} has {total} characters, {more} too many; shorten the name");
        found.error(&path, message);
    }
}

/// Names are put together with '-', which may also be part of them: `a-0-b` is an instance of role `a-0-b`, or
/// member `b` of instance 0 of role `a`.
fn pods_share_no_name(set: &LockstepSet, found: &mut Findings) {
    let Some(names) = default_names(set) else { return };
    for long in names.iter().filter(|role| role.pods() > 1) {
        for (i, other) in set.spec.roles.iter().enumerate() {
            let path = role_path(i).field("name");
            if let Some(suffix) = shared_name(long, other).filter(|_| found.sound(&path)) {
                let name = format!("{}-0-{suffix}", set.metadata.name);
                found.error(&path, format!("role {} has a pod of the same name, {name}", long.name));
            }
        }
    }
}

/// The roles, if their pods are named as usual.
fn default_names(set: &LockstepSet) -> Option<&[Role]> {
    let written = set.spec.roles.iter().any(|role| has_written_name(set, role));
    (!written).then_some(&set.spec.roles)
}

/// Whether somebody says how pods of the role are named.
fn has_written_name(set: &LockstepSet, role: &Role) -> bool {
    let named = |identity: Option<&Identity>| identity.is_some_and(|identity| identity.pod_name.is_some());
    named(set.spec.identity.as_ref())
        || named(role.identity.as_ref())
        || role.members.iter().any(|member| named(member.identity.as_ref()))
}

/// Where names are written by hand, the first pods of all roles are called by them: what collides does so early.
fn written_names_differ(set: &LockstepSet, found: &mut Findings) {
    const FIRST: u32 = 32;
    if default_names(set).is_some() {
        return;
    }
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (i, role) in set.spec.roles.iter().enumerate() {
        let path = role_path(i).field("name");
        let instances = last_ordinal(role.replicas, role.strategy().max_surge).min(FIRST);
        let all = (0..=instances).flat_map(|instance| first_names(set, role, instance, FIRST));
        let twice = all.into_iter().find_map(|name| {
            let other = *names.entry(name.clone()).or_insert(&role.name);
            (other != role.name).then_some((name, other))
        });
        if let Some((name, other)) = twice.filter(|_| found.sound(&path)) {
            found.error(&path, format!("role {other} has a pod of the same name, {name}"));
        }
    }
}

/// The names of the first pods of an instance in group 0.
fn first_names(set: &LockstepSet, role: &Role, instance: u32, most: u32) -> Vec<String> {
    let of_role = Identity::joined(set.spec.identity.as_ref(), role.identity.as_ref()).unwrap_or_default();
    let mut names = Vec::new();
    let mut index = 0;
    for member in role.parts() {
        let identity = member.identity.as_ref().map_or_else(|| of_role.clone(), |own| of_role.narrowed(own));
        let template = identity.pod_name.as_deref().unwrap_or(default_pod_name(role.pods()));
        for pod in 0..member.count.min(most) {
            let values =
                Values { group: 0, instance, member: &member.name, pod, index, ..longest(set, role) };
            names.push(expand(template, &values));
            index += 1;
        }
    }
    names
}

/// How a pod of both roles would be called, from the role's name on. `long` has several pods to an instance.
fn shared_name(long: &Role, other: &Role) -> Option<String> {
    let rest = other.name.strip_prefix(&long.name)?.strip_prefix('-')?;
    let (instance, rest) = rest.split_once('-').unwrap_or((rest, ""));
    ordinal(instance, last_ordinal(long.replicas, long.strategy().max_surge))?;
    let last = last_ordinal(other.replicas, other.strategy().max_surge);
    let same = |member: &str| {
        if other.pods() <= 1 {
            return member == rest;
        }
        other.members.iter().any(|inner| {
            let head = member.strip_suffix(&inner.name).and_then(|head| head.strip_suffix('-'));
            let number = head.and_then(|head| match rest {
                "" => Some(head),
                rest => head.strip_prefix(rest)?.strip_prefix('-'),
            });
            number.is_some_and(|number| ordinal(number, last).is_some())
        })
    };
    let member = long.members.iter().find(|member| same(&member.name))?;
    Some(format!("{}-{instance}-{}-0", long.name, member.name))
}

/// An ordinal as it stands in a name, up to `last`.
fn ordinal(text: &str, last: u32) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number <= last && number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for good in ["a", "0", "a-b", "llama-3", "a--b"] {
            assert!(is_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "é", "a b"] {
            assert!(!is_label(bad), "{bad}");
        }
    }
}
