//! One object: its set, what stands beside it, and what is said of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use lockstep_api::status::{INVALID_SPEC, LockstepSetStatus, NAME_TAKEN, WRITE_FAILED};
use lockstep_api::{API_VERSION, KIND, Problem};
use lockstep_dialects::{Dialect, Lack, Lowered, Raised, Seen, Served, World};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::desk::{Applied, Desk, is_current};
use super::id::{Id, group_of, is_leaving};
use super::{book::Book, wanted};
use crate::act::ActError;
use crate::clock::Clock;
use crate::report::{Herald, Note};

/// How long until a name that somebody else has is tried again: nobody watches what is not ours.
const UNTIL_FREE: Duration = Duration::from_secs(60);

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
    /// The set is not what the object asks for: it could not be written.
    behind: bool,
    /// What could not be written, and is tried again: the first of it.
    failed: Option<ActError>,
    /// What is not there as it should be, for people.
    lacking: Vec<Lack>,
}

impl Outcome {
    /// A write failed. What may be well the next time, whatever the object says, is not worth a word.
    fn failed(&mut self, error: ActError) {
        if matches!(&error, ActError::Refused { code, .. } if !matches!(code, 409 | 429)) {
            self.lacking.push(Lack { reason: WRITE_FAILED, message: error.to_string() });
        }
        self.failed.get_or_insert(error);
    }

    /// What is wrong, in one word and in sentences.
    fn wrong(&self) -> Option<(&'static str, String)> {
        match &self.lowered {
            Err(problems) => {
                Some((INVALID_SPEC, problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")))
            }
            Ok(_) => {
                let said: Vec<&str> = self.lacking.iter().map(|lack| lack.message.as_str()).collect();
                self.lacking.first().map(|first| (first.reason, said.join("\n")))
            }
        }
    }
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
        let wrong = outcome.wrong();
        let said = wrong.as_ref().map(|(_, said)| said);
        if let Some((reason, problems)) = wrong.as_ref().filter(|_| said != told.as_ref()) {
            tracing::warn!(
                kind = id.kind,
                namespace = id.namespace,
                name = id.name,
                reason,
                problems,
                "is not as it should be"
            );
            self.tell(&object, reason, problems).await;
        }
        if outcome.lacking.iter().any(|lack| lack.reason == NAME_TAKEN) {
            self.book.ring([id.clone()], Instant::now() + UNTIL_FREE);
        }
        *told = wrong.map(|(_, said)| said);
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
        let lowered = self.dialect.lower(object, world);
        let mut outcome = Outcome { lowered, set: None, behind: false, failed: None, lacking: Vec::new() };
        let standing = self.book.get(&set_id(object));
        let ours = |set: &Arc<Value>| super::id::is_made_from(set, &object["metadata"]["uid"]);
        let free = standing.as_ref().is_none_or(ours);
        outcome.set = standing.filter(ours);
        let Ok(lowered) = outcome.lowered.clone() else { return outcome };
        // The set's controller makes the services that its pods need, unless those of that name are there.
        let first = |it: &Value| free && is_service(it);
        if !self.apply_beside(object, &lowered, first, &mut outcome).await {
            outcome.behind = true;
            return outcome;
        }
        let set = wanted::set(object, &lowered, self.dialect.name());
        match self.desk.apply(&set, object).await {
            Ok(Applied::Stands(set)) => outcome.set = Some(set),
            // It is asked for again when the other is gone, which the watch tells.
            Ok(Applied::Leaving) => return outcome,
            Ok(Applied::InTheWay) => {
                let message = in_the_way(object, &set_id(object));
                outcome.lowered = Err(vec![problem("metadata.name", message)]);
                return outcome;
            }
            Err(ActError::Refused { code: code @ 400..429, message, doing }) if code != 409 => {
                let error = ActError::Refused { code, message: message.clone(), doing };
                outcome.lowered =
                    Err(vec![problem("spec", format!("the set made from it is refused: {message}"))]);
                outcome.failed = Some(error);
                outcome.behind = true;
                return outcome;
            }
            Err(error) => {
                outcome.failed(error);
                outcome.behind = true;
                return outcome;
            }
        }
        self.apply_beside(object, &lowered, |it| !first(it), &mut outcome).await;
        self.tidy_beside(object, &lowered, &mut outcome).await;
        outcome
    }

    /// Removes what stood beside a set once.
    async fn tidy_beside(&self, object: &Value, lowered: &Lowered, outcome: &mut Outcome) {
        let name = self.dialect.name();
        let kept: BTreeSet<Id> =
            lowered.beside.iter().map(|it| Id::of(&wanted::beside(object, it, name))).collect();
        let uid = &object["metadata"]["uid"];
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        for old in self.book.beside(namespace, uid) {
            if !kept.contains(&Id::of(&old))
                && !is_leaving(&old)
                && let Err(error) = self.desk.delete(&old).await
            {
                outcome.failed(error);
            }
        }
    }

    /// Applies some of what stands beside a set, each whatever became of the others. Returns whether all of it that
    /// is not somebody else's stands, as it should be or as it was.
    async fn apply_beside(
        &self,
        object: &Value,
        lowered: &Lowered,
        which: impl Fn(&Value) -> bool,
        outcome: &mut Outcome,
    ) -> bool {
        let mut stands = true;
        for beside in lowered.beside.iter().filter(|it| which(it)) {
            let wanted = wanted::beside(object, beside, self.dialect.name());
            let id = Id::of(&wanted);
            match self.desk.apply(&wanted, object).await {
                Ok(Applied::Stands(_) | Applied::Leaving) => {}
                Ok(Applied::InTheWay) => {
                    let message = in_the_way(object, &id);
                    outcome.lacking.push(Lack { reason: NAME_TAKEN, message });
                }
                Err(error) => {
                    stands &= self.book.get(&id).is_some();
                    outcome.failed(error);
                }
            }
        }
        stands
    }

    /// Says where the object stands, and those beside it.
    async fn say(&self, object: &Value, outcome: &Outcome, world: &World) -> Result<(), ActError> {
        let status = outcome.set.as_ref().and_then(|set| LockstepSetStatus::deserialize(&set["status"]).ok());
        let now = self.now();
        let seen = Seen {
            lowered: outcome.lowered.as_ref().map_err(Vec::as_slice),
            status: &status.unwrap_or_default(),
            // A set that could not be written speaks of what was wished for before.
            current: !outcome.behind && outcome.set.as_ref().is_some_and(|set| is_current(set)),
            lacking: &outcome.lacking,
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
    async fn tell(&self, object: &Value, reason: &str, wrong: &str) {
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
        let note = Note { warning: true, reason: reason.to_owned(), message: wrong.to_owned() };
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

fn in_the_way(object: &Value, taken: &Id) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let (of, name) = (&taken.kind, &taken.name);
    format!("a {of} named {name} is there and was not made from this {kind}; delete or rename either")
}

fn problem(path: &str, message: String) -> Problem {
    Problem { path: path.to_owned(), value: None, message, line: None }
}
