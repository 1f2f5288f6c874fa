use k8s_openapi::api::core::v1 as k8s;
use kube::runtime::watcher::Event as Watched;
use lockstep_core::simulate::trace::{By, End, Event, What};
use serde_json::json;

use super::Tape;
use crate::workload::{REVISION, Workload};

const WEB: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web}]}}
";

/// The tape of a StatefulSet of one, and the pod it wants.
fn web() -> (Tape, k8s::Pod) {
    let workload = Workload::read(WEB).expect("a workload");
    let revision = workload.spec().roles[0].revision;
    let pod = serde_json::from_value(json!({
        "metadata": {
            "name": "web-0",
            "uid": "first",
            "annotations": {REVISION: revision.as_str()},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w", "controller": true}
            ],
        },
        "spec": {"nodeName": "node-0", "containers": []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }));
    let mut tape = Tape::new(workload.clone(), None);
    tape.wish(&workload);
    (tape, pod.expect("a pod"))
}

fn words(tape: &Tape) -> Vec<String> {
    let word = |event: &Event| serde_json::to_value(event).expect("JSON")["event"].to_string();
    tape.events.iter().map(word).map(|word| word.replace('"', "")).collect()
}

fn listed(tape: &mut Tape, pods: impl IntoIterator<Item = k8s::Pod>) {
    tape.take(Watched::Init);
    for pod in pods {
        tape.take(Watched::InitApply(pod));
    }
    tape.take(Watched::InitDone);
}

#[test]
fn a_pod_is_created_scheduled_and_ready_in_this_order_even_if_seen_at_once() {
    let (mut tape, pod) = web();
    tape.take(Watched::Apply(pod));
    assert_eq!(words(&tape), ["spec", "create", "scheduled", "ready"]);
    assert_eq!(tape.settled(), Some(End::Complete));
}

#[test]
fn what_a_list_after_an_interruption_lacks_is_gone() {
    let (mut tape, pod) = web();
    tape.take(Watched::Apply(pod));
    listed(&mut tape, []);
    assert_eq!(words(&tape)[4..], ["delete", "gone"]);
    assert_eq!(tape.settled(), None);
}

#[test]
fn a_namesake_that_came_while_nobody_looked_is_another_pod() {
    let (mut tape, pod) = web();
    tape.take(Watched::Apply(pod.clone()));
    let mut namesake = pod;
    namesake.metadata.uid = Some("second".to_owned());
    listed(&mut tape, [namesake]);
    assert_eq!(words(&tape)[4..], ["delete", "gone", "create", "scheduled", "ready"]);
}

#[test]
fn an_evicted_pod_says_so_itself() {
    let (mut tape, mut pod) = web();
    tape.take(Watched::Apply(pod.clone()));
    pod.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
    let mut evicted = pod.clone();
    let status = json!({"conditions": [{"type": "DisruptionTarget", "status": "True"}]});
    evicted.status = serde_json::from_value(status).expect("a status");
    tape.take(Watched::Apply(evicted));
    assert!(matches!(tape.events.last(), Some(Event { what: What::Delete { by: By::World, .. }, .. })));

    let (mut tape, first) = web();
    tape.take(Watched::Apply(first));
    tape.take(Watched::Apply(pod));
    assert!(matches!(tape.events.last(), Some(Event { what: What::Delete { by: By::Engine, .. }, .. })));
}
