//! Sequences of requests, made from a seed.

use serde_json::{Value, json};

use crate::kinds::{self, ALL, Kind, labels};
use crate::patches;
use crate::rng::Rng;

/// A body.
#[derive(Debug, Clone)]
pub enum Body {
    /// As it stands. `$rv{Kind/name}` and the like are filled in by whoever sends it.
    Text(String),
    /// An object as it was seen last, changed by a merge patch.
    Changed { of: String, patch: Value },
}

/// One request.
#[derive(Debug, Clone)]
pub struct Step {
    pub method: &'static str,
    pub path: String,
    pub content_type: &'static str,
    pub accept: &'static str,
    pub body: Body,
}

/// What is sent: first the namespace, then the rest while watches stand.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub first: Vec<Step>,
    pub watches: Vec<String>,
    pub steps: Vec<Step>,
    /// One object for each watch: whoever has seen it has seen all.
    pub last: Vec<Step>,
}

/// The name of the objects that end watches.
pub const END: &str = "zz-end";

const JSON: &str = "application/json";
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const PARTIALS: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

impl Step {
    pub fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), content_type: "", accept: JSON, body: Body::Text(String::new()) }
    }

    pub fn with(mut self, content_type: &'static str, body: &Value) -> Self {
        self.content_type = content_type;
        self.body = Body::Text(body.to_string());
        self
    }

    /// With one more thing after the question mark.
    pub fn asking(mut self, query: &str) -> Self {
        let sign = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{sign}{query}", self.path);
        self
    }

    fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }
}

/// The sequence of a seed, in a namespace.
pub fn generate(seed: u64, space: &str) -> Sequence {
    let mut rng = Rng::new(seed);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    let first = vec![Step::new("POST", "/api/v1/namespaces").with(JSON, &namespace)];
    // Few kinds in a sequence, so that its requests meet each other.
    let chosen: Vec<Kind> = (0..rng.of(&[1, 1, 2, 3])).map(|_| rng.of(ALL)).collect();
    let mut maker = Maker { rng, space: space.to_owned() };
    let watches = chosen.iter().map(|kind| maker.watch(kind)).collect();
    let length = 4 + maker.rng.below(16);
    let steps = (0..length).map(|_| {
        let kind = maker.rng.of(&chosen);
        maker.step(&kind)
    });
    let steps = steps.collect();
    let last = chosen.iter().map(|kind| maker.last(kind)).collect();
    Sequence { first, watches, steps, last }
}

/// Makes requests.
pub struct Maker {
    pub rng: Rng,
    pub space: String,
}

impl Maker {
    fn name(&mut self, kind: &Kind) -> String {
        let short = self.rng.of(&["a", "a", "a", "b", "b", "c"]);
        kind.name(&self.space, short)
    }

    fn path(&self, kind: &Kind, name: &str) -> String {
        format!("{}/{name}", kind.path(&self.space))
    }

    fn watch(&mut self, kind: &Kind) -> String {
        let path = kind.path(&self.space);
        let mut selectors = Vec::new();
        if !kind.namespaced {
            selectors.push(format!("seq%3D{}", self.space));
        }
        if self.rng.percent(35) {
            selectors.push(self.rng.of(&["app%3Da", "app+in+(a,b)", "!tier"]).to_owned());
        }
        let mut path = format!("{path}?watch=true&labelSelector={}", selectors.join(","));
        match self.rng.below(6) {
            0 => path.push_str(
                "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            ),
            1 => path.push_str("&fieldSelector=metadata.name!%3Da"),
            2 if kind.kind == "Widget" => path.push_str("&fieldSelector=spec.mode%3DSlow"),
            _ => {}
        }
        path
    }

    /// What every watch sees.
    fn last(&mut self, kind: &Kind) -> Step {
        let name = kind.name(&self.space, END);
        let mut object = json!({"apiVersion": kind.version, "kind": kind.kind, "metadata": {
            "name": name, "labels": {"app": "a", "seq": self.space}}});
        let parts = match kind.kind {
            "Pod" => json!({"spec": {"containers": [{"name": "main", "image": "x"}]}}),
            "Service" => json!({"spec": {"type": "ExternalName", "externalName": "x.example.com"}}),
            "Deployment" => json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {
                "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}}}),
            "PodDisruptionBudget" => json!({"spec": {"maxUnavailable": 1}}),
            "Widget" => json!({"spec": {"mode": "Slow"}}),
            _ => json!({}),
        };
        for (key, value) in parts.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        Step::new("POST", kind.path(&self.space)).with(JSON, &object)
    }

    fn step(&mut self, kind: &Kind) -> Step {
        match self.rng.below(100) {
            0..22 => self.create(kind),
            22..27 => self.get(kind),
            27..35 => self.list(kind),
            35..44 => self.replace(kind),
            44..50 => self.json_patch(kind),
            50..56 => self.merge_patch(kind),
            56..62 => self.strategic_patch(kind),
            62..76 => self.apply(kind),
            76..82 => self.part(kind),
            82..90 => self.delete(kind),
            90..92 => self.delete_many(kind),
            92..95 => self.special(kind),
            _ => self.wrong(kind),
        }
    }

    /// What may be asked of every write.
    fn written(&mut self, mut step: Step) -> Step {
        if self.rng.percent(8) {
            step = step.asking(self.rng.of(&["dryRun=All", "dryRun=All", "dryRun=None"]));
        }
        if self.rng.percent(30) {
            step = step.asking(self.rng.of(&["fieldManager=one", "fieldManager=two"]));
        }
        if self.rng.percent(20) {
            let validation = ["Strict", "Strict", "Warn", "Ignore", "Odd"];
            step = step.asking(&format!("fieldValidation={}", self.rng.of(&validation)));
        }
        if self.rng.percent(3) {
            step = step.accepting(self.rng.of(&[TABLE, PARTIAL]));
        }
        step
    }

    fn create(&mut self, kind: &Kind) -> Step {
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

    fn owners(&mut self, kind: &Kind) -> Value {
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

    fn get(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let step = Step::new("GET", self.path(kind, &name));
        match self.rng.below(6) {
            0 => step.accepting(TABLE),
            1 => step.accepting(PARTIAL),
            2 => step.accepting(TABLE).asking(self.rng.of(&["includeObject=Object", "includeObject=None"])),
            _ => step,
        }
    }

    fn list(&mut self, kind: &Kind) -> Step {
        let mut step = Step::new("GET", kind.path(&self.space));
        let selector = self.selector(kind);
        if !selector.is_empty() {
            step = step.asking(&format!("labelSelector={selector}"));
        }
        if self.rng.percent(20) {
            let fields = [
                "metadata.name%3Da",
                "metadata.name!%3Da",
                "spec.nodeName%3Dfar",
                "status.phase%3DRunning",
                "spec.mode%3DFast",
                "type%3DOpaque",
                "spec.odd%3D1",
                "metadata.name",
            ];
            step = step.asking(&format!("fieldSelector={}", self.rng.of(&fields)));
        }
        if kind.namespaced && self.rng.percent(20) {
            step = step.asking(self.rng.of(&[
                "limit=1",
                "limit=2",
                "limit=1&continue=$continue",
                "limit=x",
                "continue=odd",
            ]));
        } else if self.rng.percent(15) {
            step = step.asking(self.rng.of(&[
                // What is not older may be newer, and how much is left to chance.
                "resourceVersion=$last&resourceVersionMatch=Exact",
                "resourceVersionMatch=Exact",
                "resourceVersion=$last&resourceVersionMatch=Odd",
                "resourceVersion=odd",
            ]));
        }
        match self.rng.below(6) {
            0 => step.accepting(TABLE),
            1 => step.accepting(PARTIALS),
            _ => step,
        }
    }

    fn selector(&mut self, kind: &Kind) -> String {
        let own = if kind.namespaced { String::new() } else { format!("seq%3D{}", self.space) };
        if self.rng.percent(50) {
            return own;
        }
        let more = self.rng.of(&[
            "app%3Da",
            "app!%3Da",
            "app+in+(a,b)",
            "app+notin+(a)",
            "tier",
            "!tier",
            "tier%3D",
            "app%3Da,tier%3Dx",
            "app+in+()",
            "app%3D%3D%3Da",
            "-x%3Da",
            "app+gt+1",
        ]);
        if own.is_empty() { more.to_owned() } else { format!("{own},{more}") }
    }

    fn replace(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut step = Step::new("PUT", self.path(kind, &name));
        step.content_type = JSON;
        let mut patch = self.change(kind);
        match self.rng.below(12) {
            0 => patch["metadata"]["resourceVersion"] = Value::Null,
            1 => patch["metadata"]["resourceVersion"] = json!(format!("$old{{{}/{name}}}", kind.kind)),
            2 => patch["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000"),
            3 => patch["metadata"]["name"] = json!("other"),
            4 => {
                patch["metadata"]["finalizers"] =
                    self.rng.of(&[0, 1]).eq(&0).then(|| json!(["example.com/hold"])).unwrap_or(Value::Null)
            }
            5 => {
                patch["metadata"]["managedFields"] =
                    self.rng.of(&[0, 1]).eq(&0).then(|| json!([{}])).unwrap_or(json!([]))
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

    /// A change, as a merge patch.
    fn change(&mut self, kind: &Kind) -> Value {
        let mut patch = if self.rng.percent(60) { kind.parts(&mut self.rng) } else { json!({}) };
        let mut metadata = json!({});
        labels(&mut self.rng, &mut metadata);
        if self.rng.percent(20) {
            metadata["labels"][self.rng.of(&["app", "tier"])] = Value::Null;
        }
        patch["metadata"] = metadata;
        patch
    }

    fn merge_patch(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut patch = self.change(kind);
        match self.rng.below(14) {
            0 => patches::spoil(&mut self.rng, &mut patch),
            1 => patch["metadata"]["resourceVersion"] = json!(format!("$rv{{{}/{name}}}", kind.kind)),
            2 => patch["metadata"]["resourceVersion"] = json!(format!("$old{{{}/{name}}}", kind.kind)),
            3 => {
                patch["metadata"]["finalizers"] =
                    self.rng.of(&[0, 1]).eq(&0).then(|| json!(["example.com/hold"])).unwrap_or(Value::Null)
            }
            4 => patch["metadata"]["name"] = json!("other"),
            5 => patch = self.rng.of(&[0, 1]).eq(&0).then(|| json!([])).unwrap_or(json!("text")),
            6 => patch["metadata"]["labels"] = Value::Null,
            _ => {}
        }
        let step = Step::new("PATCH", self.path(kind, &name)).with("application/merge-patch+json", &patch);
        self.written(step)
    }

    fn strategic_patch(&mut self, kind: &Kind) -> Step {
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

    fn json_patch(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let patch = patches::json(&mut self.rng, kind);
        let step = Step::new("PATCH", self.path(kind, &name)).with("application/json-patch+json", &patch);
        self.written(step)
    }

    fn apply(&mut self, kind: &Kind) -> Step {
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

    /// Status and scale.
    fn part(&mut self, kind: &Kind) -> Step {
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

    fn scale(&mut self, kind: &Kind, name: &str) -> Step {
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

    fn delete(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let mut step = Step::new("DELETE", self.path(kind, &name));
        let key = format!("{}/{name}", kind.kind);
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        match self.rng.below(16) {
            0 => options["preconditions"] = json!({"uid": format!("$uid{{{key}}}")}),
            1 => options["preconditions"] = json!({"uid": "00000000-0000-4000-8000-000000000000"}),
            2 => options["preconditions"] = json!({"resourceVersion": format!("$rv{{{key}}}")}),
            3 => options["preconditions"] = json!({"resourceVersion": format!("$old{{{key}}}")}),
            4 => options["propagationPolicy"] = json!("Foreground"),
            5 => options["propagationPolicy"] = json!("Orphan"),
            6 => options["propagationPolicy"] = json!(self.rng.of(&["Background", "Odd"])),
            7 => options["gracePeriodSeconds"] = json!(self.rng.of(&[0, 0, 10, -1])),
            8 => options["orphanDependents"] = json!(self.rng.percent(50)),
            9 => options["dryRun"] = json!(["All"]),
            10 => {
                return step.asking(self.rng.of(&[
                    "propagationPolicy=Foreground",
                    "gracePeriodSeconds=0",
                    "dryRun=All",
                ]));
            }
            11 => options["unknown"] = json!(1),
            _ => return step,
        }
        step = step.with(JSON, &options);
        step
    }

    fn delete_many(&mut self, kind: &Kind) -> Step {
        let mut step = Step::new("DELETE", kind.path(&self.space));
        let selector = self.selector(kind);
        if !selector.is_empty() {
            step = step.asking(&format!("labelSelector={selector}"));
        }
        if self.rng.percent(20) {
            step = step.asking(self.rng.of(&["propagationPolicy=Foreground", "dryRun=All"]));
        }
        step
    }

    /// What only some kinds can.
    fn special(&mut self, kind: &Kind) -> Step {
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

    /// What no server should take.
    fn wrong(&mut self, kind: &Kind) -> Step {
        let (name, all) = (self.name(kind), kind.path(&self.space));
        let path = self.path(kind, &name);
        let object = kind.object(&mut self.rng, &self.space, &name);
        let body =
            |step: Step, text: &str| Step { body: Body::Text(text.to_owned()), content_type: JSON, ..step };
        match self.rng.below(20) {
            0 => body(Step::new("POST", all), "{"),
            1 => body(Step::new("POST", all), ""),
            2 => body(Step::new("POST", all), "[1]"),
            3 => Step::new("POST", all).with("text/plain", &object),
            4 => Step::new("PATCH", path).with(JSON, &json!({})),
            5 => Step::new("POST", path).with(JSON, &object),
            6 => Step::new("PUT", all).with(JSON, &object),
            7 => Step::new("PATCH", all).with("application/merge-patch+json", &json!({})),
            8 => Step::new("GET", format!("{path}/odd")),
            9 => Step::new("GET", format!("{all}x")),
            10 => Step::new("GET", format!("{path}/a/b")),
            11 => Step::new("GET", path).accepting("text/html"),
            12 => body(Step::new("PATCH", path), "{").with_type("application/merge-patch+json"),
            13 => {
                body(Step::new("PATCH", path), "[{\"op\":\"odd\"}]").with_type("application/json-patch+json")
            }
            14 => body(Step::new("PATCH", path), "{}").with_type("application/json-patch+json"),
            15 => body(Step::new("PATCH", path), "a: [")
                .with_type("application/apply-patch+yaml")
                .asking("fieldManager=one"),
            16 => {
                let text = object.to_string().replacen("\"metadata\":", "\"kind\":\"Odd\",\"metadata\":", 1);
                self.written(body(Step::new("POST", all), &text))
            }
            17 => {
                let text = object.to_string().replacen("\"name\":", "\"name\":\"x\",\"name\":", 1);
                self.written(body(Step::new("POST", all), &text))
            }
            18 => body(Step::new("DELETE", path), "{"),
            _ => {
                let other = kinds::CONFIG_MAP.object(&mut self.rng, &self.space, "odd");
                Step::new(self.rng.of(&["POST", "PUT"]), if self.rng.percent(50) { all } else { path })
                    .with(JSON, &other)
            }
        }
    }
}

impl Step {
    fn with_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }
}
