//! Reviews of deletions, evictions and updates of pods: from the request to the answer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockstep_core::budget::{Operation, Shortage, ShortageCause};
use serde::Deserialize;
use serde_json::{Value, json};

use super::clerk::{Answer, Clerk, Removal, Written};
use super::pod::SeenPod;
use crate::metrics::{BudgetVerdict, Metrics};

/// A review, as far as it matters here.
#[derive(Deserialize)]
struct Review {
    request: Option<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    uid: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(default)]
    user_info: User,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

/// What is to become of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is deleted.
    Delete,
    /// It is evicted.
    Evict,
    /// Its containers' images are changed.
    Update,
}

/// The webhooks that ask, by name.
pub const WEBHOOKS: [(&str, Kind); 3] = [
    ("delete.budgets.lockstep.dev", Kind::Delete),
    ("evict.budgets.lockstep.dev", Kind::Evict),
    ("update.budgets.lockstep.dev", Kind::Update),
];

/// What a review is about.
enum Subject {
    /// A pod that a budget may have a say in.
    Pod(Box<SeenPod>),
    /// Something that no budget has a say in.
    Unbudgeted,
    /// A name that no pod has now. Whoever gets it next has not been asked about.
    Nobody,
}

/// The answer to a review.
enum Reply {
    Allowed,
    /// Allowed for this very pod only.
    AllowedFor(String),
    Refused {
        code: u16,
        reason: &'static str,
        message: String,
        retry_after: u64,
    },
}

/// What the budgets said, and what stands in them for it.
struct Said {
    reply: Reply,
    verdict: Option<BudgetVerdict>,
    /// The budget that refused.
    by: Option<String>,
    written: Written,
}

impl From<Reply> for Said {
    /// No budget was asked.
    fn from(reply: Reply) -> Self {
        Self { reply, verdict: None, by: None, written: Written::default() }
    }
}

/// Answers reviews about pods.
#[derive(Clone)]
pub struct Reviewer {
    clerk: Arc<Clerk>,
    metrics: Metrics,
}

impl Reviewer {
    /// One who asks this clerk.
    pub fn new(clerk: Arc<Clerk>, metrics: Metrics) -> Self {
        Self { clerk, metrics }
    }

    /// Answers a review in JSON, or says what is wrong with it.
    pub async fn review(&self, kind: Kind, body: &[u8]) -> Result<Value, String> {
        let review: Review =
            serde_json::from_slice(body).map_err(|error| format!("not an AdmissionReview: {error}"))?;
        let asked = review.request.ok_or("an AdmissionReview without a request")?;
        let began = std::time::Instant::now();
        // Until budgets have been listed nobody knows whether there are any.
        self.clerk.book().filled().await;
        let said = match self.last_seen(kind, &asked) {
            Some(seen) => self.reply_early(kind, &asked, seen).await,
            None => self.reply(kind, &asked, self.subject(kind, &asked).await).await,
        };
        if let Some(verdict) = said.verdict {
            self.metrics.budget_decision(verdict);
        }
        if let Some(budget) = &said.by {
            self.metrics.budget_refused(budget);
        }
        self.metrics.budget_decision_took(began.elapsed());
        Ok(said.reply.into_review(&asked))
    }

    async fn reply(&self, kind: Kind, asked: &Asked, subject: Result<Subject, String>) -> Said {
        match subject {
            Ok(Subject::Pod(pod)) => self.answer(kind, asked, Arc::new(*pod)).await,
            Ok(Subject::Unbudgeted) => Reply::Allowed.into(),
            Ok(Subject::Nobody) => nobody(&asked.name).into(),
            Err(why) => unknown(&why).into(),
        }
    }

    /// The pod an eviction names, as the watch last showed it.
    fn last_seen(&self, kind: Kind, asked: &Asked) -> Option<Arc<SeenPod>> {
        let book = self.clerk.book();
        let budgeted = kind == Kind::Evict && !book.budgets_in(&asked.namespace).is_empty();
        let seen = budgeted.then(|| book.pod(&asked.namespace, &asked.name)).flatten();
        seen.filter(|seen| seen.active && !seen.terminating)
    }

    /// An eviction does not show its pod, so that is read, but the budgets are asked meanwhile about the one that was
    /// there a moment ago. What they say holds for a pod in that very state: another may be covered by others.
    async fn reply_early(&self, kind: Kind, asked: &Asked, seen: Arc<SeenPod>) -> Said {
        // Both come to their end: half an answer might keep the budget's turn from all others, or leave a promise that
        // nobody knows of.
        let early = self.answer(kind, asked, Arc::clone(&seen));
        let (early, found) = tokio::join!(early, self.subject(kind, asked));
        match found {
            Ok(Subject::Pod(pod)) if pod.is_alike(&seen) => early,
            found => {
                self.clerk.take_back(early.written).await;
                self.reply(kind, asked, found).await
            }
        }
    }

    /// What it is about.
    async fn subject(&self, kind: Kind, asked: &Asked) -> Result<Subject, String> {
        if self.clerk.book().budgets_in(&asked.namespace).is_empty() {
            return Ok(Subject::Unbudgeted);
        }
        let unreadable = |error: &dyn std::fmt::Display| format!("the pod cannot be read: {error}");
        match kind {
            Kind::Evict => {
                let found = self.clerk.sources().pod(&asked.namespace, &asked.name).await;
                Ok(found
                    .map_err(|error| unreadable(&error))?
                    .map_or(Subject::Nobody, |pod| Subject::Pod(Box::new(pod))))
            }
            Kind::Update if !images_change(&asked.old_object, &asked.object) => Ok(Subject::Unbudgeted),
            Kind::Delete | Kind::Update => {
                let pod = SeenPod::deserialize(&asked.old_object).map_err(|error| unreadable(&error))?;
                Ok(Subject::Pod(Box::new(pod)))
            }
        }
    }

    async fn answer(&self, kind: Kind, asked: &Asked, pod: Arc<SeenPod>) -> Said {
        let uid = pod.uid.to_string();
        let wanted = asked.object.pointer("/deleteOptions/preconditions/uid").and_then(Value::as_str);
        if let Some(wanted) = wanted.filter(|wanted| kind == Kind::Evict && *wanted != uid) {
            let message = format!("the UID in the precondition ({wanted}) is not that of the pod ({uid})");
            return Reply::Refused { code: 409, reason: "Conflict", message, retry_after: 0 }.into();
        }
        if !pod.active || pod.terminating {
            return Reply::allowed(kind, uid).into();
        }
        let dry = asked.dry_run == Some(true) || is_dry(&asked.object);
        let removal = Removal {
            pods: &[pod],
            operation: kind.into(),
            by: &asked.user_info.username,
            dry_run: dry,
            whole: false,
        };
        let (answer, written) = self.clerk.remove(&removal).await;
        let (verdict, reply, by) = match answer {
            Answer::NotCovered => (BudgetVerdict::NotCovered, Reply::allowed(kind, uid), None),
            Answer::Admitted => (BudgetVerdict::Admitted, Reply::allowed(kind, uid), None),
            Answer::Refused(shortage) => {
                (BudgetVerdict::Refused, refused(&shortage), Some(shortage.budget.clone()))
            }
            Answer::Unknown(why) => (BudgetVerdict::Unknown, unknown(&why), None),
        };
        Said { reply, verdict: Some(verdict), by, written }
    }
}

/// An eviction may be a dry run by its own options.
fn is_dry(eviction: &Value) -> bool {
    let said = eviction.pointer("/deleteOptions/dryRun").and_then(Value::as_array);
    said.is_some_and(|said| !said.is_empty())
}

fn images_change(old: &Value, new: &Value) -> bool {
    let images = |pod: &Value| {
        ["/spec/containers", "/spec/initContainers"].map(|list| {
            let containers = pod.pointer(list).and_then(Value::as_array).into_iter().flatten();
            containers.map(|one| (one["name"].clone(), one["image"].clone())).collect::<Vec<_>>()
        })
    };
    images(old) != images(new)
}

/// Drains ask again after a second or so, and show what they wait for after a few times.
fn refused(shortage: &Shortage) -> Reply {
    let retry_after = match shortage.cause {
        ShortageCause::Exhausted => 1,
        _ => shortage.retry_after.0.div_ceil(1000).clamp(1, 10),
    };
    Reply::Refused { code: 429, reason: "TooManyRequests", message: shortage.to_string(), retry_after }
}

/// As the API server itself says it; a drain takes it for done.
fn nobody(name: &str) -> Reply {
    let message = format!("pods {name:?} not found");
    Reply::Refused { code: 404, reason: "NotFound", message, retry_after: 0 }
}

/// Nobody can say, so it may not: the next try may be luckier.
fn unknown(why: &str) -> Reply {
    let message =
        format!("whether an unavailable budget allows this is not known, so it is not allowed: {why}");
    Reply::Refused { code: 429, reason: "TooManyRequests", message, retry_after: 2 }
}

impl From<Kind> for Operation {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Delete => Self::Delete,
            Kind::Evict => Self::Evict,
            Kind::Update => Self::Update,
        }
    }
}

impl Reply {
    /// An eviction names its pod, and finds whoever has that name when it arrives: one that has come back meanwhile
    /// and was asked about by nobody, unless it is told whom it is for. A delete is for the object it showed.
    fn allowed(kind: Kind, uid: String) -> Self {
        match kind {
            Kind::Evict => Self::AllowedFor(uid),
            Kind::Delete | Kind::Update => Self::Allowed,
        }
    }

    fn into_review(self, asked: &Asked) -> Value {
        let response = match self {
            Self::Allowed => json!({"uid": asked.uid, "allowed": true}),
            Self::AllowedFor(pod) => {
                let patch = STANDARD.encode(only_for(&asked.object, &pod).to_string());
                json!({"uid": asked.uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
            }
            Self::Refused { code, reason, message, retry_after } => {
                let mut details = json!({"name": asked.name, "kind": "pods"});
                if code == 429 {
                    details["causes"] = json!([{"reason": "DisruptionBudget", "message": message}]);
                    details["retryAfterSeconds"] = json!(retry_after);
                }
                let status = json!({
                    "status": "Failure", "code": code, "reason": reason, "message": message, "details": details,
                });
                json!({"uid": asked.uid, "allowed": false, "status": status})
            }
        };
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }
}

/// The patch by which an eviction is for the pod that was paid for, and for no other of that name.
fn only_for(eviction: &Value, pod: &str) -> Value {
    let missing = |path: &str| eviction.pointer(path).is_none_or(Value::is_null);
    let (path, value) = if missing("/deleteOptions") {
        ("/deleteOptions", json!({"preconditions": {"uid": pod}}))
    } else if missing("/deleteOptions/preconditions") {
        ("/deleteOptions/preconditions", json!({"uid": pod}))
    } else {
        ("/deleteOptions/preconditions/uid", json!(pod))
    };
    json!([{"op": "add", "path": path, "value": value}])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eviction_is_for_one_pod() {
        for (eviction, path) in [
            (json!({}), "/deleteOptions"),
            (json!({"deleteOptions": null}), "/deleteOptions"),
            (json!({"deleteOptions": {"gracePeriodSeconds": 3}}), "/deleteOptions/preconditions"),
            (
                json!({"deleteOptions": {"preconditions": {"resourceVersion": "7"}}}),
                "/deleteOptions/preconditions/uid",
            ),
        ] {
            assert_eq!(only_for(&eviction, "u")[0]["path"], path, "{eviction}");
        }
    }

    #[test]
    fn only_another_image_is_an_update() {
        let pod = |image: &str, label: &str| json!({"metadata": {"labels": {"a": label}}, "spec": {"containers": [{"name": "main", "image": image}]}});
        assert!(!images_change(&pod("a", "x"), &pod("a", "y")));
        assert!(images_change(&pod("a", "x"), &pod("b", "x")));
    }
}
