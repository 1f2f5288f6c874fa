//! Second spellings: a field that the reader accepts must not be dropped by the API server.

use serde_json::{Value, json};

/// The short spellings of a rule's kinds.
const OF_A_RULE: [(&str, &str); 2] = [("rollingUpdate", "skew"), ("affinityScheduling", "affinity")];

/// Adds the second spellings to the schema of a LockstepSet's spec.
pub(super) fn add(spec: &mut Value) {
    let Some(Value::Object(fields)) = spec.pointer_mut("/properties/coordination/items/properties") else {
        return;
    };
    for (name, short) in OF_A_RULE {
        let Some(mut schema) = fields.get(name).cloned() else { continue };
        schema["description"] = json!(format!("Another spelling of {name}; either of them."));
        fields.insert(short.to_owned(), schema);
    }
}
