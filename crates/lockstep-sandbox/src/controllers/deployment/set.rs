//! A ReplicaSet, as its Deployment sees it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::controllers::read::{self, number, text};
use crate::controllers::{digest, key, replicaset, share};
use crate::store::Key;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MOST: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";

/// How long the list of former revisions may get.
const LONGEST_HISTORY: usize = 2000;

/// What a Deployment's annotations say about itself, and not about its pods.
const OWN_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
];

/// A ReplicaSet, with the size it is to have.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) key: Key,
    pub(super) object: Arc<Value>,
    pub(super) replicas: i64,
}

impl Set {
    pub(super) fn read(key: &Key, object: &Arc<Value>) -> Self {
        let replicas = object["spec"]["replicas"].as_i64().unwrap_or(1);
        Self { key: key.clone(), object: Arc::clone(object), replicas }
    }

    /// A number of its status.
    pub(super) fn count(&self, field: &str) -> i64 {
        number(&self.object["status"][field])
    }

    pub(super) fn annotation(&self, name: &str) -> &str {
        text(&self.object["metadata"]["annotations"][name])
    }

    pub(super) fn revision(&self) -> i64 {
        self.annotation(REVISION).parse().unwrap_or_default()
    }

    /// How many the Deployment wanted when it last sized this set.
    pub(super) fn desired(&self) -> Option<i64> {
        self.annotation(DESIRED).parse().ok().filter(|desired| *desired >= 0)
    }

    /// How many the Deployment would have had at most then.
    pub(super) fn most(&self) -> Option<i64> {
        self.annotation(MOST).parse().ok().filter(|most| *most > 0)
    }

    /// Oldest first.
    pub(super) fn age(&self) -> (String, String) {
        let created = text(&self.object["metadata"]["creationTimestamp"]);
        (created.to_owned(), self.key.name.to_string())
    }

    /// Its pods are made after this template.
    pub(super) fn has_template(&self, template: &Value) -> bool {
        without_hash(&self.object["spec"]["template"]) == without_hash(template)
    }
}

fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove(HASH);
        }
    }
    template
}

/// What a Deployment asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) desired: i64,
    pub(super) surge: i64,
    pub(super) unavailable: i64,
    pub(super) rolling: bool,
}

impl Size {
    pub(super) fn read(deployment: &Value) -> Self {
        let spec = &deployment["spec"];
        let desired = spec["replicas"].as_i64().unwrap_or(1);
        let rolling = spec["strategy"]["type"] != "Recreate";
        if !rolling {
            return Self { desired, surge: 0, unavailable: 0, rolling };
        }
        let bounds = &spec["strategy"]["rollingUpdate"];
        let surge = share::of(&bounds["maxSurge"], desired, true).unwrap_or_default();
        let mut unavailable = share::of(&bounds["maxUnavailable"], desired, false).unwrap_or_default();
        if surge == 0 && unavailable == 0 {
            // Otherwise nothing could ever move.
            unavailable = 1;
        }
        Self { desired, surge, unavailable: unavailable.min(desired), rolling }
    }

    /// How many there may be at most.
    pub(super) fn most(&self) -> i64 {
        self.desired + self.surge
    }

    /// How many must be available.
    pub(super) fn least(&self) -> i64 {
        self.desired - self.unavailable
    }
}

/// The annotations a set has to have that show its size.
pub(super) fn size_annotations(size: Size) -> Value {
    json!({DESIRED: size.desired.to_string(), MOST: size.most().to_string()})
}

/// What the annotations of the newest set still lack: what the Deployment's say, and its revision.
pub(super) fn missing_annotations(deployment: &Value, set: &Value, revision: i64) -> Value {
    let has = &set["metadata"]["annotations"];
    let of_deployment = read::entries(&deployment["metadata"]["annotations"]);
    let copied = of_deployment.filter(|(name, value)| {
        !OWN_ANNOTATIONS.contains(&name.as_str()) && has.get(name.as_str()) != Some(*value)
    });
    let mut missing: Value = copied.map(|(name, value)| (name.clone(), value.clone())).collect();
    let known = text(&has[REVISION]);
    let Ok(former) = (if known.is_empty() { Ok(0) } else { known.parse::<i64>() }) else {
        return missing;
    };
    if former < revision {
        missing[REVISION] = json!(revision.to_string());
        if !known.is_empty() {
            missing[HISTORY] = json!(history(text(&has[HISTORY]), known));
        }
    }
    missing
}

/// The list of former revisions with one more; the oldest go when it gets too long.
fn history(list: &str, revision: &str) -> String {
    let former = list.split(',').filter(|one| !one.is_empty());
    let mut all: Vec<&str> = former.chain([revision]).collect();
    while all.len() > 1 && all.iter().map(|one| one.len() + 1).sum::<usize>() > LONGEST_HISTORY + 1 {
        all.remove(0);
    }
    all.join(",")
}

/// The set for the Deployment's template, as it is to be created.
pub(super) fn new_set(
    deployment: &Value,
    revision: i64,
    replicas: i64,
    size: Size,
    collisions: i64,
) -> (Key, Value) {
    let mut template = deployment["spec"]["template"].clone();
    let hash = digest::of(&format!("{} {collisions}", without_hash(&template)));
    template["metadata"]["labels"][HASH] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = json!(hash);
    let name = format!("{}-{hash}", read::name(deployment));
    let mut annotations = missing_annotations(deployment, &Value::Null, revision);
    for (name, value) in read::entries(&size_annotations(size)) {
        annotations[name] = value.clone();
    }
    let mut spec = json!({"replicas": replicas, "selector": selector, "template": template});
    if number(&deployment["spec"]["minReadySeconds"]) > 0 {
        spec["minReadySeconds"] = deployment["spec"]["minReadySeconds"].clone();
    }
    let object = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": read::namespace(deployment), "labels": spec["template"]["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [replicaset::owner("apps/v1", "Deployment", deployment)],
        },
        "spec": spec,
    });
    (key("replicasets.apps", read::namespace(deployment), &name), object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_there_may_be() {
        for (strategy, replicas, surge, unavailable) in [
            (json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}), 10, 3, 2),
            (json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}), 1, 1, 0),
            (json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}), 5, 0, 1),
            (json!({"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 9}}), 3, 2, 3),
            (json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}), 0, 1, 0),
            (json!({"type": "Recreate"}), 3, 0, 0),
        ] {
            let size = Size::read(&json!({"spec": {"replicas": replicas, "strategy": strategy}}));
            assert_eq!((size.surge, size.unavailable), (surge, unavailable), "{strategy} {replicas}");
        }
    }

    #[test]
    fn former_revisions_are_kept_up_to_a_length() {
        assert_eq!(history("", "1"), "1");
        assert_eq!(history("1,3", "5"), "1,3,5");
        let long = vec!["1234"; 400].join(",");
        let longer = history(&long, "9999");
        assert_eq!((longer.len(), longer.ends_with(",9999")), (1999, true));
    }
}
