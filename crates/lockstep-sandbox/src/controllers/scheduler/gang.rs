//! Gangs: pods that get nodes together, or not at all until there are enough of them.

use serde_json::{Value, json};

use super::Attempt;
use super::cluster::GroupName;
use crate::controllers::wish::Wish;
use crate::controllers::{conditions, key, read};
use crate::store::Key;

/// What a real scheduler says of itself when it could send nobody away for a gang.
const NOBODY_TO_PREEMPT: &str = "pod group preemption: No preemption victims found for incoming preemptor";

/// A gang that is tried.
struct Gang {
    name: GroupName,
    least: usize,
    scheduled: usize,
    waiting: Vec<Key>,
}

/// What became of one of its pods.
enum Outcome {
    Fits(std::sync::Arc<str>),
    Fails(String),
}

impl Attempt<'_> {
    /// Tries the pods of a gang together.
    pub(super) fn gang(&mut self, name: &GroupName) {
        let Some(group) = self.cluster.groups.get(name) else { return };
        let least = group["spec"]["schedulingPolicy"]["gang"]["minCount"].as_u64();
        let least = least.and_then(|least| usize::try_from(least).ok()).unwrap_or(1);
        let priority = read::number(&group["spec"]["priority"]);
        let members: Vec<_> = self.cluster.members(name).collect();
        let mut waiting: Vec<_> = members.iter().filter(|pod| pod.waits()).collect();
        waiting.sort_by_key(|pod| (pod.created.clone(), pod.key.clone()));
        let mixed = members.iter().find(|pod| pod.priority != priority).map(|pod| pod.priority);
        let gang = Gang {
            name: name.clone(),
            least,
            scheduled: members.iter().filter(|pod| pod.node.is_some()).count(),
            waiting: waiting.iter().map(|pod| pod.key.clone()).collect(),
        };
        // Before there are enough there is nothing to be said, and a gate of one holds all, even those who join later.
        let held = members.iter().any(|pod| pod.gated && pod.node.is_none());
        if held || members.len() < gang.least || gang.waiting.is_empty() {
            return;
        }
        match mixed {
            Some(other) => self.refuse_mixed(&gang, other, priority),
            None => self.place_together(&gang),
        }
    }

    fn refuse_mixed(&mut self, gang: &Gang, pod: i64, group: i64) {
        let why = format!(
            "all pods in a single pod group should have the same priority as the pod group's priority, got {pod} and {group}"
        );
        for key in &gang.waiting {
            self.refuse(key, "SchedulerError", &why);
        }
        self.tell(&gang.name, "False", "SchedulerError", &why);
    }

    fn place_together(&mut self, gang: &Gang) {
        let (mut scheduled, mut remaining) = (gang.scheduled, gang.waiting.len());
        let cannot = |scheduled: usize, remaining: usize| {
            format!(
                "minCount ({}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining",
                gang.least
            )
        };
        let mut outcomes = Vec::new();
        for key in &gang.waiting {
            if scheduled + remaining < gang.least {
                break;
            }
            let Some(pod) = self.cluster.pods.get(key) else { continue };
            remaining -= 1;
            match self.search(pod) {
                Ok(node) => {
                    scheduled += 1;
                    self.assume(key, Some(&node));
                    outcomes.push(Outcome::Fits(node));
                }
                Err(unfit) => {
                    outcomes.push(Outcome::Fails(unfit.sentence()));
                    self.remember(key, unfit);
                }
            }
        }
        if scheduled >= gang.least && outcomes.iter().any(|outcome| matches!(outcome, Outcome::Fits(_))) {
            self.settle(gang, outcomes);
        } else {
            self.give_up(gang, outcomes, (scheduled < gang.least).then(|| cannot(scheduled, remaining)));
        }
    }

    /// There are enough: who fits goes.
    fn settle(&mut self, gang: &Gang, outcomes: Vec<Outcome>) {
        for (key, outcome) in gang.waiting.iter().zip(outcomes) {
            match outcome {
                Outcome::Fits(node) => self.bind(key, &node),
                Outcome::Fails(why) => self.refuse(key, "Unschedulable", &why),
            }
        }
        self.tell(&gang.name, "True", "Scheduled", "");
    }

    /// There are not enough: nobody goes.
    fn give_up(&mut self, gang: &Gang, outcomes: Vec<Outcome>, too_few: Option<String>) {
        let all = "pod group is unschedulable";
        let whole = too_few
            .as_ref()
            .map_or(NOBODY_TO_PREEMPT.to_owned(), |why| format!("{why}, {NOBODY_TO_PREEMPT}"));
        let mut outcomes = outcomes.into_iter();
        for key in &gang.waiting {
            let why = match outcomes.next() {
                Some(Outcome::Fits(_)) => {
                    self.assume(key, None);
                    format!("{all}, {whole}")
                }
                Some(Outcome::Fails(why)) => why,
                None => too_few.clone().unwrap_or_else(|| all.to_owned()),
            };
            self.refuse(key, "Unschedulable", &why);
        }
        let said = if too_few.is_some() { whole } else { format!("{all}, {whole}") };
        self.tell(&gang.name, "False", "Unschedulable", &said);
    }

    /// Says how the gang fares. One that was scheduled stays so, whatever becomes of those who join.
    fn tell(&mut self, name: &GroupName, status: &str, reason: &str, message: &str) {
        let Some(group) = self.cluster.groups.get(name) else { return };
        let kind = "PodGroupInitiallyScheduled";
        if status != "True" && read::condition_status(group, kind) == "True" {
            return;
        }
        let mut said = json!({"type": kind, "status": status, "reason": reason, "message": message});
        if let Some(generation) = group["metadata"]["generation"].as_i64() {
            said["observedGeneration"] = json!(generation);
        }
        let Some(conditions) = conditions::with(group, said, self.now) else { return };
        let version: &Value = &group["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
        let key = key("podgroups.scheduling.k8s.io", &name.0, &name.1);
        self.turn.wishes.push(Wish::Merge { key, subresource: Some("status"), patch });
    }
}
