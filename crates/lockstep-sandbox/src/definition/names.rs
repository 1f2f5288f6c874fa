//! The names of a kind and of its resource.

use serde_json::Value;

use super::{list, text};
use crate::refusal::Cause;
use crate::schema::names::label_1035;
use crate::schema::words::{self, Path};

/// The names of a kind and of its resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The resource: `things`.
    pub plural: String,
    /// One of them: `thing`.
    pub singular: String,
    /// The kind: `Thing`.
    pub kind: String,
    /// The kind of lists: `ThingList`.
    pub list_kind: String,
    /// Short names of the resource.
    pub short: Vec<String>,
    /// What `kubectl get all` and the like find.
    pub categories: Vec<String>,
}

impl Names {
    pub(super) fn read(names: &Value) -> Self {
        let owned = |key: &str| text(names, key).to_owned();
        let all = |key: &str| list(names, key).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Self {
            plural: owned("plural"),
            singular: owned("singular"),
            kind: owned("kind"),
            list_kind: owned("listKind"),
            short: all("shortNames"),
            categories: all("categories"),
        }
    }

    /// Names that must be there.
    pub(super) fn missing(&self, at: &Path) -> Vec<Cause> {
        let names = [
            ("plural", &self.plural),
            ("singular", &self.singular),
            ("kind", &self.kind),
            ("listKind", &self.list_kind),
        ];
        let missing = names.iter().filter(|(_, name)| name.is_empty());
        missing.map(|(key, _)| words::required(&at.child(key), "")).collect()
    }

    /// Names that cannot be.
    pub(super) fn wrong(&self, at: &Path) -> Vec<Cause> {
        let mut causes = Vec::new();
        let mut label = |at: Path, name: &str, checked: &str, before: &str| {
            let problems = label_1035(checked);
            if !problems.is_empty() {
                causes.push(words::invalid(&at, &name.into(), &format!("{before}{}", problems.join(","))));
            }
        };
        for (key, name) in [("plural", &self.plural), ("singular", &self.singular)] {
            if !name.is_empty() {
                label(at.child(key), name, name, "");
            }
        }
        for (key, name) in [("kind", &self.kind), ("listKind", &self.list_kind)] {
            if !name.is_empty() {
                let mixed = "may have mixed case, but should otherwise match: ";
                label(at.child(key), name, &name.to_lowercase(), mixed);
            }
        }
        for (index, name) in self.short.iter().enumerate() {
            label(at.child("shortNames").index(index), name, name, "");
        }
        let same = !self.kind.is_empty() && self.kind == self.list_kind;
        let ambiguous = same.then(|| {
            let why = "kind and listKind may not be the same";
            words::invalid(&at.child("listKind"), &self.list_kind.as_str().into(), why)
        });
        causes.extend(ambiguous);
        for (index, name) in self.categories.iter().enumerate() {
            let problems = label_1035(name);
            if !problems.is_empty() {
                let at = at.child("categories").index(index);
                causes.push(words::invalid(&at, &name.as_str().into(), &problems.join(",")));
            }
        }
        causes
    }
}
