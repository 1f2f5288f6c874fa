//! What runs pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{
    count, holds, is_there, labels, list, name, number, selector, selector_or_none, text,
};

/// Where most kinds keep the containers of their pods.
const CONTAINERS: &str = "/spec/template/spec/containers";

/// The cells of a Deployment.
pub fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        ready_of_wanted(object),
        number(object, "/status/updatedReplicas").into(),
        number(object, "/status/availableReplicas").into(),
        age::of(object, now),
        each(object, CONTAINERS, "/name"),
        each(object, CONTAINERS, "/image"),
        selector(object, "/spec/selector").unwrap_or_else(|| "<invalid>".to_owned()).into(),
    ]
}

/// The cells of a ReplicaSet.
pub fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    replicas(object, now, selector_or_none(object, "/spec/selector"))
}

/// The cells of a ReplicationController.
pub fn replication_controller(object: &Value, now: Timestamp) -> Vec<Value> {
    replicas(object, now, labels(object, "/spec/selector"))
}

fn replicas(object: &Value, now: Timestamp, selector: String) -> Vec<Value> {
    vec![
        name(object),
        number(object, "/spec/replicas").into(),
        number(object, "/status/replicas").into(),
        number(object, "/status/readyReplicas").into(),
        age::of(object, now),
        each(object, CONTAINERS, "/name"),
        each(object, CONTAINERS, "/image"),
        selector.into(),
    ]
}

/// The cells of a StatefulSet.
pub fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        ready_of_wanted(object),
        age::of(object, now),
        each(object, CONTAINERS, "/name"),
        each(object, CONTAINERS, "/image"),
    ]
}

/// The cells of a DaemonSet.
pub fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = |field: &str| number(object, &format!("/status/{field}")).into();
    vec![
        name(object),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        labels(object, "/spec/template/spec/nodeSelector").into(),
        age::of(object, now),
        each(object, CONTAINERS, "/name"),
        each(object, CONTAINERS, "/image"),
        selector_or_none(object, "/spec/selector").into(),
    ]
}

/// The cells of a Job.
pub fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        job_status(object).into(),
        completions(object).into(),
        job_duration(object, now).into(),
        age::of(object, now),
        each(object, CONTAINERS, "/name"),
        each(object, CONTAINERS, "/image"),
        selector_or_none(object, "/spec/selector").into(),
    ]
}

/// An end counts before a deletion, and a deletion before what is only under way.
fn job_status(job: &Value) -> &'static str {
    let first = |kinds: &[(&'static str, &'static str)]| {
        kinds.iter().find(|(kind, _)| holds(job, kind)).map(|(_, said)| *said)
    };
    let ends = [("Complete", "Complete"), ("Failed", "Failed")];
    let turns = [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let deleted = is_there(job, "/metadata/deletionTimestamp").then_some("Terminating");
    first(&ends).or(deleted).or_else(|| first(&turns)).unwrap_or("Running")
}

fn completions(job: &Value) -> String {
    let done = number(job, "/status/succeeded");
    if is_there(job, "/spec/completions") {
        return format!("{done}/{}", number(job, "/spec/completions"));
    }
    match number(job, "/spec/parallelism") {
        side_by_side @ 2.. => format!("{done}/1 of {side_by_side}"),
        _ => format!("{done}/1"),
    }
}

fn job_duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = age::time(job, "/status/startTime") else { return String::new() };
    age::ago(start, age::time(job, "/status/completionTime").unwrap_or(now))
}

/// The cells of a CronJob.
pub fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let containers = "/spec/jobTemplate/spec/template/spec/containers";
    let last = match is_there(object, "/status/lastScheduleTime") {
        true => age::since(object, "/status/lastScheduleTime", now),
        false => "<none>".to_owned(),
    };
    let suspended = match object.pointer("/spec/suspend").and_then(Value::as_bool) {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    let zone = object.pointer("/spec/timeZone").and_then(Value::as_str).unwrap_or("<none>");
    vec![
        name(object),
        text(object, "/spec/schedule").into(),
        zone.into(),
        suspended.into(),
        count(object, "/status/active").into(),
        last.into(),
        age::of(object, now),
        each(object, containers, "/name"),
        each(object, containers, "/image"),
        selector_or_none(object, "/spec/jobTemplate/spec/selector").into(),
    ]
}

/// The cells of a PodTemplate.
pub fn pod_template(object: &Value, _now: Timestamp) -> Vec<Value> {
    let containers = "/template/spec/containers";
    vec![
        name(object),
        each(object, containers, "/name"),
        each(object, containers, "/image"),
        labels(object, "/template/metadata/labels").into(),
    ]
}

/// The cells of a ControllerRevision.
pub fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), controller(object).into(), number(object, "/revision").into(), age::of(object, now)]
}

/// Who controls an object: `statefulset.apps/web`.
fn controller(object: &Value) -> String {
    let mut owners = list(object, "/metadata/ownerReferences").iter();
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else { return "<none>".to_owned() };
    let kind = text(owner, "/kind").to_lowercase();
    let dot_group = match text(owner, "/apiVersion").split_once('/') {
        Some((group, _)) => format!(".{}", group.to_lowercase()),
        None => String::new(),
    };
    format!("{kind}{dot_group}/{}", text(owner, "/name"))
}

fn ready_of_wanted(object: &Value) -> Value {
    format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas")).into()
}

/// One text of each item of a list, joined.
fn each(object: &Value, items: &str, field: &str) -> Value {
    list(object, items).iter().map(|item| text(item, field)).collect::<Vec<_>>().join(",").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::{MakeCells, noon};

    fn template() -> Value {
        json!({"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:2"}]}})
    }

    fn metadata() -> Value {
        json!({"name": "w", "creationTimestamp": "2026-01-02T11:59:00Z"})
    }

    #[test]
    fn cells_of_sets() {
        let object = json!({
            "metadata": metadata(),
            "spec": {"replicas": 3, "selector": {"matchLabels": {"k": "v"}}, "template": template()},
            "status": {"replicas": 4, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
        });
        let shown = |printer: MakeCells| Value::from(printer(&object, noon()));
        assert_eq!(shown(deployment), json!(["w", "2/3", 1, 2, "60s", "a,b", "x:1,y:2", "k=v"]));
        assert_eq!(shown(replica_set), json!(["w", 3, 4, 2, "60s", "a,b", "x:1,y:2", "k=v"]));
        assert_eq!(shown(stateful_set), json!(["w", "2/3", "60s", "a,b", "x:1,y:2"]));
    }

    #[test]
    fn only_deployments_say_nothing_of_no_selector() {
        assert_eq!(deployment(&json!({}), noon())[7], "");
        assert_eq!(replica_set(&json!({}), noon())[7], "<none>");
    }

    #[test]
    fn what_is_said_of_jobs() {
        let job =
            |spec: Value, status: Value| json!({"metadata": metadata(), "spec": spec, "status": status});
        let is = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        for (object, said) in [
            (job(json!({}), json!({})), ["Running", "0/1", ""]),
            (
                job(json!({"completions": 5}), json!({"succeeded": 2, "startTime": "2026-01-02T11:59:30Z"})),
                ["Running", "2/5", "30s"],
            ),
            (job(json!({"parallelism": 3}), is("Suspended")), ["Suspended", "0/1 of 3", ""]),
            (
                job(
                    json!({"parallelism": 1}),
                    json!({"startTime": "2026-01-02T11:59:30Z", "completionTime": "2026-01-02T11:59:40Z",
                           "conditions": [{"type": "Complete", "status": "True"}]}),
                ),
                ["Complete", "0/1", "10s"],
            ),
        ] {
            assert_eq!(super::job(&object, noon())[1..4], said, "{object}");
        }
        let mut deleted = job(json!({}), is("FailureTarget"));
        assert_eq!(job_status(&deleted), "FailureTarget");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-02T11:59:40Z");
        assert_eq!(job_status(&deleted), "Terminating");
    }

    #[test]
    fn revisions_and_their_owners() {
        let owned = |references: Value| {
            let object = json!({"metadata": {"ownerReferences": references}, "revision": 7});
            controller_revision(&object, noon())[1..3].to_vec()
        };
        let by = |version: &str, controller: bool| json!({"apiVersion": version, "kind": "StatefulSet", "name": "w", "controller": controller});
        assert_eq!(owned(json!([by("apps/v1", false)])), [json!("<none>"), json!(7)]);
        assert_eq!(owned(json!([by("apps/v1", true)]))[0], "statefulset.apps/w");
        assert_eq!(owned(json!([by("v1", true)]))[0], "statefulset/w");
    }

    #[test]
    fn cells_of_daemon_sets_and_cron_jobs() {
        let object = json!({
            "metadata": metadata(),
            "spec": {"schedule": "* * * * *", "suspend": false, "template": {"spec": {
                "nodeSelector": {"gpu": "yes"},
            }}},
            "status": {"desiredNumberScheduled": 5, "numberAvailable": 3, "active": [{}],
                       "lastScheduleTime": "2026-01-02T11:59:30Z"},
        });
        let cells = json!(["w", 5, 0, 0, 0, 3, "gpu=yes", "60s", "", "", "<none>"]);
        assert_eq!(Value::from(daemon_set(&object, noon())), cells);
        let cells = json!(["w", "* * * * *", "<none>", "False", 1, "30s", "60s", "", "", "<none>"]);
        assert_eq!(Value::from(cron_job(&object, noon())), cells);
        assert_eq!(cron_job(&json!({}), noon())[3..6], [json!("<unset>"), json!(0), json!("<none>")]);
    }
}
