//! What no server should take.

use serde_json::json;

use crate::kinds::{self, Kind};
use crate::sequence::{Body, JSON, Maker, Step};

impl Maker {
    /// What no server should take.
    pub(super) fn wrong(&mut self, kind: &Kind) -> Step {
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
