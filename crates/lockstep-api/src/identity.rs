//! Names, labels and environment of pods, as templates with placeholders.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands in a template for something that differs from pod to pod.
pub const PLACEHOLDERS: [&str; 14] = [
    "set",
    "group",
    "role",
    "instance",
    "member",
    "pod",
    "index",
    "revision",
    "setRevision",
    "leader",
    "size",
    "namespace",
    "uid",
    "gang",
];

/// Names, labels and environment of pods, as templates. `{set}`, `{role}` and `{member}` stand for names,
/// `{group}`, `{instance}` and `{pod}` for ordinals, `{revision}` for the role's revision and
/// `{setRevision}` for that of the whole set when the pod was made, `{leader}` for the
/// name of the instance's first pod and `{size}` for the number of its pods; `{index}` for the pod's place among
/// all pods of its instance, `{namespace}` for the set's namespace, `{uid}` for the UID of the set, or of what the set
/// was made from, `{gang}` for the gang a pod's place is in: `{set}-{group}`, or beyond `minAvailable` with the role and
/// a number from 0 after it; `{{` and `}}` for braces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The pod's name. Default `{set}-{group}-{role}-{instance}`, and `-{member}-{pod}` after it for instances
    /// of several pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_name: Option<String>,
    /// The pod's host name. Default: the pod's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The pod's subdomain, which is the name of the headless service that makes host names resolve. The service
    /// selects what the template tells apart: with `{role}` the pods of one role, with `{leader}` only that pod.
    /// Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdomain: Option<String>,
    /// Labels put on every pod besides those of its template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations put on every pod besides those of its template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Environment variables put into every container.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// ResourceClaims that the pod uses, by the name that its containers call them by in `resources.claims`. They must
    /// exist; nobody makes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_claims: BTreeMap<String, String>,
    /// Labels and annotations of a pod's own template win over these. Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub template_wins: bool,
}

// Serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Identity {
    /// This identity with what a narrower one says in its place; maps are joined.
    pub fn narrowed(&self, narrower: &Self) -> Self {
        let text = |wide: &Option<String>, narrow: &Option<String>| narrow.clone().or_else(|| wide.clone());
        let joined = |wide: &BTreeMap<String, String>, narrow: &BTreeMap<String, String>| {
            wide.iter().chain(narrow).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        Self {
            pod_name: text(&self.pod_name, &narrower.pod_name),
            hostname: text(&self.hostname, &narrower.hostname),
            subdomain: text(&self.subdomain, &narrower.subdomain),
            labels: joined(&self.labels, &narrower.labels),
            annotations: joined(&self.annotations, &narrower.annotations),
            env: joined(&self.env, &narrower.env),
            resource_claims: joined(&self.resource_claims, &narrower.resource_claims),
            template_wins: self.template_wins || narrower.template_wins,
        }
    }

    /// Two identities of which either may be missing, the second the narrower one.
    pub fn joined(wide: Option<&Self>, narrow: Option<&Self>) -> Option<Self> {
        match (wide, narrow) {
            (Some(wide), Some(narrow)) => Some(wide.narrowed(narrow)),
            (wide, narrow) => wide.or(narrow).cloned(),
        }
    }
}

/// What the placeholders stand for in one pod.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// `{set}`: the set's name.
    pub set: &'a str,
    /// `{group}`: the group's ordinal.
    pub group: u32,
    /// `{role}`: the role's name.
    pub role: &'a str,
    /// `{instance}`: the instance's ordinal.
    pub instance: u32,
    /// `{member}`: the member's name.
    pub member: &'a str,
    /// `{pod}`: the pod's ordinal within its member.
    pub pod: u32,
    /// `{index}`: the pod's place among all pods of its instance.
    pub index: u32,
    /// `{revision}`: the role's revision.
    pub revision: &'a str,
    /// `{setRevision}`: the revision of the whole set when the pod was made.
    pub set_revision: &'a str,
    /// `{leader}`: the name of the instance's first pod.
    pub leader: &'a str,
    /// `{size}`: how many pods the instance has.
    pub size: u64,
    /// `{namespace}`: the set's namespace.
    pub namespace: &'a str,
    /// `{uid}`: the UID of the set, or of what it was made from.
    pub uid: &'a str,
    /// `{gang}`: the gang the pod's place is in.
    pub gang: &'a str,
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// A placeholder's name, known or not.
    Placeholder(&'a str),
    /// A brace that belongs to nothing.
    StrayBrace,
}

/// The pieces of a template, in order.
pub(crate) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(at);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let (piece, length) = if tail.starts_with("{{") {
            (Piece::Text("{"), 2)
        } else if tail.starts_with("}}") {
            (Piece::Text("}"), 2)
        } else if let Some(end) = tail.find('}').filter(|_| tail.starts_with('{')) {
            (Piece::Placeholder(&tail[1..end]), end + 1)
        } else {
            (Piece::StrayBrace, 1)
        };
        pieces.push(piece);
        rest = &tail[length..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// The placeholders a template has, each as often as it stands there.
pub(crate) fn placeholders(template: &str) -> Vec<&str> {
    let named = |piece| match piece {
        Piece::Placeholder(name) => Some(name),
        _ => None,
    };
    pieces(template).into_iter().filter_map(named).collect()
}

/// A template with every placeholder filled in. A validated template has only known ones.
pub fn expand(template: &str, values: &Values<'_>) -> String {
    let mut out = String::new();
    for piece in pieces(template) {
        // Writing into a String cannot fail.
        let _ = match piece {
            Piece::Text(text) => write!(out, "{text}"),
            Piece::Placeholder("set") => write!(out, "{}", values.set),
            Piece::Placeholder("group") => write!(out, "{}", values.group),
            Piece::Placeholder("role") => write!(out, "{}", values.role),
            Piece::Placeholder("instance") => write!(out, "{}", values.instance),
            Piece::Placeholder("member") => write!(out, "{}", values.member),
            Piece::Placeholder("pod") => write!(out, "{}", values.pod),
            Piece::Placeholder("revision") => write!(out, "{}", values.revision),
            Piece::Placeholder("setRevision") => write!(out, "{}", values.set_revision),
            Piece::Placeholder("leader") => write!(out, "{}", values.leader),
            Piece::Placeholder("index") => write!(out, "{}", values.index),
            Piece::Placeholder("namespace") => write!(out, "{}", values.namespace),
            Piece::Placeholder("uid") => write!(out, "{}", values.uid),
            Piece::Placeholder("gang") => write!(out, "{}", values.gang),
            Piece::Placeholder("size") => write!(out, "{}", values.size),
            Piece::Placeholder(_) | Piece::StrayBrace => Ok(()),
        };
    }
    out
}

/// The ordinals that a name was made from; nothing for those that its template does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ordinals {
    /// `{group}`
    pub group: Option<u32>,
    /// `{instance}`
    pub instance: Option<u32>,
    /// `{pod}`
    pub pod: Option<u32>,
    /// `{index}`
    pub index: Option<u32>,
}

/// The ordinals that a name was made from, if it was made from this template for this set, role and member: what
/// [`expand`] does, backwards.
pub fn read(template: &str, text: &str, set: &str, role: &str, member: &str) -> Option<Ordinals> {
    let mut found = Ordinals::default();
    let mut rest = text;
    for piece in pieces(template) {
        let place = match piece {
            Piece::Text(literal) => {
                rest = rest.strip_prefix(literal)?;
                continue;
            }
            Piece::Placeholder(name @ ("set" | "role" | "member")) => {
                let word = match name {
                    "set" => set,
                    "role" => role,
                    _ => member,
                };
                rest = rest.strip_prefix(word)?;
                continue;
            }
            Piece::Placeholder("group") => &mut found.group,
            Piece::Placeholder("instance") => &mut found.instance,
            Piece::Placeholder("pod") => &mut found.pod,
            Piece::Placeholder("index") => &mut found.index,
            Piece::Placeholder(_) | Piece::StrayBrace => return None,
        };
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        // No template writes 07.
        let number = number.parse().ok().filter(|n: &u32| n.to_string() == number)?;
        if place.is_some_and(|known| known != number) {
            return None;
        }
        *place = Some(number);
        rest = tail;
    }
    rest.is_empty().then_some(found)
}

/// The template of pod names when none is given.
pub fn default_pod_name(pods_of_an_instance: u64) -> &'static str {
    if pods_of_an_instance > 1 {
        "{set}-{group}-{role}-{instance}-{member}-{pod}"
    } else {
        "{set}-{group}-{role}-{instance}"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let values = Values {
            set: "llama",
            group: 1,
            role: "prefill",
            instance: 2,
            member: "worker",
            pod: 3,
            revision: "6f2c9",
            set_revision: "b77a1",
            leader: "llama-1-prefill-2-leader-0",
            size: 4,
            index: 2,
            namespace: "ml",
            uid: "u-1",
            gang: "llama-1",
        };
        assert_eq!(expand(default_pod_name(4), &values), "llama-1-prefill-2-worker-3");
        assert_eq!(expand(default_pod_name(1), &values), "llama-1-prefill-2");
        assert_eq!(
            expand("{leader} {{{size}}} @{revision} of {setRevision}", &values),
            "llama-1-prefill-2-leader-0 {4} @6f2c9 of b77a1"
        );
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let some = |group, instance, pod, index| Some(Ordinals { group, instance, pod, index });
        const MEMBERS: &str = "{set}-{group}-{role}-{instance}-{member}-{pod}";
        let cases = [
            (MEMBERS, "llama-1-prefill-2-worker-3", some(Some(1), Some(2), Some(3), None)),
            (MEMBERS, "llama-1-decode-2-worker-3", None),
            (MEMBERS, "llama-1-prefill-2-leader-3", None),
            ("{set}-{role}-{instance}", "llama-prefill-12", some(None, Some(12), None, None)),
            ("{set}-{role}-{instance}", "llama-prefill-012", None),
            ("{set}-{role}-{instance}", "llama-prefill-", None),
            ("{set}-{role}-{instance}", "llama-prefill-1-x7k2p", None),
            ("{set}-{instance}-{index}", "llama-3-1", some(None, Some(3), None, Some(1))),
            ("{set}-{group}-{group}", "llama-3-1", None),
            ("{leader}", "llama", None),
        ];
        for (template, text, expected) in cases {
            assert_eq!(read(template, text, "llama", "prefill", "worker"), expected, "{template} {text}");
        }
    }

    #[test]
    fn stray_braces_are_seen() {
        assert_eq!(pieces("a{b"), [Piece::Text("a"), Piece::StrayBrace, Piece::Text("b")]);
        assert_eq!(pieces("}"), [Piece::StrayBrace]);
        assert_eq!(pieces("{}"), [Piece::Placeholder("")]);
    }
}
