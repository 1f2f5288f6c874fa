//! Revisions: what a template is called once it may no longer change.
//!
//! A revision is the hash of canonical JSON: keys sorted, nulls and empty maps and lists dropped, nothing
//! filled in. It is never a dump of one of our own structs, so a new release cannot roll a single pod.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::names::RoleName;

const LONGEST: usize = 16;
const HASH_DIGITS: usize = 10;

/// The name of one immutable template: ten hexadecimal digits when we made it, any short name in a file
/// written by hand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision([u8; LONGEST]);

impl Revision {
    /// The revision of a template.
    pub fn of(template: &Value) -> Self {
        Self::of_bytes(canonical(template).as_bytes())
    }

    /// The revision of a set (or of a group): the hash of its roles' revisions.
    pub fn of_roles<'a>(roles: impl IntoIterator<Item = (&'a RoleName, Revision)>) -> Self {
        let mut lines: Vec<String> =
            roles.into_iter().map(|(role, revision)| format!("{role}={revision}\n")).collect();
        lines.sort();
        Self::of_bytes(lines.concat().as_bytes())
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digest = Sha256::digest(bytes);
        let mut name = [0; LONGEST];
        for (i, slot) in name.iter_mut().take(HASH_DIGITS).enumerate() {
            let byte = digest[i / 2];
            let nibble = if i % 2 == 0 { byte >> 4 } else { byte & 0xf };
            *slot = DIGITS[usize::from(nibble)];
        }
        Self(name)
    }

    /// The revision as text.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|b| *b == 0).unwrap_or(LONGEST);
        // Only ASCII is ever stored.
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }

    /// Whether there is no name at all: a pod that carries no revision label.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

/// The text that is hashed.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn is_void(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_void),
        _ => false,
    }
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut kept: Vec<_> = fields.iter().filter(|(_, v)| !is_void(v)).collect();
            kept.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (i, (key, field)) in kept.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(field, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            // A null inside a list holds a position, so it stays.
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// A revision's name is too long or not made of letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("revision {0:?}: up to 16 letters, digits, '.', '_' or '-' are accepted")]
pub struct NotARevision(pub String);

impl FromStr for Revision {
    type Err = NotARevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if text.len() > LONGEST || !text.bytes().all(plain) {
            return Err(NotARevision(text.to_owned()));
        }
        let mut name = [0; LONGEST];
        name[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self(name))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_sorts_and_drops_what_says_nothing() {
        let value =
            json!({"b": 1, "a": {"y": null, "x": []}, "list": [null, {"k": {}}, "s"], "z": {"q": "é\n"}});
        assert_eq!(canonical(&value), r#"{"b":1,"list":[null,{},"s"],"z":{"q":"é\n"}}"#);
    }

    #[test]
    fn grove_709_kthena_1803_hashes_are_pinned_for_ever() {
        // If one of these changes, upgrading Lockstep rolls every pod of every user. Never update them.
        let template = json!({"spec": {"containers": [{"name": "main", "image": "vllm:1"}]}});
        let member = json!({"members": [{"name": "prefill", "count": 1, "template": template}]});
        assert_eq!(Revision::of(&json!({})).as_str(), "44136fa355");
        assert_eq!(Revision::of(&member).as_str(), "872d8cca27");
        let roles = [
            (RoleName::new("prefill"), "A".parse().unwrap()),
            (RoleName::new("decode"), "B".parse().unwrap()),
        ];
        assert_eq!(Revision::of_roles(roles.iter().map(|(n, r)| (n, *r))).as_str(), "abed2d8aa3");
    }

    #[test]
    fn equal_meaning_equal_revision() {
        let a = json!({"x": 1, "y": {"z": null}, "l": []});
        assert_eq!(Revision::of(&a), Revision::of(&json!({"x": 1})));
        assert_ne!(Revision::of(&json!({"x": 1})), Revision::of(&json!({"x": "1"})));
    }

    #[test]
    fn hand_written_names_are_short_and_plain() {
        assert_eq!("A".parse::<Revision>().unwrap().as_str(), "A");
        assert!("seventeen-letters".parse::<Revision>().is_err());
        assert!("a b".parse::<Revision>().is_err());
    }
}
