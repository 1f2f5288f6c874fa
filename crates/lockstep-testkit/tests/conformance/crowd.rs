//! More who write one object than a server remembers by name.

use serde_json::json;

use crate::kinds::{CONFIG_MAP, DEPLOYMENT, GADGETS, Kind, WIDGET};
use crate::sequence::{JSON, Maker, Step};

impl Maker {
    /// An object that many write, each something else. Their names come in the order they write in: who wrote first is
    /// the first by time and by name, however the seconds fall.
    pub(super) fn crowd(&mut self) -> (Vec<Kind>, Vec<Step>) {
        let kinds = match self.rng.below(4) {
            0 => vec![CONFIG_MAP],
            1 => vec![DEPLOYMENT],
            2 => vec![WIDGET],
            _ => GADGETS.to_vec(),
        };
        let first = kinds[0];
        let object = first.object(&mut self.rng, &self.space, "a");
        let create = Step::new("POST", first.path(&self.space)).with(JSON, &object).asking("fieldManager=m");
        let many = 8 + self.rng.below(10);
        let writes = (0..many).map(|number| {
            let kind = self.rng.of(&kinds);
            let part = if kind.status && self.rng.percent(20) { "/status" } else { "" };
            let patch = match part {
                "" => json!({"metadata": {"annotations": {format!("n{number}"): "1", "last": number.to_string()}}}),
                _ => json!({"status": {"replicas": number}}),
            };
            let path = format!("{}{part}?fieldManager=m{number:02}", self.path(&kind, "a"));
            Step::new("PATCH", path).with("application/merge-patch+json", &patch)
        });
        (kinds.clone(), std::iter::once(create).chain(writes).collect())
    }
}
