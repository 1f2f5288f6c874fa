//! Carrying a plan out: each action becomes a write that the view already counts with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_api::stored::Content;
use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::plan::{Action, Create, Delete, Plan, PodSlot, Ungate};
use lockstep_core::revision::Revision;
use lockstep_core::snapshot::Pod;
use lockstep_core::time::Time;
use serde_json::Value;

use super::actor::{Actor, Done};
use super::keep::Keeper;
use super::pace::Topic;
use super::wish::Wish;
use super::writes::{Doomed, Pledge, Undo, delete_all, in_time, patiently};
use crate::act::{ActError, Answer, Blueprint, SetRef, pod_name};
use crate::observe::{Place, SlimPod};

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

impl Actor {
    /// Carries a plan out.
    pub(super) async fn act(&mut self, wish: &Wish, spec: &Arc<Spec>, plan: &Plan) {
        self.forget_other_topics(plan);
        let keeper = Keeper { client: &self.context.client, handle: &self.handle, wish };
        if let Err(error) = in_time("write gangs", keeper.gangs(spec, plan)).await {
            self.failed(Topic::Upkeep, error);
            return;
        }
        // Gangs may have taken a while.
        if !self.is_current() {
            return;
        }
        let mut stock = Stock { set: wish.set.clone(), spec: Arc::clone(spec), found: BTreeMap::new() };
        for action in &plan.actions {
            if !self.may(&topic_of(action)) {
                continue;
            }
            match action {
                // What is left is planned again when some of these are done.
                Action::Create(_) if self.pace.is_full() => {}
                Action::Create(create) => self.create(&mut stock, create),
                Action::Delete(delete) => self.delete(delete),
                Action::Ungate(ungate) => self.ungate(ungate),
            }
        }
        self.start_jobs();
    }

    /// What nobody wants to do any more is no trouble any more.
    fn forget_other_topics(&mut self, plan: &Plan) {
        if self.troubles.is_empty() {
            return;
        }
        let mut wanted: BTreeSet<Topic> = plan.actions.iter().map(topic_of).collect();
        wanted.extend(plan.actions.iter().map(|action| topic_of(action).at_large()));
        let creates = wanted.iter().any(|topic| matches!(topic, Topic::Create(_)));
        let stays = |topic: &Topic| match topic {
            Topic::Name(_) => creates,
            Topic::Upkeep | Topic::Status | Topic::Aside => true,
            other => wanted.contains(other),
        };
        self.troubles.retain(|topic, _| stays(topic));
        self.backoffs.retain(|topic, _| stays(topic));
    }

    /// Whether a write of this topic may be tried now; if not, it is looked at again when it may.
    fn may(&mut self, topic: &Topic) -> bool {
        let until = self.holds(topic).max(self.holds(&topic.at_large()));
        if let Some(until) = until {
            self.wake_at(until);
        }
        until.is_none()
    }

    /// Starts as many writes as may be under way, unless somebody has changed their mind.
    pub(super) fn start_jobs(&mut self) {
        if !self.is_current() {
            return;
        }
        while let Some(job) = self.pace.next() {
            self.jobs.spawn(job);
        }
    }

    /// A write has ended.
    pub(super) fn ended(&mut self, done: Result<Done, tokio::task::JoinError>) {
        let Ok(Done { topic, result }) = done else {
            // A task that panicked has put the view right while it was dropped.
            self.pace.ended(false);
            return;
        };
        match topic {
            Topic::Status => {
                self.saying = false;
                match result {
                    Ok(()) => self.succeeded(&topic),
                    Err(error) => self.not_said(error),
                }
            }
            Topic::Upkeep | Topic::Aside => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a write beside the pods failed");
                }
            }
            _ => {
                self.pace.ended(!matches!(&result, Err(error) if error.is_at_large()));
                match result {
                    Ok(()) => self.succeeded(&topic),
                    Err(error) => {
                        let topic = if error.is_at_large() { topic.at_large() } else { topic };
                        self.pace.drop_all(&topic);
                        self.failed(topic, error);
                    }
                }
                self.start_jobs();
            }
        }
    }

    pub(super) fn succeeded(&mut self, topic: &Topic) {
        for topic in [topic, &topic.at_large()] {
            self.backoffs.remove(topic);
            self.troubles.remove(topic);
        }
    }

    fn create(&mut self, stock: &mut Stock, create: &Create) {
        let key = (create.of.role.clone(), create.revision);
        let found = stock.found.entry(key).or_insert_with(|| {
            let desk = self.handle.desk();
            let content = desk.history.role(&create.of.role, create.revision)?.content().ok()?;
            let (set, spec) = (stock.set.clone(), Arc::clone(&stock.spec));
            Some(Arc::new(Materials { set, spec, content }))
        });
        let Some(materials) = found.clone() else {
            let doing = format!("build a pod of role {}", create.of.role);
            let message = format!("revision {} is not stored", create.revision);
            self.failed(Topic::Create(create.of.clone()), ActError::Refused { doing, code: 404, message });
            return;
        };
        let create = Arc::new(create.clone());
        for slot in &create.pods {
            let name = pod_name(&materials.set, &materials.content, &create, slot);
            if self.may(&Topic::Name(name.clone())) {
                self.create_pod(&materials, &create, slot, name);
            }
        }
    }

    fn create_pod(&mut self, materials: &Arc<Materials>, create: &Arc<Create>, slot: &PodSlot, name: String) {
        let of = &create.of;
        let place = Place { group: of.group, role: of.role.clone(), instance: of.instance };
        let pod = in_flight(create, slot, self.now());
        let (free, foreign) = {
            let mut desk = self.handle.desk();
            let free = desk.view.creating(place.clone(), &name, &self.owner, pod);
            (free, !free && desk.view.is_foreign(&place, &slot.member, slot.index, &name, &self.owner))
        };
        if foreign {
            // The watch tells when it is gone.
            self.in_the_way(name.clone());
        }
        if !free {
            return;
        }
        let undo = Undo::Create {
            place: place.clone(),
            member: slot.member.clone(),
            index: slot.index,
            name: name.clone(),
        };
        let mut pledge = Pledge::new(&self.handle, undo);
        let (hand, owner, sure) =
            (Arc::clone(&self.hand), self.owner.clone(), Arc::clone(&self.context.sure));
        let (materials, create, slot) = (Arc::clone(materials), Arc::clone(create), slot.clone());
        let topic = Topic::Create(create.of.clone());
        let job = move || -> super::pace::Running<Done> {
            Box::pin(async move {
                let topic = Topic::Create(create.of.clone());
                if !sure() {
                    return Done { topic, result: Err(ActError::NotLeader) };
                }
                let Some(body) = materials.pod(&create, &slot) else { return Done { topic, result: Ok(()) } };
                let taken = |name: String| {
                    let result = Err(ActError::NameTaken { name: name.clone() });
                    Done { topic: Topic::Name(name), result }
                };
                let ours = |slim: &SlimPod| slim.owner.as_ref() == Some(&owner);
                match patiently(&hand, &name, |found| found.is_some(), hand.create(&owner, &name, &body))
                    .await
                {
                    Ok(Answer::Stands(slim) | Answer::Changed(Some(slim))) if ours(&slim) => {
                        let mut stands = false;
                        let now = pledge.handle.now();
                        pledge.handle.change(|desk| {
                            let news = desk.view.see(&slim, false, now);
                            stands = desk.view.stands(&place, &name, &slim.pod.uid);
                            news
                        });
                        // One that is gone again, or that calls itself another's, stands nowhere.
                        if stands {
                            pledge.keep();
                        }
                        let strange = !stands && slim.place.as_ref() != Some(&place);
                        if strange { taken(name) } else { Done { topic, result: Ok(()) } }
                    }
                    Ok(Answer::Stands(_) | Answer::Changed(Some(_))) | Err(ActError::NameTaken { .. }) => {
                        taken(name)
                    }
                    Ok(Answer::Gone | Answer::Changed(None)) => Done { topic, result: Ok(()) },
                    Err(error) => Done { topic, result: Err(error) },
                }
            })
        };
        self.pace.push(topic, Box::new(job));
    }

    fn delete(&mut self, delete: &Delete) {
        let mut doomed = Vec::new();
        {
            let mut desk = self.handle.desk();
            for uid in &delete.uids {
                // As it was when it was planned: it may have become ready meanwhile.
                let Some((name, version, ready)) = desk.view.planned(uid) else { continue };
                let (name, version) = (name.to_owned(), (!delete.paid).then_some(version));
                desk.view.deleting(uid);
                doomed.push(Doomed { uid: uid.clone(), name, version, ready, why: delete.why });
            }
        }
        if doomed.is_empty() {
            return;
        }
        let undo = Undo::Delete(doomed.iter().map(|doomed| doomed.uid.clone()).collect());
        let pledge = Pledge::new(&self.handle, undo);
        let (hand, sure) = (Arc::clone(&self.hand), Arc::clone(&self.context.sure));
        let leave = self.leave(&doomed);
        let topic = Topic::Delete(delete.of.clone());
        let done = topic.clone();
        let job = move || -> super::pace::Running<Done> {
            Box::pin(async move {
                let result = async {
                    leave.await?;
                    if sure() { delete_all(&hand, pledge, doomed).await } else { Err(ActError::NotLeader) }
                };
                Done { result: result.await, topic: done }
            })
        };
        self.pace.push(topic, Box::new(job));
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
            let mut pledge = Pledge::new(&self.handle, Undo::Ungate(uid.clone()));
            let (hand, uid, sure) = (Arc::clone(&self.hand), uid.clone(), Arc::clone(&self.context.sure));
            let job = move || -> super::pace::Running<Done> {
                Box::pin(async move {
                    let topic = Topic::Ungate;
                    if !sure() {
                        return Done { topic, result: Err(ActError::NotLeader) };
                    }
                    let lifted = |found: Option<&SlimPod>| {
                        found.is_none_or(|slim| slim.pod.uid != uid || !slim.pod.gated)
                    };
                    let answer = patiently(&hand, &name, lifted, hand.ungate(&name, &uid)).await;
                    let result = answer.map(|answer| {
                        pledge.keep();
                        if let Answer::Stands(slim) | Answer::Changed(Some(slim)) = answer {
                            let now = pledge.handle.now();
                            pledge.handle.change(|desk| desk.view.see(&slim, false, now));
                        }
                    });
                    Done { topic, result }
                })
            };
            self.pace.push(Topic::Ungate, Box::new(job));
        }
    }
}

fn topic_of(action: &Action) -> Topic {
    match action {
        Action::Create(create) => Topic::Create(create.of.clone()),
        Action::Delete(delete) => Topic::Delete(delete.of.clone()),
        Action::Ungate(_) => Topic::Ungate,
    }
}

/// A pod that we are about to create, as the engine sees it until it is there.
fn in_flight(create: &Create, slot: &PodSlot, now: Time) -> Pod {
    Pod {
        member: slot.member.clone(),
        index: slot.index,
        revision: create.revision,
        set_revision: create.set_revision,
        incarnation: create.incarnation,
        created: now,
        gated: create.gated,
        gang: create.gang.as_ref().map(|gang| gang.to_string().as_str().into()),
        ..Pod::default()
    }
}
