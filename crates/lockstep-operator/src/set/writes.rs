//! Single writes on pods: patient, looked up when nobody knows what became of them, and undone in the view when they
//! were not done.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use lockstep_core::names::{MemberName, Uid};
use lockstep_core::plan::DeleteWhy;

use super::desk::Handle;
use crate::act::{ActError, Answer, Hand};
use crate::observe::{Place, SlimPod};

/// A request that is not answered for so long is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait before asking again what became of a write.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How often a delete is tried on a pod that keeps changing and stays unready.
const TRIES: u32 = 4;

/// Does not wait for ever.
pub async fn in_time<T>(doing: &str, work: impl Future<Output = Result<T, ActError>>) -> Result<T, ActError> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => {
            let message = format!("no answer within {} seconds", PATIENCE.as_secs());
            Err(ActError::Unknown { doing: doing.to_owned(), message })
        }
    }
}

/// A write on a pod, or what has become of it if nobody knows. `done` says whether a pod looks as it does after the
/// write.
pub async fn patiently(
    hand: &Hand,
    name: &str,
    done: impl Fn(Option<&SlimPod>) -> bool,
    write: impl Future<Output = Result<Answer, ActError>>,
) -> Result<Answer, ActError> {
    match in_time(&format!("write pod {name}"), write).await {
        Err(ActError::Unknown { .. }) => find_out(hand, name).await.map(Answer::Changed),
        // An API server that gives up (500, 504) may have been heard by its store all the same.
        Err(error @ ActError::Refused { code: 500.., .. }) => {
            let found = find_out(hand, name).await?;
            if done(found.as_deref()) { Ok(Answer::Changed(found)) } else { Err(error) }
        }
        answer => answer,
    }
}

/// Nobody knows what became of a write: asks until somebody does. Meanwhile the view counts with it.
pub async fn find_out(hand: &Hand, name: &str) -> Result<Option<Box<SlimPod>>, ActError> {
    loop {
        match tokio::time::timeout(PATIENCE, hand.get(name)).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error @ ActError::Refused { code, .. })) if is_final(code) => return Err(error),
            Ok(Err(_)) | Err(_) => tokio::time::sleep(ASK_AGAIN).await,
        }
    }
}

/// Whether the same answer would come again. An API server that has too much to do has something else to say later, and
/// just then nobody may give up.
fn is_final(code: u16) -> bool {
    code < 500 && ![408, 429].contains(&code)
}

/// A pod that is to be deleted.
pub struct Doomed {
    /// Its UID.
    pub uid: Uid,
    /// Its name.
    pub name: String,
    /// The state it must be in, if nothing is paid for it.
    pub version: Option<u64>,
    /// Whether it was ready.
    pub ready: bool,
    /// Why it goes.
    pub why: DeleteWhy,
}

/// Deletes pods of one instance: those that are not ready first, and the rest only if that went well, so that an
/// instance that has become ready meanwhile is left alone.
pub async fn delete_all(hand: &Hand, mut pledge: Pledge, doomed: Vec<Doomed>) -> Result<(), ActError> {
    let (ready, unready): (Vec<_>, Vec<_>) = doomed.into_iter().partition(|doomed| doomed.ready);
    for some in [unready, ready] {
        let deleted = join_all(some.iter().map(|doomed| delete_one(hand, &pledge.handle, doomed))).await;
        let mut all_go = true;
        let mut failure = None;
        for (doomed, deleted) in some.iter().zip(deleted) {
            match deleted {
                Ok(true) => pledge.kept(&doomed.uid),
                // It is not as it was seen: the rest is planned anew.
                Ok(false) => all_go = false,
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if !all_go {
            break;
        }
    }
    Ok(())
}

/// Deletes one pod, in the state that was seen. One that changed and still is not ready may go all the same: what
/// the state is asked for is that nothing that works is taken.
async fn delete_as_seen(hand: &Hand, doomed: &Doomed) -> Result<Answer, ActError> {
    let Doomed { uid, name, why, .. } = doomed;
    let goes =
        |found: Option<&SlimPod>| found.is_none_or(|slim| slim.pod.uid != *uid || slim.pod.terminating);
    let mut version = doomed.version;
    for _ in 1..TRIES {
        let answer = patiently(hand, name, goes, hand.delete(name, uid, version, *why)).await?;
        match &answer {
            Answer::Changed(Some(slim))
                if version.is_some() && slim.pod.uid == *uid && is_of_no_use(slim) =>
            {
                version = Some(slim.version());
            }
            _ => return Ok(answer),
        }
    }
    patiently(hand, name, goes, hand.delete(name, uid, version, *why)).await
}

fn is_of_no_use(slim: &SlimPod) -> bool {
    slim.pod.ready.is_none() && !slim.pod.terminating
}

/// Deletes one pod. Returns whether it goes.
async fn delete_one(hand: &Hand, handle: &Handle, doomed: &Doomed) -> Result<bool, ActError> {
    let uid = &doomed.uid;
    let answer = delete_as_seen(hand, doomed).await?;
    let now = handle.now();
    let mut goes = true;
    handle.change(|desk| {
        match answer {
            Answer::Stands(slim) => {
                desk.view.see(&slim, false, now);
            }
            Answer::Changed(Some(slim)) if slim.pod.uid == *uid => {
                goes = slim.pod.terminating;
                desk.view.see(&slim, false, now);
            }
            Answer::Changed(Some(slim)) => {
                desk.view.gone(uid);
                desk.view.see(&slim, false, now);
            }
            Answer::Gone | Answer::Changed(None) => {
                desk.view.gone(uid);
            }
        }
        true
    });
    Ok(goes)
}

/// What the view has to forget if a write is not done.
pub enum Undo {
    /// A pod was to be created.
    Create {
        /// Where.
        place: Place,
        /// Of which member.
        member: MemberName,
        /// Which of them.
        index: u32,
        /// Its name.
        name: String,
    },
    /// These were to be deleted.
    Delete(Vec<Uid>),
    /// The gate of this one was to be lifted.
    Ungate(Uid),
}

/// A write that the view counts with. Dropped before it is kept, it puts the view right.
pub struct Pledge {
    /// The desk with the view.
    pub handle: Arc<Handle>,
    undo: Option<Undo>,
}

impl Pledge {
    /// Something is about to be written.
    pub fn new(handle: &Arc<Handle>, undo: Undo) -> Self {
        Self { handle: Arc::clone(handle), undo: Some(undo) }
    }

    /// It was done.
    pub fn keep(&mut self) {
        self.undo = None;
    }

    /// One of several deletes was done.
    fn kept(&mut self, uid: &Uid) {
        if let Some(Undo::Delete(uids)) = &mut self.undo {
            uids.retain(|other| other != uid);
        }
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.handle.change(|desk| {
            match &undo {
                Undo::Create { place, member, index, name } => {
                    desk.view.not_created(place, member, *index, name)
                }
                Undo::Delete(uids) => uids.iter().for_each(|uid| desk.view.not_deleted(uid)),
                Undo::Ungate(uid) => desk.view.not_ungated(uid),
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Mutex, PoisonError};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// A hand whose API server answers so, one after the other.
    fn hand(answers: &[u16]) -> (Hand, Arc<Mutex<VecDeque<u16>>>) {
        let left: Arc<Mutex<VecDeque<u16>>> = Arc::new(Mutex::new(answers.iter().copied().collect()));
        let rest = Arc::clone(&left);
        let answer = move |_: Request<Body>| {
            let code = rest.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(404);
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
                "reason": if code == 404 { "NotFound" } else { "" }, "message": "no",
            });
            let answer = Response::builder().status(code).body(Body::from(status.to_string().into_bytes()));
            async move { answer.map_err(Box::<dyn std::error::Error + Send + Sync>::from) }
        };
        (Hand::new(Client::new(tower::service_fn(answer), "default"), "default"), left)
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_too_much_to_do_is_asked_again() {
        for (answers, found) in [
            (&[429, 503, 408, 429, 404][..], true),
            (&[500, 504, 404], true),
            (&[429, 403, 404], false),
            (&[401, 404], false),
        ] {
            let (hand, left) = hand(answers);
            let said = find_out(&hand, "a").await;
            assert_eq!(said.is_ok_and(|pod| pod.is_none()), found, "{answers:?}");
            let left = left.lock().unwrap_or_else(PoisonError::into_inner).len();
            assert_eq!(left == 0, found, "{answers:?}");
        }
    }
}
