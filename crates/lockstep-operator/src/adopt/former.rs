//! What older pods were made from, read back from the pods themselves: so that one that is lost before its turn comes
//! back as it was.

use std::collections::BTreeMap;

use lockstep_api::Identity;
use lockstep_api::stored::{Content, StoredRole};
use lockstep_core::names::MemberName;
use lockstep_core::revision::Revision;
use serde_json::{Map, Value, json};

/// What the cluster puts into every pod, or what belongs to one pod alone.
const OF_ONE_POD: [&str; 9] = [
    "nodeName",
    "hostname",
    "subdomain",
    "priority",
    "preemptionPolicy",
    "serviceAccount",
    "schedulingGates",
    "ephemeralContainers",
    "schedulingGroup",
];
/// The volume with the token of the service account, made anew for every pod.
const TOKEN: &str = "kube-api-access-";

/// The pods of one instance, by member and ordinal.
pub(super) type Pods<'a> = BTreeMap<&'a MemberName, Vec<(u32, &'a Value)>>;

/// The role as it was when the pods of one instance were made.
pub(super) fn role(wanted: &StoredRole, content: &Content, pods: &Pods<'_>) -> StoredRole {
    let mut former = wanted.clone();
    let mut members = Vec::new();
    former.layout.retain(|member| pods.contains_key(&member.name));
    for member in &content.members {
        let Some(pods) = pods.get(&MemberName::new(&member.name)) else { continue };
        let count = pods.iter().map(|(index, _)| index + 1).max().unwrap_or(1);
        let Some((_, first)) = pods.iter().min_by_key(|(index, _)| *index) else { continue };
        let identity = content.identity_of(&member.name);
        members.push(json!({
            "name": member.name,
            "count": count,
            "template": template(first, &member.template, &identity),
            "identity": raw_identity(wanted, &member.name),
        }));
        for laid in former.layout.iter_mut().filter(|laid| laid.name.as_str() == member.name) {
            (laid.count, laid.min_available) = (count, laid.min_available.min(count));
        }
    }
    former.content["members"] = Value::Array(members);
    // What differs may not be of the template: a gate, a host name. It is another revision all the same.
    former.content["adopted"] = json!(true);
    former.revision = Revision::of(&former.content);
    former
}

/// The identity of a member as it is stored.
fn raw_identity(wanted: &StoredRole, member: &str) -> Value {
    let members = wanted.content["members"].as_array();
    let found = members.into_iter().flatten().find(|it| it["name"] == member);
    found.map(|it| it["identity"].clone()).unwrap_or_default()
}

/// A template that would make this pod again. Of labels and annotations those are taken that the present template has
/// too: nobody knows who put the others there.
fn template(pod: &Value, wanted: &Value, identity: &Identity) -> Value {
    let mut spec = pod["spec"].as_object().cloned().unwrap_or_default();
    spec.retain(|key, _| !OF_ONE_POD.contains(&key.as_str()));
    let mut spec = Value::Object(spec);
    drop_items(&mut spec["volumes"], |volume| starts_with(&volume["name"], TOKEN));
    drop_items(&mut spec["tolerations"], |toleration| starts_with(&toleration["key"], "node.kubernetes.io/"));
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            drop_items(&mut container["volumeMounts"], |mount| starts_with(&mount["name"], TOKEN));
            drop_items(&mut container["env"], |variable| {
                variable["name"].as_str().is_some_and(|name| identity.env.contains_key(name))
            });
        }
    }
    let kept = |field: &str| -> Map<String, Value> {
        let keys = wanted["metadata"][field].as_object().into_iter().flatten();
        keys.filter_map(|(key, _)| Some((key.clone(), pod["metadata"][field].get(key)?.clone()))).collect()
    };
    json!({"metadata": {"labels": kept("labels"), "annotations": kept("annotations")}, "spec": spec})
}

fn starts_with(value: &Value, prefix: &str) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(prefix))
}

fn drop_items(list: &mut Value, which: impl Fn(&Value) -> bool) {
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| !which(item));
    }
}
