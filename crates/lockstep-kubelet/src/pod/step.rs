//! One step of a pod's life: the whole of a kubelet's decisions about it.

use jiff::Timestamp;

use super::containers::Account;
use super::ending::ending;
use super::life::Life;
use super::readiness::readiness;
use super::status::StatusChange;
use super::view::PodView;
use crate::behaviour::Behaviour;
use crate::time::whole_millis;

/// What to do about a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Write this status, then look again.
    Patch(Box<StatusChange>),
    /// Finish the deletion: nothing of the pod is left on the node.
    Finish,
    /// Look again then.
    WaitUntil(Timestamp),
    /// Nothing, until the pod changes.
    Nothing,
}

/// What a kubelet does about this pod at `now`. Asked again after what it said was done, it goes on from there;
/// asked again before, it says the same.
pub fn step(pod: &PodView, behaviour: &Behaviour, now: Timestamp) -> Next {
    let now = whole_millis(now);
    if let Some(deletion) = &pod.metadata.deletion_timestamp {
        return ending(pod, behaviour, deletion.0, now);
    }
    if pod.status.is_over() {
        return Next::Nothing;
    }
    let (life, due) = Life::of(pod).next(pod, behaviour, now);
    let (ready, changes) = match &life {
        Life::Running(run) => readiness(run, pod.uid(), behaviour, now),
        Life::Unborn | Life::Ended(_) => (false, None),
    };
    let account = Account { pod, behaviour, life: &life, ready, last: false, now };
    let change = StatusChange::describe(&account);
    if !change.is_said_by(&pod.status) {
        return Next::Patch(Box::new(change));
    }
    let wakes = [due, changes, account.pull_changes_at()];
    wakes.into_iter().flatten().min().map_or(Next::Nothing, Next::WaitUntil)
}
