//! Patches, and objects that are not what they should be.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::rng::Rng;

/// Makes one thing of an object wrong.
pub fn spoil(rng: &mut Rng, object: &mut Value) {
    match rng.below(20) {
        0 => object["unknown"] = json!(1),
        1 => object["metadata"]["unknown"] = json!({"a": 1}),
        2 => object["spec"]["unknown"] = json!("x"),
        3 => object["metadata"]["name"] = json!(rng.of(&["Not_A_Name", "-x", "a.b", ""])),
        4 => object["metadata"]["labels"]["app"] = json!(rng.of(&["not a label", "-x"])),
        5 => object["metadata"]["labels"]["not a key"] = json!("x"),
        6 => object["metadata"]["labels"]["app"] = json!(1),
        7 => object["metadata"]["annotations"]["not a key"] = json!("x"),
        8 => object["metadata"]["annotations"] = json!("x"),
        9 => object["metadata"]["namespace"] = json!("elsewhere"),
        10 => object["kind"] = json!("Odd"),
        11 => object["apiVersion"] = json!(rng.of(&["v2", "apps/v1", "odd/v1"])),
        12 => object["metadata"]["finalizers"] = json!(["not qualified"]),
        13 => {
            object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod", "name": "x"}])
        }
        14 => object["spec"] = json!(rng.of(&["text", ""])),
        15 => object["data"] = json!({"not a key": "x", "one": 1}),
        16 => object["spec"]["replicas"] = json!(rng.of(&["three", "3"])),
        17 => object["metadata"]["creationTimestamp"] = json!("yesterday"),
        18 => object["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000"),
        _ => object["spec"]["size"] = json!(rng.of(&["three", "3"])),
    }
}

/// Where there may be something.
fn place(rng: &mut Rng, kind: &Kind) -> &'static str {
    let everywhere = [
        "/metadata/labels/app",
        "/metadata/labels/tier",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/annotations/note",
        "/metadata/finalizers",
        "/metadata/finalizers/0",
    ];
    let own: &[&str] = match kind.kind {
        "ConfigMap" | "Secret" => &["/data", "/data/one", "/data/two", "/immutable"],
        "Pod" => &["/spec/containers/0/image", "/spec/tolerations/-", "/spec/nodeName", "/spec/containers/5"],
        "Deployment" => &[
            "/spec/replicas",
            "/spec/template/spec/containers/0/image",
            "/spec/template/spec/containers/-",
            "/spec/template/metadata/labels/app",
            "/spec/paused",
        ],
        "Widget" => &[
            "/spec/size",
            "/spec/mode",
            "/spec/tags/0",
            "/spec/tags/-",
            "/spec/ports/-",
            "/spec/limits/a",
            "/spec/free/any/0",
            "/spec/owner",
            "/spec/nested",
        ],
        "Gadget" => {
            &["/spec/size", "/spec/mode", "/spec/tags/-", "/spec/ports/-", "/spec/older", "/spec/nested"]
        }
        "Gizmo" => &["/spec/size", "/spec/count", "/spec/mode", "/spec/tags/-", "/spec/nested"],
        "Node" => &["/spec/taints", "/spec/unschedulable", "/spec/taints/0/value"],
        _ => &["/spec", "/spec/odd", "/spec/selector"],
    };
    if rng.percent(45) { rng.of(&everywhere) } else { rng.of(own) }
}

fn fitting(rng: &mut Rng, path: &str) -> Value {
    match path.rsplit('/').next().unwrap_or_default() {
        "labels" | "annotations" | "data" | "limits" => json!({"app": "a"}),
        "finalizers" => json!(["example.com/hold"]),
        "0" if path.contains("finalizers") => json!("example.com/other"),
        "replicas" | "size" | "a" => json!(rng.below(5)),
        "immutable" | "paused" | "unschedulable" => json!(rng.percent(50)),
        "taints" => json!([{"key": "b", "effect": "NoExecute"}]),
        "mode" => json!(rng.of(&["Slow", "Fast", "Odd"])),
        "-" if path.contains("containers") => json!({"name": "more", "image": "x:3"}),
        "-" if path.contains("tolerations") => json!({"key": "b", "operator": "Exists"}),
        "-" if path.contains("ports") => json!({"number": 90}),
        "nested" => json!({}),
        _ => json!(rng.of(&["a", "b", "x:9"])),
    }
}

/// A JSON patch.
pub fn json(rng: &mut Rng, kind: &Kind) -> Value {
    let count = 1 + rng.below(3);
    let operations = (0..count).map(|_| {
        let path = place(rng, kind);
        match rng.below(12) {
            0 | 1 => json!({"op": "remove", "path": path}),
            2 | 3 => json!({"op": "replace", "path": path, "value": fitting(rng, path)}),
            4 => json!({"op": "test", "path": path, "value": fitting(rng, path)}),
            5 => json!({"op": "test", "path": path, "value": null}),
            6 => json!({"op": "copy", "from": path, "path": place(rng, kind)}),
            7 => json!({"op": "move", "from": path, "path": place(rng, kind)}),
            8 if rng.percent(20) => json!({"op": "odd", "path": path}),
            9 if rng.percent(20) => json!({"op": "add", "path": "nowhere", "value": 1}),
            _ => json!({"op": "add", "path": path, "value": fitting(rng, path)}),
        }
    });
    operations.collect()
}

/// A strategic patch, of what only such patches can.
pub fn strategic(rng: &mut Rng, kind: &Kind) -> Value {
    let containers = || -> Vec<Value> {
        vec![
            json!([{"name": "main", "image": "x:7"}]),
            json!([{"name": "more", "image": "x:7"}]),
            json!([{"name": "main", "$patch": "delete"}]),
            json!([{"name": "side", "$patch": "delete"}, {"name": "third", "image": "x"}]),
            json!([{"$patch": "replace"}, {"name": "only", "image": "x"}]),
            json!([{"name": "main", "env": [{"name": "A", "value": "9"}, {"name": "B", "$patch": "delete"}]}]),
            json!([{"name": "main", "ports": [{"containerPort": 9090}]}]),
            json!([{"image": "x"}]),
        ]
    };
    let mut containers = containers();
    let one = containers.swap_remove(rng.below(containers.len()));
    match kind.kind {
        "Pod" if rng.percent(70) => json!({"spec": {"containers": one}}),
        "Deployment" if rng.percent(60) => {
            let mut patch = json!({"spec": {"template": {"spec": {"containers": one}}}});
            if rng.percent(20) {
                patch["spec"]["template"]["spec"]["$setElementOrder/containers"] =
                    json!([{"name": "side"}, {"name": "main"}]);
            }
            patch
        }
        "Deployment" => json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        "Service" => json!({"spec": {"ports": [{"port": rng.of(&[80, 82]), "name": rng.of(&["web", "w"])}]}}),
        "Node" => json!({"spec": {"taints": [{"key": rng.of(&["a", "b"]), "effect": "NoSchedule"}]}}),
        _ => match rng.below(5) {
            0 => json!({"metadata": {"labels": {"$patch": "replace", "new": "x"}}}),
            1 => json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            2 => json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}}),
            3 => json!({"data": {"$patch": "delete"}}),
            _ => json!({"metadata": {"annotations": {"note": null, "more": "x"}}}),
        },
    }
}
