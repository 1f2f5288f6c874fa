//! What controllers wish.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::read;
use crate::store::Key;

/// What a controller wants after one look at the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// What should be written, in this order.
    pub wishes: Vec<Wish>,
    /// When to look again, even if nothing changes until then.
    pub again: Option<Timestamp>,
}

impl Turn {
    /// Look again at this time, or earlier if something else asks for it.
    pub(super) fn look_at(&mut self, time: Timestamp) {
        self.again = Some(self.again.map_or(time, |again| again.min(time)));
    }
}

/// One thing to be written, as a request of the controller. One that is refused is dropped: the controller sees what
/// is stored, and wishes again.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// Create an object.
    Create {
        /// The resource, with its group.
        resource: Arc<str>,
        /// The namespace; empty for none.
        namespace: Arc<str>,
        /// The object.
        object: Value,
    },
    /// Replace an object, or a part of it.
    Update {
        /// Which.
        key: Key,
        /// What of it.
        subresource: Option<&'static str>,
        /// What shall stand there; it carries the resourceVersion it was made from.
        object: Value,
    },
    /// Lay a JSON merge patch over an object, or a part of it.
    Merge {
        /// Which.
        key: Key,
        /// What of it.
        subresource: Option<&'static str>,
        /// The patch; where it replaces lists it carries the resourceVersion it was made from. That of a
        /// Deployment's status may also set the annotation with its revision, as it does with a real server.
        patch: Value,
    },
    /// Delete an object.
    Delete {
        /// Which.
        key: Key,
        /// Only if it is still this one.
        uid: String,
        /// What becomes of its dependents; none: what is the default for its kind.
        policy: Option<Propagation>,
        /// How many seconds it is given; none: what it asks for itself.
        grace: Option<u32>,
    },
    /// Bind a pod to a node.
    Bind {
        /// The pod.
        pod: Key,
        /// Only if it is still this one.
        uid: String,
        /// The node.
        node: Arc<str>,
    },
    /// Tell those who look at events.
    Event(Box<Event>),
}

/// What becomes of the dependents of what is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They stay.
    Orphan,
    /// They go later.
    Background,
    /// They go first.
    Foreground,
}

impl Propagation {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The object, as an `ObjectReference`.
    pub about: Value,
    /// Nobody need worry.
    pub normal: bool,
    /// In one word.
    pub reason: &'static str,
    /// What was being done; told by those who write events of the newer form.
    pub action: Option<&'static str>,
    /// The sentence.
    pub message: String,
    /// Who says so.
    pub component: &'static str,
    /// Told only if the wish before this one was carried out.
    pub afterwards: bool,
}

impl Event {
    pub(super) fn normal(about: Value, reason: &'static str, message: String) -> Self {
        Self { about, normal: true, reason, action: None, message, component: "", afterwards: true }
    }

    pub(super) fn warning(about: Value, reason: &'static str, message: String) -> Self {
        Self { normal: false, ..Self::normal(about, reason, message) }
    }

    pub(super) fn doing(mut self, action: &'static str) -> Self {
        self.action = Some(action);
        self
    }

    /// Told whatever becomes of the wish before it.
    pub(super) fn in_any_case(mut self) -> Self {
        self.afterwards = false;
        self
    }

    pub(super) fn by(mut self, component: &'static str) -> Wish {
        self.component = component;
        Wish::Event(Box::new(self))
    }

    /// The namespace it belongs in: that of its object, or `default` if that lies in none.
    pub fn namespace(&self) -> &str {
        match read::text(&self.about["namespace"]) {
            "" => "default",
            namespace => namespace,
        }
    }

    /// The `Event` object of the core group. `mark` makes its name unique: the time in nanoseconds, or a counter.
    pub fn object(&self, now: Timestamp, mark: u64) -> Value {
        let name = format!("{}.{mark:016x}", read::text(&self.about["name"]));
        let kind = if self.normal { "Normal" } else { "Warning" };
        let mut event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": self.namespace()},
            "involvedObject": self.about, "reason": self.reason, "message": self.message, "type": kind,
            "reportingComponent": self.component, "reportingInstance": "",
        });
        match self.action {
            Some(action) => {
                event["action"] = json!(action);
                event["eventTime"] = json!(read::precise(now));
                event["reportingInstance"] = json!(format!("{}-0", self.component));
                event["source"] = json!({});
                event["firstTimestamp"] = Value::Null;
                event["lastTimestamp"] = Value::Null;
            }
            None => {
                let now = read::stamp(now);
                event["source"] = json!({"component": self.component});
                event["count"] = json!(1);
                event["eventTime"] = Value::Null;
                event["firstTimestamp"] = json!(now);
                event["lastTimestamp"] = json!(now);
            }
        }
        event
    }
}
