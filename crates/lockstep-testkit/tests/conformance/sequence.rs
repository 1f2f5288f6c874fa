//! Sequences of requests, made from a seed.

use serde_json::{Value, json};

use crate::kinds::{ALL, GADGETS, GIZMOS, Kind};
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

pub const JSON: &str = "application/json";
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
pub const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
pub const PARTIALS: &str =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

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

    pub fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }
}

/// From this seed on, sequences are about a kind with several versions.
pub const VERSIONS: u64 = 1_000_000;

/// From this seed on, about one whose versions a webhook converts.
pub const WEBHOOKS: u64 = 2_000_000;

/// From this seed on, about objects that many write.
pub const CROWDS: u64 = 3_000_000;

/// The sequence of a seed, in a namespace.
pub fn generate(seed: u64, space: &str) -> Sequence {
    let mut rng = Rng::new(seed);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    let first = vec![Step::new("POST", "/api/v1/namespaces").with(JSON, &namespace)];
    // Few kinds in a sequence, so that its requests meet each other.
    let chosen: Vec<Kind> = match seed < VERSIONS {
        true => (0..rng.of(&[1, 1, 2, 3])).map(|_| rng.of(ALL)).collect(),
        false if seed < WEBHOOKS => GADGETS.to_vec(),
        false => GIZMOS.to_vec(),
    };
    let mut maker = Maker { rng, space: space.to_owned() };
    if seed >= CROWDS {
        let (kinds, steps) = maker.crowd();
        let watches = kinds.iter().map(|kind| format!("{}?watch=true", kind.path(space))).collect();
        let last = kinds.iter().map(|kind| maker.last(kind)).collect();
        return Sequence { first, watches, steps, last };
    }
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
    pub fn name(&mut self, kind: &Kind) -> String {
        let short = self.rng.of(&["a", "a", "a", "b", "b", "c"]);
        kind.name(&self.space, short)
    }

    pub fn path(&self, kind: &Kind, name: &str) -> String {
        format!("{}/{name}", kind.path(&self.space))
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
            "Widget" | "Gadget" | "Gizmo" => json!({"spec": {"mode": "Slow"}}),
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
    pub fn written(&mut self, mut step: Step) -> Step {
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
}

impl Step {
    pub fn with_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }
}
