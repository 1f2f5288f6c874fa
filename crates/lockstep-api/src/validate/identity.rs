//! Identity templates: known placeholders only, names that fit, and no two pods of one name.

use super::names::{FORM, LONGEST, is_label, is_label_value, is_qualified, last_ordinal, longest};
use super::{role_path, spec};
use crate::findings::Findings;
use crate::identity::{Identity, PLACEHOLDERS, Piece, default_pod_name, expand, pieces, placeholders};
use crate::lockstep_set::{LockstepSet, Member, Role};
use crate::path::Path;
use crate::words::nearest;

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    if let Some(identity) = &set.spec.identity {
        let path = spec().field("identity");
        let all: Vec<(&Role, &[Member])> =
            set.spec.roles.iter().map(|role| (role, &role.members[..])).collect();
        check_one(set, identity, &all, &path, found);
        for role in &set.spec.roles {
            fits(set, role, identity, identity, &path, found);
        }
    }
    for (i, role) in set.spec.roles.iter().enumerate() {
        check_role(set, i, role, found);
    }
}

/// What a role and its members say themselves.
fn check_role(set: &LockstepSet, i: usize, role: &Role, found: &mut Findings) {
    let path = role_path(i);
    let of_role = Identity::joined(set.spec.identity.as_ref(), role.identity.as_ref()).unwrap_or_default();
    if let Some(identity) = &role.identity {
        let path = path.field("identity");
        check_one(set, identity, &[(role, &role.members)], &path, found);
        fits(set, role, identity, &of_role, &path, found);
    }
    for (k, member) in role.members.iter().enumerate() {
        let Some(identity) = &member.identity else { continue };
        let path = path.field("members").index(k).field("identity");
        check_one(set, identity, &[(role, std::slice::from_ref(member))], &path, found);
        fits(set, role, identity, &of_role.narrowed(identity), &path, found);
    }
}

/// `holds_for`: the roles, and the members of each, whose pods the identity is about.
fn check_one(
    set: &LockstepSet,
    identity: &Identity,
    holds_for: &[(&Role, &[Member])],
    path: &Path,
    found: &mut Findings,
) {
    for (template, at) in templates(identity, path) {
        known(template, &at, found);
    }
    for key in identity.labels.keys().chain(identity.annotations.keys()) {
        let kind = if identity.labels.contains_key(key) { "labels" } else { "annotations" };
        if !is_qualified(key) {
            found.error(&path.field(kind).key(key), "the key must be a name, or a domain, '/' and a name");
        }
    }
    for name in identity.env.keys().filter(|name| name.is_empty() || name.contains('=')) {
        found.error(&path.field("env").key(name), "the name must not be empty and have no '='");
    }
    for name in identity.resource_claims.keys().filter(|name| !is_label(name) || name.len() > LONGEST) {
        found.error(&path.field("resourceClaims").key(name), FORM);
    }
    if let Some(template) = &identity.pod_name {
        tells_pods_apart(set, template, holds_for, &path.field("podName"), found);
    }
    if let Some(template) = &identity.subdomain {
        names_a_service(template, &path.field("subdomain"), found);
    }
}

/// A service selects pods by labels that stay what they are.
fn names_a_service(template: &str, at: &Path, found: &mut Findings) {
    let used = placeholders(template);
    for bad in ["pod", "index", "revision", "setRevision", "size", "uid", "gang"] {
        if used.contains(&bad) {
            found.error(at, format!("{{{bad}}} cannot be part of a subdomain: no service selects by it"));
        }
    }
}

/// Every template of an identity and its place.
fn templates<'a>(identity: &'a Identity, path: &Path) -> Vec<(&'a str, Path)> {
    let single = [
        (&identity.pod_name, "podName"),
        (&identity.hostname, "hostname"),
        (&identity.subdomain, "subdomain"),
    ];
    let maps = [
        (&identity.labels, "labels"),
        (&identity.annotations, "annotations"),
        (&identity.env, "env"),
        (&identity.resource_claims, "resourceClaims"),
    ];
    let mut all: Vec<(&str, Path)> = Vec::new();
    for (template, name) in single {
        all.extend(template.as_deref().map(|template| (template, path.field(name))));
    }
    for (map, name) in maps {
        all.extend(map.iter().map(|(key, template)| (template.as_str(), path.field(name).key(key))));
    }
    all
}

fn known(template: &str, at: &Path, found: &mut Findings) {
    for piece in pieces(template) {
        match piece {
            Piece::StrayBrace => {
                found.error(at, "a brace that belongs to no placeholder; write {{ or }} for a brace");
            }
            Piece::Placeholder(name) if !PLACEHOLDERS.contains(&name) => {
                let message = match nearest(name, &PLACEHOLDERS) {
                    Some(meant) => format!("unknown placeholder {{{name}}}; did you mean {{{meant}}}?"),
                    None => {
                        format!("unknown placeholder {{{name}}}; known are {{{}}}", PLACEHOLDERS.join("} {"))
                    }
                };
                found.error(at, message);
            }
            _ => {}
        }
    }
}

/// A pod's name is the same at every revision, and no other pod's.
fn tells_pods_apart(
    set: &LockstepSet,
    template: &str,
    holds_for: &[(&Role, &[Member])],
    at: &Path,
    found: &mut Findings,
) {
    let used = placeholders(template);
    for bad in ["revision", "setRevision", "leader", "gang"] {
        if used.contains(&bad) {
            found.error(at, format!("{{{bad}}} cannot be part of a pod's name"));
        }
    }
    let groups = last_ordinal(set.spec.replicas, set.spec.update_strategy.max_surge) > 0;
    let instances = |role: &Role| last_ordinal(role.replicas, role.strategy().max_surge) > 0;
    let needed = [
        ("set", true),
        ("group", groups),
        ("role", set.spec.roles.len() > 1),
        ("instance", holds_for.iter().any(|(role, _)| instances(role))),
        ("member", holds_for.iter().any(|(_, members)| members.len() > 1)),
        ("pod", holds_for.iter().any(|(_, members)| members.iter().any(|member| member.count > 1))),
    ];
    // The place in the instance tells both members and their pods apart.
    let covered = used.contains(&"index");
    let missing: Vec<String> = needed
        .iter()
        .filter(|(name, needed)| {
            *needed && !used.contains(name) && !(covered && ["member", "pod"].contains(name))
        })
        .map(|(name, _)| format!("{{{name}}}"))
        .collect();
    if !missing.is_empty() && found.sound(at) {
        found.error(at, format!("two pods would share a name; add {}", missing.join(" and ")));
    }
}

/// What becomes of the templates in the pods with the longest names. `whole` is what holds for them, `identity` the
/// part of it that stands at `path`.
fn fits(
    set: &LockstepSet,
    role: &Role,
    identity: &Identity,
    whole: &Identity,
    path: &Path,
    found: &mut Findings,
) {
    let mut values = longest(set, role);
    let name = whole.pod_name.as_deref().unwrap_or(default_pod_name(role.pods()));
    let leader = expand(name, &values);
    let gang = format!("{}-{}-{}-{}", values.set, values.group, values.role, values.instance);
    values.leader = &leader;
    values.gang = &gang;
    let names = [
        (&identity.pod_name, "podName"),
        (&identity.hostname, "hostname"),
        (&identity.subdomain, "subdomain"),
    ];
    for (template, field) in names {
        // An empty subdomain is none.
        let Some(template) = template.as_ref().filter(|it| field != "subdomain" || !it.is_empty()) else {
            continue;
        };
        fits_name(&expand(template, &values), &path.field(field), found);
    }
    for (key, template) in &identity.labels {
        let value = expand(template, &values);
        let at = path.field("labels").key(key);
        if !is_label_value(&value) && found.sound(&at) {
            found
                .error(&at, format!("{value} is no label value: up to 63 letters, digits, '-', '_' and '.'"));
        }
    }
}

fn fits_name(name: &str, at: &Path, found: &mut Findings) {
    if !found.sound(at) {
        return;
    }
    if let Some(more) = name.len().checked_sub(LONGEST).filter(|more| *more > 0) {
        found.error(at, format!("{name} has {} characters, {more} too many", name.len()));
    } else if !is_label(name) {
        found.error(at, format!("{name} is no host name: lower case letters, digits and '-' are accepted"));
    }
}
