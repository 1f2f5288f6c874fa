//! PodDisruptionBudgets: how many pods may be taken away.

mod evict;

pub use evict::{Denial, Permit, may_evict};

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::due::Due;
use super::feed::Feed;
use super::read::{self, list, number, text};
use super::wish::{Event, Turn, Wish};
use super::{Controller, Kinds, conditions, key, share};
use crate::selector::Selector;
use crate::store::{Change, Key, Store};

const BUDGETS: &str = "poddisruptionbudgets.policy";

/// What the real one calls itself in events.
const COMPONENT: &str = "controllermanager";

/// A pod that was to be evicted and is still there after this long was not.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// Keeps the status of PodDisruptionBudgets.
#[derive(Debug)]
pub struct Budgets {
    kinds: Arc<dyn Kinds>,
    feed: Feed,
    due: Due,
}

/// What a budget expects.
struct Expected {
    pods: i64,
    healthy: i64,
    unmanaged: bool,
}

impl Controller for Budgets {
    fn name(&self) -> &'static str {
        "disruption-controller"
    }

    fn turn(&mut self, store: &Store, now: Timestamp) -> Turn {
        self.read(store);
        let mut turn = Turn::default();
        for key in self.due.take(now) {
            let before = turn.wishes.len();
            match &*key.resource {
                "pods" => turn.wishes.extend(self.forget_disruption(store, &key, now)),
                _ => self.sync(store, &key, now, &mut turn.wishes),
            }
            if turn.wishes.len() > before {
                self.due.add(key);
            }
        }
        turn.again = self.due.next();
        turn
    }
}

impl Budgets {
    /// One that asks here how many pods the owners of pods want.
    pub fn new(kinds: Arc<dyn Kinds>) -> Self {
        Self { kinds, feed: Feed::default(), due: Due::default() }
    }

    fn read(&mut self, store: &Store) {
        if let Some(news) = self.feed.news(store) {
            for change in news {
                self.learn(store, change);
            }
            return;
        }
        self.due = Due::default();
        for (key, _) in store.list(&Arc::from(BUDGETS), None) {
            self.due.add(key.clone());
        }
        for (key, pod) in store.list(&Arc::from("pods"), None) {
            if is_marked(pod) {
                self.due.add(key.clone());
            }
        }
    }

    fn learn(&mut self, store: &Store, change: &Change) {
        let resource = &*change.key.resource;
        if resource == BUDGETS {
            self.due.add(change.key.clone());
            return;
        }
        let pod = resource == "pods";
        if pod && !change.removed && is_marked(&change.after) {
            self.due.add(change.key.clone());
        }
        // What may own pods changes how many there should be only with its size.
        let size = |object: &Value| object["spec"]["replicas"].clone();
        let resized =
            change.removed || change.before.as_ref().is_none_or(|old| size(old) != size(&change.after));
        if !pod && (!resized || size(&change.after).is_null()) {
            return;
        }
        for (key, budget) in store.list(&Arc::from(BUDGETS), Some(&change.key.namespace)) {
            let Some(selector) = Selector::of_object(&budget["spec"]["selector"]) else { continue };
            let before = change.before.as_ref().is_some_and(|before| selector.selects_object(before));
            if !pod || before || selector.selects_object(&change.after) {
                self.due.add(key.clone());
            }
        }
    }

    fn sync(&mut self, store: &Store, budget_key: &Key, now: Timestamp, wishes: &mut Vec<Wish>) {
        let Some(budget) = store.get(budget_key) else { return };
        let pods: Vec<&Arc<Value>> = match Selector::of_object(&budget["spec"]["selector"]) {
            Some(selector) => {
                let all = store.list(pods_resource(), Some(&budget_key.namespace)).map(|(_, pod)| pod);
                all.filter(|pod| selector.selects_object(pod)).collect()
            }
            None => Vec::new(),
        };
        let about = read::reference("policy/v1", "PodDisruptionBudget", budget);
        let expected = match self.expect(store, budget, &pods) {
            Ok(expected) => expected,
            Err(why) => {
                if let Some(wish) = fail(budget_key, budget, &why, now) {
                    let said = format!("Failed to calculate the number of expected pods: {why}");
                    let event = Event::warning(about, "CalculateExpectedPodCountFailed", said);
                    wishes.extend([wish, event.by(COMPONENT)]);
                }
                return;
            }
        };
        let disrupted = self.disrupted(budget_key, budget, &pods, now, wishes);
        let Some(wish) = write_status(budget_key, budget, &pods, &expected, disrupted, now) else { return };
        wishes.push(wish);
        if pods.is_empty() {
            let said = "No matching pods found".to_owned();
            wishes.push(Event::normal(about.clone(), "NoPods", said).by(COMPONENT));
        }
        if expected.unmanaged {
            let said = unmanaged(&budget["spec"]["selector"]);
            wishes.push(Event::warning(about, "UnmanagedPods", said).by(COMPONENT));
        }
    }

    /// How many pods there should be, and how many of them healthy.
    fn expect(&self, store: &Store, budget: &Value, pods: &[&Arc<Value>]) -> Result<Expected, String> {
        let spec = &budget["spec"];
        let wrong = || "invalid value for IntOrString".to_owned();
        if !spec["maxUnavailable"].is_null() {
            let (expected, unmanaged) = self.scale(store, pods)?;
            let most = share::of(&spec["maxUnavailable"], expected, true).ok_or_else(wrong)?;
            return Ok(Expected { pods: expected, healthy: (expected - most).max(0), unmanaged });
        }
        if let Some(least) = spec["minAvailable"].as_i64() {
            let pods = i64::try_from(pods.len()).unwrap_or(i64::MAX);
            return Ok(Expected { pods, healthy: least, unmanaged: false });
        }
        if spec["minAvailable"].is_null() {
            return Ok(Expected { pods: 0, healthy: 0, unmanaged: false });
        }
        let (expected, unmanaged) = self.scale(store, pods)?;
        let healthy = share::of(&spec["minAvailable"], expected, true).ok_or_else(wrong)?;
        Ok(Expected { pods: expected, healthy, unmanaged })
    }

    /// How many pods those who manage these pods want together, and whether some pods are managed by nobody.
    fn scale(&self, store: &Store, pods: &[&Arc<Value>]) -> Result<(i64, bool), String> {
        let mut sizes = std::collections::BTreeMap::new();
        let mut unmanaged = false;
        for pod in pods {
            let Some(owner) = read::controller(pod) else {
                unmanaged = true;
                continue;
            };
            let lost = || format!("found no controllers for pod {:?}", read::name(pod));
            let found = self.find(store, read::namespace(pod), owner).ok_or_else(lost)?;
            // A ReplicaSet of a Deployment counts for what the Deployment wants.
            let above = read::controller(found).filter(|above| above["kind"] == "Deployment");
            let (owner, found) = match above.filter(|_| owner["kind"] == "ReplicaSet") {
                Some(above) => (above, self.find(store, read::namespace(pod), above).ok_or_else(lost)?),
                None => (owner, found),
            };
            let (version, kind) = (text(&owner["apiVersion"]), text(&owner["kind"]));
            let size = self.kinds.scale(version, kind, found).ok_or_else(lost)?;
            sizes.insert(read::uid(found), size);
        }
        Ok((sizes.values().sum(), unmanaged))
    }

    fn find<'a>(&self, store: &'a Store, namespace: &str, owner: &Value) -> Option<&'a Arc<Value>> {
        let (resource, namespaced) = self.kinds.resource(text(&owner["apiVersion"]), text(&owner["kind"]))?;
        let namespace = if namespaced { namespace } else { "" };
        let found = store.get(&key(&resource, namespace, text(&owner["name"])))?;
        (found["metadata"]["uid"] == owner["uid"]).then_some(found)
    }

    /// The pods that were to be evicted and are still about to go.
    fn disrupted(
        &mut self,
        budget_key: &Key,
        budget: &Value,
        pods: &[&Arc<Value>],
        now: Timestamp,
        wishes: &mut Vec<Wish>,
    ) -> Map<String, Value> {
        let noted = &budget["status"]["disruptedPods"];
        let mut disrupted = Map::new();
        for pod in pods.iter().filter(|pod| !read::is_deleting(pod)) {
            let Some(until) = deadline(&noted[read::name(pod)]) else { continue };
            if until < now {
                let about = read::reference("v1", "Pod", pod);
                let namespace = &budget_key.namespace;
                let said =
                    format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
                wishes.push(Event::warning(about, "NotDeleted", said).in_any_case().by(COMPONENT));
            } else {
                disrupted.insert(read::name(pod).to_owned(), noted[read::name(pod)].clone());
                self.due.add_at(budget_key.clone(), until + SignedDuration::from_secs(1));
            }
        }
        disrupted
    }

    /// A pod that was marked to go, and did not, is unmarked.
    fn forget_disruption(&mut self, store: &Store, key: &Key, now: Timestamp) -> Option<Wish> {
        let pod = store.get(key).filter(|pod| is_marked(pod))?;
        let since = read::time(&read::condition(pod, "DisruptionTarget")?["lastTransitionTime"])?;
        let until = since.checked_add(PATIENCE).ok()?;
        if now < until {
            self.due.add_at(key.clone(), until);
            return None;
        }
        let unmarked = conditions::of_pod(pod, "DisruptionTarget", "False", "", "");
        let conditions = conditions::with(pod, unmarked, now)?;
        let version = &pod["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
        Some(Wish::Merge { key: key.clone(), subresource: Some("status"), patch })
    }
}

fn pods_resource() -> &'static Arc<str> {
    static PODS: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from("pods"));
    &PODS
}

/// Somebody said it is about to be disrupted, and nothing came of it yet.
fn is_marked(pod: &Value) -> bool {
    let marked = read::condition(pod, "DisruptionTarget").is_some_and(|condition| {
        condition["status"] == "True" && condition["reason"] != "TerminationByKubelet"
    });
    marked && read::is_active(pod)
}

/// Until when an eviction is waited for.
fn deadline(noted: &Value) -> Option<Timestamp> {
    read::time(noted)?.checked_add(PATIENCE).ok()
}

fn write_status(
    budget_key: &Key,
    budget: &Value,
    pods: &[&Arc<Value>],
    expected: &Expected,
    disrupted: Map<String, Value>,
    now: Timestamp,
) -> Option<Wish> {
    let counts = |pod: &&&Arc<Value>| {
        let going =
            deadline(disrupted.get(read::name(pod)).unwrap_or(&Value::Null)).is_some_and(|until| until > now);
        !read::is_deleting(pod) && !going && read::condition_status(pod, "Ready") == "True"
    };
    let healthy = i64::try_from(pods.iter().filter(counts).count()).unwrap_or(i64::MAX);
    let allowed = if expected.pods <= 0 { 0 } else { (healthy - expected.healthy).max(0) };
    let generation = number(&budget["metadata"]["generation"]);
    let mut status = json!({
        "currentHealthy": healthy, "desiredHealthy": expected.healthy, "disruptionsAllowed": allowed,
        "expectedPods": expected.pods, "observedGeneration": generation,
    });
    if !disrupted.is_empty() {
        status["disruptedPods"] = Value::Object(disrupted);
    }
    status["conditions"] = json!(allowance(budget, allowed, generation, now));
    patch_status(budget_key, budget, &status)
}

/// The conditions that tell whether pods may be taken away.
fn allowance(budget: &Value, allowed: i64, generation: i64, now: Timestamp) -> Vec<Value> {
    let (status, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let said = json!({
        "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
        "observedGeneration": generation,
    });
    let before = list(&budget["status"]["conditions"]);
    conditions::with(budget, said, now).unwrap_or_else(|| before.to_vec())
}

/// Nobody can tell how many there should be: nothing may be taken away.
fn fail(budget_key: &Key, budget: &Value, why: &str, now: Timestamp) -> Option<Wish> {
    let mut said = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": why,
    });
    if let Some(generation) = budget["status"]["observedGeneration"].as_i64() {
        said["observedGeneration"] = json!(generation);
    }
    let mut status = budget["status"].clone();
    if !status.is_object() {
        status = json!({"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0});
    }
    status["disruptionsAllowed"] = json!(0);
    if let Some(conditions) = conditions::with(budget, said, now) {
        status["conditions"] = json!(conditions);
    }
    patch_status(budget_key, budget, &status)
}

fn patch_status(budget_key: &Key, budget: &Value, status: &Value) -> Option<Wish> {
    let patch = read::difference(&budget["status"], status);
    let version = &budget["metadata"]["resourceVersion"];
    (!patch.is_empty()).then(|| Wish::Merge {
        key: budget_key.clone(),
        subresource: Some("status"),
        patch: json!({"metadata": {"resourceVersion": version}, "status": patch}),
    })
}

fn unmanaged(selector: &Value) -> String {
    let labels = read::entries(&selector["matchLabels"]);
    let labels: String = labels.map(|(key, value)| format!("{key}: {},", text(value))).collect();
    let expressions = list(&selector["matchExpressions"]).iter().map(|one| {
        let values: Vec<&str> = list(&one["values"]).iter().map(text).collect();
        let (key, operator) = (text(&one["key"]), text(&one["operator"]));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
    });
    let expressions: String = expressions.collect();
    format!(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
        MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}) were found to be unmanaged. As a result, the \
        status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these \
        pods please set \".spec.minAvailable\" field of the PDB to an integer value."
    )
}

#[cfg(test)]
mod tests;
