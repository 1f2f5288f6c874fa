//! Reading a pod's annotations.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::behaviour::Behaviour;
use crate::span::Unreadable;

/// What all annotations and labels of the stand-in begin with.
pub const PREFIX: &str = "kubelet.lockstep.dev/";

/// The label of nodes that a stand-in plays; its value is `"true"`, unless several share a cluster.
pub const STAND_IN: &str = "kubelet.lockstep.dev/stand-in";

/// The annotation of nodes that are gone; its value is `"true"`.
pub const GONE: &str = "kubelet.lockstep.dev/gone";

/// An annotation that could not be read, and why. It is treated as absent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnnotation {
    /// The value makes no sense.
    #[error("annotation {PREFIX}{key} is ignored: {reason}")]
    Value {
        /// What follows the prefix.
        key: String,
        /// What is wrong.
        reason: Unreadable,
    },
    /// There is no such annotation.
    #[error("annotation {PREFIX}{key} is ignored: there is no such annotation")]
    Unknown {
        /// What follows the prefix.
        key: String,
    },
}

/// What a pod's annotations say, and which of them could not be read.
pub fn read(annotations: &BTreeMap<String, String>) -> (Behaviour, Vec<BadAnnotation>) {
    let mut behaviour = Behaviour::default();
    let mut bad = Vec::new();
    for (key, value) in annotations.range(PREFIX.to_owned()..) {
        let Some(key) = key.strip_prefix(PREFIX) else { break };
        if let Err(complaint) = set(&mut behaviour, key, value) {
            bad.push(complaint);
        }
    }
    (behaviour, bad)
}

fn set(behaviour: &mut Behaviour, key: &str, value: &str) -> Result<(), BadAnnotation> {
    match key {
        "ready-after" => put(&mut behaviour.ready_after, key, value),
        "image" => put(&mut behaviour.image, key, value),
        "crash-after" => put(&mut behaviour.crash_after, key, value),
        "crashes" => count(value).map(|n| behaviour.crashes = Some(n)).map_err(|reason| bad(key, reason)),
        "crash-reason" => put(&mut behaviour.crash_reason, key, value),
        "back-off" => put(&mut behaviour.back_off, key, value),
        "flaps" => put(&mut behaviour.flaps, key, value),
        "completes-after" => put(&mut behaviour.completes_after, key, value),
        "terminates-after" => put(&mut behaviour.terminates_after, key, value),
        _ => Err(BadAnnotation::Unknown { key: key.to_owned() }),
    }
}

fn put<T: FromStr<Err = Unreadable>>(
    field: &mut Option<T>,
    key: &str,
    value: &str,
) -> Result<(), BadAnnotation> {
    *field = Some(value.parse().map_err(|reason| bad(key, reason))?);
    Ok(())
}

fn count(value: &str) -> Result<u32, Unreadable> {
    value.trim().parse().map_err(|_| Unreadable::new(value, "a number of times such as \"3\""))
}

fn bad(key: &str, reason: Unreadable) -> BadAnnotation {
    BadAnnotation::Value { key: key.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::behaviour::{BackOff, CrashReason, Flaps, Image};
    use crate::span::When;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect()
    }

    #[test]
    fn every_annotation_is_read() {
        let second = When::after(Duration::from_secs(1));
        let (behaviour, bad) = read(&annotations(&[
            ("ready-after", "1s"),
            ("image", "missing"),
            ("crash-after", "never"),
            ("crashes", "3"),
            ("crash-reason", "OOMKilled"),
            ("back-off", "1s..1s"),
            ("flaps", "ready 1s, unready 1s"),
            ("completes-after", "1s"),
            ("terminates-after", "1s"),
        ]));
        let length = Duration::from_secs(1);
        let expected = Behaviour {
            ready_after: Some(second),
            image: Some(Image::Missing),
            crash_after: Some(When::Never),
            crashes: Some(3),
            crash_reason: Some(CrashReason::OomKilled),
            back_off: Some(BackOff { base: length, cap: length }),
            flaps: Some(Flaps::Cycle { ready: length, unready: length, times: None }),
            completes_after: Some(second),
            terminates_after: Some(second),
        };
        assert_eq!((behaviour, bad), (expected, vec![]));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_holds() {
        let (behaviour, bad) = read(&annotations(&[
            ("ready-after", "soon"),
            ("crashes", "-1"),
            ("redy-after", "1s"),
            ("image", "missing"),
        ]));
        assert_eq!(behaviour, Behaviour { image: Some(Image::Missing), ..Behaviour::default() });
        let said: Vec<_> = bad.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                r#"annotation kubelet.lockstep.dev/crashes is ignored: "-1" is not a number of times such as "3""#,
                r#"annotation kubelet.lockstep.dev/ready-after is ignored: "soon" is not a length of time such as "500ms", "8m" or "1m30s", or a range "5s..10s""#,
                "annotation kubelet.lockstep.dev/redy-after is ignored: there is no such annotation",
            ]
        );
    }

    #[test]
    fn other_peoples_annotations_are_not_ours() {
        let others = BTreeMap::from([
            ("kubelet.lockstep.de/image".to_owned(), "missing".to_owned()),
            ("kubelet.lockstep.devil/image".to_owned(), "missing".to_owned()),
            ("zebra".to_owned(), "1".to_owned()),
        ]);
        assert_eq!(read(&others), (Behaviour::default(), vec![]));
    }
}
