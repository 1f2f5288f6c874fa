//! What would let something go on that waits.

use lockstep_api::status::BlockedStatus;
use lockstep_core::blocked::Reason;

use crate::input::live_set::LiveSet;

/// How advice begins that asks for nothing.
pub const BY_ITSELF: &str = "it goes on by itself once";

/// What would let it go on, in one line.
pub fn to_go_on(reason: Reason, set: &LiveSet, blocked: &BlockedStatus) -> String {
    let (name, namespace) = (&set.name, &set.namespace);
    let group = group_of(set, &blocked.what);
    let rule = if blocked.rule.is_empty() { "the rule" } else { &blocked.rule };
    let pods = format!("`lockstep get {name} -n {namespace}` shows the pods");
    match reason {
        Reason::RulesConflict => {
            "change one of these rules; `lockstep plan --live` shows whether it helps".to_owned()
        }
        Reason::SurgeUnschedulable => format!("room on a node for the surge, or {rule}: 0; {pods}"),
        Reason::BatchUnschedulable => format!("room for the whole batch in one domain; {pods}"),
        Reason::Unschedulable => format!("room on a node; {pods}"),
        Reason::NotReadyYet if set.status.rollout.phase == "Stalled" && !is_rolling(set) => {
            format!("nothing rolls: what was lost has to come back; {pods}")
        }
        Reason::StepNotReady | Reason::NotReadyYet if set.status.rollout.phase == "Stalled" => format!(
            "it has had its time: {pods}; `lockstep undo {name} -n {namespace}` or `lockstep abort` goes back, `lockstep retry` gives it more"
        ),
        Reason::NotReadyYet => format!("{BY_ITSELF} that is ready; {pods}"),
        Reason::StepNotReady => format!("{BY_ITSELF} the step has its number; {pods}"),
        Reason::SkewHeld => format!("the other role has to catch up; a larger {rule} would let it go on now"),
        Reason::BudgetExhausted => format!("what is down has to come back, or a larger {rule}; {pods}"),
        Reason::GroupsExhausted => format!("a group in update has to finish, or a larger {rule}"),
        Reason::UnavailableBudget => {
            format!("the budget has to have room: `kubectl get podunavailablebudgets -n {namespace}`")
        }
        Reason::WaitingForTermination => format!("the pod has to be gone; {pods}"),
        Reason::Unproven => format!("the new revision has to become available once; {pods}"),
        Reason::PauseStep => match group {
            Some(group) => format!("`lockstep promote {name} -g {group} -n {namespace}`"),
            None => format!("`lockstep promote {name} -n {namespace}`"),
        },
        Reason::Paused => format!("`lockstep resume {name} -n {namespace}`"),
        Reason::OnDelete => format!("delete the pods when it suits you; {pods}"),
        Reason::ScalingHeld => "the other roles of the rule have to grow first".to_owned(),
        Reason::StartOrder => format!("what it starts after has to have its minimum ready; {pods}"),
        Reason::GangNotScheduled => format!("room for the base gang of the group; {pods}"),
        Reason::BatchNotReady => format!("the batch before has to become ready; {pods}"),
        Reason::RestartBackoff => {
            format!("it is tried again by itself; `lockstep retry {name} -n {namespace}` now")
        }
        Reason::GangTerminationHeld => {
            format!("what still works has to go, or what is down to come back; {pods}")
        }
        Reason::RoleRemoval => "the other roles have to be done; it goes on by itself".to_owned(),
    }
}

/// Whether it is on its way to another revision than the one that stood complete.
fn is_rolling(set: &LiveSet) -> bool {
    set.status.revision.stable.as_ref() != Some(&set.status.revision.update)
}

/// The group of something that waits: `llama-1/prefill-1` is in group 1.
fn group_of(set: &LiveSet, what: &str) -> Option<u32> {
    let (group, _) = what.split_once('/').unwrap_or((what, ""));
    group.strip_prefix(&set.name)?.strip_prefix('-')?.parse().ok()
}
