use super::*;
use crate::apply::versions::testing::OneShape;

struct Stage {
    live: Value,
    managers: Managers,
}

impl Stage {
    fn write(&mut self, name: &str, operation: Operation, object: Value, force: bool) -> Vec<String> {
        let shape = Shape::read(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "additionalProperties": {"type": "string"}},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        }}));
        let api_version = "v1".to_owned();
        let who = Who { manager: name.to_owned(), operation, subresource: String::new(), api_version };
        let writing = Writing {
            who: &who,
            time: "now",
            shape: &shape,
            shapes: &Shapes::default(),
            reset: &Fields::default(),
        };
        let versions = OneShape(&shape);
        let written = match operation {
            Operation::Apply => self.managers.apply(&self.live, &object, &writing, &versions, force),
            Operation::Update => {
                let Ok(written) = self.managers.update(&self.live, object, &writing, &versions);
                Ok(written)
            }
        };
        match written {
            Ok(written) => {
                (self.live, self.managers) = (written.object, written.managers);
                Vec::new()
            }
            Err(NotApplied::Conflicts(conflicts)) => conflicts
                .into_iter()
                .map(|conflict| format!("{} {}", conflict.who.manager, conflict.field))
                .collect(),
        }
    }

    fn owners(&self) -> Vec<String> {
        let owner = |entry: &Entry| format!("{} {}", entry.who.manager, entry.fields.write());
        self.managers.entries().iter().map(owner).collect()
    }
}

#[test]
fn two_appliers_and_an_updater() {
    use Operation::{Apply, Update};
    let mut stage = Stage { live: json!({}), managers: Managers::default() };
    assert_eq!(stage.write("a", Apply, json!({"spec": {"x": "1", "y": "1"}}), false), [""; 0]);
    assert_eq!(stage.write("b", Apply, json!({"spec": {"x": "2"}}), false), ["a .spec.x"]);
    // The same value is shared.
    assert_eq!(stage.write("b", Apply, json!({"spec": {"x": "1"}}), false), [""; 0]);
    assert_eq!(stage.write("b", Apply, json!({"spec": {"x": "2"}}), true), [""; 0]);
    assert_eq!(stage.owners(), [r#"a {"f:spec":{"f:y":{}}}"#, r#"b {"f:spec":{"f:x":{}}}"#]);
    // What is no longer applied goes.
    assert_eq!(stage.write("a", Apply, json!({"spec": {"z": "1"}}), false), [""; 0]);
    assert_eq!(stage.live, json!({"spec": {"x": "2", "z": "1"}}));
    // Any other write takes what it changes.
    assert_eq!(stage.write("c", Update, json!({"spec": {"x": "3", "z": "1"}}), false), [""; 0]);
    assert_eq!(stage.owners(), [r#"a {"f:spec":{"f:z":{}}}"#, r#"c {"f:spec":{"f:x":{}}}"#]);
}

#[test]
fn what_is_written_is_read_again() {
    let written = json!([{
        "manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:x": {}}}, "subresource": "status",
    }]);
    assert_eq!(Managers::read(&written).map(|managers| managers.write()), Ok(written));
    let wrong = Managers::read(&json!([{"operation": "Guess"}])).map_err(|error| error.to_string());
    let message = "managedFields[0].operation: \"Guess\" is neither \"Apply\" nor \"Update\"";
    assert_eq!(wrong, Err(message.to_owned()));
}

#[test]
fn what_was_there_twice_and_is_there_once_belongs_to_whoever_wrote_it() {
    let mut stage = Stage { live: json!({}), managers: Managers::default() };
    stage.write("a", Operation::Update, json!({"tags": ["b", "b"]}), false);
    stage.write("a", Operation::Update, json!({"tags": ["b", "d"]}), false);
    assert_eq!(stage.owners(), [r#"a {"f:tags":{".":{},"v:\"b\"":{},"v:\"d\"":{}}}"#]);
}
