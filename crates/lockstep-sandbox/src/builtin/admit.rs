//! What the admission plugins of a stock API server change and refuse.
//!
//! ServiceAccount is not among them: it needs accounts and tokens, which nobody issues here.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use thiserror::Error;

use super::GroupKind;
use super::access::{at, default, flag, has, int, list, made, put, text, texts};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const PROTECTED: &str = "scheduling.k8s.io/podgroup-protection";
/// The labels of a node that its pods get, too.
const TOPOLOGY: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// What admission looks up.
pub struct Context<'a> {
    /// The PriorityClass of a name.
    pub priority_class: &'a dyn Fn(&str) -> Option<Arc<Value>>,
    /// The PriorityClass of pods that name none: the lowest of those that say they are.
    pub default_priority_class: &'a dyn Fn() -> Option<Arc<Value>>,
    /// The Node of a name.
    pub node: &'a dyn Fn(&str) -> Option<Arc<Value>>,
}

/// Why an object is forbidden: what follows `pods "x" is forbidden: `.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Forbidden(pub String);

/// Changes an object that is created, or updated from `old`, as the admission plugins do. Not for subresources.
pub fn admit(
    of: GroupKind<'_>,
    object: &mut Value,
    old: Option<&Value>,
    context: &Context<'_>,
) -> Result<(), Forbidden> {
    match (of, old) {
        (("", "Pod"), old) => pod(object, old, context),
        (("", "Node"), None) => {
            taint(object);
            Ok(())
        }
        (("scheduling.k8s.io", "PodGroup"), None) => {
            priority(object, "pod group", context)?;
            protect(object);
            Ok(())
        }
        (("scheduling.k8s.io", "PriorityClass"), old) => only_default(object, old, context),
        _ => Ok(()),
    }
}

/// The labels that a pod gets from the node it is bound to.
pub fn topology_labels(node: &Value) -> Vec<(&'static str, &str)> {
    let labels = at(node, &["metadata", "labels"]);
    TOPOLOGY.into_iter().filter(|key| has(labels, key)).map(|key| (key, text(labels, key))).collect()
}

fn pod(object: &mut Value, old: Option<&Value>, context: &Context<'_>) -> Result<(), Forbidden> {
    match old {
        None => {
            priority(object, "pod", context)?;
            let class = text(at(object, &["spec"]), "runtimeClassName");
            if !class.is_empty() {
                return Err(Forbidden(format!("pod rejected: RuntimeClass {class:?} not found")));
            }
            if has(at(object, &["spec"]), "overhead") {
                let why =
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
                return Err(Forbidden(why.to_owned()));
            }
        }
        Some(old) => {
            let spec = made(object, "spec");
            for field in ["priority", "preemptionPolicy"] {
                if let Some(kept) = at(old, &["spec"]).get(field) {
                    default(spec, field, kept.clone());
                }
            }
        }
    }
    tolerate(made(object, "spec"));
    let node = text(at(object, &["spec"]), "nodeName").to_owned();
    if let Some(node) = (!node.is_empty()).then(|| (context.node)(&node)).flatten() {
        for (key, value) in topology_labels(&node) {
            put(made(made(object, "metadata"), "labels"), key, value);
        }
    }
    Ok(())
}

/// How long pods stay on nodes that are not ready or cannot be reached, unless they say otherwise.
pub const STAY: SignedDuration = SignedDuration::from_mins(5);

/// Pods stay for a while on nodes that are not ready or cannot be reached, unless they say otherwise.
fn tolerate(spec: &mut Value) {
    for key in [NOT_READY, UNREACHABLE] {
        let tolerated = list(spec, "tolerations").iter().any(|toleration| {
            ["", key].contains(&text(toleration, "key"))
                && ["", "NoExecute"].contains(&text(toleration, "effect"))
        });
        if !tolerated {
            let toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": STAY.as_secs()});
            push(spec, "tolerations", toleration);
        }
    }
}

fn push(holder: &mut Value, field: &str, item: Value) {
    if !holder[field].is_array() {
        put(holder, field, json!([]));
    }
    if let Some(items) = holder[field].as_array_mut() {
        items.push(item);
    }
}

/// The priority is that of the class.
fn priority(object: &mut Value, what: &str, context: &Context<'_>) -> Result<(), Forbidden> {
    let spec = made(object, "spec");
    let name = text(spec, "priorityClassName").to_owned();
    let class = match name.as_str() {
        "" => (context.default_priority_class)(),
        name => Some(
            (context.priority_class)(name)
                .ok_or_else(|| Forbidden(format!("no PriorityClass with name {name} was found")))?,
        ),
    };
    let value = class.as_ref().and_then(|class| int(class, "value")).unwrap_or_default();
    let policy = class.as_ref().map_or("", |class| text(class, "preemptionPolicy"));
    let policy = if policy.is_empty() { "PreemptLowerPriority" } else { policy };
    let for_pod = what == "pod";
    if let Some(said) = int(spec, "priority").filter(|said| *said != value) {
        return Err(Forbidden(if for_pod {
            format!(
                "the integer value of priority ({said}) must not be provided in pod spec; priority admission \
                 controller computed {value} from the given PriorityClass name"
            )
        } else {
            format!(
                "priority set in the {what} ({said}) must match the priority computed ({value}) based on the \
                 priority class set in the spec"
            )
        }));
    }
    put(spec, "priority", value);
    if let Some(class) = class.as_ref().filter(|_| name.is_empty()) {
        put(spec, "priorityClassName", text(at(class, &["metadata"]), "name"));
    }
    if for_pod {
        let said = text(spec, "preemptionPolicy");
        if !said.is_empty() && said != policy {
            return Err(Forbidden(format!(
                "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; priority admission \
                 controller computed {policy} from the given PriorityClass name"
            )));
        }
        put(spec, "preemptionPolicy", policy);
    }
    Ok(())
}

/// A group goes when its pods are gone, not before.
fn protect(object: &mut Value) {
    let metadata = made(object, "metadata");
    if !texts(metadata, "finalizers").contains(&PROTECTED) {
        push(metadata, "finalizers", Value::from(PROTECTED));
    }
}

/// Nothing is scheduled to a node before somebody says that it is ready.
fn taint(object: &mut Value) {
    let spec = made(object, "spec");
    let there = |taint: &Value| text(taint, "key") == NOT_READY && text(taint, "effect") == "NoSchedule";
    if !list(spec, "taints").iter().any(there) {
        push(spec, "taints", json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

fn only_default(object: &Value, old: Option<&Value>, context: &Context<'_>) -> Result<(), Forbidden> {
    let current = if flag(object, "globalDefault") { (context.default_priority_class)() } else { None };
    let Some(current) = current else { return Ok(()) };
    let name = text(at(&current, &["metadata"]), "name");
    if old.is_some() && name == text(at(object, &["metadata"]), "name") {
        return Ok(());
    }
    Err(Forbidden(format!("PriorityClass {name} is already marked as default. Only one default can exist")))
}
