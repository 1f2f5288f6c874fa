//! What is wrong with the resources that containers and pods ask for.

use serde_json::Value;

use crate::builtin::access::{at, entries, has, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{label, qualified};
use crate::builtin::quantity::Quantity;

/// What has a name without a prefix.
const STANDARD: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
];
/// What is counted.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn huge(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

fn native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn extended(resource: &str) -> bool {
    !native(resource)
        && !resource.starts_with("requests.")
        && qualified(&format!("requests.{resource}")).is_empty()
}

/// More may be asked for than there is.
fn overcommitted(resource: &str) -> bool {
    native(resource) && !huge(resource)
}

/// Limits and requests of a container, or of a pod as a whole where no pod is given to look claims up in.
pub(super) fn requirements(of: &Value, pod: Option<&Value>, here: &At, causes: &mut Causes) {
    let (limits, requests) = (here.child("limits"), here.child("requests"));
    let basic = |resource: &str| matches!(resource, "cpu" | "memory");
    let (mut any_basic, mut any_huge) = (false, false);
    for (resource, amount) in entries(of, "limits") {
        let here = limits.key(resource);
        name(resource, pod.is_some(), &here, causes);
        amount_of(resource, amount, &here, causes);
        pages(resource, amount, &here, causes);
        any_basic |= basic(resource);
        any_huge |= huge(resource);
    }
    for (resource, amount) in entries(of, "requests") {
        let here = requests.key(resource);
        name(resource, pod.is_some(), &here, causes);
        amount_of(resource, amount, &here, causes);
        match (read(at(of, &["limits", resource])), read(amount)) {
            (Some(limit), Some(request)) if request != limit && !overcommitted(resource) => {
                causes.invalid(&requests, amount, &format!("must be equal to {resource} limit of {limit}"));
            }
            (Some(limit), Some(request)) if request > limit => {
                causes.invalid(
                    &requests,
                    amount,
                    &format!("must be less than or equal to {resource} limit of {limit}"),
                );
            }
            (None, _) if !overcommitted(resource) => {
                causes.required(&limits, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
        pages(resource, amount, &here, causes);
        any_basic |= basic(resource);
        any_huge |= huge(resource);
    }
    if any_huge && !any_basic {
        causes.forbidden(here, "HugePages require cpu or memory");
    }
    if let Some(pod) = pod {
        claims(of, pod, &here.child("claims"), causes);
    }
}

fn read(amount: &Value) -> Option<Quantity> {
    amount.as_str().and_then(|amount| Quantity::read(amount).ok())
}

fn name(resource: &str, of_container: bool, here: &At, causes: &mut Causes) {
    let before = causes.len();
    causes.invalid_each(here, resource, qualified(resource));
    let standard = STANDARD.contains(&resource)
        || resource == "services.loadbalancers"
        || huge(resource)
        || resource.starts_with("requests.hugepages-");
    if causes.len() == before && !resource.contains('/') && !standard {
        let why = "must be a standard resource type or fully qualified";
        causes.invalid(here, &Value::from(resource), why);
    }
    if of_container {
        let for_containers = matches!(resource, "cpu" | "memory" | "ephemeral-storage") || huge(resource);
        if !resource.contains('/') && !for_containers {
            causes.invalid(here, &Value::from(resource), "must be a standard resource for containers");
        } else if resource.contains('/') && !native(resource) && !extended(resource) {
            causes.invalid(here, &Value::from(resource), "doesn't follow extended resource name standard");
        }
    } else if causes.len() == before && !matches!(resource, "cpu" | "memory") && !huge(resource) {
        causes.unsupported(here, &Value::from(resource), &["cpu", "hugepages-", "memory"]);
    }
}

/// An amount: never less than nothing, and whole where things are counted.
pub(super) fn amount_of(resource: &str, amount: &Value, here: &At, causes: &mut Causes) {
    let Some(read) = read(amount) else { return };
    if read.is_negative() {
        causes.invalid(here, amount, "must be greater than or equal to 0");
    }
    if (COUNTED.contains(&resource) || extended(resource)) && read.thousandths() % 1000 != 0 {
        causes.invalid(here, amount, "must be an integer");
    }
}

fn pages(resource: &str, amount: &Value, here: &At, causes: &mut Causes) {
    let Some(size) = resource.strip_prefix("hugepages-") else { return };
    let (Ok(size), Some(read)) = (Quantity::read(size), read(amount)) else { return };
    let (size, number) = (size.thousandths() / 1000, read.thousandths() / 1000);
    if size <= 0 || number % size != 0 {
        causes.invalid(here, amount, &format!("{read} is not positive integer multiple of {resource}"));
    }
}

fn claims(of: &Value, pod: &Value, here: &At, causes: &mut Causes) {
    let mut known: Vec<&str> = list(pod, "resourceClaims").iter().map(|claim| text(claim, "name")).collect();
    known.sort_unstable();
    let mut seen: Vec<String> = Vec::new();
    for (place, claim) in list(of, "claims").iter().enumerate() {
        let here = here.index(place);
        let name = text(claim, "name");
        if name.is_empty() {
            causes.required(&here, "");
            continue;
        }
        let request = text(claim, "request");
        let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{request}") };
        if !request.is_empty() {
            causes.invalid_each(&here.child("request"), request, label(request));
        }
        if seen.contains(&key) || seen.iter().any(|seen| seen == name) {
            causes.duplicate(&here, &Value::from(key.clone()));
        }
        seen.push(key);
        if !known.contains(&name) {
            let rest = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            causes.not_found_because(
                &here,
                &Value::from(name),
                &format!("must be one of the names in pod.spec.resourceClaims{rest}"),
            );
        }
    }
}

/// What a pod asks for as a whole.
pub(super) fn whole(spec: &Value, here: &At, causes: &mut Causes) {
    if !has(spec, "resources") {
        return;
    }
    let resources = at(spec, &["resources"]);
    if has(resources, "claims") {
        causes.forbidden(&here.child("claims"), "claims may not be set for Resources at pod-level");
    }
    requirements(resources, None, here, causes);
    for (resource, sum) in crate::builtin::levels::sums(spec, "requests") {
        if let Some(request) = read(at(resources, &["requests", &resource])).filter(|request| sum > *request)
        {
            let why = format!("must be greater than or equal to aggregate container requests of {sum}");
            causes.invalid(&here.child("requests").key(&resource), &Value::from(request.to_string()), &why);
        }
    }
    for (place, container) in list(spec, "containers").iter().enumerate() {
        for (resource, limit) in entries(at(container, &["resources"]), "limits") {
            let Some(most) = read(at(resources, &["limits", resource])) else { continue };
            if read(limit).is_some_and(|limit| limit > most) {
                let here = here.child("containers").index(place).key(resource).child("limits");
                causes.invalid(&here, limit, &format!("must be less than or equal to pod limits of {most}"));
            }
        }
    }
}
