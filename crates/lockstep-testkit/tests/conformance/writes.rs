//! What is written: creations, replacements, patches and applies.

use serde_json::{Value, json};

use crate::kinds::{Kind, labels};
use crate::patches;
use crate::sequence::{Body, JSON, Maker, Step};

impl Maker {
    pub(super) fn create(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut object = kind.object(&mut self.rng, &self.space, &name);
        match self.rng.below(20) {
            0 => object["metadata"]["finalizers"] = json!(["example.com/hold"]),
            1 => object["metadata"]["ownerReferences"] = self.owners(kind),
            2 => {
                object["metadata"]["generateName"] = json!(kind.name(&self.space, "gen-"));
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove("name");
                }
            }
            3 if kind.status => object["status"] = kind.status(&mut self.rng),
            4 | 5 => patches::spoil(&mut self.rng, &mut object),
            _ => {}
        }
        let step = Step::new("POST", kind.path(&self.space)).with(JSON, &object);
        self.written(step)
    }

    pub(super) fn owners(&mut self, kind: &Kind) -> Value {
        let name = self.name(kind);
        let mut owner = json!({"apiVersion": kind.version, "kind": kind.kind, "name": name,
            "uid": format!("$uid{{{}/{name}}}", kind.kind)});
        if self.rng.percent(40) {
            owner["controller"] = json!(true);
        }
        if self.rng.percent(30) {
            owner["blockOwnerDeletion"] = json!(self.rng.percent(70));
        }
        json!([owner])
    }

    pub(super) fn replace(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut step = Step::new("PUT", self.path(kind, &name));
        step.content_type = JSON;
        let mut patch = self.change(kind);
        self.in_version(kind, &mut patch);
        match self.rng.below(12) {
            0 => patch["metadata"]["resourceVersion"] = Value::Null,
            1 => patch["metadata"]["resourceVersion"] = json!(format!("$old{{{}/{name}}}", kind.kind)),
            2 => patch["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000"),
            3 => patch["metadata"]["name"] = json!("other"),
            4 => {
                patch["metadata"]["finalizers"] =
                    if self.rng.percent(50) { json!(["example.com/hold"]) } else { Value::Null }
            }
            5 => {
                patch["metadata"]["managedFields"] =
                    if self.rng.percent(50) { json!([{}]) } else { json!([]) }
            }
            6 => patch["metadata"]["ownerReferences"] = self.owners(kind),
            7 => patches::spoil(&mut self.rng, &mut patch),
            8 if kind.status => patch["status"] = kind.status(&mut self.rng),
            _ => {}
        }
        if self.rng.percent(15) {
            let mut object = kind.object(&mut self.rng, &self.space, &name);
            if self.rng.percent(50) {
                object["metadata"]["resourceVersion"] = json!(format!("$rv{{{}/{name}}}", kind.kind));
            }
            step.body = Body::Text(object.to_string());
        } else {
            step.body = Body::Changed { of: format!("{}/{name}", kind.kind), patch };
        }
        self.written(step)
    }

    /// An object that was seen in one version is mostly written back in the one of the path.
    pub(super) fn in_version(&mut self, kind: &Kind, patch: &mut Value) {
        if matches!(kind.kind, "Gadget" | "Gizmo") && self.rng.percent(92) {
            patch["apiVersion"] = json!(kind.version);
        }
    }

    /// A change, as a merge patch.
    pub(super) fn change(&mut self, kind: &Kind) -> Value {
        let mut patch = if self.rng.percent(60) { kind.parts(&mut self.rng) } else { json!({}) };
        let mut metadata = json!({});
        labels(&mut self.rng, &mut metadata);
        if self.rng.percent(20) {
            metadata["labels"][self.rng.of(&["app", "tier"])] = Value::Null;
        }
        patch["metadata"] = metadata;
        patch
    }

    pub(super) fn merge_patch(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut patch = self.change(kind);
        match self.rng.below(14) {
            0 => patches::spoil(&mut self.rng, &mut patch),
            1 => patch["metadata"]["resourceVersion"] = json!(format!("$rv{{{}/{name}}}", kind.kind)),
            2 => patch["metadata"]["resourceVersion"] = json!(format!("$old{{{}/{name}}}", kind.kind)),
            3 => {
                patch["metadata"]["finalizers"] =
                    if self.rng.percent(50) { json!(["example.com/hold"]) } else { Value::Null }
            }
            4 => patch["metadata"]["name"] = json!("other"),
            5 => patch = if self.rng.percent(50) { json!([]) } else { json!("text") },
            6 => patch["metadata"]["labels"] = Value::Null,
            _ => {}
        }
        let step = Step::new("PATCH", self.path(kind, &name)).with("application/merge-patch+json", &patch);
        self.written(step)
    }

    pub(super) fn strategic_patch(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut patch = match self.rng.below(3) {
            0 => self.change(kind),
            _ => patches::strategic(&mut self.rng, kind),
        };
        if self.rng.percent(6) {
            patches::spoil(&mut self.rng, &mut patch);
        }
        let step =
            Step::new("PATCH", self.path(kind, &name)).with("application/strategic-merge-patch+json", &patch);
        self.written(step)
    }

    pub(super) fn json_patch(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let patch = patches::json(&mut self.rng, kind);
        let step = Step::new("PATCH", self.path(kind, &name)).with("application/json-patch+json", &patch);
        self.written(step)
    }

    pub(super) fn apply(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut object = kind.object(&mut self.rng, &self.space, &name);
        match self.rng.below(16) {
            0 => patches::spoil(&mut self.rng, &mut object),
            1 => object["metadata"]["resourceVersion"] = json!(format!("$rv{{{}/{name}}}", kind.kind)),
            2 => object["metadata"]["managedFields"] = json!([]),
            3 => object["metadata"]["finalizers"] = json!(["example.com/hold"]),
            4 | 5 => {
                // As little as can be applied.
                object =
                    json!({"apiVersion": kind.version, "kind": kind.kind, "metadata": object["metadata"]});
            }
            _ => {}
        }
        let mut step =
            Step::new("PATCH", self.path(kind, &name)).with("application/apply-patch+yaml", &object);
        step = match self.rng.below(20) {
            0 => step,
            1 => step.asking("fieldManager="),
            _ => step.asking(self.rng.of(&[
                "fieldManager=one",
                "fieldManager=one",
                "fieldManager=two",
                "fieldManager=three",
            ])),
        };
        if self.rng.percent(40) {
            step = step.asking(self.rng.of(&["force=true", "force=true", "force=false", "force=odd"]));
        }
        if self.rng.percent(8) {
            step = step.asking("dryRun=All");
        }
        if self.rng.percent(20) {
            step = step.asking(&format!("fieldValidation={}", self.rng.of(&["Strict", "Warn", "Ignore"])));
        }
        step
    }
}
