//! Evictions: deletions that ask the budgets first.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::request::Writes;
use crate::selector::Selector;
use crate::server::admission::Question;
use crate::server::create::text;
use crate::server::delete::{Options, check_preconditions, read_options};
use crate::server::render::{Body, Response};
use crate::server::routes::Target;
use crate::server::{Step, Turn, decode, written};
use crate::store::Key;

const BUDGETS: &str = "poddisruptionbudgets.policy";

impl Turn<'_> {
    pub(super) fn evict(&mut self, target: &Target) -> Step<Response> {
        let writes = Writes::read(&self.request.query, "CreateOptions")?;
        let eviction = decode::value(self.request, "Eviction")?;
        let name = target.name.clone().unwrap_or_default();
        let named = text(&eviction["metadata"]["name"]);
        if !named.is_empty() && named != name {
            return Err(Refusal::bad_request("name in URL does not match name in Eviction object").into());
        }
        let live = self.stored(target)?;
        let mut options = read_options(&eviction["deleteOptions"]);
        options.dry_run |= writes.dry_run;
        let question = Question {
            target,
            operation: "CREATE",
            name: &name,
            object: &eviction,
            old: &Value::Null,
            options: self.options("CreateOptions"),
            dry_run: options.dry_run,
        };
        self.mutated(&question)?;
        self.agreed(&question)?;
        let budget = self.spend(&live, options.dry_run)?;
        let pod = Target { subresource: None, ..target.clone() };
        let gone = match options.dry_run {
            true => self.delete_object(&pod, &live, &options),
            false => self.marked(&pod, &live, &mut options).and_then(|live| self.delete_object(&pod, &live, &options)),
        };
        // A pod that stays has cost its budget nothing.
        if gone.is_err()
            && let Some((key, before)) = budget
        {
            self.keep(key, before, options.dry_run);
        }
        gone?;
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Response::new(201, Body::Made(status)))
    }

    /// A pod that says why it is going to go.
    fn marked(&mut self, target: &Target, live: &Arc<Value>, options: &mut Options) -> Step<Arc<Value>> {
        check_preconditions(target, live, options)?;
        let mut pod = Value::clone(live);
        let mut condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": written(self.now),
        });
        let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        match conditions.iter_mut().find(|found| found["type"] == condition["type"]) {
            Some(found) => {
                if found["status"] == condition["status"] {
                    condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
                }
                *found = condition;
            }
            None => conditions.push(condition),
        }
        pod["status"]["conditions"] = Value::from(conditions);
        if pod == **live {
            return Ok(Arc::clone(live));
        }
        let key = self.key(target, target.name.as_deref().unwrap_or_default());
        let marked = self.keep(key, pod, false);
        if options.version.is_some() {
            options.version = marked["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        }
        Ok(marked)
    }

    /// Takes one disruption from the budget of a pod. The budget before, if one was spent.
    fn spend(&mut self, pod: &Arc<Value>, dry_run: bool) -> Step<Option<(Key, Value)>> {
        if !needs_budget(pod) {
            return Ok(None);
        }
        let budgets = self.budgets_of(pod);
        let (key, budget) = match budgets.as_slice() {
            [] => return Ok(None),
            [only] => only,
            _ => {
                let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not \
                           support.";
                return Err(Refusal::failure(why).into());
            }
        };
        let ready = condition(pod, "Ready");
        let status = &budget["status"];
        let healthy = status["currentHealthy"].as_i64().unwrap_or(0);
        let desired = status["desiredHealthy"].as_i64().unwrap_or(0);
        let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        if !ready && (always || (healthy >= desired && desired > 0)) {
            return Ok(None);
        }
        check(pod, budget, &key.name)?;
        let mut spent = Value::clone(budget);
        let left = status["disruptionsAllowed"].as_i64().unwrap_or(0) - 1;
        spent["status"]["disruptionsAllowed"] = Value::from(left);
        let name = text(&pod["metadata"]["name"]);
        spent["status"]["disruptedPods"][name] = Value::from(written(self.now));
        if left == 0 {
            let generation = budget["metadata"]["generation"].clone();
            set_condition(&mut spent, "False", "InsufficientPods", &generation, &written(self.now));
        }
        self.keep(key.clone(), spent, dry_run);
        Ok(Some((key.clone(), Value::clone(budget))))
    }

    fn budgets_of(&self, pod: &Value) -> Vec<(Key, Arc<Value>)> {
        let namespace = text(&pod["metadata"]["namespace"]);
        let resource: Arc<str> = Arc::from(BUDGETS);
        let all = self.server.store.list(&resource, Some(&namespace));
        let chosen = all.filter(|(_, budget)| {
            let selector = Selector::of_object(&budget["spec"]["selector"]);
            selector.is_some_and(|selector| selector.selects(&pod["metadata"]["labels"]))
        });
        chosen.map(|(key, budget)| (key.clone(), Arc::clone(budget))).collect()
    }
}

/// What is over, not yet begun or already going disturbs nobody.
fn needs_budget(pod: &Value) -> bool {
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"));
    !over && pod["metadata"].get("deletionTimestamp").is_none()
}

fn condition(pod: &Value, name: &str) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|condition| condition["type"] == name).any(|condition| condition["status"] == "True")
}

fn check(pod: &Value, budget: &Value, name: &str) -> Result<(), Refusal> {
    let status = &budget["status"];
    let observed = status["observedGeneration"].as_i64().unwrap_or(0);
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    let disrupted = status["disruptedPods"].as_object().map_or(0, serde_json::Map::len);
    let refuse = |cause: &str| {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        Refusal::told(429, "TooManyRequests", message).with_cause("DisruptionBudget", cause)
    };
    if observed < generation {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refuse(&cause).after_seconds(10));
    }
    if disrupted > 2000 {
        let message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Refusal::told(403, "Forbidden", message));
    }
    if status["disruptionsAllowed"].as_i64().unwrap_or(0) <= 0 {
        let current = status["currentHealthy"].as_i64().unwrap_or(0);
        let desired = status["desiredHealthy"].as_i64().unwrap_or(0);
        let _ = pod;
        let cause = format!(
            "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        );
        return Err(refuse(&cause));
    }
    Ok(())
}

fn set_condition(budget: &mut Value, status: &str, reason: &str, generation: &Value, time: &str) {
    let mut conditions = budget["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let same = conditions
        .iter()
        .any(|condition| condition["type"] == "DisruptionAllowed" && condition["status"] == status);
    if !same {
        conditions.retain(|condition| condition["type"] != "DisruptionAllowed");
        conditions.push(json!({
            "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
            "observedGeneration": generation, "lastTransitionTime": time,
        }));
        budget["status"]["conditions"] = Value::from(conditions);
    }
}
