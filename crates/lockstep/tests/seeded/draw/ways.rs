//! What goes wrong on the way to the API server.

use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::ways::way;

use super::Draw;

impl Draw {
    pub(super) fn operators_way(&mut self) -> Profile {
        if self.0.chance(10) { Profile::default() } else { way(&mut self.0, 60_000) }
    }

    /// Kubelets are fewer and slower to notice: what goes wrong for them stops after a while.
    pub(super) fn kubelets_way(&mut self) -> Profile {
        if self.0.chance(60) {
            return Profile::default();
        }
        let mut profile = way(&mut self.0, 30_000);
        profile.lasts = profile.lasts.or(Some(60_000));
        profile
    }
}
