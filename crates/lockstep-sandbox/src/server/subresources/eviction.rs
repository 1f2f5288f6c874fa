//! Evictions: deletions that ask the budgets first.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::controllers::{Denial, may_evict};
use crate::patch;
use crate::refusal::Refusal;
use crate::request::Writes;
use crate::server::admission::Question;
use crate::server::create::text;
use crate::server::delete::{Options, check_preconditions, read_options};
use crate::server::render::{Body, Response};
use crate::server::routes::Target;
use crate::server::{Step, Turn, decode, written};
use crate::store::Key;

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
        let dry_run = |eviction: &Value| writes.dry_run || read_options(&eviction["deleteOptions"]).dry_run;
        let question = Question {
            target,
            operation: "CREATE",
            name: &name,
            object: &eviction,
            old: &Value::Null,
            options: self.options("CreateOptions"),
            dry_run: dry_run(&eviction),
        };
        // What webhooks make of it counts: one may say which pod it agreed to, by its UID.
        let eviction = self.mutated(&question)?;
        self.agreed(&Question { object: &eviction, options: self.options("CreateOptions"), ..question })?;
        let mut options = read_options(&eviction["deleteOptions"]);
        options.dry_run |= writes.dry_run;
        let budget = self.spend(&live, &mut options)?;
        let pod = Target { subresource: None, ..target.clone() };
        let gone = match options.dry_run {
            true => self.delete_unasked(&pod, &live, &options),
            false => self
                .marked(&pod, &live, &mut options)
                .and_then(|live| self.delete_unasked(&pod, &live, &options)),
        };
        // A pod that stays has cost its budget nothing.
        if gone.is_err()
            && let Some((key, before)) = budget
        {
            self.keep(key, before, options.dry_run);
        }
        gone?;
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
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
    fn spend(&mut self, pod: &Arc<Value>, options: &mut Options) -> Step<Option<(Key, Value)>> {
        let permit = may_evict(&self.server.store, pod, self.now).map_err(|denial| refused(&denial))?;
        if permit.as_seen && options.version.is_none() {
            options.version = pod["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        }
        let Some((key, price)) = permit.price else { return Ok(None) };
        let Some(before) = self.server.store.get(&key).map(|budget| Value::clone(budget)) else {
            return Ok(None);
        };
        self.keep(key.clone(), patch::merge(&before, &json!({"status": price["status"]})), options.dry_run);
        Ok(Some((key, before)))
    }
}

fn refused(denial: &Denial) -> Refusal {
    let mut refusal = Refusal::told(denial.code, denial.reason, denial.message.clone());
    if let Some(cause) = &denial.cause {
        refusal = refusal.with_cause("DisruptionBudget", cause);
    }
    match denial.retry_after {
        Some(seconds) => refusal.after_seconds(u64::from(seconds)),
        None => refusal,
    }
}
