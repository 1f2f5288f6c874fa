//! What stands beside the set: the addresses of the group, handles for autoscalers, services.

use std::collections::BTreeMap;

use lockstep_api::json_to_yaml;
use serde_json::{Value, json};

use super::kinds;
use super::names::{Naming, PREFIX};
use super::read::Group;
use super::role::{self, Workload};
use super::spec::role::RoleSpec;

/// A role and what became of it.
pub(crate) struct Made<'a> {
    pub role: &'a RoleSpec,
    pub replicas: u32,
    pub workload: Workload,
    pub lowered: &'a role::Lowered,
}

/// Everything, for so many groups.
pub(crate) fn all(group: &Group, groups: u32, roles: &[Made<'_>]) -> Vec<Value> {
    let mut objects = Vec::new();
    if roles.iter().any(|made| made.workload != Workload::Stateless) {
        objects.push(config_map(group, groups, roles));
    }
    for made in roles {
        objects.extend(made.lowered.adapters.iter().map(|name| adapter(group, made, name)));
        for g in 0..groups {
            objects.extend(service(group, made, g));
        }
    }
    objects
}

/// The name of a group: alone, or number `g` of a set.
fn group_name(group: &Group, g: u32) -> String {
    if group.names.of_set { format!("{}-{g}", group.name) } else { group.name.clone() }
}

fn metadata(group: &Group, name: &str, labels: &BTreeMap<String, String>) -> Value {
    let mut metadata = json!({"name": name, "labels": labels});
    if let Some(namespace) = &group.namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect()
}

/// One file for each group: `config.yaml`, or in a set the file of the group's name.
fn config_map(group: &Group, groups: u32, roles: &[Made<'_>]) -> Value {
    let mut data = BTreeMap::new();
    for g in 0..groups {
        let name = group_name(group, g);
        let key = if group.names.of_set { format!("{name}.yaml") } else { "config.yaml".to_owned() };
        data.insert(key, json_to_yaml(&config(&name, roles)));
    }
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(group, &group.name, &labels(&[("group-name", &group.name)])),
        "data": data,
    })
}

fn config(name: &str, roles: &[Made<'_>]) -> Value {
    let names: Vec<&str> = roles.iter().map(|made| made.role.name.as_str()).collect();
    let mut instances = serde_json::Map::new();
    for made in roles {
        let ports = ports(made.role);
        let addresses = (0..made.replicas).map(|i| {
            let mut instance = json!({"address": address(name, made, i)});
            if !ports.is_empty() {
                instance["ports"] = json!(ports);
            }
            instance
        });
        let addresses: Vec<Value> = addresses.collect();
        instances.insert(made.role.name.clone(), json!({"size": made.replicas, "instances": addresses}));
    }
    json!({"group": {"name": name, "size": names.len(), "roles": names}, "roles": instances})
}

/// Where the first pod of an instance is found, as DNS has it.
fn address(group: &str, made: &Made<'_>, i: u32) -> String {
    let role = &made.role.name;
    let instance = format!("{group}-{role}-{i}");
    match made.lowered.naming {
        Naming::Standalone => format!("{instance}.s-{group}-{role}"),
        Naming::Numbered => format!("{instance}-0.s-{group}-{role}"),
        Naming::LeaderWorkerSet => format!("{instance}.{group}-{role}"),
        Naming::Components => {
            let first = made.lowered.role.members.first();
            let (component, service) = first.map_or(("", None), |first| {
                (first.name.as_str(), first.identity.as_ref().and_then(|it| it.subdomain.clone()))
            });
            let service = service.unwrap_or_else(|| format!("s-{group}-{role}"));
            format!("{instance}-{component}-0.{service}")
        }
    }
}

fn ports(role: &RoleSpec) -> BTreeMap<String, Value> {
    let named = |port: &Value| {
        let name = port["name"].as_str().filter(|name| !name.is_empty());
        let key = name
            .map_or_else(|| format!("port{}", port["port"]), |name| name.to_lowercase().replace('-', "_"));
        (key, port["port"].clone())
    };
    role.service_ports.iter().flatten().map(named).collect()
}

/// The name of the handle that we make for a role.
pub(crate) fn adapter_name(group: &Group, role: &RoleSpec) -> String {
    format!("{}-{}", group.name, role.name)
}

/// The handle of a role for autoscalers. One that somebody else made gets its number too: an autoscaler does nothing
/// about a handle without one.
fn adapter(group: &Group, made: &Made<'_>, name: &str) -> Value {
    let wished = made.role.scaling_adapter.clone().unwrap_or_default();
    let mut all = wished.labels.unwrap_or_default();
    all.extend(labels(&[("group-name", &group.name), ("role-name", &made.role.name)]));
    json!({
        "apiVersion": kinds::ADAPTER.api_version(),
        "kind": kinds::ADAPTER.kind,
        "metadata": metadata(group, name, &all),
        "spec": {
            "scaleTargetRef": {"name": group.name, "role": made.role.name},
            "replicas": made.replicas,
        },
    })
}

/// The role's service, where it is not the plain one that every set has: it is for leaders only, has ports, or pods
/// are found by another.
fn service(group: &Group, made: &Made<'_>, g: u32) -> Option<Value> {
    let ports = made.role.service_ports.clone().unwrap_or_default();
    let own = made.lowered.naming == Naming::LeaderWorkerSet;
    if !made.lowered.leaders_only && ports.is_empty() && !own {
        return None;
    }
    let group_name = group_name(group, g);
    let mut selector = labels(&[("group-name", &group_name), ("role-name", &made.role.name)]);
    if made.lowered.leaders_only {
        selector.insert(format!("{PREFIX}component-name"), "leader".to_owned());
    }
    let name = format!("s-{group_name}-{}", made.role.name);
    let mut spec = json!({"clusterIP": "None", "publishNotReadyAddresses": true, "selector": selector});
    if !ports.is_empty() {
        spec["ports"] = json!(ports);
    }
    let all = labels(&[("group-name", &group_name), ("role-name", &made.role.name)]);
    Some(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata(group, &name, &all), "spec": spec}),
    )
}
