//! Sets as a list, as `kubectl get lss` shows them.

use lockstep_core::time::Time;
use serde::Serialize;

use super::columns::{Line, lay_out};
use super::words;
use crate::input::live_set::{LiveSet, stamp};
use crate::screen::Paint;

/// One set of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Groups wished for.
    pub groups: u32,
    /// Groups that are ready.
    pub ready: u32,
    /// Groups that are updated.
    pub updated: u32,
    /// Where its rollout stands.
    pub phase: String,
    /// What it waits for.
    pub waiting_for: String,
    /// When it was created.
    #[serde(serialize_with = "stamp")]
    pub created: Option<Time>,
}

impl From<&LiveSet> for Entry {
    fn from(set: &LiveSet) -> Self {
        let status = &set.status;
        Self {
            name: set.name.clone(),
            namespace: set.namespace.clone(),
            groups: status.replicas,
            ready: status.ready_replicas,
            updated: status.updated_replicas,
            phase: status.rollout.phase.clone(),
            waiting_for: set.waiting().unwrap_or_default(),
            created: set.created(),
        }
    }
}

/// The list for people; with namespaces, if they are several.
pub fn draw(entries: &[Entry], namespaces: bool, now: Time, paint: Paint) -> String {
    let line = |entry: &Entry| {
        let age = entry.created.map(|created| words::age(now.since(created))).unwrap_or_default();
        let namespace = if namespaces { entry.namespace.clone() } else { String::new() };
        let phase = if entry.phase.is_empty() { "Unseen" } else { &entry.phase };
        let numbers = [entry.groups, entry.ready, entry.updated].map(|n| n.to_string());
        let mut cells = vec![namespace, entry.name.clone()];
        cells.extend(numbers);
        cells.extend([phase.to_owned(), entry.waiting_for.clone(), age]);
        Line { cells, paint: if entry.phase == "Stalled" { Paint::bad } else { |_, text| text.to_owned() } }
    };
    let lines: Vec<Line> = entries.iter().map(line).collect();
    let header = ["NAMESPACE", "NAME", "GROUPS", "READY", "UPDATED", "PHASE", "WAITING FOR", "AGE"];
    lay_out(&header, &lines, paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_kubectl_shows_it() {
        let entry = Entry {
            name: "llama".to_owned(),
            namespace: "ml".to_owned(),
            groups: 2,
            ready: 1,
            updated: 0,
            phase: "Progressing".to_owned(),
            waiting_for: "llama-1/prefill-2 to become ready".to_owned(),
            created: Some(Time(0)),
        };
        let now = Time(3 * 86_400_000);
        let text = draw(std::slice::from_ref(&entry), false, now, Paint::PLAIN);
        assert_eq!(
            text,
            "NAME    GROUPS   READY   UPDATED   PHASE         WAITING FOR                         AGE\n\
             llama   2        1       0         Progressing   llama-1/prefill-2 to become ready   3d\n"
        );
        assert!(draw(&[entry], true, now, Paint::PLAIN).starts_with("NAMESPACE   NAME "));
    }
}
