//! Which object.

use serde_json::Value;

/// An object by kind, namespace and name. Its version does not matter: it is the same object in each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// The group of its kind; empty for Kubernetes' oldest.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Id {
    /// Of an object.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            group: group_of(object["apiVersion"].as_str().unwrap_or_default()).to_owned(),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
        }
    }

    /// Of the object that controls another, which lives in the same namespace.
    pub fn of_controller(object: &Value) -> Option<Self> {
        let owner = controller(object)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(Self {
            group: group_of(owner["apiVersion"].as_str().unwrap_or_default()).to_owned(),
            kind: text(&owner["kind"]),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&owner["name"]),
        })
    }
}

/// The group in `group/version`.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The reference to the object that controls another.
pub fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// Whether an object is controlled by the one with this UID.
pub fn is_made_from(object: &Value, uid: &Value) -> bool {
    uid.is_string() && controller(object).is_some_and(|owner| owner["uid"] == *uid)
}

/// Whether an object is on its way out.
pub fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Which state of an object this is.
pub fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}
