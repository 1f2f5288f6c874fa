//! Carrying a plan out: each action becomes a write that the view already counts with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use lockstep_api::stored::Content;
use lockstep_core::model::Spec;
use lockstep_core::names::{MemberName, RoleName, Uid};
use lockstep_core::plan::{Action, Create, Delete, Plan, PodSlot, Ungate};
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::Pod;
use serde_json::Value;

use super::actor::{Actor, Done, Kind, now};
use super::desk::Handle;
use super::keep::Keeper;
use super::wish::Wish;
use crate::act::{ActError, Answer, Blueprint, Hand, SetRef};
use crate::observe::Place;

/// A request that is not answered for so long is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait before asking again what became of a write.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl Actor {
    /// Carries a plan out.
    pub(super) async fn act(&mut self, wish: &Wish, spec: &Arc<Spec>, plan: &Plan) {
        let keeper = Keeper { client: &self.context.client, handle: &self.handle, wish };
        if let Err(error) = keeper.gangs(spec.gang.scheduler, plan).await {
            self.failed(Kind::Upkeep, error);
            return;
        }
        let now = now();
        let (creates, deletes) = (self.creates.holds(now), self.deletes.holds(now));
        let mut materials = Stock { set: wish.set.clone(), spec: Arc::clone(spec), found: BTreeMap::new() };
        for action in &plan.actions {
            match action {
                Action::Create(create) if creates.is_none() => self.create(&mut materials, create),
                Action::Delete(delete) if deletes.is_none() => self.delete(delete),
                Action::Ungate(ungate) if deletes.is_none() => self.ungate(ungate),
                _ => {}
            }
        }
        for until in [creates, deletes].into_iter().flatten() {
            self.wake_at(until);
        }
        self.start_jobs();
    }

    /// Starts as many writes as may be under way.
    pub(super) fn start_jobs(&mut self) {
        while let Some(job) = self.pace.next() {
            self.jobs.spawn(job);
        }
    }

    /// A write has ended.
    pub(super) fn ended(&mut self, done: Result<Done, tokio::task::JoinError>) {
        let Ok(Done { kind, result }) = done else {
            // A task that panicked has put the view right while it was dropped.
            self.pace.ended(false);
            return;
        };
        match kind {
            Kind::Create | Kind::Delete | Kind::Ungate => {
                self.pace.ended(result.is_ok());
                match result {
                    Ok(()) => self.succeeded(kind),
                    Err(error) => {
                        self.pace.clear();
                        self.failed(kind, error);
                    }
                }
                self.start_jobs();
            }
            Kind::Status => {
                self.saying = false;
                match result {
                    Ok(()) => drop(self.troubles.remove(&kind)),
                    Err(error) => self.not_said(error),
                }
            }
            Kind::Upkeep | Kind::Aside => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a write beside the pods failed");
                }
            }
        }
    }

    fn succeeded(&mut self, kind: Kind) {
        match kind {
            Kind::Create => self.creates.succeeded(),
            _ => self.deletes.succeeded(),
        }
        self.troubles.remove(&kind);
    }

    fn create(&mut self, materials: &mut Stock, create: &Create) {
        let key = (create.of.role.clone(), create.revision);
        let found = materials.found.entry(key).or_insert_with(|| {
            let desk = self.handle.desk();
            let content = desk.history.role(&create.of.role, create.revision)?.content().ok()?;
            let (set, spec) = (materials.set.clone(), Arc::clone(&materials.spec));
            Some(Arc::new(Materials { set, spec, content }))
        });
        let Some(materials) = found.clone() else {
            let doing = format!("build a pod of role {}", create.of.role);
            let message = format!("revision {} is not stored", create.revision);
            self.failed(Kind::Create, ActError::Refused { doing, code: 404, message });
            return;
        };
        let create = Arc::new(create.clone());
        for slot in &create.pods {
            self.create_pod(&materials, &create, slot);
        }
    }

    fn create_pod(&mut self, materials: &Arc<Materials>, create: &Arc<Create>, slot: &PodSlot) {
        let of = &create.of;
        let name = crate::act::pod_name(&materials.set.name, &materials.content, create, slot);
        let place = Place { group: of.group, role: of.role.clone(), instance: of.instance };
        let pod = Pod {
            member: slot.member.clone(),
            index: slot.index,
            revision: create.revision,
            set_revision: create.set_revision,
            incarnation: create.incarnation,
            created: now(),
            gated: create.gated,
            gang: create.gang.as_ref().map(|gang| gang.to_string().as_str().into()),
            ..Pod::default()
        };
        self.handle.desk().view.creating(place.clone(), name.clone(), &self.owner, pod);
        let undo = Undo::Create { place, member: slot.member.clone(), index: slot.index, name: name.clone() };
        let mut pledge = Pledge { handle: Arc::clone(&self.handle), undo: Some(undo) };
        let (hand, owner) = (Arc::clone(&self.hand), self.owner.clone());
        let sure = Arc::clone(&self.context.sure);
        let (materials, create, slot) = (Arc::clone(materials), Arc::clone(create), slot.clone());
        self.pace.push(Box::new(move || {
            Box::pin(async move {
                let kind = Kind::Create;
                if !sure() {
                    return Done { kind, result: Err(ActError::NotLeader) };
                }
                let Some(body) = materials.pod(&create, &slot) else { return Done { kind, result: Ok(()) } };
                let answer = patiently(&name, hand.create(&owner, &name, &body)).await;
                let answer = match answer {
                    Err(ActError::Unknown { .. }) => find_out(&hand, &name).await,
                    answer => answer,
                };
                match answer {
                    Ok(Answer::Stands(slim) | Answer::Changed(Some(slim))) => {
                        pledge.keep();
                        pledge.handle.change(|desk| desk.view.see(&slim, false, now()));
                        Done { kind, result: Ok(()) }
                    }
                    Ok(Answer::Gone | Answer::Changed(None)) => Done { kind, result: Ok(()) },
                    Err(error) => Done { kind, result: Err(error) },
                }
            })
        }));
    }

    fn delete(&mut self, delete: &Delete) {
        let mut doomed = Vec::new();
        {
            let mut desk = self.handle.desk();
            for uid in &delete.uids {
                let Some((name, version)) = desk.view.find(uid) else { continue };
                let version = (!delete.paid).then_some(version);
                let (name, ready) = (name.to_owned(), desk.view.is_ready(uid));
                desk.view.deleting(uid);
                doomed.push(Doomed { uid: uid.clone(), name, version, ready });
            }
        }
        if doomed.is_empty() {
            return;
        }
        let undo = Undo::Delete(doomed.iter().map(|doomed| doomed.uid.clone()).collect());
        let pledge = Pledge { handle: Arc::clone(&self.handle), undo: Some(undo) };
        let hand = Arc::clone(&self.hand);
        let sure = Arc::clone(&self.context.sure);
        self.pace.push(Box::new(move || {
            Box::pin(async move {
                let result =
                    if sure() { delete_all(&hand, pledge, doomed).await } else { Err(ActError::NotLeader) };
                Done { kind: Kind::Delete, result }
            })
        }));
    }

    fn ungate(&mut self, ungate: &Ungate) {
        for uid in &ungate.uids {
            let name = {
                let mut desk = self.handle.desk();
                let Some((name, _)) = desk.view.find(uid) else { continue };
                let name = name.to_owned();
                desk.view.ungating(uid);
                name
            };
            let (hand, uid, handle) = (Arc::clone(&self.hand), uid.clone(), Arc::clone(&self.handle));
            let sure = Arc::clone(&self.context.sure);
            self.pace.push(Box::new(move || {
                Box::pin(async move {
                    let kind = Kind::Ungate;
                    if !sure() {
                        return Done { kind, result: Err(ActError::NotLeader) };
                    }
                    let result = match patiently(&name, hand.ungate(&name, &uid)).await {
                        Ok(Answer::Stands(slim) | Answer::Changed(Some(slim))) => {
                            handle.change(|desk| desk.view.see(&slim, false, now()));
                            Ok(())
                        }
                        Ok(Answer::Gone | Answer::Changed(None)) => Ok(()),
                        Err(error) => {
                            handle.desk().view.not_ungated(&uid);
                            Err(error)
                        }
                    };
                    Done { kind, result }
                })
            }));
        }
    }
}

/// What pods of one role and revision are built from. All writes that wait share it, and each pod is built when its
/// turn has come.
struct Materials {
    set: SetRef,
    spec: Arc<Spec>,
    content: Content,
}

impl Materials {
    fn pod(&self, create: &Create, slot: &PodSlot) -> Option<Value> {
        let Self { set, spec, content } = self;
        Blueprint { set, spec, content }.pod(create, slot)
    }
}

/// The materials one plan needs; nothing for a revision that is not stored.
struct Stock {
    set: SetRef,
    spec: Arc<Spec>,
    found: BTreeMap<(RoleName, Revision), Option<Arc<Materials>>>,
}

/// A pod that is to be deleted.
struct Doomed {
    uid: Uid,
    name: String,
    version: Option<u64>,
    ready: bool,
}

/// Deletes pods of one instance: those that are not ready first, and the rest only if that went well, so that an
/// instance that has become ready meanwhile is left alone.
async fn delete_all(hand: &Hand, mut pledge: Pledge, doomed: Vec<Doomed>) -> Result<(), ActError> {
    let (ready, unready): (Vec<_>, Vec<_>) = doomed.into_iter().partition(|doomed| doomed.ready);
    for some in [unready, ready] {
        let deleted = join_all(some.iter().map(|doomed| delete_one(hand, &pledge.handle, doomed))).await;
        for (doomed, deleted) in some.iter().zip(deleted) {
            if deleted? {
                pledge.kept(&doomed.uid);
            } else {
                // It is not as it was seen: the rest is planned anew.
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Deletes one pod. Returns whether it goes.
async fn delete_one(hand: &Hand, handle: &Handle, doomed: &Doomed) -> Result<bool, ActError> {
    let Doomed { uid, name, version, .. } = doomed;
    let answer = match patiently(name, hand.delete(name, uid, *version)).await {
        Err(ActError::Unknown { .. }) => find_out(hand, name).await,
        answer => answer,
    }?;
    let mut goes = true;
    handle.change(|desk| {
        match answer {
            Answer::Stands(slim) => {
                desk.view.see(&slim, false, now());
            }
            Answer::Changed(Some(slim)) if slim.pod.uid == *uid => {
                goes = slim.pod.terminating;
                desk.view.see(&slim, false, now());
            }
            Answer::Changed(Some(slim)) => {
                desk.view.gone(uid);
                desk.view.see(&slim, false, now());
            }
            Answer::Gone | Answer::Changed(None) => {
                desk.view.gone(uid);
            }
        }
        true
    });
    Ok(goes)
}

async fn patiently(
    name: &str,
    request: impl Future<Output = Result<Answer, ActError>>,
) -> Result<Answer, ActError> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!("no answer within {} seconds", PATIENCE.as_secs());
            Err(ActError::Unknown { doing: format!("write pod {name}"), message })
        }
    }
}

/// Nobody knows what became of a write: ask until somebody does. Meanwhile the view counts with it.
async fn find_out(hand: &Hand, name: &str) -> Result<Answer, ActError> {
    loop {
        match tokio::time::timeout(PATIENCE, hand.get(name)).await {
            Ok(Ok(found)) => return Ok(Answer::Changed(found)),
            Ok(Err(error @ ActError::Refused { .. })) => return Err(error),
            Ok(Err(_)) | Err(_) => tokio::time::sleep(ASK_AGAIN).await,
        }
    }
}

/// What the view has to forget if a write is not done.
enum Undo {
    Create { place: Place, member: MemberName, index: u32, name: String },
    Delete(Vec<Uid>),
}

/// A write that the view counts with. Dropped before it is kept, it puts the view right.
struct Pledge {
    handle: Arc<Handle>,
    undo: Option<Undo>,
}

impl Pledge {
    fn keep(&mut self) {
        self.undo = None;
    }

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
            }
            true
        });
    }
}
