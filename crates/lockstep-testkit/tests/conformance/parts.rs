//! Parts of objects with paths of their own.

use serde_json::json;

use crate::kinds::Kind;
use crate::sequence::{Body, JSON, Maker, Step, TABLE};

impl Maker {
    /// Status and scale.
    pub(super) fn part(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        if kind.scale && self.rng.percent(40) {
            return self.scale(kind, &name);
        }
        let path = format!("{}/status", self.path(kind, &name));
        let mut patch = json!({"status": kind.status(&mut self.rng)});
        if self.rng.percent(20) {
            patch["metadata"] = self.change(kind)["metadata"].clone();
        }
        if self.rng.percent(20) {
            patch["spec"] = kind.parts(&mut self.rng)["spec"].clone();
        }
        let step = match self.rng.below(8) {
            0 => return Step::new("GET", path),
            1 | 2 => {
                let mut step = Step::new("PUT", path);
                self.in_version(kind, &mut patch);
                step.content_type = JSON;
                step.body = Body::Changed { of: format!("{}/{name}", kind.kind), patch };
                step
            }
            3 => Step::new("PATCH", path).with("application/strategic-merge-patch+json", &patch),
            4 | 5 => {
                patch["apiVersion"] = json!(kind.version);
                patch["kind"] = json!(kind.kind);
                patch["metadata"]["name"] = json!(name);
                let step = Step::new("PATCH", path).with("application/apply-patch+yaml", &patch);
                return step.asking(self.rng.of(&["fieldManager=one&force=true", "fieldManager=two"]));
            }
            _ => Step::new("PATCH", path).with("application/merge-patch+json", &patch),
        };
        self.written(step)
    }

    pub(super) fn scale(&mut self, kind: &Kind, name: &str) -> Step {
        let path = format!("{}/scale", self.path(kind, name));
        let replicas = self.rng.of(&[0, 1, 2, 3, 5, 20]);
        let step = match self.rng.below(6) {
            0 | 1 => return Step::new("GET", path),
            2 => {
                let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
                    "metadata": {"name": name, "namespace": self.space}, "spec": {"replicas": replicas}});
                Step::new("PUT", path).with(JSON, &scale)
            }
            3 => {
                let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {
                    "name": name, "resourceVersion": format!("$old{{{}/{name}}}", kind.kind)},
                    "spec": {"replicas": if replicas == 20 { -1 } else { replicas }}});
                Step::new("PUT", path).with(JSON, &scale)
            }
            4 => {
                let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": replicas}]);
                Step::new("PATCH", path).with("application/json-patch+json", &patch)
            }
            _ => {
                let patch = json!({"spec": {"replicas": replicas}});
                Step::new("PATCH", path).with("application/merge-patch+json", &patch)
            }
        };
        self.written(step)
    }

    /// What only some kinds can.
    pub(super) fn special(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let path = self.path(kind, &name);
        match kind.kind {
            "Pod" if self.rng.percent(60) => {
                let mut eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": name, "namespace": self.space}});
                match self.rng.below(5) {
                    0 => eviction["deleteOptions"] = json!({"gracePeriodSeconds": 0}),
                    1 => {
                        eviction["deleteOptions"] =
                            json!({"preconditions": {"resourceVersion": format!("$old{{Pod/{name}}}")}})
                    }
                    2 => eviction["metadata"]["name"] = json!("other"),
                    _ => {}
                }
                let step = Step::new("POST", format!("{path}/eviction")).with(JSON, &eviction);
                if self.rng.percent(15) { step.asking("dryRun=All") } else { step }
            }
            "Pod" => {
                let target = self.rng.of(&["near", "near", ""]);
                let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                    "target": {"kind": "Node", "name": target}});
                Step::new("POST", format!("{path}/binding")).with(JSON, &binding)
            }
            "Namespace" => {
                let mut step = Step::new("PUT", format!("{path}/finalize"));
                step.content_type = JSON;
                step.body = Body::Changed {
                    of: format!("Namespace/{name}"),
                    patch: json!({"spec": {"finalizers": []}}),
                };
                step
            }
            _ => Step::new("GET", path).accepting(TABLE),
        }
    }
}
