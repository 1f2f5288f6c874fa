//! One run: what is played is drawn from a seed.

use std::time::Duration;

use lockstep_core::simulate::rng::Rng;
use lockstep_sandbox::cluster::faults::Profile;
use lockstep_testkit::embedded::in_virtual_time;
use lockstep_testkit::federation::case::{Case, FIRST, Kind, Step, Strategy};
use lockstep_testkit::federation::{Played, Ways, play};
use lockstep_testkit::ways::way;
use tokio::time::sleep;

use crate::world::World;

const IMAGES: [&str; 3] = [FIRST, "demo:v2", "demo:v3"];

/// What is played.
#[derive(Debug)]
pub struct Plan {
    strategy: Strategy,
    split: Vec<u32>,
    deeds: Vec<Deed>,
    ways: Ways,
    /// What goes wrong on the aligner's way to the host.
    aligner: Profile,
    /// Aligners that die, each with so many writes, and how long it takes until the next comes; one more lives.
    lives: Vec<(u64, u64)>,
}

/// Something that is done so many milliseconds after the one before.
#[derive(Debug)]
struct Deed {
    after: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Roll(&'static str),
    Split(Vec<u32>),
    CutOff(usize),
    Mend,
    RestartControllers,
}

impl Plan {
    /// What is played with this seed.
    pub fn draw(seed: u64) -> Self {
        let mut draw = Draw(Rng::new(seed));
        draw.0.next_u64();
        let split = draw.split(&[]);
        let (max_unavailable, max_surge) = (draw.below(4), draw.below(3));
        let max_unavailable = if max_surge == 0 { max_unavailable.max(1) } else { max_unavailable };
        let strategy = Strategy { max_unavailable, max_surge, partition: 0 };
        let deeds = draw.deeds(&split);
        let ways = Ways { seed, host: draw.way(), members: draw.way() };
        let aligner = draw.way();
        let mut lives = Vec::new();
        if draw.0.chance(40) {
            let count = draw.0.between(1, 5);
            lives.extend((0..count).map(|_| (draw.0.between(1, 30), draw.0.between(0, 4_000))));
        }
        Self { strategy, split, deeds, ways, aligner, lives }
    }

    /// Plays it.
    pub fn play(&self) -> Played {
        let steps: Vec<Step<'_>> = self.deeds.iter().flat_map(Deed::steps).collect();
        let last = self.deeds.iter().rev().find_map(|deed| match &deed.what {
            What::Split(split) => Some(split),
            _ => None,
        });
        let ends = last.unwrap_or(&self.split);
        let case = Case {
            name: "seeded",
            kind: Kind::Deployment,
            split: &self.split,
            strategy: self.strategy,
            steps: &steps,
            ends,
            new: ends.iter().sum(),
            broken_alone: true,
        };
        in_virtual_time(async {
            let world = World::start(self.split.len(), &self.ways).await;
            tokio::select! {
                biased;
                played = play(&case, world.federation()) => played.expect("played"),
                () = self.align(&world) => unreachable!("the last aligner never dies"),
            }
        })
    }

    /// Plays the aligners, for ever.
    async fn align(&self, world: &World) {
        let client = |number: u64| {
            let seed = self.ways.seed.wrapping_mul(1000).wrapping_add(number);
            world.federation().client_through(self.aligner.clone(), seed)
        };
        for (number, (writes, pause)) in (0..).zip(&self.lives) {
            let (client, link) = client(number);
            let aligner = world.aligner(client);
            link.kill_after(*writes);
            link.dead().await;
            drop(aligner);
            sleep(Duration::from_millis(*pause)).await;
        }
        let _aligner = world.aligner(client(self.lives.len() as u64).0);
        std::future::pending().await
    }
}

impl Deed {
    fn steps(&self) -> [Step<'_>; 2] {
        let step = match &self.what {
            What::Roll(image) => Step::Roll(image),
            What::Split(split) => Step::Split(split),
            What::CutOff(member) => Step::CutOff(*member),
            What::Mend => Step::Mend,
            What::RestartControllers => Step::RestartControllers,
        };
        [Step::Wait(Duration::from_millis(self.after)), step]
    }
}

struct Draw(Rng);

impl Draw {
    fn below(&mut self, end: u64) -> u32 {
        u32::try_from(self.0.below(end)).unwrap_or_default()
    }

    /// How pods are split: at first every member has some; later one may have none, or have had none.
    fn split(&mut self, before: &[u32]) -> Vec<u32> {
        if before.is_empty() {
            let members = self.0.between(2, 4);
            return (0..members).map(|_| 1 + self.below(4)).collect();
        }
        let mut split: Vec<u32> = before.to_vec();
        match self.below(3) {
            // The same pods, elsewhere.
            0 => split.rotate_left(1),
            1 => split.iter_mut().for_each(|share| *share = self.below(5)),
            _ => {
                let member = self.0.below(split.len() as u64) as usize;
                split[member] = self.below(6);
            }
        }
        if split.iter().all(|share| *share == 0) {
            split[0] = 2;
        }
        split
    }

    fn deeds(&mut self, split: &[u32]) -> Vec<Deed> {
        let mut split = split.to_vec();
        let mut image = 1;
        let mut deeds = vec![Deed { after: 0, what: What::Roll(IMAGES[image]) }];
        for _ in 0..self.0.between(0, 4) {
            let after = self.0.between(0, 6_000);
            let what = match self.below(10) {
                0..=3 => {
                    image = (image + self.0.between(1, 2) as usize) % IMAGES.len();
                    What::Roll(IMAGES[image])
                }
                4..=6 => {
                    split = self.split(&split);
                    What::Split(split.clone())
                }
                7..=8 => What::CutOff(self.0.below(split.len() as u64) as usize),
                _ => What::RestartControllers,
            };
            let cut = matches!(what, What::CutOff(_));
            deeds.push(Deed { after, what });
            if cut && self.0.chance(70) {
                deeds.push(Deed { after: self.0.between(100, 20_000), what: What::Mend });
            }
        }
        deeds.push(Deed { after: self.0.between(100, 20_000), what: What::Mend });
        deeds
    }

    fn way(&mut self) -> Profile {
        if self.0.chance(40) {
            return Profile::default();
        }
        let profile = way(&mut self.0, 30_000);
        Profile { lasts: profile.lasts.or(Some(60_000)), ..profile }
    }
}
