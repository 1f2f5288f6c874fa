//! Roles are updated in order, each step ready before the next.

use super::{Cause, Pauses, Progress};
use crate::model::{Spec, Step};
use crate::number;

/// Where an ordered plan stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// The first step that is not met.
    pub step: usize,
    /// Why it is not.
    pub cause: Cause,
}

/// How many updated and ready instances a step asks for.
fn target(step: &Step, spec: &Spec, progress: &[Progress]) -> Option<(usize, u32)> {
    let Step::Update { role, to } = step else { return None };
    let role = spec.role_index(role)?;
    let Progress { desired, eligible, .. } = progress[role];
    Some((role, number::update_to(*to, desired, eligible)))
}

/// The first step that is not met; `None` when all are.
pub fn current(
    spec: &Spec,
    rule: usize,
    steps: &[Step],
    progress: &[Progress],
    pauses: &mut dyn Pauses,
) -> Option<Current> {
    steps.iter().enumerate().find_map(|(index, step)| {
        let cause = match step {
            Step::Pause { duration } => {
                Cause::Pause { step: index, until: pauses.hold(rule, index, *duration)? }
            }
            Step::Update { .. } => {
                let (role, target) = target(step, spec, progress)?;
                let ready = progress[role].ready;
                if progress[role].settled || ready >= target {
                    return None;
                }
                Cause::Step { step: index, role, ready, target }
            }
        };
        Some(Current { step: index, cause })
    })
}

/// Until all steps are met, a role may come to the largest number named for it so far.
pub fn ceilings(
    spec: &Spec,
    rule: usize,
    steps: &[Step],
    progress: &[Progress],
    pauses: &mut dyn Pauses,
) -> Vec<(usize, u32, Cause)> {
    // A plan that nothing is left to be done for does not enter its pauses.
    let named =
        |role: usize| steps.iter().any(|step| target(step, spec, progress).is_some_and(|t| t.0 == role));
    let roles: Vec<usize> = (0..spec.roles.len()).filter(|role| named(*role)).collect();
    if roles.iter().all(|role| progress[*role].finished()) {
        return Vec::new();
    }
    let Some(Current { step, cause }) = current(spec, rule, steps, progress, pauses) else {
        return Vec::new();
    };
    let so_far = |role: usize| {
        let named = steps[..=step].iter().filter_map(|step| target(step, spec, progress));
        named.filter(|(of, _)| *of == role).map(|(_, to)| to).max().unwrap_or(0)
    };
    roles.into_iter().map(|role| (role, so_far(role), cause.clone())).collect()
}
