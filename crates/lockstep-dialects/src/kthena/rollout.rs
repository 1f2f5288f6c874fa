//! How an update proceeds: their strategies in our terms.

use std::collections::BTreeMap;

use lockstep_api::{Coordination, RoleUpdateStrategy, RollingUpdate, UpdateStep, UpdateStrategy, UpdateType};
use lockstep_core::number::IntOrPercent;

use super::rollout_spec::{RoleCoordination, RollingUpdateConfiguration, RolloutStrategy, RolloutType, Step};
use super::spec::{Role, Spec};
use crate::{Findings, Places};

const STRATEGY: &str = "spec.rolloutStrategy";
const CONFIGURATION: &str = "spec.rolloutStrategy.rollingUpdateConfiguration";
const COORDINATION: &str = "spec.rolloutStrategy.roleCoordination";
/// The name of the one rule there is.
pub(super) const RULE: &str = "role-upgrade";

/// How an update proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Whole groups, one after the other.
    Groups,
    /// Group after group, the roles of each in an order.
    Ordered,
    /// Group after group, the roles of each side by side.
    Roles,
}

impl How {
    /// What the manifest asks for.
    pub fn of(spec: &Spec) -> Self {
        let steps = steps(spec).is_some_and(|steps| !steps.is_empty());
        match kind(spec) {
            RolloutType::RoleRollingUpdate => Self::Roles,
            RolloutType::ServingGroupRollingUpdate if steps => Self::Ordered,
            RolloutType::ServingGroupRollingUpdate => Self::Groups,
        }
    }
}

fn kind(spec: &Spec) -> RolloutType {
    spec.rollout_strategy.as_ref().and_then(|strategy| strategy.kind).unwrap_or_default()
}

fn configuration(spec: &Spec) -> Option<&RollingUpdateConfiguration> {
    spec.rollout_strategy.as_ref()?.rolling_update_configuration.as_ref()
}

fn coordination(spec: &Spec) -> Option<&RoleCoordination> {
    spec.rollout_strategy.as_ref()?.role_coordination.as_ref()
}

fn steps(spec: &Spec) -> Option<&Vec<Step>> {
    configuration(spec)?.role_upgrade.as_ref()?.steps.as_ref()
}

/// The strategy of groups.
pub(super) fn of_groups(spec: &Spec) -> UpdateStrategy {
    let default = UpdateStrategy::default();
    let given = configuration(spec);
    UpdateStrategy {
        kind: match How::of(spec) {
            How::Groups => UpdateType::GroupRecreate,
            How::Ordered | How::Roles => UpdateType::RollingUpdate,
        },
        max_unavailable: given.and_then(|it| it.max_unavailable).unwrap_or(default.max_unavailable),
        max_surge: given.and_then(|it| it.max_surge).unwrap_or(default.max_surge),
        partition: given.and_then(|it| it.partition).unwrap_or(default.partition),
        order: default.order,
    }
}

/// The strategy of a role inside its group; none if groups move as a whole.
pub(super) fn of_role(spec: &Spec, role: &Role) -> Option<RoleUpdateStrategy> {
    let default = RoleUpdateStrategy::default();
    (How::of(spec) != How::Groups).then(|| RoleUpdateStrategy {
        max_unavailable: role.max_unavailable.unwrap_or(default.max_unavailable),
        max_surge: role.max_surge.unwrap_or(default.max_surge),
        partition: role.partition.unwrap_or(default.partition),
        ..default
    })
}

/// The rule over roles, if there is one. `scaled` are replicas that something else than the manifest has set.
pub(super) fn rule(spec: &Spec, scaled: &BTreeMap<&str, u32>, places: &mut Places) -> Option<Coordination> {
    let rule = |steps: Vec<UpdateStep>, roles, rolling_update| Coordination {
        name: RULE.to_owned(),
        roles,
        rolling_update,
        steps: (!steps.is_empty()).then(|| steps.into_iter().map(lockstep_api::Step::Update).collect()),
        affinity_scheduling: None,
        scaling: None,
    };
    match How::of(spec) {
        How::Groups => None,
        How::Ordered => {
            places.put("spec.coordination[0]", format!("{CONFIGURATION}.roleUpgrade"));
            let mut all = within(steps(spec)?, scaled);
            all.extend(unnamed(spec, &all));
            Some(rule(all, Vec::new(), None))
        }
        How::Roles => {
            places.put("spec.coordination[0]", COORDINATION);
            places.put("spec.coordination[0].rollingUpdate", COORDINATION);
            let given = coordination(spec)?;
            let spanned = spanned(spec, given);
            let skew = RollingUpdate { max_skew: given.max_skew, max_unavailable: None, partition: None };
            let replicas = |role: &Role| scaled.get(role.name.as_str()).copied().or(role.replicas);
            let runs = |role: &Role| spanned.contains(&role.name) && replicas(role) != Some(0);
            let first = super::dependencies::first_steps(spec, given, runs);
            // Over one role, which is said elsewhere, there is nothing to hold.
            (spanned.len() > 1).then(|| rule(first, spanned, Some(skew)))
        }
    }
}

/// The roles a coordination names; all of them if it names none.
fn spanned(spec: &Spec, given: &RoleCoordination) -> Vec<String> {
    let named = given.roles.clone().filter(|roles| !roles.is_empty());
    named.unwrap_or_else(|| spec.template.roles.iter().map(|role| role.name.clone()).collect())
}

/// A role that no step names follows after the last.
fn unnamed(spec: &Spec, steps: &[UpdateStep]) -> Vec<UpdateStep> {
    let roles = spec.template.roles.iter().filter(|role| !steps.iter().any(|step| step.role == role.name));
    let all = IntOrPercent::Percent(100);
    roles.map(|role| UpdateStep { role: role.name.clone(), update_to: all }).collect()
}

/// Steps as they were written, but never beyond the replicas that an autoscaler left of a role.
fn within(steps: &[Step], scaled: &BTreeMap<&str, u32>) -> Vec<UpdateStep> {
    let mut reached: BTreeMap<&str, u32> = BTreeMap::new();
    let mut target = |step: &'_ Step| match scaled.get_key_value(step.role.as_str()) {
        None => step.update_to,
        Some((_, 0)) => IntOrPercent::Percent(100),
        Some((role, replicas)) => {
            let before = reached.entry(role).or_default();
            *before = step.update_to.ceil_of(*replicas).min(*replicas).max(*before);
            IntOrPercent::Int(*before)
        }
    };
    steps.iter().map(|step| UpdateStep { role: step.role.clone(), update_to: target(step) }).collect()
}

/// What does not go together, and what has no effect.
pub(super) fn check(spec: &Spec, found: &mut Findings<'_>) {
    let Some(strategy) = &spec.rollout_strategy else { return without_effect(spec, found) };
    let RolloutStrategy { kind: _, rolling_update_configuration, role_coordination, eviction_strategy } =
        strategy;
    let upgrade = rolling_update_configuration.as_ref().and_then(|it| it.role_upgrade.as_ref());
    match kind(spec) {
        RolloutType::RoleRollingUpdate if upgrade.is_some() => found.error(
            format!("{CONFIGURATION}.roleUpgrade"),
            "only with type ServingGroupRollingUpdate; under RoleRollingUpdate roles have no order",
        ),
        RolloutType::ServingGroupRollingUpdate if role_coordination.is_some() => {
            found.error(COORDINATION, "only with type RoleRollingUpdate");
        }
        _ => {}
    }
    if role_coordination.as_ref().is_some_and(|given| spanned(spec, given).len() < 2) {
        found.warn(COORDINATION, "has no effect over one role");
    }
    if eviction_strategy.is_some() {
        let message = "has no effect: evictions are not held back; a PodUnavailableBudget does that, with groups by \
                       the label modelserving.volcano.sh/group-name";
        found.warn(format!("{STRATEGY}.evictionStrategy"), message);
    }
    without_effect(spec, found);
}

/// Roles are not asked when whole groups move.
fn without_effect(spec: &Spec, found: &mut Findings<'_>) {
    if How::of(spec) != How::Groups {
        return;
    }
    for (i, role) in spec.template.roles.iter().enumerate() {
        let given = [
            ("maxUnavailable", role.max_unavailable),
            ("maxSurge", role.max_surge),
            ("partition", role.partition),
        ];
        for (field, _) in given.into_iter().filter(|(_, value)| value.is_some()) {
            let message = "has no effect under ServingGroupRollingUpdate: whole groups are replaced";
            found.warn(format!("spec.template.roles[{i}].{field}"), message);
        }
    }
}
