//! Kinds that need little explanation.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{
    condition, count, flag, holds, is_there, joined, list, map, name, number, shown, text, text_or,
};

/// Name and time of creation: what is shown of kinds without a printer.
pub fn default(object: &Value, _now: Timestamp) -> Vec<Value> {
    vec![name(object), created_at(object)]
}

fn created_at(object: &Value) -> Value {
    text_or(object, "/metadata/creationTimestamp", "0001-01-01T00:00:00Z").into()
}

/// Name and age.
pub fn name_and_age(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), age::of(object, now)]
}

/// The cells of a Namespace.
pub fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(object, "/status/phase").into(), age::of(object, now)]
}

/// The cells of a ConfigMap.
pub fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    let entries = count(object, "/data") + count(object, "/binaryData");
    vec![name(object), entries.into(), age::of(object, now)]
}

/// The cells of a Secret.
pub fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(object, "/type").into(), count(object, "/data").into(), age::of(object, now)]
}

/// The cells of a PodDisruptionBudget.
pub fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let limit = |pointer: &str| match object.pointer(pointer) {
        None | Some(Value::Null) => "N/A".to_owned(),
        Some(limit) => shown(limit),
    };
    vec![
        name(object),
        limit("/spec/minAvailable").into(),
        limit("/spec/maxUnavailable").into(),
        number(object, "/status/disruptionsAllowed").into(),
        age::of(object, now),
    ]
}

/// The cells of a ResourceQuota: what of each resource is used, requests and limits apart.
pub fn quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let hard = || map(object, "/status/hard").into_iter().flatten();
    let used = |resource: &str| {
        let used = map(object, "/status/used").and_then(|used| used.get(resource));
        used.map_or_else(|| "0".to_owned(), shown)
    };
    let column = |of_limits: bool| {
        let resources = hard().filter(|(resource, _)| resource.starts_with("limits.") == of_limits);
        let lines =
            resources.map(|(resource, limit)| format!("{resource}: {}/{}", used(resource), shown(limit)));
        Value::from(lines.collect::<Vec<_>>().join(", "))
    };
    vec![name(object), column(false), column(true), age::of(object, now)]
}

/// The cells of a Lease.
pub fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(object, "/spec/holderIdentity").into(), age::of(object, now)]
}

/// The cells of a PriorityClass.
pub fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        number(object, "/value").into(),
        flag(object, "/globalDefault").into(),
        age::of(object, now),
        text(object, "/preemptionPolicy").into(),
    ]
}

/// The cells of a RuntimeClass.
pub fn runtime_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(object, "/handler").into(), age::of(object, now)]
}

/// The cells of a PodGroup.
pub fn pod_group(object: &Value, now: Timestamp) -> Vec<Value> {
    let policy = if is_there(object, "/spec/schedulingPolicy/gang") { "Gang" } else { "Basic" };
    let workload = match is_there(object, "/spec/workloadRef") {
        true => text(object, "/spec/workloadRef/workloadName"),
        false => "<none>",
    };
    vec![name(object), policy.into(), workload.into(), pod_group_status(object).into(), age::of(object, now)]
}

fn pod_group_status(group: &Value) -> &str {
    if let Some(disruption) = condition(group, "DisruptionTarget", true) {
        return text(disruption, "/reason");
    }
    match condition(group, "PodGroupInitiallyScheduled", true) {
        None => "Pending",
        Some(scheduled) if text(scheduled, "/status") == "True" => "Scheduled",
        Some(_) => "Unschedulable",
    }
}

/// The cells of a configuration of webhooks.
pub fn webhooks(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), count(object, "/webhooks").into(), age::of(object, now)]
}

/// The cells of a CustomResourceDefinition.
pub fn definition(object: &Value, _now: Timestamp) -> Vec<Value> {
    let served = list(object, "/spec/versions").iter().filter(|version| flag(version, "/served"));
    let mut versions: Vec<String> = served
        .map(|version| {
            let stored = if flag(version, "/storage") { "(storage)" } else { "" };
            format!("{}{stored}", text(version, "/name"))
        })
        .collect();
    versions.sort_unstable();
    vec![
        name(object),
        text(object, "/spec/scope").into(),
        versions.join(",").into(),
        created_at(object),
        text(object, "/spec/group").into(),
        text(object, "/spec/names/kind").into(),
        joined(object, "/spec/names/shortNames", ",").into(),
        holds(object, "Established").into(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::{MakeCells, noon};

    /// The cells besides name and age.
    fn cells(printer: MakeCells, mut object: Value) -> Value {
        object["metadata"] = json!({"name": "n", "creationTimestamp": "2026-01-02T11:59:00Z"});
        let cells = printer(&object, noon());
        assert_eq!(cells[0], "n");
        cells[1..].iter().filter(|cell| **cell != "60s").cloned().collect::<Vec<_>>().into()
    }

    #[test]
    fn cells_of_plain_kinds() {
        let cluster = json!({"spec": {
            "scope": "Cluster", "group": "g", "names": {"kind": "K", "shortNames": ["k", "kk"]},
            "versions": [
                {"name": "v2", "served": true, "storage": true}, {"name": "v1", "served": true},
                {"name": "v0", "served": false},
            ],
        }, "status": {"conditions": [{"type": "Established", "status": "True"}]}});
        let rows: [(MakeCells, Value, Value); 12] = [
            (default, json!({}), json!(["2026-01-02T11:59:00Z"])),
            (name_and_age, json!({}), json!([])),
            (namespace, json!({"status": {"phase": "Terminating"}}), json!(["Terminating"])),
            (config_map, json!({"data": {"a": "", "b": ""}, "binaryData": {"c": ""}}), json!([3])),
            (secret, json!({"type": "Opaque", "data": {"a": ""}}), json!(["Opaque", 1])),
            (
                disruption_budget,
                json!({"spec": {"maxUnavailable": "50%"}, "status": {"disruptionsAllowed": 2}}),
                json!(["N/A", "50%", 2]),
            ),
            (disruption_budget, json!({"spec": {"minAvailable": 0}}), json!(["0", "N/A", 0])),
            (lease, json!({"spec": {"holderIdentity": "me"}}), json!(["me"])),
            (priority_class, json!({"value": 5, "preemptionPolicy": "Never"}), json!([5, false, "Never"])),
            (webhooks, json!({"webhooks": [{}, {}]}), json!([2])),
            (
                quota,
                json!({"status": {
                    "hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3"},
                }}),
                json!(["cpu: 0/1, pods: 3/4", "limits.cpu: 0/2"]),
            ),
            (
                definition,
                cluster,
                json!(["Cluster", "v1,v2(storage)", "2026-01-02T11:59:00Z", "g", "K", "k,kk", true]),
            ),
        ];
        for (printer, object, shown) in rows {
            assert_eq!(cells(printer, object.clone()), shown, "{object}");
        }
    }

    #[test]
    fn what_is_said_of_pod_groups() {
        let group = |conditions: Value| {
            json!({"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "workloadRef": {"workloadName": "w"}},
                   "status": {"conditions": conditions}})
        };
        let is = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Why"});
        for (conditions, said) in [
            (json!([]), "Pending"),
            (json!([is("PodGroupInitiallyScheduled", "False")]), "Unschedulable"),
            (json!([is("PodGroupInitiallyScheduled", "True")]), "Scheduled"),
            (json!([is("PodGroupInitiallyScheduled", "True"), is("DisruptionTarget", "True")]), "Why"),
        ] {
            assert_eq!(cells(pod_group, group(conditions)), json!(["Gang", "w", said]));
        }
        assert_eq!(cells(pod_group, json!({})), json!(["Basic", "<none>", "Pending"]));
    }
}
