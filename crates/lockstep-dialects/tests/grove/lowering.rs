//! What becomes of whole manifests.

use lockstep_api::{GangScheduler, RestartType, UpdateType};
use lockstep_core::number::IntOrPercent::Int;
use lockstep_dialects::{Served, World};
use serde_json::{Value, json};

use crate::support::{lower, lower_in, object, said, yaml};

fn documents(text: &str) -> (Value, World) {
    let mut all: Vec<Value> = text.split("\n---\n").map(yaml).collect();
    let set = all.remove(0);
    (set, World { objects: all, ..World::default() })
}

#[test]
fn every_manifest_is_accepted_and_rolls() {
    for text in [
        include_str!("../manifests/grove/leader-worker.yaml"),
        include_str!("../manifests/grove/everything.yaml"),
        include_str!("../manifests/grove/in-order.yaml"),
    ] {
        let (set, world) = documents(text);
        let lowered = lower_in(&set, &world);
        assert_eq!(lowered.prove(None).problem(), None);
    }
}

#[test]
fn leader_and_workers() {
    let set = lower(&yaml(include_str!("../manifests/grove/leader-worker.yaml"))).set;
    assert_eq!(set.metadata.namespace.as_deref(), Some("ml"));
    assert_eq!(set.spec.gang.termination_delay.map(|it| it.to_string()).as_deref(), Some("4h"));
    let [frontend, model] = set.spec.roles.as_slice() else { panic!("two roles") };
    assert_eq!((frontend.replicas, frontend.min_available), (2, Some(Int(1))));
    let template = frontend.template.as_ref().expect("a template");
    assert_eq!(
        template["metadata"],
        json!({"labels": {"tier": "edge", "app.kubernetes.io/name": "mine"}, "annotations": {"note": "front"}})
    );
    assert_eq!(template["spec"]["priorityClassName"], "serving");
    assert_eq!(template["spec"]["schedulerName"], "kai-scheduler");
    let members: Vec<_> =
        model.members.iter().map(|it| (it.name.as_str(), it.count, it.min_available)).collect();
    assert_eq!(members, [("leader", 1, Some(1)), ("worker", 2, Some(1))]);
    assert_eq!(model.members[1].template["spec"]["priorityClassName"], "batch");
    // Containers are the kubelet's business; there is only gang termination.
    assert!(set.spec.roles.iter().all(|role| role.restart_type() == RestartType::None));
}

#[test]
fn defaults() {
    let set = lower(&object("template:\n  cliques: [{name: a, spec: {podSpec: $P}}]")).set;
    assert_eq!((set.spec.replicas, set.spec.update_strategy.kind), (0, UpdateType::RollingUpdate));
    assert_eq!(set.spec.gang.termination_delay.map(|it| it.to_string()).as_deref(), Some("4h"));
    assert_eq!((set.spec.roles[0].replicas, set.spec.roles[0].min_available), (1, Some(Int(1))));
}

#[test]
fn start_order() {
    let set = lower(&yaml(include_str!("../manifests/grove/in-order.yaml"))).set;
    let order: Vec<_> =
        set.spec.roles.iter().map(|role| (role.name.as_str(), role.starts_after.clone())).collect();
    assert_eq!(order, [("pc-a", vec![]), ("sg-x", vec!["pc-a".to_owned()])]);
}

/// What each clique of scaling group `sg` (b, c, d and e) starts after.
fn inside(startup: &str, cliques: &str) -> Vec<String> {
    let set = lower(&object(&format!(
        "replicas: 1\ntemplate:\n  cliqueStartupType: CliqueStartupType{startup}\n  cliques: [{cliques}]\n  \
         podCliqueScalingGroups: [{{name: sg, cliqueNames: [b, c, d, e]}}]"
    )))
    .set;
    let group = set.spec.roles.iter().find(|role| role.name == "sg").expect("sg");
    let ordered = group.members.iter().filter(|member| !member.starts_after.is_empty());
    ordered.map(|member| format!("{} after {}", member.name, member.starts_after.join(" and "))).collect()
}

#[test]
fn start_order_inside_a_scaling_group() {
    let clique = |name: &str, more: &str| format!("{{name: {name}, spec: {{{more}podSpec: $P}}}}");
    let plain = |names: [&str; 5]| names.map(|name| clique(name, "")).join(", ");
    assert_eq!(inside("InOrder", &plain(["b", "c", "d", "e", "a"])), ["c after b", "d after c", "e after d"]);
    let around = inside("InOrder", &plain(["b", "a", "c", "d", "e"]));
    assert_eq!(around, ["c after b", "d after c", "e after d"], "through a, which is outside");
    let idle =
        plain(["b", "c", "d", "e", "a"]).replace("{name: c, spec: {", "{name: c, spec: {replicas: 0, ");
    assert_eq!(inside("InOrder", &idle), ["d after b", "e after d"], "c has no pods to wait for");
    let explicit = [
        clique("a", "startsAfter: [c], "),
        clique("b", "startsAfter: [d, c], "),
        clique("c", ""),
        clique("d", ""),
        clique("e", "startsAfter: [a], "),
    ];
    assert_eq!(inside("Explicit", &explicit.join(", ")), ["b after c and d", "e after c"]);
    assert_eq!(inside("AnyOrder", &plain(["a", "b", "c", "d", "e"])), Vec::<String>::new());
}

#[test]
fn topology() {
    let (set, world) = documents(include_str!("../manifests/grove/everything.yaml"));
    let lowered = lower_in(&set, &world);
    let leader = &lowered.set.spec.roles[1].members[0];
    let term = |keys: Value, key: &str| {
        json!({
            "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "all"}},
            "matchLabelKeys": keys,
            "topologyKey": key,
        })
    };
    let replica = json!(["grove.io/podcliqueset-replica-index"]);
    assert_eq!(
        leader.template["spec"]["affinity"]["podAffinity"],
        json!({
            // A scheduler looks for pods that match all that is required at once: only the innermost can be.
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term(json!(["grove.io/podclique"]), "kubernetes.io/hostname"),
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": term(replica.clone(), "topology.kubernetes.io/zone")},
                {"weight": 100, "podAffinityTerm": term(replica, "example.com/rack")},
                {"weight": 100, "podAffinityTerm": term(
                    json!(["grove.io/podcliquescalinggroup", "grove.io/podcliquescalinggroup-replica-index"]),
                    "example.com/rack"
                )},
            ],
        })
    );
    let said: Vec<String> = lowered.warnings.iter().map(ToString::to_string).collect();
    let yields = |at: &str, to: &str| {
        format!(
            "{at}.topologyConstraint: preferred, not required, for pods of which {to} requires a domain, too: pod \
             affinity holds one required domain of a pod; both would take a scheduler that packs whole PodGangs"
        )
    };
    let group = "spec.template.podCliqueScalingGroups[0]";
    let clique = "spec.template.cliques[1].topologyConstraint";
    let both = format!("{clique} or {group}.topologyConstraint");
    for said_once in [yields("spec.template", &both), yields(group, clique)] {
        assert_eq!(said.iter().filter(|it| **it == said_once).count(), 1, "{said_once}\n{said:#?}");
    }
    let unknown = lower(&set);
    let said: Vec<String> = unknown.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said.iter().filter(|it| it.contains("ClusterTopologyBinding racks")).count(), 3, "{said:#?}");
}

/// Without a cluster nobody knows which topologies there are.
#[test]
fn a_topology_that_nobody_can_know_is_not_said_to_be_missing() {
    let of = |topology: &str| {
        object(&format!(
            "replicas: 1\ntemplate:\n  topologyConstraint: {{{topology}packDomain: block}}\n  cliques:\n  - {{name: a, \
             topologyConstraint: {{packDomain: rack}}, spec: {{podSpec: $P}}}}\n  - {{name: b, spec: {{podSpec: $P}}}}"
        ))
    };
    let said = |object: &Value, objects: Vec<Value>| -> Vec<String> {
        let lowered = lower_in(object, &World { objects, partial: true, ..World::default() });
        lowered.warnings.iter().map(ToString::to_string).collect()
    };
    let yields = "spec.template.topologyConstraint: preferred, not required, for pods of which \
                  spec.template.cliques[0].topologyConstraint requires a domain, too: ";
    for (topology, what) in
        [("", "one ClusterTopologyBinding,"), ("topologyName: t, ", "ClusterTopologyBinding t")]
    {
        let said = said(&of(topology), Vec::new());
        let takes = |at: &str, domain: &str| {
            format!(
                "spec.template.{at}: takes effect only where the cluster has {what} with domain {domain}, which is not known here"
            )
        };
        assert_eq!(said[0], takes("topologyConstraint", "block"));
        assert_eq!(said[1], takes("cliques[0].topologyConstraint", "rack"));
        assert!(said.len() == 3 && said[2].starts_with(yields), "{said:#?}");
    }
    let known = json!({"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": {"name": "t"},
                       "spec": {"levels": [{"domain": "rack", "key": "r"}]}});
    assert_eq!(
        said(&of("topologyName: t, "), vec![known]),
        ["spec.template.topologyConstraint: has no effect: ClusterTopologyBinding t has no domain block"]
    );
}

/// A level may name the topology for those below it, and nothing else.
#[test]
fn a_topology_is_inherited() {
    let set = object(
        "replicas: 1\ntemplate:\n  topologyConstraint: {topologyName: b}\n  cliques: [{name: a, topologyConstraint: {packDomain: host}, spec: {podSpec: $P}}]",
    );
    let topology = |kind: &str, name: &str, key: &str| json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": {"levels": [{"domain": "host", "key": key}]}});
    let objects =
        vec![topology("ClusterTopologyBinding", "a", "one"), topology("ClusterTopology", "b", "two")];
    let lowered = lower_in(&set, &World { objects, ..World::default() });
    assert_eq!(lowered.warnings, []);
    let template = lowered.set.spec.roles[0].template.as_ref().expect("a template");
    let terms =
        &template["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    assert_eq!((terms.as_array().map(Vec::len), &terms[0]["topologyKey"]), (Some(1), &json!("two")));
}

#[test]
fn claims_of_the_whole_set() {
    let (set, world) = documents(include_str!("../manifests/grove/everything.yaml"));
    let lowered = lower_in(&set, &world);
    let spec = |role: usize| -> Value {
        let role = &lowered.set.spec.roles[role];
        role.parts()[0].template["spec"].clone()
    };
    for role in [0, 1] {
        assert_eq!(
            spec(role)["resourceClaims"],
            json!([{"name": "all-all-gpus", "resourceClaimName": "all-all-gpus"}])
        );
        assert_eq!(spec(role)["containers"][0]["resources"]["claims"], json!([{"name": "all-all-gpus"}]));
    }
    assert_eq!(spec(2)["resourceClaims"], Value::Null);
    let claim = lowered.beside.iter().find(|it| it["kind"] == "ResourceClaim").expect("a claim");
    assert_eq!(
        (&claim["metadata"]["name"], &claim["metadata"]["labels"]["team"]),
        (&json!("all-all-gpus"), &json!("ml"))
    );
    assert_eq!(claim["spec"]["devices"]["requests"][0]["name"], "gpu");
}

/// Every level and scope at once: what pods call a claim, what it is called, and which claims there are.
#[test]
fn claims_of_replicas_scaling_groups_and_cliques() {
    let both =
        |name: &str| format!("[{{name: {name}, scope: AllReplicas}}, {{name: {name}, scope: PerReplica}}]");
    let lowered = lower(&object(&format!(
        "replicas: 2\ntemplate:\n  resourceClaimTemplates: [{{name: x, templateSpec: {{spec: {{}}}}}}]\n  \
         resourceSharing: [{{name: x, scope: PerReplica, filter: {{childCliqueNames: [w]}}}}]\n  cliques:\n  \
         - {{name: a, resourceSharing: {all}, spec: {{replicas: 2, podSpec: $P}}}}\n  \
         - {{name: w, resourceSharing: {all}, spec: {{replicas: 2, podSpec: $P}}}}\n  \
         podCliqueScalingGroups: [{{name: sg, cliqueNames: [w], resourceSharing: {all}, updateStrategy: \
         {{maxUnavailable: 0, maxSurge: 1}}}}]",
        all = both("x")
    )));
    let role = |i: usize| &lowered.set.spec.roles[i];
    let names = |identity: &Option<lockstep_api::Identity>| -> Vec<(String, String)> {
        identity.iter().flat_map(|it| it.resource_claims.clone()).collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, object)| ((*name).to_owned(), (*object).to_owned())).collect()
    };
    let of_a = [
        ("clique-all-x", "{set}-{group}-{role}-all-x"),
        ("clique-each-x", "{set}-{group}-{role}-{instance}-x"),
    ];
    assert_eq!(names(&role(0).identity), pairs(&of_a));
    let of_w = [
        ("clique-all-x", "{set}-{group}-{role}-{instance}-{member}-all-x"),
        ("clique-each-x", "{set}-{group}-{role}-{instance}-{member}-{pod}-x"),
        ("group-all-x", "{set}-{group}-{role}-all-x"),
        ("group-each-x", "{set}-{group}-{role}-{instance}-x"),
        ("set-each-x", "{set}-{group}-x"),
    ];
    assert_eq!((names(&role(1).identity), names(&role(1).members[0].identity)), (vec![], pairs(&of_w)));
    let used = &role(1).members[0].template["spec"]["containers"][0]["resources"]["claims"];
    assert_eq!(used, &json!(of_w.map(|(name, _)| json!({"name": name})).to_vec()));

    let claims = lowered.beside.iter().filter(|it| it["kind"] == "ResourceClaim");
    let mut made: Vec<&str> = claims.filter_map(|it| it["metadata"]["name"].as_str()).collect();
    made.retain(|name| name.starts_with("simple-1-"));
    assert_eq!(
        made,
        [
            "simple-1-a-0-x",
            "simple-1-a-1-x",
            "simple-1-a-all-x",
            "simple-1-sg-0-w-0-x",
            "simple-1-sg-0-w-1-x",
            "simple-1-sg-0-w-all-x",
            "simple-1-sg-0-x",
            "simple-1-sg-1-w-0-x",
            "simple-1-sg-1-w-1-x",
            "simple-1-sg-1-w-all-x",
            "simple-1-sg-1-x",
            "simple-1-sg-all-x",
            "simple-1-x",
        ],
        "with those of the surge"
    );
}

#[test]
fn who_schedules_gangs() {
    let set = |scheduler: &str| {
        object(&format!(
            "replicas: 1\ntemplate:\n  cliques: [{{name: a, spec: {{podSpec: {{schedulerName: {scheduler}, containers: [{{name: a, image: a}}]}}}}}}]"
        ))
    };
    let all = Served { pod_groups: true, volcano: true, pod_gangs: true };
    let rows = [
        ("''", Served::default(), GangScheduler::None),
        ("''", all, GangScheduler::PodGroup),
        ("default-scheduler", all, GangScheduler::PodGroup),
        ("kai-scheduler", all, GangScheduler::PodGang),
        ("kai-scheduler", Served { pod_gangs: false, ..all }, GangScheduler::PodGroup),
        ("volcano", all, GangScheduler::Volcano),
        ("volcano", Served { volcano: false, ..all }, GangScheduler::PodGroup),
    ];
    for (name, served, expected) in rows {
        let world = World { served, ..World::default() };
        assert_eq!(lower_in(&set(name), &world).set.spec.gang.scheduler, expected, "{name} {served:?}");
    }
}

/// What an API server asks of a schema: one type everywhere, and no defaults that nobody wrote.
fn structural(schema: &Value, at: &str) {
    let one_type = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
    assert!(one_type && schema["default"].is_null(), "{at}: {schema}");
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        structural(below, &format!("{at}.{name}"));
    }
    for list in ["items", "additionalProperties"] {
        if schema[list].is_object() {
            structural(&schema[list], &format!("{at}[]"));
        }
    }
}

#[test]
fn definitions() {
    let definitions = crate::support::grove().definitions();
    let names: Vec<&str> = definitions.iter().filter_map(|it| it["metadata"]["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "podcliquesets.grove.io",
            "podcliques.grove.io",
            "podcliquescalinggroups.grove.io",
            "clustertopologybindings.grove.io",
            "clustertopologies.grove.io"
        ]
    );
    for definition in &definitions {
        let version = &definition["spec"]["versions"][0];
        structural(&version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec");
    }
    let scale = &definitions[0]["spec"]["versions"][0]["subresources"]["scale"];
    assert_eq!(scale["labelSelectorPath"], ".status.hpaPodSelector");
}

/// Thousands of replicas, each with its handles, are lowered in a moment.
#[test]
fn large_sets() {
    let set = object(
        "replicas: 2500\ntemplate:\n  cliques: [{name: a, spec: {podSpec: $P}}, {name: b, spec: {podSpec: $P}}]\n  podCliqueScalingGroups: [{name: sg, cliqueNames: [a]}]",
    );
    let first = lower(&set);
    let world = World { objects: first.beside.clone(), ..World::default() };
    let begun = std::time::Instant::now();
    assert_eq!(lower_in(&set, &world), first);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// The queue of Volcano's gangs stands at the set or at its cliques, and says one thing.
#[test]
fn a_queue_of_volcano() {
    let key = "scheduling.grove.io/volcano-queue";
    let set = |own: Value, of_clique: Value| {
        let mut set = object("replicas: 1\ntemplate: {cliques: [{name: a, spec: {podSpec: $P}}]}");
        set["metadata"]["annotations"] = own;
        set["spec"]["template"]["cliques"][0]["annotations"] = of_clique;
        set
    };
    for (own, of_clique, queue) in [
        (json!({key: "gold"}), json!({}), Some("gold")),
        (json!({}), json!({key: "gold"}), Some("gold")),
        (json!({key: "gold"}), json!({key: "gold"}), Some("gold")),
        (json!({key: ""}), json!({}), None),
    ] {
        let lowered = lower(&set(own, of_clique));
        let told = lowered.set.metadata.annotations.get("scheduling.volcano.sh/queue-name");
        assert_eq!(told.map(String::as_str), queue);
    }
    let torn = set(json!({key: "gold"}), json!({key: "iron"}));
    let words = "! spec.template.cliques[0].annotations[scheduling.grove.io/volcano-queue]: iron, and gold is said elsewhere; a set has one queue";
    assert_eq!(said(&torn), [words]);
}

/// `kueue` is Grove's word for pods that Kueue lets in and the default scheduler binds.
#[test]
fn pods_of_kueue() {
    let spec = "replicas: 1\ntemplate: {cliques: [{name: a, labels: $L, spec: {podSpec: {schedulerName: kueue, containers: [{name: a, image: a}]}}}]}";
    let at =
        "? spec.template.cliques[0].spec.podSpec.schedulerName: \"kueue\": pods go to the default scheduler";
    let queued = format!("{at}, once Kueue lets each of them; no Workload is made for a gang");
    let unasked = format!("{at}, and Kueue is not asked: the label kueue.x-k8s.io/queue-name names no queue");
    let key = "kueue.x-k8s.io/queue-name";
    let none = Value::Null;
    for (own, of_clique, labels, words) in [
        (json!({key: "gpus"}), "{}", json!({key: "gpus"}), &queued),
        (
            json!({key: "gpus"}),
            "{kueue.x-k8s.io/queue-name: more, a: b}",
            json!({key: "more", "a": "b"}),
            &queued,
        ),
        (json!({}), "{}", none, &unasked),
    ] {
        let mut set = object(&spec.replace("$L", of_clique));
        set["metadata"]["labels"] = own;
        let lowered = lower(&set);
        let template = lowered.set.spec.roles[0].template.as_ref().expect("a template");
        assert_eq!(template["metadata"]["labels"], labels);
        assert_eq!(template["spec"]["schedulerName"], Value::Null);
        assert_eq!(said(&set), [words.as_str()]);
    }
}
