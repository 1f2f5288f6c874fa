//! What stands beside the set: a handle for each part of each replica, autoscalers, services.
//!
//! A set has one number for each role, in all of its groups. So whoever scales a part of one replica scales it in all.
//! The handle remembers the template's number and ours: a changed template wins over an old scale.

use lockstep_api::label;
use lockstep_core::number::Limits;
use serde_json::{Map, Value, json};

use super::form::{Form, Part};
use super::identity::{CLIQUE, COMPONENT, GROUP, GROUP_POD, MANAGED_BY, NAME, PART_OF, REPLICA};
use super::spec::SetStrategyType;
use super::{claims, kinds};
use crate::kind::Kind;
use crate::world::World;

/// The number in the template when the handle was last written.
const OF_TEMPLATE: &str = "lockstep.dev/replicas-of-template";
/// The number that we wrote last: where it differs, somebody has scaled.
const OURS: &str = label::TAKEN_OVER;

/// The kind of handle a part has.
pub(super) fn kind(part: &Part<'_>) -> &'static Kind {
    if part.group.is_some() { &kinds::SCALING_GROUP } else { &kinds::CLIQUE }
}

/// The name of the handle of a part in one replica.
pub(super) fn name(form: &Form<'_>, replica: u32, part: &Part<'_>) -> String {
    format!("{}-{replica}-{}", form.name, part.name)
}

/// The handles of a part that stand, with the number each has now, that of the first replica first.
fn standing<'a>(form: &Form<'_>, part: &Part<'_>, world: &'a World) -> Vec<(&'a Value, u32)> {
    let handle = |object: &'a Value| {
        let name = object["metadata"]["name"].as_str()?.strip_prefix(form.name)?.strip_prefix('-')?;
        let replica: u32 = name.strip_suffix(part.name)?.strip_suffix('-')?.parse().ok()?;
        let number = u32::try_from(object["spec"]["replicas"].as_u64()?).ok()?;
        let ours = object["metadata"]["labels"][PART_OF] == form.name && replica < form.spec.replicas;
        ours.then_some((replica, object, number))
    };
    let mut handles: Vec<(u32, &Value, u32)> = world.of(kind(part)).filter_map(handle).collect();
    handles.sort_by_key(|(replica, ..)| *replica);
    handles.into_iter().map(|(_, object, number)| (object, number)).collect()
}

/// How many instances of a part are wished for: what somebody scaled it to since the template last changed, else what
/// the template says.
pub(super) fn wished(form: &Form<'_>, part: &Part<'_>, world: &World) -> u32 {
    let template = part.replicas.value;
    let noted = |object: &Value, key: &str| -> Option<u32> {
        object["metadata"]["annotations"][key].as_str()?.parse().ok()
    };
    let handles = standing(form, part, world);
    // A handle that we did not write is Grove's own: what an autoscaler made of it there holds on.
    let is_current = |object: &Value| match noted(object, OF_TEMPLATE) {
        Some(of_template) => of_template == template,
        None => part.scaling.is_some(),
    };
    let current: Vec<&(&Value, u32)> = handles.iter().filter(|(object, _)| is_current(object)).collect();
    let scaled = current.iter().find(|(object, number)| noted(object, OURS) != Some(*number));
    let number = scaled.or(current.first()).map_or(template, |(_, number)| *number);
    number.min(super::spec::MOST)
}

/// How many instances of a part run: none while it is idle, else at least as many as have to be available.
pub(super) fn running(form: &Form<'_>, part: &Part<'_>, world: &World) -> u32 {
    match wished(form, part, world) {
        0 => 0,
        number => number.max(part.min_available.value),
    }
}

/// Everything that stands beside the set.
pub(super) fn beside(form: &Form<'_>, world: &World) -> Vec<Value> {
    let mut all = services(form);
    for part in &form.parts {
        let wished = wished(form, part, world);
        all.extend((0..form.spec.replicas).map(|replica| handle(form, replica, part, wished)));
        all.extend(autoscaler(form, part));
    }
    all.extend(claims::objects(form, world));
    all
}

fn labels(form: &Form<'_>, name: &str, component: &str) -> Map<String, Value> {
    let pairs = [MANAGED_BY, (PART_OF, form.name), (NAME, name), (COMPONENT, component)];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

fn handle(form: &Form<'_>, replica: u32, part: &Part<'_>, wished: u32) -> Value {
    let name = name(form, replica, part);
    let component = if part.group.is_some() { "pcs-podcliquescalinggroup" } else { "pcs-podclique" };
    let mut labels = labels(form, &name, component);
    labels.insert(REPLICA.to_owned(), json!(replica.to_string()));
    let own = part.group.map(|group| &group.annotations);
    let mut annotations: Map<String, Value> =
        own.into_iter().flatten().map(|(key, value)| (key.clone(), json!(value))).collect();
    annotations.insert(OF_TEMPLATE.to_owned(), json!(part.replicas.value.to_string()));
    annotations.insert(OURS.to_owned(), json!(wished.to_string()));
    let mut spec = json!({"replicas": wished, "minAvailable": part.min_available.value});
    match (part.group, part.cliques.as_slice()) {
        (None, [clique]) => {
            let (role, after) = (&clique.template.spec.role_name, &clique.template.spec.starts_after);
            spec["roleName"] = json!(role.as_deref().unwrap_or(part.name));
            if !after.is_empty() {
                spec["startsAfter"] = json!(after);
            }
            for (key, value) in &clique.template.labels {
                labels.entry(key.clone()).or_insert_with(|| json!(value));
            }
        }
        (_, cliques) => {
            spec["cliqueNames"] = cliques.iter().map(|clique| json!(clique.template.name)).collect();
        }
    }
    let mut metadata = form.metadata(&name, labels);
    metadata["annotations"] = Value::Object(annotations);
    json!({
        "apiVersion": kind(part).api_version(),
        "kind": kind(part).kind,
        "metadata": metadata,
        "spec": spec,
    })
}

/// The pods that an autoscaler measures: one for each instance, of one replica of the set.
pub(super) fn selector(form: &Form<'_>, replica: u32, part: &Part<'_>) -> String {
    let name = name(form, replica, part);
    match part.group {
        Some(_) => format!("{PART_OF}={},{GROUP}={name},{GROUP_POD}=0", form.name),
        None => format!("{PART_OF}={},{CLIQUE}={name}", form.name),
    }
}

/// One autoscaler for a part, on its handle in the first replica: there is one number for all of them.
fn autoscaler(form: &Form<'_>, part: &Part<'_>) -> Option<Value> {
    let (scaling, _) = part.scaling.as_ref()?;
    if form.spec.replicas == 0 {
        return None;
    }
    let name = name(form, 0, part);
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": kind(part).api_version(), "kind": kind(part).kind, "name": name},
        // Down to nothing it goes by hand.
        "minReplicas": scaling.min_replicas.unwrap_or(part.replicas.value).max(1),
        "maxReplicas": scaling.max_replicas,
    });
    if !scaling.metrics.is_empty() {
        spec["metrics"] = json!(scaling.metrics);
    }
    Some(json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": form.metadata(&name, labels(form, &name, "pcs-hpa")),
        "spec": spec,
    }))
}

/// The headless services, where they are not as the set makes them by itself.
fn services(form: &Form<'_>) -> Vec<Value> {
    let config = form.spec.template.headless_service_config.as_ref();
    if config.and_then(|it| it.publish_not_ready_addresses) != Some(false) {
        return Vec::new();
    }
    let service = |replica: u32| {
        let name = format!("{}-{replica}", form.name);
        let mut labels = labels(form, &name, "pcs-headless-service");
        labels.insert(REPLICA.to_owned(), json!(replica.to_string()));
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": form.metadata(&name, labels),
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": false,
                "selector": {MANAGED_BY.0: MANAGED_BY.1, PART_OF: form.name, REPLICA: replica.to_string()},
            },
        })
    };
    (0..form.spec.replicas + surge(form)).map(service).collect()
}

/// How many replicas may stand beyond those wished for.
pub(super) fn surge(form: &Form<'_>) -> u32 {
    let limits = form.spec.update_strategy.as_ref().and_then(|it| it.rolling_update.as_ref());
    let Some(surge) = limits.and_then(|it| it.max_surge) else { return 0 };
    if form.strategy() != SetStrategyType::ReplicaRecreate {
        return 0;
    }
    Limits::resolve(surge, surge, form.spec.replicas).surge
}
