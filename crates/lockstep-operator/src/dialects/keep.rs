//! One object: its set, what stands beside it, and what is said of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use lockstep_api::status::LockstepSetStatus;
use lockstep_api::{API_VERSION, KIND, Problem};
use lockstep_dialects::{Dialect, Lowered, Raised, Seen, Served, World};
use serde::Deserialize;
use serde_json::Value;

use super::desk::{Applied, Desk, is_current};
use super::id::{Id, group_of, is_leaving};
use super::{book::Book, wanted};
use crate::act::ActError;
use crate::clock::Clock;
use crate::report::{Herald, Note};

/// Keeps the objects of a dialect.
pub struct Keeper {
    /// The dialect.
    pub dialect: &'static dyn Dialect,
    /// What is known.
    pub book: Arc<Book>,
    /// Where it is written.
    pub desk: Desk,
    /// Who tells what is wrong.
    pub herald: Herald,
    /// What the cluster can do.
    pub served: Box<dyn Fn() -> Served + Send + Sync>,
    /// What time it is.
    pub clock: Clock,
}

/// What an object came to: its set's object if there is one, and all that is wrong.
struct Outcome {
    lowered: Result<Lowered, Vec<Problem>>,
    set: Option<Arc<Value>>,
    /// What could not be written, and is tried again.
    failed: Option<ActError>,
}

impl Keeper {
    /// Brings one object's set, and what stands beside it, to where it should be, and says where that is. `told` is
    /// what was last told to be wrong with it, and becomes what is now.
    pub async fn keep(&self, id: &Id, told: &mut Option<String>) -> Result<(), ActError> {
        let Some(object) = self.book.get(id) else {
            self.desk.forget(id);
            return Ok(());
        };
        if is_leaving(&object) {
            return Ok(());
        }
        if !self.book.becomes_set(id) {
            return self.say_alone(id, &object).await;
        }
        let world = self.book.world(&id.namespace, (self.served)());
        let outcome = self.make(&object, &world).await;
        let wrong = match &outcome.lowered {
            Ok(_) => None,
            Err(problems) => Some(problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")),
        };
        if let Some(wrong) = wrong.as_deref().filter(|_| wrong != *told) {
            tracing::warn!(
                kind = id.kind,
                namespace = id.namespace,
                name = id.name,
                problems = wrong,
                "is refused"
            );
            self.tell(&object, wrong).await;
        }
        *told = wrong;
        self.say(&object, &outcome, &world).await?;
        outcome.failed.map_or(Ok(()), Err)
    }

    /// Says what there is to say of an object that becomes no set.
    async fn say_alone(&self, id: &Id, object: &Value) -> Result<(), ActError> {
        let readers = self.book.readers(&id.namespace);
        let readers: Vec<&Value> = readers.iter().map(|reader| &**reader).collect();
        match self.dialect.raise_alone(object, &readers, &self.now()) {
            Some(status) => self.desk.say(object, &status).await,
            None => Ok(()),
        }
    }

    /// Now, in whole seconds.
    fn now(&self) -> String {
        self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    async fn make(&self, object: &Arc<Value>, world: &World) -> Outcome {
        let mut outcome = Outcome { lowered: self.dialect.lower(object, world), set: None, failed: None };
        let standing = self.book.get(&set_id(object));
        let ours = |set: &Arc<Value>| super::id::is_made_from(set, &object["metadata"]["uid"]);
        let free = standing.as_ref().is_none_or(ours);
        outcome.set = standing.filter(ours);
        let Ok(lowered) = &outcome.lowered else { return outcome };
        // The set's controller makes the services that its pods need, unless those of that name are there.
        if let Err(error) = self.apply_beside(object, lowered, |it| free && is_service(it)).await {
            outcome.failed = Some(error);
            return outcome;
        }
        let set = wanted::set(object, lowered, self.dialect.name());
        match self.desk.apply(&set, object).await {
            Ok(Applied::Stands(set)) => outcome.set = Some(set),
            // It is asked for again when the other is gone, which the watch tells.
            Ok(Applied::Leaving) => return outcome,
            Ok(Applied::InTheWay) => {
                outcome.lowered = Err(vec![in_the_way(object, KIND)]);
                return outcome;
            }
            Err(ActError::Refused { code: code @ 400..429, message, doing }) if code != 409 => {
                let error = ActError::Refused { code, message: message.clone(), doing };
                outcome.lowered =
                    Err(vec![problem("spec", format!("the set made from it is refused: {message}"))]);
                outcome.failed = Some(error);
                return outcome;
            }
            Err(error) => {
                outcome.failed = Some(error);
                return outcome;
            }
        }
        match self.keep_beside(object, lowered).await {
            Ok(None) => {}
            Ok(Some(problem)) => outcome.lowered = Err(vec![problem]),
            Err(error) => outcome.failed = Some(error),
        }
        outcome
    }

    /// Applies what stands beside a set, and removes what stood there once. Gives what is in the way of it.
    async fn keep_beside(&self, object: &Value, lowered: &Lowered) -> Result<Option<Problem>, ActError> {
        let in_the_way = self.apply_beside(object, lowered, |_| true).await?;
        let name = self.dialect.name();
        let kept: BTreeSet<Id> =
            lowered.beside.iter().map(|it| Id::of(&wanted::beside(object, it, name))).collect();
        let uid = &object["metadata"]["uid"];
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        for old in self.book.beside(namespace, uid) {
            if !kept.contains(&Id::of(&old)) && !is_leaving(&old) {
                self.desk.delete(&old).await?;
            }
        }
        Ok(in_the_way)
    }

    /// Applies some of what stands beside a set. Gives what is in the way of it.
    async fn apply_beside(
        &self,
        object: &Value,
        lowered: &Lowered,
        which: impl Fn(&Value) -> bool,
    ) -> Result<Option<Problem>, ActError> {
        let mut in_the_way = None;
        for beside in lowered.beside.iter().filter(|it| which(it)) {
            let wanted = wanted::beside(object, beside, self.dialect.name());
            if self.desk.apply(&wanted, object).await? == Applied::InTheWay {
                in_the_way = Some(in_the_way_of(object, &Id::of(&wanted)));
            }
        }
        Ok(in_the_way)
    }

    /// Says where the object stands, and those beside it.
    async fn say(&self, object: &Value, outcome: &Outcome, world: &World) -> Result<(), ActError> {
        let status = outcome.set.as_ref().and_then(|set| LockstepSetStatus::deserialize(&set["status"]).ok());
        let now = self.now();
        let seen = Seen {
            lowered: outcome.lowered.as_ref().map_err(Vec::as_slice),
            status: &status.unwrap_or_default(),
            // A set that could not be written speaks of what was wished for before.
            current: outcome.failed.is_none() && outcome.set.as_ref().is_some_and(|set| is_current(set)),
            now: &now,
        };
        let Raised { status, beside } = self.dialect.raise(object, &seen, world);
        self.desk.say(object, &status).await?;
        for raised in beside {
            if let Some(object) = self.spoken_of(object, &raised) {
                self.desk.say(&object, &raised["status"]).await?;
            }
        }
        Ok(())
    }

    /// The object that `{kind, name, status}` speaks of: one of the dialect's own, or one that was made from the
    /// object.
    fn spoken_of(&self, object: &Value, raised: &Value) -> Option<Arc<Value>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&raised["kind"]), text(name_of(raised)));
        let namespace = text(&object["metadata"]["namespace"]);
        let own = self.dialect.kinds().iter().find(|own| own.kind == kind);
        if let Some(own) = own {
            let namespace = if own.namespaced { namespace } else { String::new() };
            return self.book.get(&Id { group: own.group.to_owned(), kind, namespace, name });
        }
        let made = self.book.beside(&namespace, &object["metadata"]["uid"]);
        made.into_iter().find(|it| it["kind"] == kind.as_str() && it["metadata"]["name"] == name.as_str())
    }

    /// Tells what is wrong with an object. An event that is lost is no reason to stop: the status says the same.
    async fn tell(&self, object: &Value, wrong: &str) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &object["metadata"];
        let about = ObjectReference {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            ..ObjectReference::default()
        };
        let note = Note { warning: true, reason: "InvalidSpec".to_owned(), message: wrong.to_owned() };
        if let Err(error) = self.herald.tell(&about, &note).await {
            tracing::warn!(%error, "cannot send an event");
        }
    }
}

fn is_service(beside: &Value) -> bool {
    beside["kind"] == "Service" && beside["apiVersion"] == "v1"
}

/// The name in `{kind, name, status}`, wherever it stands.
fn name_of(raised: &Value) -> &Value {
    if raised["name"].is_null() { &raised["metadata"]["name"] } else { &raised["name"] }
}

/// The set that is made from an object.
fn set_id(object: &Value) -> Id {
    Id { group: group_of(API_VERSION).to_owned(), kind: KIND.to_owned(), ..Id::of(object) }
}

fn in_the_way(object: &Value, kind: &str) -> Problem {
    in_the_way_of(object, &Id { kind: kind.to_owned(), ..Id::of(object) })
}

fn in_the_way_of(object: &Value, taken: &Id) -> Problem {
    let kind = object["kind"].as_str().unwrap_or_default();
    let (of, name) = (&taken.kind, &taken.name);
    let message =
        format!("a {of} named {name} is there and was not made from this {kind}; delete or rename either");
    problem("metadata.name", message)
}

fn problem(path: &str, message: String) -> Problem {
    Problem { path: path.to_owned(), value: None, message, line: None }
}
