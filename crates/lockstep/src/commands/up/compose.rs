//! From what is known of the cluster to what is on the screen. Pure.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use lockstep_api::label;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::time::Time;
use serde_json::Value;

use super::machines;
use super::world::World;
use crate::input::live_set::{LiveSet, moment};
use crate::show::tree::{self, Instance};
use crate::show::trouble;
use crate::show::why::explain;
use crate::view::scene::{NodeScene, RoleScene, RuleScene, SetScene, State, Tone};

/// A set as it is shown.
pub fn set_scene(set: &LiveSet, world: &World, now: Time) -> SetScene {
    let status = &set.status;
    let rollout = &status.rollout;
    let (phase, tone) = phase(set);
    let over = matches!(phase, "Complete" | "PartitionReached" | "RolledBack");
    let started = rollout.started_at.as_deref().and_then(moment).filter(|_| !over);
    let revision = match &status.revision.stable {
        Some(stable) if *stable != status.revision.update => format!("{stable} → {}", status.revision.update),
        _ => status.revision.update.clone(),
    };
    SetScene {
        over_clusters: false,
        name: set.name.clone(),
        namespace: set.namespace.clone(),
        phase: phase.to_owned(),
        tone,
        rolling: started.map(|started| now.since(started)),
        revision,
        groups: status.replicas,
        groups_ready: status.ready_replicas,
        groups_updated: status.updated_replicas,
        in_update: rollout.groups_in_update.clone(),
        conditions: status.conditions.iter().map(|c| (c.type_.clone(), c.status == "True")).collect(),
        roles: roles(set, world),
        rules: rules(set),
        why: why(set, world, now),
    }
}

fn phase(set: &LiveSet) -> (&str, Tone) {
    if !set.is_seen() {
        return ("Unseen", Tone::Warn);
    }
    let phase = set.status.rollout.phase.as_str();
    let tone = match phase {
        "Complete" | "PartitionReached" => Tone::Good,
        "Stalled" | "RolledBack" => Tone::Bad,
        _ => Tone::Warn,
    };
    (phase, tone)
}

/// In the words of `lockstep why`.
fn why(set: &LiveSet, world: &World, now: Time) -> String {
    let parsed = set.parse(&world.scales_of(set)).ok();
    let spec = parsed.and_then(|parsed| serde_json::to_value(&parsed.set.spec).ok()).unwrap_or_default();
    let mut why = explain(set, &spec, now);
    let lost = trouble::lost(world.nodes.objects.values());
    why.of_pods(trouble::troubles(pods_of(set, world), &lost));
    why.text()
}

/// The pods of a set.
fn pods_of<'a>(set: &'a LiveSet, world: &'a World) -> impl Iterator<Item = &'a Pod> {
    world.pods.objects.iter().filter(|((namespace, _), _)| *namespace == set.namespace).filter_map(
        |(_, pod)| {
            let of = pod.labels().get(label::SET)?;
            (*of == set.name).then_some(pod)
        },
    )
}

fn roles(set: &LiveSet, world: &World) -> Vec<RoleScene> {
    let tree = tree::grow(set, pods_of(set, world));
    let mut roles = Vec::new();
    for group in &tree.groups {
        for role in &group.roles {
            let update = update_of(&set.status, &role.role);
            let states = |beyond: bool| {
                let instances = role.instances.iter().filter(|i| (i.instance >= role.replicas) == beyond);
                instances.map(|instance| instance_state(instance, update)).collect()
            };
            roles.push(RoleScene {
                group: Some(group.group),
                role: role.role.clone(),
                wished: role.replicas,
                instances: states(false),
                beyond: states(true),
            });
        }
    }
    roles
}

/// The revision wished for of a role; nothing has it, if the role has left the set.
fn update_of<'a>(status: &'a LockstepSetStatus, role: &str) -> &'a str {
    let role = status.roles.iter().find(|known| known.name == role);
    role.map(|role| role.revision.update.as_str()).unwrap_or_default()
}

fn instance_state(instance: &Instance, update: &str) -> State {
    let pods = &instance.pods;
    let new = pods.iter().all(|pod| pod.revision == update);
    match () {
        () if pods.is_empty() => State::Missing,
        () if pods.iter().any(|pod| pod.terminating) => State::Leaving,
        () => state(new, instance.is_ready()),
    }
}

fn state(new: bool, ready: bool) -> State {
    match (new, ready) {
        (true, true) => State::New,
        (true, false) => State::Coming,
        (false, true) => State::Old,
        (false, false) => State::Broken,
    }
}

/// Where the rules stand; those under which nothing is under way are at rest.
fn rules(set: &LiveSet) -> Vec<RuleScene> {
    let said = &set.status.rollout.coordination;
    let mut rules: Vec<RuleScene> = said
        .iter()
        .map(|rule| RuleScene {
            rule: format!("{} in {}-{}", rule.rule, set.name, rule.group),
            step: rule.step.zip(rule.of),
            text: rule.text.clone(),
            at_rest: false,
        })
        .collect();
    for rule in set.spec()["coordination"].as_array().into_iter().flatten() {
        let name = rule["name"].as_str().unwrap_or_default();
        if !said.iter().any(|known| known.rule == name) {
            let text = format!("{}, at rest", rule_text(rule));
            rules.push(RuleScene { rule: name.to_owned(), step: None, text, at_rest: true });
        }
    }
    rules
}

/// What a rule is about, in short.
fn rule_text(rule: &Value) -> String {
    let mut parts = Vec::new();
    let skew = rule.get("rollingUpdate").or_else(|| rule.get("skew"));
    if let Some(skew) = skew {
        let most = &skew["maxSkew"];
        parts.push(format!(
            "skew of at most {}",
            most.as_str().map_or_else(|| most.to_string(), str::to_owned)
        ));
    }
    if let Some(steps) = rule["steps"].as_array() {
        parts.push(crate::show::words::count(steps.len() as u64, "step"));
    }
    if rule.get("affinityScheduling").or_else(|| rule.get("affinity")).is_some() {
        parts.push("batches".to_owned());
    }
    if rule.get("scaling").is_some() {
        parts.push("growth side by side".to_owned());
    }
    parts.join(", ")
}

/// The nodes as they are shown, and the pods of the set that are on none.
pub fn node_scenes(set: Option<&LiveSet>, world: &World, lost: &[String]) -> Vec<NodeScene> {
    let nodes = world.nodes.objects.values();
    let pods: Vec<&Pod> = world.pods.objects.values().collect();
    let mut scenes: Vec<NodeScene> = nodes
        .map(|node| {
            let name = node.name_any();
            let here: Vec<&Pod> = pods.iter().copied().filter(|pod| machines::node_of(pod) == name).collect();
            let mut scene = machines::scene(node, &here);
            if lost.contains(&name) {
                (scene.state, scene.tone) = (format!("lost, {}", scene.state), Tone::Bad);
            }
            scene.pods = machines::dots(&here, |pod| pod_place(set, pod));
            scene
        })
        .collect();
    let nowhere: Vec<&Pod> = pods
        .iter()
        .copied()
        .filter(|pod| machines::node_of(pod).is_empty() && pod_place(set, pod).0.is_some())
        .collect();
    if !nowhere.is_empty() {
        let pods = machines::dots(&nowhere, |pod| pod_place(set, pod));
        let (name, state) = ("no node".to_owned(), "waiting".to_owned());
        scenes.push(NodeScene { name, state, tone: Tone::Warn, gpus: None, pods });
    }
    scenes
}

/// The place of a pod's role among those of the set, if it is of the set, and how the pod is.
fn pod_place(set: Option<&LiveSet>, pod: &Pod) -> (Option<usize>, State) {
    let ready = crate::show::pod_state::is_ready(pod);
    let leaving = pod.metadata.deletion_timestamp.is_some();
    let labels = pod.labels();
    let ours = set.filter(|set| {
        labels.get(label::SET) == Some(&set.name) && pod.namespace().as_ref() == Some(&set.namespace)
    });
    let role = labels.get(label::ROLE).map(String::as_str).unwrap_or_default();
    let place = ours.and_then(|set| set.status.roles.iter().position(|known| known.name == role));
    let new = ours.is_none_or(|set| {
        labels.get(label::REVISION).is_some_and(|revision| *revision == update_of(&set.status, role))
    });
    (place, if leaving { State::Leaving } else { state(new, ready) })
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::super::world::Change;
    use super::*;

    fn listed<K: DeserializeOwned>(object: Value) -> Box<Event<K>> {
        Box::new(Event::Apply(serde_json::from_value(object).unwrap()))
    }

    fn pod(role: &str, instance: u32, revision: &str, ready: bool, node: Value) -> Change {
        let labels = json!({
            label::SET: "chat", label::GROUP: "0", label::ROLE: role, label::INSTANCE: instance.to_string(),
            label::REVISION: revision,
        });
        let limits = json!({"limits": {"nvidia.com/gpu": "2"}});
        let ready = if ready { "True" } else { "False" };
        Change::Pod(listed(json!({
            "metadata": {"name": format!("chat-0-{role}-{instance}"), "namespace": "ml", "labels": labels},
            "spec": {"nodeName": node, "containers": [{"name": "engine", "resources": limits}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })))
    }

    /// Two decode workers, one new and one not there; three prefill workers, one of them surge.
    fn world() -> World {
        let mut world = World::default();
        let role = |name: &str, replicas: u32| {
            json!({"name": name, "replicas": replicas,
                                                      "revision": {"stable": "a1", "update": "b2"}})
        };
        let rules =
            json!([{"name": "canary", "steps": [{}, {}]}, {"name": "together", "skew": {"maxSkew": "5%"}}]);
        let skew = json!([{"group": 0, "rule": "together", "text": "skew 0.0%, allowed 5%"}]);
        world.see(Change::Set(listed(json!({
            "metadata": {"name": "chat", "namespace": "ml", "generation": 3},
            "spec": {"coordination": rules, "roles": []},
            "status": {"observedGeneration": 3, "replicas": 1, "roles": [role("prefill", 2), role("decode", 2)],
                       "revision": {"stable": "a1", "update": "b2"},
                       "rollout": {"phase": "Progressing", "coordination": skew,
                                   "startedAt": "1970-01-01T00:00:10Z"}},
        }))));
        world.see(Change::Node(listed(json!({
            "metadata": {"name": "node-0"}, "spec": {"unschedulable": true},
            "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]},
        }))));
        for change in [
            pod("prefill", 0, "a1", true, json!("node-0")),
            pod("prefill", 1, "a1", false, json!("node-0")),
            pod("prefill", 2, "b2", false, Value::Null),
            pod("decode", 0, "b2", true, json!("node-0")),
        ] {
            world.see(change);
        }
        world
    }

    #[test]
    fn roles_by_instance_against_what_is_wished_for() {
        let world = world();
        let scene = set_scene(&world.sets()[0], &world, Time(15_000));
        let role = |scene: &RoleScene| (scene.wished, scene.instances.clone(), scene.beyond.clone());
        assert_eq!(role(&scene.roles[0]), (2, vec![State::Old, State::Broken], vec![State::Coming]));
        assert_eq!(role(&scene.roles[1]), (2, vec![State::New, State::Missing], vec![]));
        assert_eq!(scene.rolling.unwrap().0, 5_000);
        assert_eq!((scene.phase.as_str(), scene.revision.as_str()), ("Progressing", "a1 → b2"));
    }

    #[test]
    fn rules_that_say_nothing_are_at_rest() {
        let world = world();
        let rules = rules(&world.sets()[0]);
        let told: Vec<(&str, &str, bool)> =
            rules.iter().map(|rule| (rule.rule.as_str(), rule.text.as_str(), rule.at_rest)).collect();
        assert_eq!(
            told,
            [("together in chat-0", "skew 0.0%, allowed 5%", false), ("canary", "2 steps, at rest", true)]
        );
    }

    #[test]
    fn nodes_and_what_is_on_them() {
        let world = world();
        let sets = world.sets();
        let nodes = node_scenes(Some(&sets[0]), &world, &[]);
        let pods = |node: &NodeScene| node.pods.iter().map(|pod| (pod.role, pod.state)).collect::<Vec<_>>();
        assert_eq!((nodes[0].state.as_str(), nodes[0].gpus), ("Ready, cordoned", Some((6, 8))));
        assert_eq!(pods(&nodes[0]), [(Some(0), State::Old), (Some(0), State::Broken), (Some(1), State::New)]);
        assert_eq!((nodes[1].name.as_str(), pods(&nodes[1])), ("no node", vec![(Some(0), State::Coming)]));
        let lost = node_scenes(None, &world, &["node-0".to_owned()]);
        assert_eq!((lost[0].state.as_str(), lost[0].tone), ("lost, Ready, cordoned", Tone::Bad));
        assert_eq!((lost.len(), lost[0].pods[0].role), (1, None), "pods of no set that is shown");
    }
}
