//! Roles whose update waits for others, as ordered steps.

use lockstep_api::UpdateStep;
use lockstep_core::number::IntOrPercent;

use super::rollout_spec::{Dependency, RoleCoordination};
use super::spec::{Role, Spec};
use crate::Findings;

const DEPENDENCIES: &str = "spec.rolloutStrategy.roleCoordination.dependencies";

/// One replica of every role that waits or is waited for, those that wait for nothing first. `runs` tells which roles
/// take part and have replicas at all.
pub(super) fn first_steps(
    spec: &Spec,
    given: &RoleCoordination,
    runs: impl Fn(&Role) -> bool,
) -> Vec<UpdateStep> {
    let all = given.dependencies.as_deref().unwrap_or_default();
    let waits = |role: &str, on: &str| {
        all.iter().any(|it| it.role == role && it.depends_on.iter().any(|it| it == on))
    };
    let concerned =
        |role: &str| all.iter().any(|it| it.role == role || it.depends_on.iter().any(|it| it == role));
    let roles = spec.template.roles.iter().filter(|role| runs(role)).map(|role| role.name.as_str());
    let mut left: Vec<&str> = roles.filter(|role| concerned(role)).collect();
    let mut steps = Vec::new();
    while !left.is_empty() {
        let free = left.iter().position(|role| !left.iter().any(|other| waits(role, other)));
        // A circle is found elsewhere.
        let role = left.remove(free.unwrap_or(0));
        steps.push(UpdateStep { role: role.to_owned(), update_to: IntOrPercent::Int(1) });
    }
    steps
}

/// Roles that exist, take part, and do not wait for themselves.
pub(super) fn check(spec: &Spec, given: &RoleCoordination, found: &mut Findings<'_>) {
    let names: Vec<&str> = spec.template.roles.iter().map(|role| role.name.as_str()).collect();
    let spanned = given.roles.as_ref().filter(|roles| !roles.is_empty());
    let dependencies = given.dependencies.as_deref().unwrap_or_default();
    for (i, dependency) in dependencies.iter().enumerate() {
        let at = format!("{DEPENDENCIES}[{i}]");
        let on = dependency.depends_on.iter().enumerate();
        let on = on.map(|(k, name)| (format!("{at}.dependsOn[{k}]"), name));
        for (at, name) in std::iter::once((format!("{at}.role"), &dependency.role)).chain(on) {
            if !names.contains(&name.as_str()) {
                found.error(at, format!("no such role; the roles are {}", names.join(", ")));
            } else if spanned.is_some_and(|roles| !roles.contains(name)) {
                found.error(at, "not among the roles of roleCoordination");
            }
        }
        if waits_for_itself(dependencies, &dependency.role) {
            found.error(format!("{at}.dependsOn"), format!("{} would wait for itself", dependency.role));
        }
    }
}

fn waits_for_itself(dependencies: &[Dependency], role: &str) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut next = vec![role];
    while let Some(waiting) = next.pop() {
        for on in dependencies.iter().filter(|it| it.role == waiting).flat_map(|it| &it.depends_on) {
            if on == role {
                return true;
            }
            if !seen.contains(&on.as_str()) {
                seen.push(on);
                next.push(on);
            }
        }
    }
    false
}
