//! Points in time and lengths of time, in whole milliseconds. The core never asks what time it is.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Milliseconds since an origin of the caller's choice (the Unix epoch in a cluster, zero in a simulation).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Whole seconds.
    pub const fn seconds(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }

    /// Whole minutes.
    pub const fn minutes(n: u64) -> Self {
        Self::seconds(n.saturating_mul(60))
    }

    /// `self * 2^exponent`, at most `cap`.
    pub fn doubled(self, exponent: u32, cap: Self) -> Self {
        let factor = 1u64.checked_shl(exponent).unwrap_or(u64::MAX);
        Self(self.0.saturating_mul(factor)).min(cap)
    }
}

impl Time {
    /// How long ago `earlier` was; nothing if it lies ahead (clocks of other machines may).
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Millis> for Time {
    type Output = Self;

    fn add(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Add for Millis {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Millis {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Millis {
    /// As a person says it: `41s`, `8m`, `1h54m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        if self.0 < 1000 && self.0 > 0 {
            return write!(f, "{}ms", self.0);
        }
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match (hours, minutes, rest) {
            (0, 0, s) => write!(f, "{s}s"),
            (0, m, 0) => write!(f, "{m}m"),
            (0, m, s) => write!(f, "{m}m{s}s"),
            (h, 0, _) => write!(f, "{h}h"),
            (h, m, _) => write!(f, "{h}h{m}m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_a_person_says_it() {
        for (ms, text) in [
            (0, "0s"),
            (250, "250ms"),
            (41_000, "41s"),
            (480_000, "8m"),
            (492_000, "8m12s"),
            (3_600_000, "1h"),
            (6_840_000, "1h54m"),
        ] {
            assert_eq!(Millis(ms).to_string(), text);
        }
    }

    #[test]
    fn back_off_doubles_up_to_its_cap_and_never_overflows() {
        let (base, cap) = (Millis::seconds(30), Millis::minutes(10));
        let delays: Vec<u64> = (0..7).map(|n| base.doubled(n, cap).0 / 1000).collect();
        assert_eq!(delays, [30, 60, 120, 240, 480, 600, 600]);
        assert_eq!(base.doubled(u32::MAX, cap), cap);
    }
}
