//! A kind of another project.

use serde_json::Value;

/// A kind of another project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `workloads.x-k8s.io`
    pub group: &'static str,
    /// The versions in which it may be written, the one that is stored first.
    pub versions: &'static [&'static str],
    /// `RoleBasedGroup`
    pub kind: &'static str,
    /// `rolebasedgroups`
    pub plural: &'static str,
    /// Whether it lives in a namespace.
    pub namespaced: bool,
    /// Whether each object of it becomes a set; the others are read beside those that do, or made by us.
    pub becomes_set: bool,
}

impl Kind {
    /// Whether an object is of this kind, in any version.
    pub fn is_of(&self, object: &Value) -> bool {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        object["kind"] == self.kind && group == self.group && self.versions.contains(&version)
    }

    /// Group and stored version.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.versions.first().copied().unwrap_or_default())
    }
}
