//! What else a dialect has to know besides the object itself.

use serde_json::Value;

use crate::kind::Kind;

/// What else there is: other objects of the dialect's kinds, and what the cluster can do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// Objects of the dialect's other kinds: those of the same namespace, and those of none.
    pub objects: Vec<Value>,
    /// What the cluster can do.
    pub served: Served,
    /// Nobody asked a cluster: more may be there than is known.
    pub partial: bool,
}

/// Gangs the cluster knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Kubernetes' own PodGroups.
    pub pod_groups: bool,
    /// Volcano's PodGroups.
    pub volcano: bool,
    /// Grove's PodGangs.
    pub pod_gangs: bool,
}

impl World {
    /// The objects of a kind.
    pub fn of<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(|object| kind.is_of(object))
    }

    /// The object of a kind with a name.
    pub fn named<'a>(&'a self, kind: &'a Kind, name: &str) -> Option<&'a Value> {
        self.of(kind).find(|object| object["metadata"]["name"] == name)
    }
}
