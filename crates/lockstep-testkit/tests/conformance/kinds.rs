//! The kinds requests are about, and objects of them: mostly right, sometimes wrong.

use serde_json::{Value, json};

use crate::rng::Rng;

/// A kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub kind: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
    pub status: bool,
    pub scale: bool,
}

const fn kind(kind: &'static str, version: &'static str, plural: &'static str) -> Kind {
    Kind { kind, version, plural, namespaced: true, status: false, scale: false }
}

pub const CONFIG_MAP: Kind = kind("ConfigMap", "v1", "configmaps");
pub const SECRET: Kind = kind("Secret", "v1", "secrets");
pub const POD: Kind = Kind { status: true, ..kind("Pod", "v1", "pods") };
pub const SERVICE: Kind = Kind { status: true, ..kind("Service", "v1", "services") };
pub const DEPLOYMENT: Kind =
    Kind { status: true, scale: true, ..kind("Deployment", "apps/v1", "deployments") };
pub const BUDGET: Kind =
    Kind { status: true, ..kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets") };
pub const LEASE: Kind = kind("Lease", "coordination.k8s.io/v1", "leases");
pub const NODE: Kind = Kind { namespaced: false, status: true, ..kind("Node", "v1", "nodes") };
pub const NAMESPACE: Kind = Kind { namespaced: false, status: true, ..kind("Namespace", "v1", "namespaces") };
pub const WIDGET: Kind =
    Kind { status: true, scale: true, ..kind("Widget", "conformance.lockstep.dev/v1", "widgets") };

/// A kind with three versions, of which the second is stored.
pub const GADGETS: &[Kind] = &[
    Kind { status: true, ..kind("Gadget", "conformance.lockstep.dev/v1beta1", "gadgets") },
    Kind { status: true, scale: true, ..kind("Gadget", "conformance.lockstep.dev/v1", "gadgets") },
    Kind { status: true, scale: true, ..kind("Gadget", "conformance.lockstep.dev/v2", "gadgets") },
];

/// A kind with two versions, between which a webhook converts.
pub const GIZMOS: &[Kind] = &[
    Kind { status: true, scale: true, ..kind("Gizmo", "conformance.lockstep.dev/v1", "gizmos") },
    Kind { status: true, scale: true, ..kind("Gizmo", "conformance.lockstep.dev/v2", "gizmos") },
];

/// All of them, those that matter most several times.
pub const ALL: &[Kind] = &[
    CONFIG_MAP, CONFIG_MAP, SECRET, POD, POD, SERVICE, DEPLOYMENT, DEPLOYMENT, BUDGET, LEASE, NODE,
    NAMESPACE, WIDGET, WIDGET, WIDGET,
];

impl Kind {
    /// Where all its objects lie.
    pub fn path(&self, space: &str) -> String {
        let root = if self.version.contains('/') { "/apis" } else { "/api" };
        let inside = if self.namespaced { format!("/namespaces/{space}") } else { String::new() };
        format!("{root}/{}{inside}/{}", self.version, self.plural)
    }

    /// The name of one of them: those outside of namespaces carry the name of the sequence.
    pub fn name(&self, space: &str, short: &str) -> String {
        if self.namespaced { short.to_owned() } else { format!("{space}-{short}") }
    }

    /// An object that is as it should be.
    pub fn object(&self, rng: &mut Rng, space: &str, name: &str) -> Value {
        let mut object = json!({"apiVersion": self.version, "kind": self.kind, "metadata": {"name": name}});
        if self.namespaced && rng.percent(20) {
            object["metadata"]["namespace"] = json!(space);
        }
        labels(rng, &mut object["metadata"]);
        if !self.namespaced {
            object["metadata"]["labels"]["seq"] = json!(space);
        }
        let parts = self.parts(rng);
        for (key, value) in parts.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    }

    /// What a kind is made of, besides metadata.
    pub fn parts(&self, rng: &mut Rng) -> Value {
        match self.kind {
            "ConfigMap" => config_map(rng),
            "Secret" => secret(rng),
            "Pod" => json!({"spec": pod_spec(rng)}),
            "Service" => json!({"spec": service(rng)}),
            "Deployment" => json!({"spec": deployment(rng)}),
            "PodDisruptionBudget" => json!({"spec": budget(rng)}),
            "Lease" => json!({"spec": lease(rng)}),
            "Node" => json!({"spec": node(rng)}),
            "Widget" => json!({"spec": widget(rng)}),
            "Gadget" => json!({"spec": gadget(rng)}),
            "Gizmo" => {
                json!({"spec": gizmo(rng, if self.version.ends_with('1') { "size" } else { "count" })})
            }
            _ => json!({}),
        }
    }

    /// A status somebody might write.
    pub fn status(&self, rng: &mut Rng) -> Value {
        let time = "2026-01-01T00:00:00Z";
        match self.kind {
            "Pod" => {
                let ready = rng.of(&["True", "False"]);
                json!({"phase": rng.of(&["Running", "Running", "Pending", "Failed"]), "conditions": [
                    {"type": "Ready", "status": ready, "lastTransitionTime": time}]})
            }
            "Deployment" => json!({"replicas": rng.below(4), "observedGeneration": 1, "conditions": [
                {"type": "Available", "status": "True", "reason": "Fine", "lastTransitionTime": time}]}),
            "PodDisruptionBudget" => json!({
                "disruptionsAllowed": rng.below(3), "currentHealthy": rng.below(3), "desiredHealthy": rng.below(3),
                "expectedPods": 2, "observedGeneration": rng.of(&[0, 1, 1, 5])}),
            "Node" => json!({"conditions": [{"type": "Ready", "status": rng.of(&["True", "False"])}],
                             "allocatable": {"cpu": "2", "memory": "1Gi"}}),
            "Namespace" => json!({"phase": "Active"}),
            "Widget" => {
                json!({"replicas": rng.below(4), "selector": "app=a", "phase": rng.of(&["Up", "Down"]),
                "conditions": [{"type": rng.of(&["Ready", "Good"]), "status": "True"}]})
            }
            "Gadget" | "Gizmo" => json!({"replicas": rng.below(4), "phase": rng.of(&["Up", "Down"])}),
            _ => json!({"loadBalancer": {}}),
        }
    }
}

/// Labels, annotations and what else anybody may write there.
pub fn labels(rng: &mut Rng, metadata: &mut Value) {
    if rng.percent(70) {
        metadata["labels"]["app"] = json!(rng.of(&["a", "b"]));
    }
    if rng.percent(30) {
        metadata["labels"]["tier"] = json!(rng.of(&["x", "y", ""]));
    }
    if rng.percent(25) {
        metadata["annotations"][rng.of(&["note", "example.com/at"])] = json!(rng.of(&["1", "2", ""]));
    }
}

fn config_map(rng: &mut Rng) -> Value {
    let mut map = json!({});
    if rng.percent(80) {
        map["data"][rng.of(&["one", "two"])] = json!(rng.of(&["1", "2", ""]));
    }
    if rng.percent(15) {
        map["binaryData"]["raw"] = json!("AAEC");
    }
    if rng.percent(10) {
        map["immutable"] = json!(rng.percent(60));
    }
    map
}

fn secret(rng: &mut Rng) -> Value {
    let mut secret = json!({});
    if rng.percent(60) {
        secret["data"][rng.of(&["one", "two"])] = json!(rng.of(&["AAEC", "aGk="]));
    }
    if rng.percent(40) {
        secret["stringData"][rng.of(&["one", "three"])] = json!(rng.of(&["text", ""]));
    }
    if rng.percent(30) {
        secret["type"] =
            json!(rng.of(&["Opaque", "example.com/own", "kubernetes.io/basic-auth", "kubernetes.io/tls"]));
    }
    secret
}

fn container(rng: &mut Rng, name: &str) -> Value {
    let mut container =
        json!({"name": name, "image": rng.of(&["x:1", "x:2", "x", "registry.example.com/y:latest"])});
    if rng.percent(25) {
        container["ports"] = json!([{"containerPort": rng.of(&[80, 8080]), "name": "http"}]);
    }
    if rng.percent(25) {
        container["env"] =
            json!([{"name": rng.of(&["A", "B"]), "value": rng.of(&["1", "2"])}, {"name": "C"}]);
    }
    if rng.percent(25) {
        container["resources"] = match rng.below(3) {
            0 => json!({"limits": {"cpu": "1", "memory": "1Gi"}}),
            1 => json!({"requests": {"cpu": "0.5"}, "limits": {"cpu": "1000m"}}),
            _ => json!({"requests": {"cpu": 1}}),
        };
    }
    if rng.percent(15) {
        container["readinessProbe"] = json!({"httpGet": {"port": rng.of(&[80, 8080])}});
    }
    container
}

pub fn pod_spec(rng: &mut Rng) -> Value {
    let mut containers = vec![container(rng, "main")];
    if rng.percent(25) {
        containers.push(container(rng, "side"));
    }
    let mut spec = json!({"containers": containers});
    if rng.percent(30) {
        spec["nodeName"] = json!("far");
    }
    if rng.percent(15) {
        spec["terminationGracePeriodSeconds"] = json!(rng.of(&[0, 5, 30]));
    }
    if rng.percent(15) {
        spec["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    }
    if rng.percent(10) {
        spec["schedulingGates"] = json!([{"name": "example.com/gate"}]);
    }
    if rng.percent(10) {
        spec["nodeSelector"] = json!({"zone": "a"});
    }
    if rng.percent(10) {
        spec["volumes"] = json!([{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "a"}}]);
    }
    if rng.percent(8) {
        spec["priorityClassName"] = json!(rng.of(&["system-node-critical", "missing"]));
    }
    spec
}

fn service(rng: &mut Rng) -> Value {
    let mut spec = json!({"selector": {"app": rng.of(&["a", "b"])},
        "ports": [{"port": rng.of(&[80, 81]), "name": "web"}]});
    match rng.below(5) {
        0 => spec["clusterIP"] = json!("None"),
        1 => spec = json!({"type": "ExternalName", "externalName": "a.example.com"}),
        2 => spec["ports"][0]["targetPort"] = json!(rng.of(&["http", "web"])),
        _ => {}
    }
    spec
}

fn deployment(rng: &mut Rng) -> Value {
    let app = rng.of(&["a", "a", "b"]);
    let mut spec = json!({
        "selector": {"matchLabels": {"app": app}},
        "template": {"metadata": {"labels": {"app": app}}, "spec": pod_spec(rng)},
    });
    if let Some(spec) = spec["template"]["spec"].as_object_mut() {
        spec.remove("nodeName");
    }
    if rng.percent(60) {
        spec["replicas"] = json!(rng.below(4));
    }
    if rng.percent(20) {
        spec["strategy"] = match rng.below(3) {
            0 => json!({"type": "Recreate"}),
            1 => json!({"rollingUpdate": {"maxSurge": 1}}),
            _ => json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}),
        };
    }
    spec
}

fn budget(rng: &mut Rng) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": rng.of(&["a", "b"])}}});
    match rng.below(3) {
        0 => spec["minAvailable"] = json!(rng.below(3)),
        1 => spec["maxUnavailable"] = json!(rng.of(&["50%", "1%"])),
        _ => spec["maxUnavailable"] = json!(1),
    }
    if rng.percent(20) {
        spec["unhealthyPodEvictionPolicy"] = json!(rng.of(&["AlwaysAllow", "IfHealthyBudget"]));
    }
    spec
}

fn lease(rng: &mut Rng) -> Value {
    let mut spec = json!({"holderIdentity": rng.of(&["me", "you"])});
    if rng.percent(50) {
        spec["leaseDurationSeconds"] = json!(rng.of(&[15, 30, 0]));
    }
    if rng.percent(50) {
        spec["renewTime"] = json!("2026-01-01T00:00:00.000000Z");
    }
    spec
}

fn node(rng: &mut Rng) -> Value {
    let mut spec = json!({});
    if rng.percent(40) {
        spec["taints"] = json!([{"key": "a", "value": rng.of(&["1", "2"]), "effect": "NoSchedule"}]);
    }
    if rng.percent(30) {
        spec["unschedulable"] = json!(rng.percent(70));
    }
    spec
}

fn gadget(rng: &mut Rng) -> Value {
    let mut spec = json!({"mode": rng.of(&["Slow", "Fast", "Fast", "Odd"])});
    let parts = [
        ("mode", Value::Null),
        ("size", json!(rng.below(5))),
        ("older", json!(rng.of(&["a", "b"]))),
        ("tags", json!([rng.of(&["a", "b"]), rng.of(&["b", "c", "d"])])),
        ("ports", json!([{"number": rng.of(&[80, 81])}, {"number": 82, "name": rng.of(&["n", "m"])}])),
        ("nested", if rng.percent(70) { json!({"deep": rng.of(&["yes", "no"])}) } else { json!({}) }),
    ];
    for (key, value) in parts {
        if rng.percent(if key == "mode" { 8 } else { 30 }) {
            spec[key] = value;
        }
    }
    spec
}

fn gizmo(rng: &mut Rng, number: &str) -> Value {
    // What cannot be stored is never written in the version that is stored: a real server remembers what it has seen in
    // the other one for a while, and cannot go on from there.
    let modes = ["Slow", "Slow", "Slow", "Slow", "Fast", "Fast", "Fast", "Fast", "Odd", "Lost", "Other"];
    let modes = if number == "size" { &modes[..8] } else { &modes[..] };
    let mut spec = json!({"mode": rng.of(modes)});
    let parts = [
        (number, json!(rng.below(5))),
        ("tags", json!([rng.of(&["a", "b"]), rng.of(&["c", "d"])])),
        ("nested", if rng.percent(70) { json!({"deep": rng.of(&["yes", "no"])}) } else { json!({}) }),
    ];
    for (key, value) in parts {
        if rng.percent(40) {
            spec[key] = value;
        }
    }
    spec
}

fn widget(rng: &mut Rng) -> Value {
    let mut spec = json!({"mode": rng.of(&["Slow", "Slow", "Fast", "Fast", "Odd"])});
    let parts = [
        ("size", json!(rng.below(12))),
        ("note", json!(rng.of(&["fine", "Not Fine", "much too long for a note"]))),
        ("owner", json!(rng.of(&["me", "you"]))),
        ("tags", json!([rng.of(&["a", "b"]), rng.of(&["b", "c"])])),
        ("steps", json!(["x", rng.of(&["x", "y"])])),
        (
            "ports",
            json!([{"number": rng.of(&[80, 81])}, {"number": 80, "protocol": rng.of(&["UDP", "TCP"]), "name": "n"}]),
        ),
        ("limits", json!({rng.of(&["a", "b"]): rng.below(3)})),
        ("most", if rng.percent(50) { json!("50%") } else { json!(3) }),
        ("maybe", Value::Null),
        ("place", json!({"x": rng.below(3), "y": 1})),
        ("free", json!({"any": [1, {"thing": rng.of(&["a", "b"])}]})),
        ("nested", json!({"deep": rng.of(&["yes", "no"])})),
        ("unknown", json!("field")),
    ];
    for (key, value) in parts {
        if rng.percent(if key == "unknown" { 5 } else { 22 }) {
            spec[key] = value;
        }
    }
    spec
}
