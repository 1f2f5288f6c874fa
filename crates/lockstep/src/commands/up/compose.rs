//! From what is known of the cluster to what is on the screen. Pure.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use lockstep_api::label;
use lockstep_api::status::LockstepSetStatus;
use lockstep_core::time::Time;
use serde_json::Value;

use super::world::World;
use super::{contents, machines};
use crate::input::live_set::{LiveSet, moment};
use crate::show::tree::{self, Instance};
use crate::show::trouble;
use crate::show::why::explain;
use crate::view::scene::{NodeScene, RoleScene, RuleScene, SetScene, State, Tone};

/// A set as it is shown. `starter` is the command that runs an operator, where none runs in this process.
pub fn set_scene(set: &LiveSet, world: &World, starter: Option<&str>, now: Time) -> SetScene {
    let status = &set.status;
    let rollout = &status.rollout;
    let (phase, tone) = phase(set, starter);
    let over = matches!(phase, "Complete" | "PartitionReached" | "RolledBack");
    let began = rollout.phase_since.as_deref().and_then(moment).filter(|_| !over && set.is_seen());
    let (why, why_short) = why(set, world, starter, now);
    SetScene {
        over_clusters: false,
        name: set.name.clone(),
        namespace: set.namespace.clone(),
        phase: phase.to_owned(),
        tone,
        since: began.map(|began| now.since(began)),
        names: names(set, world),
        groups: status.replicas,
        groups_ready: status.ready_replicas,
        groups_updated: status.updated_replicas,
        goes_back: matches!(phase, "RollingBack" | "RolledBack"),
        in_update: rollout.groups_in_update.clone(),
        conditions: conditions(set, world),
        roles: roles(set, world),
        rules: rules(set),
        why,
        why_short,
    }
}

/// Nobody has ever looked at it.
fn is_new(set: &LiveSet) -> bool {
    set.status.rollout.phase.is_empty() && set.refusal().is_none()
}

fn phase<'a>(set: &'a LiveSet, starter: Option<&str>) -> (&'a str, Tone) {
    if !set.is_seen() {
        return (if is_new(set) && starter.is_some() { "No operator" } else { "Unseen" }, Tone::Warn);
    }
    let phase = set.status.rollout.phase.as_str();
    let tone = match phase {
        "Complete" | "PartitionReached" => Tone::Good,
        "Stalled" | "RolledBack" => Tone::Bad,
        _ => Tone::Warn,
    };
    (phase, tone)
}

/// What it is made of, or goes from and to: with the images, as far as they are known, and by its revisions.
fn names(set: &LiveSet, world: &World) -> Vec<String> {
    let known = &set.status.revision;
    // On the way back it comes from what the spec wishes for.
    let left = set.overridden().filter(|_| set.status.rollout.phase == "RollingBack");
    let from = left.map(|left| left.spec.to_string()).or_else(|| known.stable.clone());
    let from = from.filter(|from| *from != known.update);
    let hashes = match &from {
        Some(from) => format!("{from} → {}", known.update),
        None => known.update.clone(),
    };
    let contents = world.stored(set, &known.update).map(|to| {
        let from = from.as_ref().map(|from| world.stored(set, from));
        match from {
            // What it comes from is forgotten.
            Some(None) => Vec::new(),
            from => contents::names(from.flatten().as_ref(), &to),
        }
    });
    let contents = contents.unwrap_or_default();
    let both = contents.first().map(|first| format!("{first}  ({hashes})"));
    both.into_iter().chain(contents).chain([hashes]).filter(|name| !name.is_empty()).collect()
}

/// The conditions in words. Of a set that went back they say less than what it still wishes for.
fn conditions(set: &LiveSet, world: &World) -> Vec<(String, Tone)> {
    if let Some(left) = set.overridden().filter(|_| set.status.rollout.phase == "RolledBack") {
        let wished = world.stored(set, left.spec.as_str()).map(|wished| {
            let now = world.stored(set, &set.status.revision.update);
            contents::names(now.as_ref(), &wished)
        });
        let wished = wished.and_then(|names| names.into_iter().last());
        let wished = wished.unwrap_or_else(|| left.spec.to_string());
        return vec![(format!("its spec still wishes for {wished}"), Tone::Bad)];
    }
    let word = |kind: &str, holds: bool| match (kind, holds) {
        ("Ready", true) => Some((kind.to_owned(), Tone::Good)),
        ("Ready", false) => Some(("not Ready".to_owned(), Tone::Quiet)),
        ("Stalled", true) => Some((kind.to_owned(), Tone::Bad)),
        (_, true) => Some((kind.to_owned(), Tone::Warn)),
        // What does not hold and is not wished for needs no word.
        (_, false) => None,
    };
    set.status.conditions.iter().filter_map(|it| word(&it.type_, it.status == "True")).collect()
}

/// What it waits for, in the words of `lockstep why`; and in short.
fn why(set: &LiveSet, world: &World, starter: Option<&str>, now: Time) -> (String, String) {
    if let Some(starter) = starter.filter(|_| is_new(set)) {
        let text = format!(
            "No operator runs in this process, so nobody looks at {} and nothing moves. In another terminal this starts \
             one:\n  {starter}\n",
            set.name
        );
        return (text.clone(), text);
    }
    let parsed = set.parse(&world.scales_of(set)).ok();
    let spec = parsed.and_then(|parsed| serde_json::to_value(&parsed.set.spec).ok()).unwrap_or_default();
    let mut why = explain(set, &spec, now);
    let lost = trouble::lost(world.nodes.objects.values());
    why.of_pods(trouble::troubles(pods_of(set, world), &lost));
    (why.text(), why.short())
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
            "metadata": {"name": "chat", "namespace": "ml", "generation": 3, "uid": "u"},
            "spec": {"coordination": rules, "roles": []},
            "status": {"observedGeneration": 3, "replicas": 1, "roles": [role("prefill", 2), role("decode", 2)],
                       "revision": {"stable": "a1", "update": "b2"},
                       "rollout": {"phase": "Progressing", "coordination": skew,
                                   "startedAt": "1970-01-01T00:00:01Z", "phaseSince": "1970-01-01T00:00:10Z"}},
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
        let scene = set_scene(&world.sets()[0], &world, None, Time(15_000));
        let role = |scene: &RoleScene| (scene.wished, scene.instances.clone(), scene.beyond.clone());
        assert_eq!(role(&scene.roles[0]), (2, vec![State::Old, State::Broken], vec![State::Coming]));
        assert_eq!(role(&scene.roles[1]), (2, vec![State::New, State::Missing], vec![]));
        assert_eq!(scene.since.unwrap().0, 5_000, "of the phase, not of the rollout");
        assert_eq!((scene.phase.as_str(), scene.names), ("Progressing", vec!["a1 → b2".to_owned()]));
    }

    fn stored(hash: &str, owner: &str, image: &str) -> Change {
        let template = json!({"spec": {"containers": [{"name": "main", "image": image}]}});
        let content =
            json!({"members": [{"name": "web", "count": 1, "template": template}], "identity": null});
        Change::Revision(listed(json!({
            "metadata": {
                "name": format!("chat-{hash}-{owner}"), "namespace": "ml",
                "labels": {label::SET: "chat", label::SET_REVISION: hash},
                "ownerReferences": [{"apiVersion": "v1", "kind": "LockstepSet", "name": "chat", "uid": owner}],
            },
            "revision": 1,
            "data": {"roles": {"web": {"revision": hash, "content": content, "layout": []}}},
        })))
    }

    #[test]
    fn revisions_by_their_images() {
        let mut world = world();
        let names = |world: &World| set_scene(&world.sets()[0], world, None, Time(0)).names;
        world.see(stored("b2", "u", "r.example/chat:v2"));
        world.see(stored("a1", "another", "of an earlier set"));
        assert_eq!(names(&world), ["a1 → b2"], "what it comes from is not known");
        world.see(stored("a1", "u", "r.example/chat:v1"));
        assert_eq!(
            names(&world),
            ["r.example/chat:v1 → v2  (a1 → b2)", "r.example/chat:v1 → v2", "chat:v1 → v2", "a1 → b2"]
        );
    }

    /// A set that went back from b2 to a1, or is on its way.
    fn sent_back(phase: &str) -> World {
        let mut world = world();
        for (hash, image) in [("a1", "r.example/chat:v1"), ("b2", "r.example/chat:v2-bad")] {
            world.see(stored(hash, "u", image));
        }
        world.see(Change::Set(listed(json!({
            "metadata": {"name": "chat", "namespace": "ml", "generation": 3, "uid": "u"}, "spec": {"roles": []},
            "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2,
                       "revision": {"stable": "a1", "update": "a1"}, "rollout": {"phase": phase},
                       "conditions": [{"type": "Stalled", "status": "True", "reason": phase, "message": "",
                                       "lastTransitionTime": "1970-01-01T00:00:00Z"}],
                       "memory": {"overridden": {"spec": "b2", "by": "Rollback"}}},
        }))));
        world
    }

    #[test]
    fn what_went_back_says_from_where_and_what_is_still_wished_for() {
        let back = |phase: &str| {
            let world = sent_back(phase);
            set_scene(&world.sets()[0], &world, None, Time(0))
        };
        let on_its_way = back("RollingBack");
        assert_eq!(on_its_way.names[1], "r.example/chat:v2-bad → v1");
        assert_eq!(on_its_way.conditions, [("Stalled".to_owned(), Tone::Bad)]);
        let there = back("RolledBack");
        assert_eq!(there.names[1], "r.example/chat:v1");
        let said = "its spec still wishes for chat:v1 → v2-bad".to_owned();
        assert_eq!(there.conditions, [(said, Tone::Bad)]);
        assert!(there.goes_back && on_its_way.goes_back);
    }

    #[test]
    fn where_no_operator_runs_it_is_said_how_one_starts() {
        let mut world = World::default();
        let set = |phase: Value| {
            Change::Set(listed(json!({
                "metadata": {"name": "chat", "namespace": "ml", "generation": 3}, "spec": {"roles": []},
                "status": {"observedGeneration": 2, "rollout": {"phase": phase}},
            })))
        };
        world.see(set(json!("")));
        let scene = set_scene(&world.sets()[0], &world, Some("KUBECONFIG=k lockstep operator"), Time(0));
        assert_eq!(scene.phase, "No operator");
        assert!(scene.why.contains("\n  KUBECONFIG=k lockstep operator\n"), "{}", scene.why);
        assert_eq!(set_scene(&world.sets()[0], &world, None, Time(0)).phase, "Unseen");
        world.see(set(json!("Complete")));
        let late = set_scene(&world.sets()[0], &world, Some("KUBECONFIG=k lockstep operator"), Time(0));
        assert_eq!(late.phase, "Unseen", "there is one, and it is late");
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
