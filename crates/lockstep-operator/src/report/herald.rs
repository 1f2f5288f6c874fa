//! Sending events. What is said again in the same words within a while counts on, and is not told anew.
//!
//! kube's own recorder goes by the reason alone: of two steps it would tell the first one twice.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::json;

use super::Note;
use crate::clock::Clock;

/// The name under which events are reported.
const CONTROLLER: &str = "lockstep";

/// How long an event is remembered, as Kubernetes' own recorders do.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(6);

/// An API server takes no longer note than this, in bytes.
const LONGEST: usize = 1024;

/// What makes two events one: the object, the reason and the words.
type Key = (String, String, String);

/// An event that stands.
#[derive(Debug, Clone)]
struct Told {
    name: String,
    count: i32,
    at: Timestamp,
}

/// Sends events about sets, and about what they are made from.
pub struct Herald {
    client: Client,
    instance: String,
    clock: Clock,
    told: Mutex<HashMap<Key, Told>>,
    /// The last moment that named an event.
    last: Mutex<i128>,
}

impl Herald {
    /// A herald who reports as this replica.
    pub fn new(client: Client, instance: Option<String>, clock: Clock) -> Self {
        let instance = instance.unwrap_or_else(|| CONTROLLER.to_owned());
        Self { client, instance, clock, told: Mutex::default(), last: Mutex::default() }
    }

    /// Tells something about an object. What is said of one without a namespace is kept where Kubernetes keeps it.
    pub async fn tell(&self, about: &ObjectReference, note: &Note) -> Result<(), Error> {
        let uid = about.uid.clone().unwrap_or_default();
        let key = (uid, note.reason.clone(), note.message.clone());
        let now = self.clock.now();
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        if let Some(Told { name, count, .. }) = self.again(&key, now) {
            let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(now)}});
            match events.patch(&name, &PatchParams::default(), &Patch::Merge(&series)).await {
                // The API server does not keep events for long.
                Err(Error::Api(status)) if status.code == 404 => {}
                answer => return answer.map(drop),
            }
        }
        // An object and what was made from it have the same name, and the same is told of both.
        let kind = about.kind.as_deref().unwrap_or_default().to_lowercase();
        let name = about.name.as_deref().unwrap_or_default();
        let name = format!("{name}.{kind}.{:x}", self.moment(now));
        events.create(&PostParams::default(), &self.event(about, note, &name, now)).await?;
        self.told().insert(key, Told { name, count: 1, at: now });
        Ok(())
    }

    /// A moment that names no other event: much may be told at once.
    fn moment(&self, now: Timestamp) -> i128 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = unlike(*last, now);
        *last
    }

    fn told(&self) -> MutexGuard<'_, HashMap<Key, Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts on, if it was told before and not long ago.
    fn again(&self, key: &Key, now: Timestamp) -> Option<Told> {
        let mut told = self.told();
        told.retain(|_, told| now.duration_since(told.at) < REMEMBERED);
        let known = told.get_mut(key)?;
        known.count = known.count.saturating_add(1);
        known.at = now;
        Some(known.clone())
    }

    fn event(&self, about: &ObjectReference, note: &Note, name: &str, now: Timestamp) -> Event {
        let kind = if note.warning { "Warning" } else { "Normal" };
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(about.namespace.clone().unwrap_or_else(|| "default".to_owned())),
                ..ObjectMeta::default()
            },
            action: Some("Rollout".to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(shortened(&note.message)),
            reason: Some(note.reason.clone()),
            regarding: Some(about.clone()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(kind.to_owned()),
            ..Event::default()
        }
    }
}

/// Now in nanoseconds, or the first moment after the last.
fn unlike(last: i128, now: Timestamp) -> i128 {
    now.as_nanosecond().max(last + 1)
}

/// As much of a message as an event can hold.
fn shortened(message: &str) -> String {
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - '…'.len_utf8());
    format!("{}…", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_in_the_same_moment_has_names_of_its_own() {
        let now = Timestamp::UNIX_EPOCH;
        let first = unlike(0, now);
        assert!(first < unlike(first, now));
        let later = now + SignedDuration::from_secs(1);
        assert_eq!(unlike(first, later), later.as_nanosecond());
    }

    #[test]
    fn a_note_fits_whatever_was_said() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ü".repeat(2000));
        assert!(long.len() <= LONGEST && long.len() > LONGEST - 4, "{}", long.len());
        assert!(long.ends_with("ü…"));
    }
}
