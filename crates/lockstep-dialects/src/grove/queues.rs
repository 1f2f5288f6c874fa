//! Queues that a set is charged to: Volcano's, and Kueue's.

use std::collections::BTreeMap;

use serde_json::Value;

use super::form::{Clique, Form};
use crate::findings::Findings;

/// What Grove calls Kueue among its schedulers. Nothing of that name binds a pod.
pub(super) const KUEUE: &str = "kueue";
/// The label by which Kueue knows what is charged to which queue.
const QUEUE_OF_KUEUE: &str = "kueue.x-k8s.io/queue-name";
/// What Grove's users say, and what Volcano is told.
const QUEUE_OF_VOLCANO: [&str; 2] = ["scheduling.grove.io/volcano-queue", "scheduling.volcano.sh/queue-name"];

/// The scheduler that a clique names.
pub(super) fn scheduler<'a>(clique: &Clique<'a>) -> &'a str {
    clique.template.spec.pod_spec["schedulerName"].as_str().unwrap_or_default()
}

/// Queues that contradict each other.
pub(super) fn check(form: &Form<'_>, found: &mut Findings<'_>) {
    let mut first: Option<&str> = None;
    for (at, queue) in named(form) {
        let first = *first.get_or_insert(queue);
        if first != queue {
            found.error(at, format!("{queue}, and {first} is said elsewhere; a set has one queue"));
        }
    }
}

/// The annotation that tells Volcano the queue of the set's gangs.
pub(super) fn of_volcano(form: &Form<'_>) -> BTreeMap<String, String> {
    let queue = named(form).into_iter().next();
    queue.map(|(_, queue)| (QUEUE_OF_VOLCANO[1].to_owned(), queue.to_owned())).into_iter().collect()
}

/// Where Volcano's queue is named, and what it is called.
fn named<'a>(form: &Form<'a>) -> Vec<(String, &'a str)> {
    let key = QUEUE_OF_VOLCANO[0];
    let own = form.annotations.and_then(|given| given.get(key)?.as_str());
    let own = own.map(|queue| (format!("metadata.annotations[{key}]"), queue));
    let below = form.cliques().filter_map(|(_, clique)| {
        let queue = clique.template.annotations.get(key)?;
        Some((format!("{}.annotations[{key}]", clique.at), queue.as_str()))
    });
    own.into_iter().chain(below).filter(|(_, queue)| !queue.is_empty()).collect()
}

/// Pods that name Kueue go to the cluster's scheduler, once Kueue lets them: by the label that is returned.
pub(super) fn ask_kueue(
    form: &Form<'_>,
    clique: &Clique<'_>,
    pod_spec: &mut Value,
    found: &mut Findings<'_>,
) -> BTreeMap<String, String> {
    if scheduler(clique) != KUEUE {
        return BTreeMap::new();
    }
    if let Some(fields) = pod_spec.as_object_mut() {
        fields.remove("schedulerName");
    }
    let own = clique.template.labels.get(QUEUE_OF_KUEUE).map(String::as_str);
    let queue = own.or_else(|| form.labels?.get(QUEUE_OF_KUEUE)?.as_str());
    let message = match queue {
        Some(_) => {
            "pods go to the default scheduler, once Kueue lets each of them; no Workload is made for a gang"
        }
        None => {
            "pods go to the default scheduler, and Kueue is not asked: the label kueue.x-k8s.io/queue-name names no queue"
        }
    };
    found.warn(format!("{}.spec.podSpec.schedulerName", clique.at), message);
    queue.map(|queue| (QUEUE_OF_KUEUE.to_owned(), queue.to_owned())).into_iter().collect()
}
