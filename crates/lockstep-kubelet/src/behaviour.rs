//! How a pod behaves: what its annotations and the profile can say.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::span::{Length, Span, Unreadable, When, as_text, length};

/// How a pod behaves. What is left out is as with a healthy pod: it is ready at once, runs for ever, ends at
/// once. All containers of a pod behave alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Behaviour {
    /// How long after a container's start it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<When>,
    /// Whether the image can be pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// How long after its start a container fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_after: Option<When>,
    /// How many times it fails before it stays up; for ever if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crashes: Option<u32>,
    /// What the kubelet says about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_reason: Option<CrashReason>,
    /// How long a container waits for its next start after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOff>,
    /// Readiness that comes and goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaps: Option<Flaps>,
    /// How long after its start a container is done and exits with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completes_after: Option<When>,
    /// How long after its deletion the pod is gone. `never` hangs; anything else ends with the grace period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminates_after: Option<When>,
}

impl Behaviour {
    /// What `self` says, and `other` where `self` says nothing.
    pub fn or(self, other: &Self) -> Self {
        Self {
            ready_after: self.ready_after.or(other.ready_after),
            image: self.image.or(other.image),
            crash_after: self.crash_after.or(other.crash_after),
            crashes: self.crashes.or(other.crashes),
            crash_reason: self.crash_reason.or(other.crash_reason),
            back_off: self.back_off.or(other.back_off),
            flaps: self.flaps.or(other.flaps),
            completes_after: self.completes_after.or(other.completes_after),
            terminates_after: self.terminates_after.or(other.terminates_after),
        }
    }
}

/// Whether a pod's images can be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// They can.
    Present,
    /// They cannot: `ErrImagePull`, then `ImagePullBackOff`.
    Missing,
}

impl FromStr for Image {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        match text.trim() {
            "present" => Ok(Self::Present),
            "missing" => Ok(Self::Missing),
            _ => Err(Unreadable::new(text, r#""missing" or "present""#)),
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Present => "present",
            Self::Missing => "missing",
        })
    }
}

/// What the kubelet says about a failed container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrashReason {
    /// It exited with 1.
    #[default]
    Error,
    /// It was killed for its memory, exit code 137.
    OomKilled,
}

impl CrashReason {
    /// The exit code that goes with it.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Error => 1,
            Self::OomKilled => 137,
        }
    }
}

impl FromStr for CrashReason {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        match text.trim() {
            "Error" => Ok(Self::Error),
            "OOMKilled" => Ok(Self::OomKilled),
            _ => Err(Unreadable::new(text, r#""Error" or "OOMKilled""#)),
        }
    }
}

impl fmt::Display for CrashReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "Error",
            Self::OomKilled => "OOMKilled",
        })
    }
}

/// The pause before a container is started again: `base`, doubling up to `cap`. The first restart does not
/// wait, as with a real kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    /// The pause before the second restart.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
}

impl BackOff {
    /// A container that ran so long is forgiven its earlier failures.
    pub const FORGIVEN_AFTER: Duration = Duration::from_secs(600);

    /// The pause after `strikes` failures in a row.
    pub fn pause(self, strikes: u32) -> Duration {
        match strikes {
            0 | 1 => Duration::ZERO,
            n => {
                let factor = 1u32.checked_shl(n - 2).unwrap_or(u32::MAX);
                self.base.saturating_mul(factor).min(self.cap)
            }
        }
    }
}

impl Default for BackOff {
    fn default() -> Self {
        Self { base: Duration::from_secs(10), cap: Duration::from_secs(300) }
    }
}

impl FromStr for BackOff {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let span: Span = text
            .parse()
            .map_err(|_| Unreadable::new(text, r#"a first and a longest pause such as "100ms..2s""#))?;
        Ok(Self { base: span.shortest(), cap: span.longest() })
    }
}

impl fmt::Display for BackOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span::range(self.base, self.cap).fmt(f)
    }
}

/// Readiness that comes and goes, counted from the moment the container is first ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaps {
    /// It stays.
    Never,
    /// It comes and goes.
    Cycle {
        /// How long the container stays ready.
        ready: Duration,
        /// How long it then stays unready.
        unready: Duration,
        /// How many times; for ever if left out.
        times: Option<u32>,
    },
}

impl Flaps {
    const EXPECTED: &'static str = r#""ready 10s, unready 2s", "ready 10s, unready 2s, 3 times" or "never""#;

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(',').map(str::trim);
        let ready = length(parts.next()?.strip_prefix("ready ")?)?;
        let unready = length(parts.next()?.strip_prefix("unready ")?)?;
        let times = match parts.next() {
            None => None,
            Some(part) => Some(part.strip_suffix("times")?.trim().parse().ok()?),
        };
        let sound = parts.next().is_none() && !ready.is_zero() && !unready.is_zero();
        sound.then_some(Self::Cycle { ready, unready, times })
    }
}

impl FromStr for Flaps {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if text.trim() == "never" {
            return Ok(Self::Never);
        }
        Self::read(text).ok_or_else(|| Unreadable::new(text, Self::EXPECTED))
    }
}

impl fmt::Display for Flaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Cycle { ready, unready, times } => {
                write!(f, "ready {}, unready {}", Length(*ready), Length(*unready))?;
                times.map_or(Ok(()), |n| write!(f, ", {n} times"))
            }
        }
    }
}

as_text!(Image, CrashReason, BackOff, Flaps);

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_pause_is_the_kubelets() {
        let default = BackOff::default();
        let pauses: Vec<_> = (0..10).map(|strikes| default.pause(strikes).as_secs()).collect();
        assert_eq!(pauses, [0, 0, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(default.pause(u32::MAX), seconds(300));
        let own: BackOff = "100ms..2s".parse().unwrap();
        let pauses: Vec<_> = (1..8).map(|strikes| own.pause(strikes).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600, 2000]);
    }

    #[test]
    fn flaps_are_read() {
        let cycle = |times| Flaps::Cycle { ready: seconds(10), unready: seconds(2), times };
        for (text, expected) in [
            ("ready 10s, unready 2s", Some(cycle(None))),
            ("ready 10s,unready 2s, 3 times", Some(cycle(Some(3)))),
            ("never", Some(Flaps::Never)),
            ("unready 2s, ready 10s", None),
            ("ready 10s", None),
            ("ready 0s, unready 2s", None),
            ("ready 10s, unready 2s, often", None),
            ("ready 10s, unready 2s, 3 times, then not", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        assert_eq!(cycle(Some(3)).to_string(), "ready 10s, unready 2s, 3 times");
    }

    #[test]
    fn what_one_says_goes_before_what_the_other_says() {
        let one = Behaviour { image: Some(Image::Present), ..Behaviour::default() };
        let other = Behaviour { image: Some(Image::Missing), crashes: Some(2), ..Behaviour::default() };
        let both = Behaviour { image: Some(Image::Present), crashes: Some(2), ..Behaviour::default() };
        assert_eq!(one.or(&other), both);
    }

    #[test]
    fn data_reads_like_annotations() {
        let json = r#"{"readyAfter":"5s..10s","image":"missing","crashAfter":"never","crashes":2,
            "crashReason":"OOMKilled","backOff":"100ms..2s","flaps":"ready 1s, unready 1s","terminatesAfter":"1m"}"#;
        let behaviour: Behaviour = serde_json::from_str(json).unwrap();
        let again = serde_json::from_str(&serde_json::to_string(&behaviour).unwrap()).unwrap();
        assert_eq!(behaviour, again);
        assert_eq!(behaviour.crash_reason, Some(CrashReason::OomKilled));
        assert!(serde_json::from_str::<Behaviour>(r#"{"redyAfter":"5s"}"#).is_err());
    }
}
