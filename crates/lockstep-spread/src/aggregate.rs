//! What the members say of a workload, added up as Karmada does it.

use lockstep_federation::customization::ADDED_UP;
use lockstep_federation::interpret::Interpretation;
use lockstep_federation::work::Work;
use serde_json::{Value, json};

/// What every member says, by the names of their clusters: one item for each Work that is to stay.
pub fn items<'a>(works: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let item = |work: Work<'a>| {
        let mut item = json!({"clusterName": work.cluster()?, "applied": work.status().is_some()});
        if let Some(said) = work.status() {
            item["status"] = said.clone();
        }
        Some((work.cluster()?, item))
    };
    let mut items: Vec<_> = works.map(Work).filter(|work| !work.is_going()).filter_map(item).collect();
    items.sort_by_key(|(cluster, _)| *cluster);
    items.into_iter().map(|(_, item)| item).collect()
}

/// What the status of a template is to say; nothing if it says so. A generation counts as observed when every member
/// that has a Work has observed it.
pub fn news(kind: &Interpretation, template: &Value, items: &[Value]) -> Option<Value> {
    let generation = number(&template["metadata"]["generation"]);
    let stands = &template["status"];
    let seen = items.iter().all(|it| has_observed(&it["status"], generation));
    let observed = if seen { generation } else { number(&stands["observedGeneration"]) };
    let sum = |name: &'static str| (name, items.iter().map(|it| number(&it["status"][name])).sum::<i64>());
    let told = counts(kind).iter().copied().map(sum).chain([("observedGeneration", observed)]);
    let told: Vec<(&str, i64)> = told.collect();
    let is_new = told.iter().any(|(name, count)| number(&stands[*name]) != *count);
    is_new.then(|| told.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect())
}

/// Whether a member has this generation of the template, and has caught up with it.
fn has_observed(said: &Value, generation: i64) -> bool {
    number(&said["observedGeneration"]) >= number(&said["generation"])
        && said["resourceTemplateGeneration"].as_i64().is_some_and(|its| its >= generation)
}

/// What is not said is zero, which the API server leaves out, too.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// What Karmada adds up by itself; of other kinds, what the customization has it add up.
fn counts(kind: &Interpretation) -> &'static [&'static str] {
    match kind.kind.as_str() {
        "Deployment" => {
            &["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"]
        }
        "StatefulSet" => {
            &["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "currentReplicas"]
        }
        "CloneSet" => &[
            "replicas",
            "readyReplicas",
            "updatedReplicas",
            "availableReplicas",
            "updatedReadyReplicas",
            "expectedUpdatedReplicas",
        ],
        _ => &ADDED_UP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_federation::interpret;

    fn work(cluster: &str, going: bool, said: Value) -> Value {
        let going = if going { json!("2026-01-01T00:00:00Z") } else { Value::Null };
        json!({
            "metadata": {"namespace": format!("karmada-es-{cluster}"), "deletionTimestamp": going},
            "status": {"manifestStatuses": [{"status": said}]},
        })
    }

    /// So many pods, of which so many are new, of this generation of the template; its own generation was observed.
    fn said(pods: i64, new: i64, of: i64, generation: i64, observed: i64) -> Value {
        json!({
            "replicas": pods, "updatedReplicas": new, "readyReplicas": pods, "availableReplicas": pods - 1,
            "unavailableReplicas": 1, "resourceTemplateGeneration": of, "generation": generation,
            "observedGeneration": observed, "inForce": {"lease": "7"},
        })
    }

    #[test]
    fn members_are_told_of_in_order_and_those_that_leave_are_not() {
        let west = said(4, 4, 2, 5, 5);
        let works = [
            work("west", false, west.clone()),
            work("north", true, west.clone()),
            work("east", false, Value::Null),
        ];
        let told = items(works.iter());
        let east = json!({"clusterName": "east", "applied": false});
        assert_eq!(told, [east, json!({"clusterName": "west", "applied": true, "status": west})]);
    }

    #[test]
    fn a_template_says_the_sum_and_a_generation_that_all_have_observed() {
        let template = |status: Value| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}, "status": status,
            })
        };
        let kind = interpret::of(&template(Value::Null)).unwrap();
        let stood = json!({"observedGeneration": 1, "replicas": 12, "conditions": []});
        let done = said(4, 4, 2, 5, 5);
        for (other, sums, observed) in [
            (said(8, 3, 2, 7, 7), [12, 12, 7, 10, 2], 2),
            // It has the template, and has not looked at it yet.
            (said(8, 3, 2, 7, 6), [12, 12, 7, 10, 2], 1),
            // It has not begun.
            (said(8, 8, 1, 7, 7), [12, 12, 12, 10, 2], 1),
            (Value::Null, [4, 4, 4, 3, 1], 1),
        ] {
            let told = items([work("a", false, done.clone()), work("b", false, other.clone())].iter());
            let found = news(kind, &template(stood.clone()), &told).unwrap();
            let [replicas, ready, updated, available, unavailable] = sums;
            let expected = json!({
                "replicas": replicas, "readyReplicas": ready, "updatedReplicas": updated,
                "availableReplicas": available, "unavailableReplicas": unavailable, "observedGeneration": observed,
            });
            assert_eq!(found, expected, "{other}");
            assert_eq!(news(kind, &template(found), &told), None, "what stands is not written again");
        }
    }

    #[test]
    fn what_is_nowhere_is_all_observed() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 3},
            "status": {"observedGeneration": 2, "replicas": 1},
        });
        let found = news(interpret::of(&template).unwrap(), &template, &[]).unwrap();
        assert_eq!((&found["observedGeneration"], &found["replicas"]), (&json!(3), &json!(0)));
    }
}
