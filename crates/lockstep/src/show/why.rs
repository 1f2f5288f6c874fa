//! What a rollout waits for, by which rule, since when, and what would let it go on.

mod text;

use lockstep_api::Duration;
use lockstep_api::status::BlockedStatus;
use lockstep_core::blocked::Reason;
use lockstep_core::snapshot::OverrideBy;
use lockstep_core::time::{Millis, Time};
use serde::Serialize;
use serde_json::Value;

use super::advice;
use super::trouble::Trouble;
use crate::input::live_set::{LiveSet, moment};

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The set.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Where its rollout stands.
    pub phase: String,
    /// In one sentence.
    pub summary: String,
    /// What is wrong with what the set is made from, or lacking beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
    /// What waits, one by one.
    pub blocked: Vec<Block>,
    /// What keeps pods from being ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<Trouble>,
    /// When it counts as stalled if nothing more is achieved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// What is said of the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_text: Option<String>,
}

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// What.
    pub what: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// The field of the spec that says so.
    pub rule: String,
    /// What the field says, if it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Since when.
    pub since: String,
    /// For how long.
    #[serde(rename = "waitedMs", skip_serializing_if = "Option::is_none")]
    pub waited: Option<Millis>,
    /// What would let it go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_go_on: Option<String>,
}

/// Explains a set. `spec` is its spec with every default filled in.
pub fn explain(set: &LiveSet, spec: &Value, now: Time) -> Why {
    let rollout = &set.status.rollout;
    let block = |blocked: &BlockedStatus| {
        // The status counts in whole seconds.
        let waited = moment(&blocked.since).map(|since| Millis::seconds(now.since(since).0 / 1000));
        let left = pause_left(spec, blocked, waited)
            .map(|left| format!("it goes on by itself in {left}, or now by "));
        let reason: Option<Reason> = serde_json::from_value(Value::from(blocked.reason.as_str())).ok();
        Block {
            what: blocked.what.clone(),
            reason: blocked.reason.clone(),
            message: blocked.message.clone(),
            rule: blocked.rule.clone(),
            value: look_up(spec, &blocked.rule),
            since: blocked.since.clone(),
            waited,
            to_go_on: reason.map(|reason| left.unwrap_or_default() + &advice::to_go_on(reason, set, blocked)),
        }
    };
    // That a paused set is paused is said once, not of every part of it.
    let is_paused = Reason::Paused.to_string();
    let mut blocked: Vec<Block> =
        rollout.blocked.iter().filter(|blocked| blocked.reason != is_paused).map(block).collect();
    // Causes first: a group that waits for another is none.
    blocked.sort_by_key(|block| block.reason == Reason::GroupsExhausted.to_string());
    Why {
        name: set.name.clone(),
        namespace: set.namespace.clone(),
        phase: rollout.phase.clone(),
        summary: summary(set, &blocked),
        lacking: lockstep_dialects::wrong(&set.object.data["status"])
            .into_iter()
            .filter(|_| set.refusal().is_none())
            .collect(),
        blocked,
        pods: Vec::new(),
        deadline: rollout.deadline.clone(),
        deadline_text: deadline(set, spec, now),
    }
}

fn summary(set: &LiveSet, blocked: &[Block]) -> String {
    let (name, namespace, status) = (&set.name, &set.namespace, &set.status);
    if status.rollout.phase.is_empty() {
        return format!(
            "The operator has not looked at {name} yet. Is it running? `lockstep install` starts it."
        );
    }
    if !set.is_seen() {
        return format!("The operator has not seen the last change of {name} yet.");
    }
    if let Some(why) = set.refusal() {
        return format!("The spec of {name} is refused, and nothing moves until it is mended: {why}.");
    }
    let since = blocked.first().and_then(|block| block.waited);
    let since = since.map(|waited| format!(" ({waited})")).unwrap_or_default();
    let waiting = set.waiting().filter(|_| !blocked.is_empty());
    let waiting = waiting.map(|what| format!("Waiting: {what}{since}.")).unwrap_or_default();
    let (stable, update) = (status.revision.stable.as_deref(), &status.revision.update);
    let first = match status.rollout.phase.as_str() {
        "Complete" => format!("{name} is complete at {update}. Nothing waits."),
        "PartitionReached" => format!(
            "{name} has reached its partition. Lower updateStrategy.partition, of the set or of its roles, \
             to go on."
        ),
        "Paused" => format!("{name} is paused. `lockstep resume {name} -n {namespace}` lets it go on."),
        "Stalled" => format!("{name} is stalled: nothing was achieved before the deadline."),
        "RollingBack" => {
            format!("{name} is on its way back to {}: {}.", stable.unwrap_or(update), what_sent_it_back(set))
        }
        "RolledBack" => rolled_back(set, stable.unwrap_or(update)),
        _ if waiting.is_empty() => format!("{name} is on its way. Nothing is blocked."),
        _ => String::new(),
    };
    [first, waiting].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A set at rest where its spec does not want it: what happened, what that means, what to do.
fn rolled_back(set: &LiveSet, to: &str) -> String {
    let (name, namespace, why) = (&set.name, &set.namespace, what_sent_it_back(set));
    let way_out = match set.maker() {
        Some(maker) => format!("change the {maker}"),
        None => {
            format!("`lockstep undo {name} -n {namespace}` writes what runs into it, or apply one that works")
        }
    };
    format!(
        "{name} went back to {to}, and all of it stands there: {why}. Its spec still wishes for that one, so it counts \
         as Stalled and not Ready, and stays as it is until the spec changes: {way_out}."
    )
}

/// Who put the target back, and from where.
fn what_sent_it_back(set: &LiveSet) -> String {
    let Some(overridden) = set.overridden() else {
        return "its rollout failed or was aborted".to_owned();
    };
    match overridden.by {
        OverrideBy::Abort => format!("somebody aborted the rollout to {}", overridden.spec),
        OverrideBy::Rollback => format!(
            "the rollout to {} achieved nothing before its deadline, and onFailure is Rollback",
            overridden.spec
        ),
    }
}

fn deadline(set: &LiveSet, spec: &Value, now: Time) -> Option<String> {
    let rollout = &set.status.rollout;
    let deadline = rollout.deadline.as_deref().and_then(moment);
    let rolls_back = spec["onFailure"] == "Rollback";
    let stable = set.status.revision.stable.as_deref();
    match (rollout.phase.as_str(), deadline) {
        ("Progressing" | "RollingBack", Some(deadline)) if deadline > now => {
            let then = match stable {
                Some(stable) if rolls_back && rollout.phase == "Progressing" => {
                    format!(", then it goes back to {stable}")
                }
                _ => String::new(),
            };
            Some(format!("Deadline in {}{then}.", deadline.since(now)))
        }
        // A spec that is refused has no deadline.
        ("Stalled", _) if set.refusal().is_some() => None,
        ("Stalled", _) => {
            let best = set.memory().ok().flatten().and_then(|memory| memory.best)?;
            let (name, namespace) = (&set.name, &set.namespace);
            let passed = now.since(best.since + set.progress_deadline());
            Some(format!(
                "The deadline passed {passed} ago. `lockstep retry {name} -n {namespace}` gives it another."
            ))
        }
        ("Progressing", None) => Some("No deadline runs while it waits on purpose.".to_owned()),
        _ => None,
    }
}

/// How long a pause still lasts that ends by itself.
fn pause_left(spec: &Value, blocked: &BlockedStatus, waited: Option<Millis>) -> Option<Millis> {
    let length = look_up(spec, &format!("{}.pause.duration", blocked.rule))?;
    let Duration(length) = length.parse().ok()?;
    let holds = blocked.reason == Reason::PauseStep.to_string();
    waited.filter(|_| holds).map(|waited| Millis(length.0.saturating_sub(waited.0)))
}

/// The value of a field named as `roles[prefill].updateStrategy.maxUnavailable`, if it is short.
fn look_up(spec: &Value, rule: &str) -> Option<String> {
    let mut here = spec;
    for part in rule.split('.') {
        let (field, item) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((field, item)) => (field, Some(item)),
            None => (part, None),
        };
        here = here.get(field)?;
        if let Some(item) = item {
            let items = here.as_array()?;
            let named = items.iter().find(|value| value["name"] == item);
            here = named.or_else(|| items.get(item.parse::<usize>().ok()?))?;
        }
    }
    match here {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(here.to_string()),
        _ => None,
    }
}

impl Why {
    /// What the object that the set is made from says is wrong: the set's own part of it is in there.
    pub fn of_maker(&mut self, maker: &str, status: &Value) {
        let said: Vec<String> = lockstep_dialects::wrong(status);
        if !said.is_empty() {
            self.lacking = said.into_iter().map(|line| format!("{maker}: {line}")).collect();
        }
    }

    /// Adds what the pods themselves say. What waits for them does not go on by itself then.
    pub fn of_pods(&mut self, troubles: Vec<Trouble>) {
        let waits = [Reason::StepNotReady, Reason::NotReadyYet].map(|reason| reason.to_string());
        let by_itself = |advice: &String| advice.starts_with(advice::BY_ITSELF);
        if troubles.iter().any(|trouble| !trouble.node_lost) {
            for block in self.blocked.iter_mut().filter(|block| waits.contains(&block.reason)) {
                if block.to_go_on.as_ref().is_some_and(by_itself) {
                    block.to_go_on = Some("what is said of the pods below has to be mended".to_owned());
                }
            }
        }
        self.pods = troubles;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-31T12:00:00Z";

    fn spec() -> Value {
        json!({
            "roles": [{"name": "prefill", "updateStrategy": {"maxUnavailable": 1}}],
            "coordination": [{"name": "together", "rollingUpdate": {"maxSkew": "5%"},
                              "steps": [{"role": "decode", "updateTo": 1}]}],
            "onFailure": "Rollback",
        })
    }

    fn set(phase: &str, waiting_for: &str, deadline: Option<&str>, blocked: Value) -> LiveSet {
        let object = json!({
            "metadata": {"name": "llama", "namespace": "ml", "generation": 1},
            "spec": {"roles": []},
            "status": {
                "observedGeneration": 1, "revision": {"stable": "6f2c9", "update": "a41d0"},
                "rollout": {"phase": phase, "waitingFor": waiting_for, "deadline": deadline, "blocked": blocked},
            },
        });
        LiveSet::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    fn said(set: &LiveSet) -> String {
        explain(set, &spec(), moment(NOW).unwrap()).text()
    }

    #[test]
    fn one_instance_that_starts() {
        let blocked = json!([{
            "what": "llama-1/prefill-1", "reason": "NotReadyYet",
            "rule": "roles[prefill].updateStrategy.maxUnavailable", "since": "2026-01-31T11:59:19Z",
            "message": "prefill-2 is not available yet; at most 1 of 4 may be unavailable",
        }]);
        let set = set("Progressing", "prefill-2 is not available yet", Some("2026-01-31T12:29:19Z"), blocked);
        assert_eq!(
            said(&set),
            "\
Waiting: llama-1: prefill-2 is not available yet (41s).
  llama-1/prefill-1 has waited for 41s: prefill-2 is not available yet; at most 1 of 4 may be unavailable.
    by roles[prefill].updateStrategy.maxUnavailable, which is 1 (NotReadyYet)
    to go on: it goes on by itself once that is ready; `lockstep get llama -n ml` shows the pods
  Nothing else is blocked. Deadline in 29m19s, then it goes back to 6f2c9.
"
        );
    }

    #[test]
    fn a_pause_names_the_command_that_ends_it() {
        let blocked = json!([{
            "what": "llama-1/prefill-3", "reason": "PauseStep", "rule": "coordination[together].steps[0]",
            "since": "2026-01-31T11:00:00Z", "message": "step 1/3: pause, until it is promoted",
        }]);
        let text = said(&set("Progressing", "somebody to promote llama-1", None, blocked));
        assert!(text.contains("to go on: `lockstep promote llama -g 1 -n ml`"), "{text}");
        assert!(text.contains("by coordination[together].steps[0] (PauseStep)"), "{text}");
        assert!(text.ends_with("No deadline runs while it waits on purpose.\n"), "{text}");
    }

    #[test]
    fn what_waits_alike_is_said_once_and_causes_come_first() {
        let blocked = |what: &str, reason: &str, message: &str| json!({"what": what, "reason": reason, "message": message, "since": "2026-01-31T11:59:56Z"});
        let text = said(&set(
            "Progressing",
            "llama-0 waits for llama-1",
            None,
            json!([
                blocked("llama-0", "GroupsExhausted", "llama-0 waits for llama-1; at most 1 of 2 groups"),
                blocked("llama-1/decode-0", "StepNotReady", "step 3/3: prefill 1 of 4 updated and ready"),
                blocked("llama-1/prefill-3", "StepNotReady", "step 3/3: prefill 1 of 4 updated and ready"),
            ]),
        ));
        let start = "\
Waiting: llama-1: step 3/3: prefill 1 of 4 updated and ready (4s).
  llama-1/decode-0 and llama-1/prefill-3 have waited for 4s: step 3/3: prefill 1 of 4 updated and ready.
";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("\n  llama-0 has waited for 4s: llama-0 waits for llama-1"), "{text}");
        assert!(!text.contains("Nothing else"), "{text}");
    }

    #[test]
    fn one_cause_is_said_once_for_all_pods_and_what_lacks_beside_the_set_is_said() {
        let blocked = |i: u32| {
            let (pod, more) = (format!("llama-0-web-{i}"), "is invalid: limits: Required value");
            json!({"what": "llama", "reason": "CreateFailed", "since": "2026-01-31T11:59:56Z",
                   "message": format!("create pod {pod}: Pod \"{pod}\" {more}")})
        };
        let mut all: Vec<Value> = (0..16).map(blocked).collect();
        all.push(json!({"what": "llama", "reason": "CreateFailed", "since": "2026-01-31T11:59:56Z",
                        "message": "create pod llama-1-web-0: exceeded quota"}));
        let set = set("Progressing", "", None, json!(all));
        let mut why = explain(&set, &spec(), moment(NOW).unwrap());
        why.of_maker(
            "PodCliqueSet llama",
            &json!({"lastErrors": [{"description": "apply A b: not served"}]}),
        );
        let text = why.text();
        let shown = "\
  PodCliqueSet llama: apply A b: not served
  llama has waited for 4s: create pod llama-0-web-0: Pod \"llama-0-web-0\" is invalid: limits: Required value.
    the same of llama-0-web-1, llama-0-web-2, llama-0-web-3 and 12 more
  llama has waited for 4s: create pod llama-1-web-0: exceeded quota.
";
        assert!(text.contains(shown), "{text}");
        let lacking = why.lacking.clone();
        why.of_maker("PodCliqueSet llama", &json!({}));
        assert_eq!(why.lacking, lacking);
        let wait =
            |i: u32| json!({"what": format!("llama-{i}"), "reason": "GroupsExhausted", "message": "m"});
        let many = said(&self::set("Progressing", "", None, json!((0..9).map(wait).collect::<Vec<_>>())));
        assert!(many.contains("\n  llama-0, llama-1, llama-2 and 6 more have waited: m.\n"), "{many}");
    }

    #[test]
    fn every_phase_has_a_sentence() {
        for (phase, text) in [
            ("Complete", "llama is complete at a41d0. Nothing waits.\n"),
            ("Paused", "llama is paused. `lockstep resume llama -n ml` lets it go on.\n"),
            (
                "RolledBack",
                "llama went back to 6f2c9, and all of it stands there: its rollout failed or was aborted. Its spec still \
                 wishes for that one, so it counts as Stalled and not Ready, and stays as it is until the spec changes: \
                 `lockstep undo llama -n ml` writes what runs into it, or apply one that works.\n",
            ),
            ("", "The operator has not looked at llama yet. Is it running? `lockstep install` starts it.\n"),
        ] {
            assert_eq!(said(&set(phase, "", None, json!([]))), text);
        }
        let blocked = json!([{"what": "llama-1", "reason": "Paused", "message": "not while it is paused"}]);
        let paused = said(&set("Paused", "not while it is paused", None, blocked));
        assert_eq!(paused, "llama is paused. `lockstep resume llama -n ml` lets it go on.\n");
        let mut stalled = set("Stalled", "", None, json!([]));
        // The default deadline is ten minutes, so this one passed ten minutes ago.
        let since = moment(NOW).unwrap().0 - 1_200_000;
        stalled.status.memory = json!({"best": {"target": "a41d0", "updated": 0, "surge": 0, "pauses": 0,
                                                "since": since, "started": 0}});
        assert_eq!(
            said(&stalled),
            "llama is stalled: nothing was achieved before the deadline.\n  \
             The deadline passed 10m ago. `lockstep retry llama -n ml` gives it another.\n"
        );
    }

    #[test]
    fn a_way_back_says_who_sent_it() {
        for (by, said) in [
            ("Abort", "somebody aborted the rollout to a41d0."),
            (
                "Rollback",
                "the rollout to a41d0 achieved nothing before its deadline, and onFailure is Rollback.",
            ),
        ] {
            for (phase, start) in [
                ("RollingBack", "llama is on its way back to 6f2c9: "),
                ("RolledBack", "llama went back to 6f2c9, and all of it stands there: "),
            ] {
                let mut set = set(phase, "", None, json!([]));
                set.status.memory = json!({"overridden": {"spec": "a41d0", "by": by}});
                let text = super::summary(&set, &[]);
                assert!(text.starts_with(&format!("{start}{said}")), "{text}");
            }
        }
    }

    #[test]
    fn in_short_it_says_what_to_do_before_anything_else() {
        let blocked = |what: &str, reason: &str, message: &str| json!({"what": what, "reason": reason, "message": message, "rule": "r", "since": "2026-01-31T11:59:56Z"});
        let set = set(
            "Progressing",
            "",
            Some("2026-01-31T12:29:19Z"),
            json!([
                blocked("llama-1/decode-0", "StepNotReady", "step 1/3: decode 0 of 1 updated and ready"),
                blocked("llama-0", "GroupsExhausted", "llama-0 waits for llama-1"),
            ]),
        );
        let mut why = explain(&set, &spec(), moment(NOW).unwrap());
        let cause = "ErrImagePull: there is no v4".to_owned();
        why.of_pods(vec![Trouble {
            pods: vec!["d-0".to_owned(), "d-1".to_owned()],
            cause,
            node_lost: false,
        }]);
        assert_eq!(
            why.short(),
            "\
Waiting: llama-1: step 1/3: decode 0 of 1 updated and ready (4s).
  to go on: what is said of the pods below has to be mended
  d-0 and d-1: ErrImagePull: there is no v4
  Deadline in 29m19s, then it goes back to 6f2c9.
"
        );
    }

    #[test]
    fn fields_by_name_and_by_place() {
        let spec = spec();
        assert_eq!(look_up(&spec, "coordination[together].rollingUpdate.maxSkew").as_deref(), Some("5%"));
        assert_eq!(look_up(&spec, "coordination[0].steps[0].updateTo").as_deref(), Some("1"));
        assert_eq!(look_up(&spec, "coordination[together].steps[0]"), None);
        assert_eq!(look_up(&spec, "coordination[a], coordination[b]"), None);
        assert_eq!(look_up(&spec, "PodUnavailableBudget"), None);
    }
}
