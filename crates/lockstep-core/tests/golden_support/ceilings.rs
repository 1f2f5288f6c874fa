//! Ceilings of the rules over roles, as plain numbers.

use lockstep_core::coordinate::{self, Pauses, Progress};
use lockstep_core::model::Spec;
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
    let progress = |(role, &ready): (&lockstep_core::model::Role, &u32)| {
        let desired = role.replicas;
        Progress { desired, eligible: desired, ready, settled: false }
    };
    of(spec, &spec.roles.iter().zip(ready).map(progress).collect::<Vec<_>>())
}

pub fn of(spec: &Spec, progress: &[Progress]) -> Vec<u32> {
    let found = coordinate::ceilings(spec, progress, &mut Promoted);
    found.into_iter().map(|ceiling| ceiling.map_or(NONE, |ceiling| ceiling.limit)).collect()
}
