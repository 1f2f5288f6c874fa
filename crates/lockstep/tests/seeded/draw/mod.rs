//! What is played, from a seed.

mod ways;
mod wishes;

use lockstep_core::simulate::faults::Blow;
use lockstep_core::simulate::rng::Rng;
use lockstep_sandbox::cluster::faults::Span;

use self::wishes::Story;
use super::{Happening, NODES, Plan, Troupe, What};

/// What is played with this seed.
pub fn plan(seed: u64) -> Plan {
    let mut draw = Draw(Rng::new(seed));
    draw.0.next_u64();
    let story = draw.story();
    let (operator, kubelet) = (draw.operators_way(), draw.kubelets_way());
    let troupe = draw.troupe();
    Plan {
        seed,
        happenings: draw.happenings(&story),
        given: story.given,
        starts_in: Span::new(50, draw.0.between(100, 3_000)),
        terminates_in: draw.0.between(0, 1_500),
        operator,
        kubelet,
        troupe,
    }
}

struct Draw(Rng);

impl Draw {
    fn below(&mut self, end: u64) -> u32 {
        u32::try_from(self.0.below(end)).unwrap_or_default()
    }

    fn between(&mut self, low: u64, high: u64) -> u32 {
        u32::try_from(self.0.between(low, high)).unwrap_or_default()
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn troupe(&mut self) -> Troupe {
        match self.below(4) {
            0 => {
                let count = self.0.between(1, 5);
                Troupe::Mortals(
                    (0..count).map(|_| (self.0.between(1, 40), self.0.between(0, 5_000))).collect(),
                )
            }
            1 => {
                let count = self.0.between(1, 3);
                let cut = |draw: &mut Self| (draw.0.between(500, 20_000), draw.0.between(1_000, 25_000));
                Troupe::Rivals((0..count).map(|_| cut(self)).collect())
            }
            _ => Troupe::One,
        }
    }

    fn happenings(&mut self, story: &Story) -> Vec<Happening> {
        let mut happenings = Vec::new();
        let mut after = 0;
        for manifest in &story.changes {
            happenings.push(Happening { after, what: What::Change(manifest.clone()) });
            after += self.0.between(200, 15_000);
        }
        if self.0.chance(15) {
            happenings.push(Happening { after: self.0.between(100, after), what: What::Abort });
        }
        let after = self.0.between(0, 8_000);
        // Somebody who is struck on a node that is silent does not notice.
        match self.below(100) {
            0..25 => {
                let blow = self.one_of(&[Blow::Evict, Blow::Crash, Blow::Fail]);
                let role = story.role.to_owned();
                happenings.push(Happening { after, what: What::Strike { role, blow } });
            }
            25..37 => {
                let name = format!("node-{}", self.below(NODES.into()));
                // For a moment that only the kubelet knows of, until it is called lost, or until its pods are evicted.
                let (least, most) = self.one_of(&[(5_000, 35_000), (45_000, 90_000), (345_000, 420_000)]);
                let length = self.0.between(least, most);
                happenings.push(Happening { after, what: What::LoseNode { name, length } });
            }
            _ => {}
        }
        happenings
    }
}
