//! A Work: what Karmada brings to one cluster, and what that cluster says of it.

use lockstep_core::align::{LeaseId, Observation, Reach, Report, RollingStrategy, TemplateHash};
use serde_json::{Value, json};

use self::pods::Pods;
use crate::interpret::{Interpretation, Interpreter, at, count, int_or_percent};
use crate::{IN_FORCE, LEASE, OVERRIDDEN, TEMPLATE, lease_of};

mod pods;

/// The namespaces of Works begin so; the cluster's name follows.
pub const EXECUTION_SPACE: &str = "karmada-es-";
/// On a Work, and on a binding: which binding it is of.
pub const PERMANENT_ID: &str = "resourcebinding.karmada.io/permanent-id";
/// On a Work: the namespace of its binding.
pub const BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";
/// On a Work: the name of its binding.
pub const BINDING_NAME: &str = "resourcebinding.karmada.io/name";
/// On a member's workload: the generation of the resource template it was made from.
pub const GENERATION: &str = "resourcetemplate.karmada.io/generation";
/// On a Work: what override policies changed in it, in the order in which Karmada applies them.
const OVERRIDES: [&str; 2] =
    ["policy.karmada.io/applied-cluster-overrides", "policy.karmada.io/applied-overrides"];
/// On a workload: its replicas are the member's own business.
pub(crate) const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";

/// A Work with one manifest, as Karmada makes them for workloads.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a>(pub &'a Value);

impl<'a> Work<'a> {
    /// The cluster it is for.
    pub fn cluster(self) -> Option<&'a str> {
        self.0["metadata"]["namespace"].as_str()?.strip_prefix(EXECUTION_SPACE)
    }

    /// The binding it is of: its namespace and name.
    pub fn binding(self) -> Option<(&'a str, &'a str)> {
        let annotations = &self.0["metadata"]["annotations"];
        Some((annotations[BINDING_NAMESPACE].as_str()?, annotations[BINDING_NAME].as_str()?))
    }

    /// What it brings, if that is one thing.
    pub fn manifest(self) -> Option<&'a Value> {
        match self.0["spec"]["workload"]["manifests"].as_array()?.as_slice() {
            [manifest] => Some(manifest),
            _ => None,
        }
    }

    /// What an annotation of its says.
    pub fn annotation(self, name: &str) -> Option<&'a str> {
        self.0["metadata"]["annotations"][name].as_str()
    }

    /// Whether it is on its way out.
    pub fn is_going(self) -> bool {
        !self.0["metadata"]["deletionTimestamp"].is_null()
    }

    /// What the member last said of it.
    pub fn status(self) -> Option<&'a Value> {
        let status = &self.0["status"]["manifestStatuses"][0]["status"];
        status.is_object().then_some(status)
    }

    /// The fields of the strategy that override policies set in this cluster, and to what. In a manifest that carries a
    /// lease stands what that says; what Karmada made before is noted beside it ([`OVERRIDDEN`]).
    pub fn overridden(self, kind: &Interpretation) -> Option<RollingStrategy> {
        let manifest = self.manifest()?;
        let set = if lease_of(manifest).is_none() {
            self.made_otherwise(kind, manifest)
        } else {
            serde_json::from_str(self.annotation(OVERRIDDEN)?).ok()?
        };
        Some(set).filter(|it| *it != RollingStrategy::default())
    }

    /// What Karmada's record says and stands in what it made: a record stays when its policy is gone. Of several for
    /// one field the last counts, as it does there. One that takes a field away sets nothing.
    fn made_otherwise(self, kind: &Interpretation, manifest: &Value) -> RollingStrategy {
        let mut set = json!({});
        let records = OVERRIDES.iter().filter_map(|name| self.annotation(name));
        for (pointer, value) in records.flat_map(overrides) {
            for (_, path) in kind.strategy_paths().filter(|(_, path)| path.is_touched_by(&pointer)) {
                match path.within(&pointer, &value) {
                    Some(value) if path.get(manifest) == Some(value) => path.set(&mut set, value.clone()),
                    _ => path.remove(&mut set),
                }
            }
        }
        kind.rolling_strategy(&set)
    }

    /// Everything that is known of its cluster.
    pub fn report(self, kind: &Interpretation, reachable: bool) -> Report {
        let retained = self.manifest().is_some_and(|it| it["metadata"]["labels"][RETAIN_REPLICAS] == "true");
        Report {
            reach: if reachable { Reach::Reachable } else { Reach::Unreachable },
            template: None,
            status: self.status().and_then(|status| observation(kind, status, self.manifest())),
            overridden: self.overridden(kind),
            may_not_look: None,
            replicas_retained: retained,
        }
    }
}

/// What a record of applied overrides put where: JSON pointers and values, null where something was taken away.
fn overrides(record: &str) -> Vec<(String, Value)> {
    let record: Value = serde_json::from_str(record).unwrap_or_default();
    let items = record.as_array().cloned().unwrap_or_default();
    let plain = |item: &Value| item["overriders"]["plaintext"].as_array().cloned().unwrap_or_default();
    let put = |it: &Value| {
        let value = if it["operator"] == "remove" { Value::Null } else { it["value"].clone() };
        Some((it["path"].as_str()?.to_owned(), value))
    };
    items.iter().flat_map(plain).filter_map(|it| put(&it)).collect()
}

/// The status of a workload as it is reflected: its own, and what of its spec is in force. What the customization does
/// in Karmada, for whoever reads a workload directly.
pub fn reflect(kind: &Interpretation, workload: &Value) -> Value {
    let mut status = workload["status"].as_object().cloned().unwrap_or_default();
    // What a set remembers for itself nobody else reads.
    for own in ["conditions", "memory"] {
        status.remove(own);
    }
    let mut status = Value::Object(status);
    let metadata = &workload["metadata"];
    let annotations = &metadata["annotations"];
    status["generation"] = metadata["generation"].clone();
    if let Some(generation) = annotations[GENERATION].as_str().and_then(|it| it.parse::<i64>().ok()) {
        status["resourceTemplateGeneration"] = json!(generation);
    }
    status[IN_FORCE] = json!({
        "lease": annotations[LEASE], "template": annotations[TEMPLATE],
        "replicas": kind.replicas(workload), "strategy": kind.rolling_strategy(workload),
        "resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"],
    });
    if let Some(condition) = &kind.at_rest {
        status[IN_FORCE][AT_REST] = json!(holds(workload, condition));
    }
    status
}

/// In what is in force: whether nothing is under way, as a condition says.
pub(crate) const AT_REST: &str = "atRest";

fn holds(workload: &Value, condition: &str) -> bool {
    let conditions = workload["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == condition && it["status"] == "True")
}

/// What a reflected status says. Nothing if the customization had no part in it, or if it is not known which template
/// it speaks of: a workload that carries no hash is of the manifest's template only if it was made from that.
pub fn observation(kind: &Interpretation, status: &Value, manifest: Option<&Value>) -> Option<Observation> {
    let in_force = status.get(IN_FORCE)?;
    let unified = kind.rolling_status(status);
    let lease = in_force["lease"].as_str().and_then(|id| id.parse().ok()).map(LeaseId);
    let caught_up = unified.generation.is_some() && unified.observed_generation >= unified.generation;
    let template = match in_force["template"].as_str() {
        Some(hash) => TemplateHash(hash.to_owned()),
        None => {
            let manifest = manifest.filter(|it| it["metadata"]["annotations"][TEMPLATE].is_null())?;
            let made_from = manifest["metadata"]["annotations"][GENERATION].as_str()?.parse().ok();
            (made_from == unified.resource_template_generation).then(|| kind.template_hash(manifest))?
        }
    };
    let counted = |name: &str| at(status, name).map(count);
    let revision = |name: &str| at(status, name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let creates_updated = at(status, &kind.counts.creates_updated).and_then(Value::as_bool);
    let (current, update) = (revision(&kind.counts.current_revision), revision(&kind.counts.update_revision));
    let one_revision = current.is_some() && current == update;
    let pods = Pods {
        replicas: in_force.get("replicas").map_or(1, count),
        total: unified.replicas.unwrap_or(0),
        available: unified.available_replicas.unwrap_or(0),
        updated: unified.updated_replicas.unwrap_or(0),
        current: counted(&kind.counts.current),
        updated_available: counted(&kind.counts.updated_available),
        under_way: counted(&kind.counts.under_way).unwrap_or(0),
    };
    let in_force_strategy = strategy(&in_force["strategy"]);
    let moving = in_force[AT_REST] == false;
    let surge = in_force_strategy.max_surge.filter(|_| moving).map_or(0, |it| it.ceil_of(pods.replicas));
    let pods = pods.put_right(kind.like, one_revision, surge);
    Some(Observation {
        replicas: pods.replicas,
        total: pods.total,
        available: pods.available,
        updated: pods.updated,
        updated_available: pods.updated_available,
        under_way: pods.under_way,
        creates_updated: creates_updated.unwrap_or(one_revision),
        unavailable: counted(&kind.counts.unavailable),
        template,
        acknowledged: lease.filter(|_| caught_up),
        strategy: in_force_strategy,
        // Karmada tells nothing of ReplicaSets: a Deployment's are looked at one by one.
        settled: kind.like != lockstep_core::align::Kind::Deployment,
        sequence: in_force["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0),
    })
}

fn strategy(value: &Value) -> RollingStrategy {
    RollingStrategy {
        paused: value["paused"].as_bool(),
        partition: int_or_percent(&value["partition"]),
        max_unavailable: int_or_percent(&value["maxUnavailable"]),
        max_surge: int_or_percent(&value["maxSurge"]),
    }
}

/// Whether a Deployment's counts are those of its ReplicaSets, and these have done what they were told: only then do
/// they prove anything about pods.
pub fn is_settled(deployment: &Value, replica_sets: &[Value]) -> bool {
    let status = &deployment["status"];
    let sum =
        |name: &str| -> u64 { replica_sets.iter().map(|set| u64::from(count(&set["status"][name]))).sum() };
    let done = |set: &Value| {
        set["status"]["observedGeneration"] == set["metadata"]["generation"]
            && count(&set["status"]["replicas"]) == count(&set["spec"]["replicas"])
    };
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && replica_sets.iter().all(done)
        && sum("replicas") == u64::from(count(&status["replicas"]))
        && sum("availableReplicas") == u64::from(count(&status["availableReplicas"]))
}

#[cfg(test)]
mod tests;
