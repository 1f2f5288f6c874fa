//! The smallest dialect there can be: a Toy has a size and an image, and may have an autoscaler, a note or a service
//! beside it. A ToyBox of the same name says another size.

use lockstep_api::{LockstepSet, Problem, parse_json};
use lockstep_dialects::definition::{Version, definition};
use lockstep_dialects::{Dialect, Findings, Kind, Lowered, Places, Raised, Seen, World};
use serde_json::{Value, json};

pub struct Toys;

pub const GROUP: &str = "toys.example";

static KINDS: [Kind; 2] = [
    Kind {
        group: GROUP,
        versions: &["v1"],
        kind: "Toy",
        plural: "toys",
        namespaced: true,
        becomes_set: true,
    },
    Kind {
        group: GROUP,
        versions: &["v1"],
        kind: "ToyBox",
        plural: "toyboxes",
        namespaced: true,
        becomes_set: false,
    },
];

impl Dialect for Toys {
    fn name(&self) -> &'static str {
        "toys"
    }

    fn definitions(&self) -> Vec<Value> {
        let open = || Version {
            name: "v1",
            spec: json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            status: None,
            columns: &[],
            scale: None,
        };
        KINDS.iter().map(|kind| definition(kind, &[], &[open()])).collect()
    }

    fn kinds(&self) -> &'static [Kind] {
        &KINDS
    }

    fn lower(&self, object: &Value, world: &World) -> Result<Lowered, Vec<Problem>> {
        let spec = &object["spec"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let mut found = Findings::new(object);
        if !spec["image"].is_string() {
            found.error("spec.image", "must be text");
        }
        if spec["size"].as_u64().is_some_and(|size| size > 9) {
            found.error("spec.size", "must be at most 9");
        }
        if found.is_broken() {
            return Err(found.close().expect_err("it is broken"));
        }
        let size = world.named(&KINDS[1], name).map_or(&spec["size"], |toybox| &toybox["spec"]["size"]);
        let set = json!({
            "apiVersion": lockstep_api::API_VERSION, "kind": lockstep_api::KIND,
            "metadata": {"name": name},
            "spec": {"roles": [{
                "name": "toy", "replicas": size, "identity": {"env": {"TOY": "{set}"}},
                "template": {"spec": {"containers": [{"name": "main", "image": spec["image"]}]}},
            }]},
        });
        let set: LockstepSet = parse_json(&set)?.set.into_inner();
        let note = |text: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-note")}, "data": {"note": text}});
        let service = |port: &Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": [{"port": port}]}});
        let scaler = |most: &Value| {
            json!({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
                "spec": {"maxReplicas": most, "scaleTargetRef": {"kind": "Toy", "name": name}},
            })
        };
        let beside =
            [spec.get("most").map(scaler), spec.get("note").map(note), spec.get("port").map(service)];
        let beside = beside.into_iter().flatten().collect();
        let mut places = Places::default();
        places.put("spec.roles[0].replicas", "spec.size");
        Lowered::close(&set, beside, places, found)
    }

    fn raise(&self, object: &Value, seen: &Seen<'_>, _world: &World) -> Raised {
        let wrong: Vec<String> =
            seen.lowered.err().unwrap_or_default().iter().map(ToString::to_string).collect();
        let phase = if seen.current { seen.status.rollout.phase.as_str() } else { "Unknown" };
        let lacking: Vec<String> =
            seen.lacks().into_iter().map(|(why, said)| format!("{why}: {said}")).collect();
        let children = seen.children(&object["status"], 1);
        let conditions: Vec<Value> = children.into_iter().collect();
        let status = json!({"phase": phase, "wrong": wrong, "lacking": lacking, "conditions": conditions});
        Raised { status, beside: Vec::new() }
    }
}
