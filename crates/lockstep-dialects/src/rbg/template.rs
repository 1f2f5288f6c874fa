//! The pod templates of a role: found, patched, and with everything in them that a group's pods carry.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::kinds;
use super::merge::merged;
use super::names::{OLD_PREFIX, PREFIX};
use super::read::Group;
use super::role::Workload;
use super::spec::pattern::TemplateRef;
use super::spec::role::{EngineRuntime, RoleSpec};
use crate::{Findings, World};

pub(crate) const CONFIG: &str = "rbg-cluster-config";
const GROUP_NAME: &str = "rbg.workloads.x-k8s.io/group-name";
/// On every pod of every group. A key may not be both selected and matched.
const ROLE_NAME: &str = "rbg.workloads.x-k8s.io/role-name";

/// Where a role's template comes from.
pub(crate) struct Source<'a> {
    pub template: Option<&'a Value>,
    pub reference: Option<&'a TemplateRef>,
    /// v1alpha1 keeps the patch beside the reference.
    pub patch: Option<&'a Value>,
}

impl Source<'_> {
    /// The template, and where its user wrote it. `at` is the place of what holds both fields.
    pub fn resolve(&self, group: &Group, at: &str, found: &mut Findings<'_>) -> Option<(Value, String)> {
        match (self.template, self.reference) {
            (Some(_), Some(_)) => {
                found.error(format!("{at}.templateRef"), "template is given too; keep one of them");
                None
            }
            (Some(template), None) => {
                if self.patch.is_some_and(|patch| patch.as_object().is_some_and(|patch| !patch.is_empty())) {
                    found.error(
                        format!("{at}.templatePatch"),
                        "changes what templateRef names, but there is none",
                    );
                }
                Some((template.clone(), format!("{at}.template")))
            }
            (None, Some(reference)) => {
                let shared = group.spec.role_templates.as_deref().unwrap_or_default();
                let Some(i) = shared.iter().position(|shared| shared.name == reference.name) else {
                    found
                        .error(format!("{at}.templateRef.name"), "no template of that name in roleTemplates");
                    return None;
                };
                let patch = reference.patch.as_ref().or(self.patch).unwrap_or(&Value::Null);
                let place = format!("{}.roleTemplates[{i}].template", group.at);
                Some((merged(&shared[i].template, patch), place))
            }
            (None, None) => {
                found.error(at, "needs a template or a templateRef");
                None
            }
        }
    }
}

/// Puts into a template what the group, its role and its component say about pods.
pub(crate) struct Dressing<'a> {
    pub group: &'a Group,
    pub role: &'a RoleSpec,
    pub world: &'a World,
    /// Where the role stands.
    pub at: &'a str,
    /// What would make its pods. Only those that keep their names read the group's addresses.
    pub workload: Workload,
    /// Annotations for every pod of the group: the queue of its gang.
    pub annotations: &'a BTreeMap<String, String>,
    /// The priority of pods that name none.
    pub priority: Option<&'a str>,
}

impl Dressing<'_> {
    pub fn dress(&self, mut template: Value, found: &mut Findings<'_>) -> Value {
        let role = |map: &Option<BTreeMap<String, String>>| map.clone().unwrap_or_default();
        let ours =
            |key: &str| key == format!("{PREFIX}role-size") || key == format!("{PREFIX}role-workload-type");
        let mut annotations = self.group.template_metadata.1.clone();
        annotations.extend(role(&self.role.annotations));
        annotations.extend(self.annotations.clone());
        annotations.retain(|key, _| !ours(key));
        let mut labels = self.group.template_metadata.0.clone();
        labels.extend(role(&self.role.labels));
        add_missing(&mut template, "labels", &labels);
        add_missing(&mut template, "annotations", &annotations);
        for (i, runtime) in self.role.engine_runtimes.iter().flatten().enumerate() {
            self.inject(&mut template, runtime, &format!("{}.engineRuntimes[{i}]", self.at), found);
        }
        if self.workload != Workload::Stateless {
            self.mount_config(&mut template);
        }
        if let Some(priority) = self.priority {
            let spec = object(&mut template, "spec");
            if spec.get("priorityClassName").is_none() {
                spec["priorityClassName"] = json!(priority);
            }
        }
        self.keep_apart(&mut template);
        template
    }

    /// The containers and volumes of a profile.
    fn inject(&self, template: &mut Value, runtime: &EngineRuntime, at: &str, found: &mut Findings<'_>) {
        if runtime.inject_containers.is_some() {
            found.warn(
                format!("{at}.injectContainers"),
                "accepted without effect: all of the profile is injected",
            );
        }
        let Some(profile) = self.world.named(&kinds::PROFILE, &runtime.profile_name) else {
            let message = "no ClusterEngineRuntimeProfile of that name; pods roll when there is one";
            found.warn(format!("{at}.profileName"), message);
            return;
        };
        let spec = object(template, "spec");
        for list in ["initContainers", "containers", "volumes"] {
            for item in profile["spec"][list].as_array().into_iter().flatten() {
                let there =
                    spec[list].as_array().into_iter().flatten().any(|old| old["name"] == item["name"]);
                if !there {
                    push(spec, list, item.clone());
                }
            }
        }
        for (k, change) in runtime.containers.iter().flatten().enumerate() {
            let name = &change["name"];
            let of_profile =
                profile["spec"]["containers"].as_array().into_iter().flatten().any(|it| it["name"] == *name);
            let container =
                spec["containers"].as_array_mut().into_iter().flatten().find(|it| it["name"] == *name);
            match container.filter(|_| of_profile) {
                Some(container) => change_container(container, change),
                None => found.warn(
                    format!("{at}.containers[{k}]"),
                    "accepted without effect: the profile has no container of that name",
                ),
            }
        }
    }

    /// The addresses of the group at /etc/rbg.
    fn mount_config(&self, template: &mut Value) {
        let spec = object(template, "spec");
        let volumes = spec["volumes"].as_array().into_iter().flatten();
        if !volumes.into_iter().any(|volume| volume["name"] == CONFIG) {
            let mut volume = json!({"name": self.group.name});
            if !self.group.names.of_set {
                volume["items"] = json!([{"key": "config.yaml", "path": "config.yaml"}]);
            }
            push(spec, "volumes", json!({"name": CONFIG, "configMap": volume}));
        }
        let mut mount = json!({"name": CONFIG, "mountPath": "/etc/rbg", "readOnly": true});
        if self.group.names.of_set {
            // One template for all groups: each reads the file of its own name.
            mount["mountPath"] = json!("/etc/rbg/config.yaml");
            mount["subPathExpr"] = json!("$(RBG_GROUP_NAME).yaml");
        }
        for container in spec["containers"].as_array_mut().into_iter().flatten().filter(|it| it.is_object()) {
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            let taken = |old: &Value| old["mountPath"] == "/etc/rbg" || old["name"] == CONFIG;
            if !mounts.into_iter().any(taken) {
                push(container, "volumeMounts", mount.clone());
            }
        }
    }

    /// One group to a domain, all of it there, and no other group with it.
    fn keep_apart(&self, template: &mut Value) {
        let keys = [format!("{PREFIX}group-exclusive-topology"), format!("{OLD_PREFIX}exclusive-topology")];
        let Some(topology) = keys.iter().find_map(|key| self.group.annotations.get(key)) else { return };
        let off =
            [format!("{PREFIX}role-disable-exclusive"), format!("{OLD_PREFIX}disable-exclusive-topology")];
        let said = |key: &String| template["metadata"]["annotations"][key.as_str()] == "true";
        if topology.is_empty() || off.iter().any(said) {
            return;
        }
        let term = |keys: &str| {
            json!({
                "topologyKey": topology,
                "labelSelector": {"matchExpressions": [{"key": ROLE_NAME, "operator": "Exists"}]},
                keys: [GROUP_NAME],
            })
        };
        let affinity = object(object(template, "spec"), "affinity");
        const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
        push(object(affinity, "podAffinity"), REQUIRED, term("matchLabelKeys"));
        push(object(affinity, "podAntiAffinity"), REQUIRED, term("mismatchLabelKeys"));
    }
}

/// Env and args are added, a command takes the place of the profile's.
fn change_container(container: &mut Value, change: &Value) {
    for list in ["env", "args"] {
        for item in change[list].as_array().into_iter().flatten() {
            if list == "env"
                && let Some(Value::Array(old)) = container.get_mut("env")
            {
                old.retain(|old| old["name"] != item["name"]);
            }
            push(container, list, item.clone());
        }
    }
    if change["command"].is_array() {
        container["command"] = change["command"].clone();
    }
}

/// Labels or annotations that the template does not have itself.
pub(crate) fn add_missing(template: &mut Value, field: &str, given: &BTreeMap<String, String>) {
    if given.is_empty() || !template.is_object() {
        return;
    }
    let map = object(object(template, "metadata"), field);
    for (key, value) in given {
        if map.get(key).is_none_or(Value::is_null) {
            map[key] = json!(value);
        }
    }
}

/// The object in a field, made if it is not there. What is something else is left for others to complain about.
fn object<'a>(value: &'a mut Value, field: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    if !value[field].is_object() {
        value[field] = json!({});
    }
    &mut value[field]
}

/// Adds an item to a list, made if it is not there.
fn push(value: &mut Value, field: &str, item: Value) {
    if let Some(Value::Array(items)) = value.get_mut(field) {
        items.push(item);
    } else if value.is_object() {
        value[field] = json!([item]);
    }
}
