//! A small seeded generator: the same seed, the same misfortunes.

use std::time::Duration;

use super::profile::{Chance, Fault, Span};

/// SplitMix64.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; zero if `end` is zero.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// True in so many of a thousand cases.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < u64::from(permille)
    }

    /// Some time within a span.
    pub fn time(&mut self, span: Span) -> Duration {
        let Span { least, most } = span;
        Duration::from_millis(least + self.below(most.saturating_sub(least).saturating_add(1)))
    }

    /// What goes wrong, if anything does.
    pub fn fault(&mut self, chances: &[Chance]) -> Option<Fault> {
        let mut drawn = self.below(1000);
        for chance in chances {
            match drawn.checked_sub(u64::from(chance.permille)) {
                Some(rest) => drawn = rest,
                None => return Some(chance.fault),
            }
        }
        None
    }
}
