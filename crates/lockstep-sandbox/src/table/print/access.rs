//! Who may do what: bindings of roles.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{list, name, text};

/// The cells of a RoleBinding or a ClusterRoleBinding.
pub fn binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let role = format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
    let plain = |subject: &Value| text(subject, "/name").to_owned();
    let account = |subject: &Value| format!("{}/{}", text(subject, "/namespace"), text(subject, "/name"));
    vec![
        name(object),
        role.into(),
        age::of(object, now),
        subjects(object, "User", plain).into(),
        subjects(object, "Group", plain).into(),
        subjects(object, "ServiceAccount", account).into(),
    ]
}

fn subjects(binding: &Value, kind: &str, shown: impl Fn(&Value) -> String) -> String {
    let of_kind = list(binding, "/subjects").iter().filter(|subject| text(subject, "/kind") == kind);
    of_kind.map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::noon;

    #[test]
    fn cells_of_a_binding() {
        let object = json!({
            "metadata": {"name": "b", "creationTimestamp": "2026-01-02T11:59:00Z"},
            "roleRef": {"kind": "ClusterRole", "name": "admin"},
            "subjects": [
                {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ],
        });
        let cells = json!(["b", "ClusterRole/admin", "60s", "u, v", "g", "n/s"]);
        assert_eq!(Value::from(binding(&object, noon())), cells);
    }
}
