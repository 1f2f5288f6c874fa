//! How a definition stands: whether its names are accepted, and whether its objects are served.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{list, says, text};
use crate::schema::words::quoted;

/// The annotation that says who approved a definition in a group of Kubernetes' own.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

/// Gives a definition the status it has before anybody looked at it.
pub(super) fn prepare(crd: &mut Value) {
    let storage = list(&crd["spec"], "versions").iter().find(|version| says(version, "storage"));
    let storage = storage.map(|version| Value::from(text(version, "name")));
    let Some(crd) = crd.as_object_mut() else { return };
    let status = crd.entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}});
    }
    let mut stored: Vec<Value> = list(status, "storedVersions").to_vec();
    stored.extend(storage.filter(|storage| !list(status, "storedVersions").contains(storage)));
    status["storedVersions"] = if stored.is_empty() { Value::Null } else { stored.into() };
}

/// The status a definition has soon after it was written, among the other definitions of the cluster.
pub fn status(crd: &Value, others: &[&Value], now: Timestamp) -> Value {
    let mut crd = crd.clone();
    prepare(&mut crd);
    let (names, conflict) = accepted(&crd, others);
    let mut status = crd["status"].clone();
    status["acceptedNames"] = names;
    let approval = approval(&crd);
    let established = condition(&status, "Established").is_some_and(|old| old["status"] == "True");
    let mut conditions = Conditions { all: list(&status, "conditions").to_vec(), now };
    if let Some((truth, reason, message)) = approval {
        conditions.set("KubernetesAPIApprovalPolicyConformant", truth, reason, &message);
    }
    match conflict {
        Some((reason, message)) => {
            conditions.set("NamesAccepted", "False", reason, &message);
            if !established {
                conditions.set("Established", "False", "NotAccepted", "not all names are accepted");
            }
        }
        None => {
            conditions.set("NamesAccepted", "True", "NoConflicts", "no conflicts found");
            let accepted = "the initial names have been accepted";
            conditions.set("Established", "True", "InitialNamesAccepted", accepted);
        }
    }
    status["conditions"] = conditions.all.into();
    status
}

fn condition<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    list(status, "conditions").iter().find(|condition| condition["type"] == name)
}

struct Conditions {
    all: Vec<Value>,
    now: Timestamp,
}

impl Conditions {
    /// Sets a condition. Its time moves only if it turns.
    fn set(&mut self, name: &str, status: &str, reason: &str, message: &str) {
        let now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let old = self.all.iter_mut().find(|condition| condition["type"] == name);
        let since = match &old {
            Some(old) if old["status"] == status => old["lastTransitionTime"].clone(),
            _ => now.into(),
        };
        let new = json!({
            "type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
        });
        match old {
            Some(old) => *old = new,
            None => self.all.push(new),
        }
    }
}

/// The names that are free or already its own, and what is said if some are not.
fn accepted(crd: &Value, others: &[&Value]) -> (Value, Option<(&'static str, String)>) {
    let spec = &crd["spec"];
    let same_group = others.iter().filter(|other| {
        other["spec"]["group"] == spec["group"] && other["metadata"]["name"] != crd["metadata"]["name"]
    });
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for other in same_group {
        let names = &other["status"]["acceptedNames"];
        resources.extend([text(names, "plural"), text(names, "singular")]);
        resources.extend(list(names, "shortNames").iter().filter_map(Value::as_str));
        kinds.extend([text(names, "kind"), text(names, "listKind")]);
    }
    let wanted = &spec["names"];
    let mut names: Map<String, Value> =
        crd["status"]["acceptedNames"].as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    for (key, taken, reason) in [
        ("plural", &resources, "PluralConflict"),
        ("singular", &resources, "SingularConflict"),
        ("shortNames", &resources, "ShortNamesConflict"),
        ("kind", &kinds, "KindConflict"),
        ("listKind", &kinds, "ListKindConflict"),
    ] {
        let own: Vec<String> = each(names.get(key)).collect();
        let clash: Vec<String> = each(wanted.get(key))
            .filter(|name| taken.contains(name.as_str()) && !own.contains(name))
            .map(|name| format!("{} is already in use", quoted(&name)))
            .collect();
        match clash.as_slice() {
            [] => set(&mut names, key, wanted.get(key)),
            [one] => conflict = Some((reason, one.clone())),
            several => conflict = Some((reason, format!("[{}]", several.join(", ")))),
        }
    }
    set(&mut names, "categories", wanted.get("categories"));
    (Value::Object(names), conflict)
}

fn set(names: &mut Map<String, Value>, key: &str, value: Option<&Value>) {
    match value {
        Some(value) => names.insert(key.to_owned(), value.clone()),
        None => names.remove(key),
    };
}

/// A name, or each of several.
fn each(names: Option<&Value>) -> impl Iterator<Item = String> {
    let all = match names {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    all.into_iter()
}

/// Groups that belong to Kubernetes, where definitions need an approval.
pub(super) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|own| group == *own || group.strip_suffix(own).is_some_and(|before| before.ends_with('.')))
}

/// Whether a definition in a protected group is approved, why, and in which words.
pub(super) fn approval(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(text(&crd["spec"], "group")) {
        return None;
    }
    let annotation = text(&crd["metadata"]["annotations"], APPROVAL);
    let address =
        annotation.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = format!("protected groups must have approval annotation \"{APPROVAL}\"");
    Some(match annotation {
        "" => ("False", "MissingAnnotation", format!("{must}, {see}")),
        reason if reason.starts_with("unapproved") => {
            ("False", "UnapprovedAnnotation", format!("not approved: {}", quoted(reason)))
        }
        link if address => ("True", "ApprovedAnnotation", format!("approved in {link}")),
        _ => {
            let how = "with either a URL or a reason starting with \"unapproved\"";
            ("False", "InvalidAnnotation", format!("{must} {how}, {see}"))
        }
    })
}
