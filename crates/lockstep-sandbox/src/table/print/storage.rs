//! Volumes and claims.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{is_there, list, name, shown, text, text_or};

/// The cells of a PersistentVolume.
pub fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = match is_there(object, "/spec/claimRef") {
        true => {
            format!("{}/{}", text(object, "/spec/claimRef/namespace"), text(object, "/spec/claimRef/name"))
        }
        false => String::new(),
    };
    vec![
        name(object),
        capacity(object, "/spec/capacity/storage").into(),
        access_modes(object, "/spec/accessModes").into(),
        text(object, "/spec/persistentVolumeReclaimPolicy").into(),
        phase(object).into(),
        claim.into(),
        class(object).into(),
        text_or(object, "/spec/volumeAttributesClassName", "<unset>").into(),
        text(object, "/status/reason").into(),
        age::of(object, now),
        text_or(object, "/spec/volumeMode", "<unset>").into(),
    ]
}

/// The cells of a PersistentVolumeClaim.
pub fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let volume = text(object, "/spec/volumeName");
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (capacity(object, "/status/capacity/storage"), access_modes(object, "/status/accessModes")),
    };
    vec![
        name(object),
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        class(object).into(),
        text_or(object, "/spec/volumeAttributesClassName", "<unset>").into(),
        age::of(object, now),
        text_or(object, "/spec/volumeMode", "<unset>").into(),
    ]
}

fn phase(object: &Value) -> &str {
    match is_there(object, "/metadata/deletionTimestamp") {
        true => "Terminating",
        false => text(object, "/status/phase"),
    }
}

fn capacity(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).map_or_else(|| "0".to_owned(), shown)
}

/// The class; an old annotation wins over the field.
fn class(object: &Value) -> &str {
    let annotation = object.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    annotation.and_then(Value::as_str).unwrap_or_else(|| text(object, "/spec/storageClassName"))
}

fn access_modes(object: &Value, pointer: &str) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = list(object, pointer);
    let told = short.into_iter().filter(|(mode, _)| modes.iter().any(|one| one == mode));
    told.map(|(_, short)| short).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::noon;

    #[test]
    fn volumes_and_claims() {
        let metadata = json!({"name": "n", "creationTimestamp": "2026-01-02T11:59:00Z"});
        let object = json!({
            "metadata": metadata,
            "spec": {
                "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "a", "name": "b"},
                "storageClassName": "fast", "volumeMode": "Block",
            },
            "status": {"phase": "Bound"},
        });
        let cells =
            json!(["n", "10Gi", "RWO,RWX", "Retain", "Bound", "a/b", "fast", "<unset>", "", "60s", "Block",]);
        assert_eq!(Value::from(volume(&object, noon())), cells);
        let mut object = json!({
            "metadata": metadata, "spec": {"volumeName": "v"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"]},
        });
        let cells = json!(["n", "Bound", "v", "1Gi", "ROX", "", "<unset>", "60s", "<unset>"]);
        assert_eq!(Value::from(claim(&object, noon())), cells);
        object["spec"] = json!({});
        object["metadata"]["deletionTimestamp"] = json!("2026-01-02T11:59:00Z");
        object["metadata"]["annotations"] = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        let cells = json!(["n", "Terminating", "", "", "", "old", "<unset>", "60s", "<unset>"]);
        assert_eq!(Value::from(claim(&object, noon())), cells);
    }
}
