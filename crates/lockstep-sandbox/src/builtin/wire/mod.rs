//! How objects of built-in kinds are written. A real API server reads JSON into Go's types and writes it again from
//! them: what the types do not know is lost, what is empty is left out or not, field by field, quantities are written
//! anew. `types.txt` says how the types are written, as Go's reflection shows it: `?` marks what is left out when empty,
//! `~` what is left out when zero, `*` what may be nil.

mod inner;
mod names;
mod read;
mod tree;
mod types;

use serde_json::{Map, Value};

pub use read::Misread;
use read::{Path, read};
use tree::Tree;
use types::{Struct, Type};

/// The Go type of a kind.
pub(crate) fn type_of(group: &str, kind: &str) -> Option<String> {
    let package = match group {
        "" => "core/v1",
        "apps" => "apps/v1",
        "batch" => "batch/v1",
        "policy" => "policy/v1",
        "autoscaling" => "autoscaling/v1",
        "events.k8s.io" => "events/v1",
        "coordination.k8s.io" => "coordination/v1",
        "scheduling.k8s.io" if kind == "PodGroup" => "scheduling/v1beta1",
        "scheduling.k8s.io" => "scheduling/v1",
        "apiextensions.k8s.io" => "apiextensions/v1",
        "admissionregistration.k8s.io" => "admissionregistration/v1",
        "rbac.authorization.k8s.io" => "rbac/v1",
        "authorization.k8s.io" => "authorization/v1",
        "authentication.k8s.io" => "authentication/v1",
        _ => return None,
    };
    let name = format!("{package}.{kind}");
    Struct::named(&name).map(|_| name)
}

/// A value of a type in one line, fields in their order.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    Tree::of_struct(name, value).compact()
}

/// A value of an inner type of a real API server in one line.
pub(crate) fn inner_shown(name: &str, value: &Value) -> String {
    inner::tree(name, value).compact()
}

/// A value of an inner type of a real API server in many lines.
pub(crate) fn inner_pretty(name: &str, value: &Value) -> String {
    inner::tree(name, value).pretty()
}

/// Reads an object of a type and writes it again. Fails where a value is not of the sort that belongs there.
pub(crate) fn settle(name: &str, object: &mut Value) -> Result<(), Misread> {
    let Some(of) = Struct::named(name) else { return Ok(()) };
    let Value::Object(map) = std::mem::take(object) else {
        *object = Value::Object(Map::new());
        return Ok(());
    };
    *object = Value::Object(settle_map(of, map, &mut Path::new())?);
    Ok(())
}

fn settle_map(
    of: &'static Struct,
    mut map: Map<String, Value>,
    path: &mut Path,
) -> Result<Map<String, Value>, Misread> {
    let mut written = Map::new();
    for field in &of.fields {
        path.enter(field.name, of.name);
        let value = settle_value(&field.of, map.remove(field.name).unwrap_or_default(), path)?;
        path.leave();
        if field.omit && is_empty(&field.of, &value) || field.omit_zero && value.is_null() {
            continue;
        }
        written.insert(field.name.to_owned(), value);
    }
    Ok(written)
}

/// The value as it is written; null for what is nil.
fn settle_value(of: &'static Type, value: Value, path: &mut Path) -> Result<Value, Misread> {
    match (of, value) {
        (Type::Pointer(_), Value::Null) => Ok(Value::Null),
        (Type::Pointer(of), value) => settle_value(of, value, path),
        (Type::Any, value) => Ok(value),
        (Type::Struct(name), value) => settle_struct(name, value, path),
        (Type::List(_) | Type::Map(_) | Type::Bytes | Type::Time | Type::MicroTime, Value::Null) => {
            Ok(Value::Null)
        }
        (Type::List(of), Value::Array(items)) => {
            let items: Result<Vec<Value>, Misread> =
                items.into_iter().map(|item| settle_value(of, item, path)).collect();
            // What is stored is protobuf, where an empty list is none.
            items.map(|items| if items.is_empty() { Value::Null } else { Value::Array(items) })
        }
        (Type::Map(of), Value::Object(map)) => {
            let entries: Result<Map<String, Value>, Misread> =
                map.into_iter().map(|(key, value)| Ok((key, settle_value(of, value, path)?))).collect();
            entries.map(|map| if map.is_empty() { Value::Null } else { Value::Object(map) })
        }
        (of, value) => read(of, value, path),
    }
}

fn settle_struct(name: &'static str, value: Value, path: &mut Path) -> Result<Value, Misread> {
    let Some(of) = Struct::named(name) else { return Ok(value) };
    let map = match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => return Err(path.misread(&other, of.go_name())),
    };
    settle_map(of, map, path).map(Value::Object)
}

/// Whether Go leaves a value out that is marked so: structs never, pointers where they are nil.
fn is_empty(of: &Type, value: &Value) -> bool {
    match (of, value) {
        (Type::Time | Type::MicroTime | Type::Quantity | Type::IntOrText | Type::Struct(_), _) => false,
        (_, Value::Null) => true,
        (Type::Pointer(_) | Type::Any | Type::SchemaOrBool, _) => false,
        (_, Value::Bool(truth)) => !truth,
        (_, Value::Number(number)) => number.as_f64() == Some(0.0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(map)) => map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settled(name: &str, mut object: Value) -> Result<Value, String> {
        settle(name, &mut object).map_err(|misread| misread.to_string())?;
        Ok(object)
    }

    #[test]
    fn what_is_empty_is_left_out_or_not() {
        for (name, written, kept) in [
            (
                "core/v1.PodSpec",
                json!({"containers": [], "hostNetwork": false, "nodeName": "", "priority": 0, "foo": 1}),
                json!({"containers": null, "priority": 0}),
            ),
            ("core/v1.EnvVar", json!({"name": "a", "value": ""}), json!({"name": "a"})),
            ("core/v1.Container", json!({"name": "a"}), json!({"name": "a", "resources": {}})),
            (
                "meta/v1.ObjectMeta",
                json!({"creationTimestamp": null, "labels": {}, "name": "x", "generation": 0}),
                json!({"name": "x"}),
            ),
            (
                "core/v1.ResourceRequirements",
                json!({"limits": {"cpu": 0.5, "memory": " 1024Ki "}}),
                json!({"limits": {"cpu": "500m", "memory": "1Mi"}}),
            ),
        ] {
            assert_eq!(settled(name, written.clone()), Ok(kept), "{name} {written}");
        }
    }

    #[test]
    fn what_is_of_another_sort_cannot_be_read() {
        for (name, written, why) in [
            (
                "core/v1.Pod",
                json!({"spec": {"containers": [{"image": 5}]}}),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
            ),
            (
                "apps/v1.Deployment",
                json!({"spec": {"replicas": "3"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                "core/v1.Pod",
                json!({"metadata": {"labels": {"a": true}}}),
                "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                "core/v1.ResourceRequirements",
                json!({"limits": {"cpu": "1x"}}),
                "quantities must match the regular \
                expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        ] {
            assert_eq!(settled(name, written.clone()), Err(why.to_owned()), "{name} {written}");
        }
    }

    #[test]
    fn misread_as_by_a_real_server() {
        let recorded: Vec<Value> =
            serde_json::from_str(include_str!("../../../recorded/types.json")).expect("JSON");
        let mut wrong = Vec::new();
        for case in recorded {
            let text = |key: &str| case["object"][key].as_str().expect(key);
            let (kind, version) = (text("kind"), text("apiVersion"));
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let read = crate::builtin::decode((group, kind), &mut case["object"].clone());
            let said = read
                .err()
                .map(|why| format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"));
            if json!(said) != case["error"] {
                wrong.push(format!("{}\n  said {said:?}\n  not {}", case["object"], case["error"]));
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn every_type_that_is_named_is_known() {
        assert_eq!(types::unknown(), Vec::<String>::new());
        for kind in crate::kinds::built_in().into_iter().filter(|kind| kind.allows("get")) {
            assert!(type_of(&kind.of.group, &kind.kind).is_some(), "{}", kind.kind);
        }
    }
}
