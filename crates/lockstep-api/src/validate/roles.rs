//! Roles: that there are some, what they are made of, and what has no effect.

use super::{role_path, spec, template};
use crate::findings::Findings;
use crate::lockstep_set::{LockstepSet, Role, UpdateType};

pub(super) fn check(set: &LockstepSet, found: &mut Findings) {
    let roles = spec().field("roles");
    if set.spec.roles.is_empty() && found.sound(&roles) {
        found.error(&roles, "at least one role is needed");
    }
    for (i, role) in set.spec.roles.iter().enumerate() {
        made_of(role, i, found);
        without_effect(set, role, i, found);
    }
}

fn made_of(role: &Role, i: usize, found: &mut Findings) {
    let path = role_path(i);
    let (one, several) = (path.field("template"), path.field("members"));
    match (&role.template, role.members.is_empty()) {
        (Some(_), false) => found.error(&path, "has both template and members; keep one of them"),
        (None, true) if found.sound(&several) && found.sound(&one) => {
            found.error(&path, "needs a template, or members for instances of several pods");
        }
        _ => {}
    }
    if let Some(given) = &role.template {
        template::check(given, &one, found);
    }
    for (j, member) in role.members.iter().enumerate() {
        let path = several.index(j).field("template");
        if found.sound(&path) {
            template::check(&member.template, &path, found);
        }
    }
}

fn without_effect(set: &LockstepSet, role: &Role, i: usize, found: &mut Findings) {
    let why = match set.spec.update_strategy.kind {
        UpdateType::RollingUpdate => return,
        UpdateType::GroupRecreate => "has no effect under GroupRecreate, which moves a group as a whole",
        UpdateType::OnDelete => "has no effect under OnDelete, where nothing moves by itself",
    };
    if role.update_strategy.is_some() {
        found.warn(&role_path(i).field("updateStrategy"), why);
    }
}
