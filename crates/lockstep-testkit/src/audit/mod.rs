//! What an API server's audit log tells: who asked for what, and who wrote how often.

mod entry;
mod tally;

use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;

pub use self::entry::Entry;
pub use self::tally::{Deed, Tally};

use crate::proxy::Which;

/// What an API server leaves out of its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quiet {
    /// Leases, which everybody renews all the time.
    pub leases: bool,
    /// Events, of both API groups.
    pub events: bool,
    /// Gets, lists and watches.
    pub reads: bool,
}

/// A policy for `--audit-policy-file`: every request once, when it is answered, without bodies, but for what
/// is left out on purpose. A watch is answered when it ends, so one that is still open is not in the log.
pub fn policy(quiet: Quiet) -> String {
    let mut rules = String::new();
    if quiet.leases {
        rules += "- level: None\n  resources: [{group: coordination.k8s.io, resources: [leases]}]\n";
    }
    if quiet.events {
        rules += "- level: None\n  resources: [{group: '', resources: [events]}, \
                  {group: events.k8s.io, resources: [events]}]\n";
    }
    if quiet.reads {
        rules += "- level: None\n  verbs: [get, list, watch]\n";
    }
    format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\n\
         omitStages: [RequestReceived, ResponseStarted]\nrules:\n{rules}- level: Metadata\n"
    )
}

/// An audit log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// No file, or none of ours.
    #[error("cannot read the audit log {}: {source}", path.display())]
    Read {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not what an API server writes.
    #[error("cannot understand line {line} of the audit log {}: {source}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// Which line, from one.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// An audit log as it was when it was read: requests that were answered, in the order of their answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Audit {
    entries: Vec<Entry>,
}

impl Audit {
    /// Reads a log. The API server may be writing: a last line without an end is left for another time. It
    /// starts a new file after 100 MiB unless `--audit-log-maxsize` says otherwise; only this one is read.
    pub fn read(path: &Path) -> Result<Self, AuditError> {
        let failed = |source| AuditError::Read { path: path.to_owned(), source };
        let text = fs::read(path).map_err(failed)?;
        Self::parse(&text).map_err(|(line, source)| AuditError::Line { path: path.to_owned(), line, source })
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, (usize, serde_json::Error)> {
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = text[..whole].split(|byte| *byte == b'\n').enumerate();
        let mut entries = Vec::new();
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            entries.extend(Entry::parse(line).map_err(|source| (index + 1, source))?);
        }
        Ok(Self { entries })
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Only requests that arrived at this moment or later.
    pub fn since(&self, mark: Timestamp) -> Self {
        self.filtered(|entry| entry.time >= mark)
    }

    /// Only these requests.
    pub fn only(&self, which: &Which) -> Self {
        self.filtered(|entry| which.fits(&entry.request))
    }

    fn filtered(&self, keep: impl Fn(&Entry) -> bool) -> Self {
        Self { entries: self.entries.iter().filter(|entry| keep(entry)).cloned().collect() }
    }

    /// The writes, also those that were refused.
    pub fn writes(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.request.verb.is_write())
    }

    /// Who wrote what, how often.
    pub fn tally(&self) -> Tally {
        Tally::of(self.writes())
    }

    /// What ended a pod, or tried to: deletes, evictions, and deletes of all pods in its namespace.
    pub fn ended(&self, namespace: &str, pod: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.ends(namespace, pod))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::proxy::Verb;

    fn line(agent: &str, verb: &str, target: &str, name: &str, code: u16, second: u32) -> String {
        let (resource, subresource) = target.split_once('/').unwrap_or((target, ""));
        let object = json!({
            "apiVersion": "v1", "resource": resource, "subresource": subresource,
            "namespace": "x", "name": name,
        });
        let entry = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "1",
            "stage": "ResponseComplete", "requestURI": "/api/v1/…", "verb": verb,
            "user": {"username": "admin", "groups": ["system:masters"]}, "sourceIPs": ["127.0.0.1"],
            "userAgent": agent, "objectRef": object, "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": format!("2026-01-01T00:00:{second:02}.123456Z"),
            "stageTimestamp": format!("2026-01-01T00:00:{second:02}.223456Z"),
        });
        format!("{entry}\n")
    }

    fn sample() -> Audit {
        let lines = [
            line("lockstep/0.1 (linux)", "create", "pods", "web-0", 201, 1),
            line("lockstep/0.1 (linux)", "create", "pods", "web-1", 201, 2),
            line("lockstep/0.1 (linux)", "patch", "pods/status", "web-1", 200, 3),
            line("kubectl/v1.37.0", "create", "pods/eviction", "web-0", 429, 4),
            line("kubectl/v1.37.0", "list", "pods", "", 200, 5),
            line("lockstep/0.1 (linux)", "delete", "pods", "web-0", 200, 6),
            line("kubectl/v1.37.0", "deletecollection", "pods", "", 200, 7),
            line("lockstep/0.1 (linux)", "delete", "pods", "web-1", 200, 8),
        ];
        Audit::parse(lines.concat().as_bytes()).unwrap()
    }

    #[test]
    fn entries_are_read() {
        let audit = sample();
        let first = &audit.entries()[0];
        assert_eq!((first.user.as_str(), first.status), ("admin", 201));
        assert_eq!((first.request.verb, first.request.target().as_str()), (Verb::Create, "pods"));
        assert_eq!((first.request.namespace.as_str(), first.request.name.as_str()), ("x", "web-0"));
        assert_eq!(first.request.user_agent, "lockstep/0.1 (linux)");
        assert_eq!(first.time.to_string(), "2026-01-01T00:00:01.123456Z");
        assert_eq!(first.answered.to_string(), "2026-01-01T00:00:01.223456Z");
    }

    #[test]
    fn other_stages_and_an_unfinished_line_are_passed_over() {
        let whole = line("a", "create", "pods", "p", 201, 1);
        let started = whole.replace("ResponseComplete", "ResponseStarted");
        let panicked = whole.replace("ResponseComplete", "Panic");
        let unfinished = &whole[..40];
        let text = [started.as_str(), "\n", &panicked, &whole, unfinished].concat();
        assert_eq!(Audit::parse(text.as_bytes()).unwrap().entries().len(), 1);
        assert_eq!(Audit::parse(unfinished.as_bytes()).unwrap(), Audit::default());
        let broken = format!("{whole}{unfinished}\n{whole}");
        assert_eq!(Audit::parse(broken.as_bytes()).unwrap_err().0, 2);
    }

    #[test]
    fn who_ended_a_pod() {
        let audit = sample();
        let ended = |pod| {
            let who = audit.ended("x", pod).map(|entry| (entry.request.verb, entry.status));
            who.collect::<Vec<_>>()
        };
        let all = (Verb::DeleteCollection, 200);
        assert_eq!(ended("web-0"), [(Verb::Create, 429), (Verb::Delete, 200), all]);
        assert_eq!(ended("web-1"), [all, (Verb::Delete, 200)]);
        assert_eq!(audit.ended("y", "web-0").count(), 0);
    }

    #[test]
    fn writes_are_counted() {
        let tally = sample().tally();
        assert_eq!(tally.total(), 7);
        assert_eq!(tally.of_agent("lockstep"), 5);
        let deed = |agent: &str, verb, resource: &str| Deed {
            user_agent: agent.to_owned(),
            verb,
            group: String::new(),
            resource: resource.to_owned(),
        };
        assert_eq!(tally.count(&deed("lockstep/0.1", Verb::Create, "pods")), 2);
        assert_eq!(tally.count(&deed("kubectl/v1.37.0", Verb::List, "pods")), 0);
        let late = sample().since("2026-01-01T00:00:06Z".parse().unwrap()).tally();
        assert_eq!((late.total(), late.of_agent("lockstep")), (3, 2));
        let evictions = sample().only(&Which::any().of("pods/eviction")).tally();
        assert_eq!(evictions.total(), 1);
    }

    #[test]
    fn the_table_is_for_people() {
        let expected = "\
WHO              VERB              WHAT           TIMES  REFUSED
kubectl/v1.37.0  create            pods/eviction      1        1
kubectl/v1.37.0  deletecollection  pods               1        0
lockstep/0.1     create            pods               2        0
lockstep/0.1     patch             pods/status        1        0
lockstep/0.1     delete            pods               2        0
";
        assert_eq!(sample().tally().to_string(), expected);
        assert_eq!(Audit::default().tally().to_string(), "nobody wrote anything\n");
    }

    #[test]
    fn policies_leave_out_what_is_asked() {
        let all = policy(Quiet::default());
        assert!(!all.contains("None") && all.ends_with("rules:\n- level: Metadata\n"));
        let quiet = policy(Quiet { leases: true, events: true, reads: true });
        assert_eq!(quiet.matches("level: None").count(), 3);
        assert!(quiet.contains("leases") && quiet.contains("events.k8s.io") && quiet.contains("watch"));
    }
}
