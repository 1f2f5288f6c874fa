//! What is read: objects, lists and watches.

use crate::kinds::Kind;
use crate::sequence::{Maker, PARTIAL, PARTIALS, Step, TABLE};

impl Maker {
    pub(super) fn watch(&mut self, kind: &Kind) -> String {
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

    pub(super) fn get(&mut self, kind: &Kind) -> Step {
        let name = self.name(kind);
        let step = Step::new("GET", self.path(kind, &name));
        match self.rng.below(6) {
            0 => step.accepting(TABLE),
            1 => step.accepting(PARTIAL),
            2 => step.accepting(TABLE).asking(self.rng.of(&["includeObject=Object", "includeObject=None"])),
            _ => step,
        }
    }

    pub(super) fn list(&mut self, kind: &Kind) -> Step {
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

    pub(super) fn selector(&mut self, kind: &Kind) -> String {
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
}
