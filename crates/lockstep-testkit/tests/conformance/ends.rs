//! Deletions.

use serde_json::json;

use crate::kinds::Kind;
use crate::sequence::{JSON, Maker, Step};

impl Maker {
    pub(super) fn delete(&mut self, kind: &Kind) -> Step {
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

    pub(super) fn delete_many(&mut self, kind: &Kind) -> Step {
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
}
