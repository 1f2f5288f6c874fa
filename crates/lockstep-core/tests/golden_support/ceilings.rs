//! Ceilings of the rules over roles, as plain numbers.

use lockstep_core::coordinate::{self, Pauses, Progress};
use lockstep_core::model::{Role, Spec};
use lockstep_core::time::{Millis, Time};

/// No rule holds the role.
pub const NONE: u32 = u32::MAX;

struct Promoted;

impl Pauses for Promoted {
    fn hold(&mut self, _: usize, _: usize, _: Option<Millis>) -> Option<Option<Time>> {
        None
    }
}

/// What each role may come to when so many of it are updated and ready; all pauses are promoted.
pub fn ceilings(spec: &Spec, ready: &[u32]) -> Vec<u32> {
    of(spec, &progress(spec, ready))
}

pub fn of(spec: &Spec, progress: &[Progress]) -> Vec<u32> {
    let found = coordinate::ceilings(spec, progress, &mut Promoted);
    found.into_iter().map(|ceiling| ceiling.map_or(NONE, |ceiling| ceiling.limit)).collect()
}

/// Which rule, by position, holds each role.
pub fn held_by(spec: &Spec, ready: &[u32]) -> Vec<Option<usize>> {
    let found = coordinate::ceilings(spec, &progress(spec, ready), &mut Promoted);
    found.into_iter().map(|ceiling| ceiling.map(|ceiling| ceiling.rule)).collect()
}

fn progress(spec: &Spec, ready: &[u32]) -> Vec<Progress> {
    let of_role = |(role, &ready): (&Role, &u32)| {
        let desired = role.replicas;
        Progress { desired, eligible: desired, ready, settled: false }
    };
    spec.roles.iter().zip(ready).map(of_role).collect()
}
