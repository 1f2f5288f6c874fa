//! What goes wrong on the way to the API server.

use lockstep_sandbox::cluster::faults::{Chance, Fault, Lists, Profile, Span, Watches};

use super::Draw;

impl Draw {
    pub(super) fn operators_way(&mut self) -> Profile {
        if self.0.chance(10) { Profile::default() } else { self.way(60_000) }
    }

    /// Kubelets are fewer and slower to notice: what goes wrong for them stops after a while.
    pub(super) fn kubelets_way(&mut self) -> Profile {
        if self.0.chance(60) {
            return Profile::default();
        }
        let mut profile = self.way(30_000);
        profile.lasts = profile.lasts.or(Some(60_000));
        profile
    }

    fn way(&mut self, longest: u64) -> Profile {
        let mut profile = Profile::default();
        if self.0.chance(60) {
            profile.travel = Span::new(0, self.0.between(1, 400));
        }
        if self.0.chance(50) {
            profile.watches = self.watches();
        }
        if self.0.chance(60) {
            profile.writes = self.chances(true);
        }
        if self.0.chance(40) {
            profile.reads = self.chances(false);
        }
        if self.0.chance(30) {
            profile.lists = Lists { stale: self.between(100, 1_000), behind: self.0.between(1, 60) };
        }
        if self.0.chance(50) {
            profile.lasts = Some(self.0.between(5_000, longest));
        }
        profile
    }

    fn watches(&mut self) -> Watches {
        let live = self.0.chance(50).then(|| Span::new(500, self.0.between(2_000, 30_000)));
        let held = self.between(0, 150);
        Watches { held, held_for: Span::new(10, self.0.between(50, 4_000)), live }
    }

    fn chances(&mut self, writes: bool) -> Vec<Chance> {
        let mut chances = Vec::new();
        let mut add = |draw: &mut Self, fault: Fault| {
            if draw.0.chance(50) {
                chances.push(Chance::of(draw.between(5, 80), fault));
            }
        };
        add(self, Fault::Busy);
        for applied in if writes { &[false, true][..] } else { &[false][..] } {
            let applied = *applied;
            add(self, Fault::Failed { applied });
            add(self, Fault::TimedOut { applied });
            add(self, Fault::Reset { applied });
        }
        if writes {
            add(self, Fault::Conflict);
        }
        let late = Span::new(0, self.0.between(100, 5_000));
        add(self, Fault::Late(late));
        if self.0.chance(30) {
            let applied = self.0.chance(50);
            chances.push(Chance::of(self.between(2, 15), Fault::Silent { applied }));
        }
        chances
    }
}
