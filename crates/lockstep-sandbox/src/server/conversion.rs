//! Conversion webhooks: how they are asked for objects in another version, and what may come back.

use serde_json::{Map, Value, json};

use crate::builtin::{self, Causes};
use crate::definition::Definition;

use super::create::identity;
use super::told::{Call, Subject};

/// How long a webhook has, in seconds.
const PATIENCE: u64 = 30;

/// What tells a question from all others.
pub(super) fn key(object: &Value, to: &str) -> String {
    identity(0, &format!("conversion to {to} {object}"))
}

/// The question how objects look in another version; none if the webhook reads no review we can write.
pub(super) fn question(
    definition: &Definition,
    webhook: &Value,
    objects: Vec<Value>,
    to: &str,
) -> Option<Call> {
    let known = webhook["conversionReviewVersions"].as_array().into_iter().flatten();
    let version = known.filter_map(Value::as_str).find(|version| matches!(*version, "v1" | "v1beta1"))?;
    let keys: Vec<String> = objects.iter().map(|object| key(object, to)).collect();
    let uid = identity(0, &keys.join(" "));
    Some(Call {
        about: Subject::Conversion(keys),
        name: definition.resource(),
        client: webhook["clientConfig"].clone(),
        timeout: PATIENCE,
        body: json!({
            "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "request": {"uid": uid, "desiredAPIVersion": to, "objects": objects},
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        }),
    })
}

/// What became of each object of a question, in the words of a real server where it is nothing good.
pub(super) fn converted(asked: &Value, answer: Result<Value, String>) -> Vec<Result<Value, String>> {
    let objects = asked["request"]["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let failed = |object: &Value, why: String| Err(format!("conversion webhook for {} {why}", kind(object)));
    let answered = answer.and_then(|review| of_review(asked, review)).map_err(|why| format!("failed: {why}"));
    let answered = answered.and_then(|found| match found.len() == objects.len() {
        true => Ok(found),
        false => Err(format!("returned {} objects, expected {}", found.len(), objects.len())),
    });
    match answered {
        Err(why) => objects.iter().map(|object| failed(object, why.clone())).collect(),
        Ok(found) => {
            let to = asked["request"]["desiredAPIVersion"].as_str().unwrap_or_default();
            let pairs = objects.iter().zip(found);
            pairs
                .map(|(object, found)| checked(object, found, to).or_else(|why| failed(object, why)))
                .collect()
        }
    }
}

/// The objects of an answer.
fn of_review(asked: &Value, review: Value) -> Result<Vec<Value>, String> {
    let Some(response) = review.get("response").filter(|response| response.is_object()) else {
        return Err("no response provided".to_owned());
    };
    // Those who speak the older version were never held to this.
    if asked["apiVersion"] == "apiextensions.k8s.io/v1" {
        let wanted = kind(asked);
        if kind(&review) != wanted {
            return Err(format!("expected webhook response of {wanted}, got {}", kind(&review)));
        }
        let (uid, got) = (&asked["request"]["uid"], response["uid"].as_str().unwrap_or_default());
        if uid != got {
            return Err(format!("expected response.uid={uid}, got {got:?}"));
        }
    }
    let result = &response["result"];
    let status = result["status"].as_str().unwrap_or_default();
    match (status, result["message"].as_str().unwrap_or_default()) {
        ("Success", _) => Ok(response["convertedObjects"].as_array().cloned().unwrap_or_default()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// An object that came back is still the one that was sent, but for its version, its labels and its annotations.
fn checked(sent: &Value, mut found: Value, to: &str) -> Result<Value, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&found["apiVersion"]);
    if version != to {
        let why = format!("invalid groupVersion (expected {to}, received {version})");
        return Err(format!("returned invalid object at index 0: {why}"));
    }
    let (wanted, got) = (text(&sent["kind"]), text(&found["kind"]));
    if wanted != got {
        let why = format!("invalid kind (expected {wanted}, received {got})");
        return Err(format!("returned invalid object at index 0: {why}"));
    }
    for (key, word) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (wanted, got) = (text(&sent["metadata"][key]), text(&found["metadata"][key]));
        if wanted != got {
            return Err(format!("returned invalid object: must have the same {word}: {wanted} != {got}"));
        }
    }
    let metadata = restored(&sent["metadata"], found.get("metadata"))
        .map_err(|why| format!("returned invalid metadata: {why}"))?;
    found["metadata"] = Value::Object(metadata);
    Ok(found)
}

/// The metadata that was sent, with the labels and annotations that came back.
fn restored(sent: &Value, found: Option<&Value>) -> Result<Map<String, Value>, String> {
    let Some(found) = found else { return Err("missing metadata in converted object".to_owned()) };
    let Some(found) = found.as_object() else {
        return Err(format!("invalid metadata of type {} in converted object", go_type(found)));
    };
    let mut metadata = sent.as_object().cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        let Some(pairs) = found.get(field).filter(|pairs| !pairs.is_null()) else {
            metadata.remove(field);
            continue;
        };
        let Some(map) = pairs.as_object() else {
            return Err(format!("invalid metadata.{field} of type {} in converted object", go_type(pairs)));
        };
        if let Some((key, value)) = map.iter().find(|(_, value)| !value.is_string()) {
            let sort = go_type(value);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {sort} in converted object"
            ));
        }
        if metadata.get(field) != Some(pairs) {
            let mut causes = Causes::default();
            builtin::validate_marks(field, pairs, &mut causes);
            let causes = Vec::from(causes);
            let words: Vec<String> =
                causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            match words.as_slice() {
                [] => {}
                [one] => return Err(one.clone()),
                several => return Err(format!("[{}]", several.join(", "))),
            }
        }
        metadata.insert(field.to_owned(), pairs.clone());
    }
    Ok(metadata)
}

/// `example.io/v1, Kind=Thing`.
fn kind(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    format!("{}, Kind={}", text("apiVersion"), text("kind"))
}

/// The type Go has for a value of JSON.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Value {
        let thing = json!({
            "apiVersion": "x.io/v1", "kind": "Thing",
            "metadata": {"name": "a", "namespace": "n", "uid": "1", "labels": {"x": "1"}, "generation": 3},
        });
        json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
            "request": {"uid": "u", "desiredAPIVersion": "x.io/v2", "objects": [thing]},
        })
    }

    fn review(response: Value) -> Result<Value, String> {
        let mut review = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response});
        if review["response"].get("uid").is_none() {
            review["response"]["uid"] = json!("u");
        }
        Ok(review)
    }

    fn success(objects: Value) -> Result<Value, String> {
        review(json!({"convertedObjects": objects, "result": {"status": "Success"}}))
    }

    fn thing(change: Value) -> Value {
        let mut thing = asked()["request"]["objects"][0].clone();
        thing["apiVersion"] = json!("x.io/v2");
        crate::patch::merge(&thing, &change)
    }

    #[test]
    fn what_is_wrong_with_an_answer() {
        let mut other = review(json!({})).expect("a review");
        other["kind"] = json!("AdmissionReview");
        let rows = [
            (Err("nobody there".to_owned()), "failed: nobody there"),
            (Ok(json!({"kind": "ConversionReview"})), "failed: no response provided"),
            (
                Ok(other),
                "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got \
                 apiextensions.k8s.io/v1, Kind=AdmissionReview",
            ),
            (review(json!({"uid": "w"})), "failed: expected response.uid=\"u\", got \"w\""),
            (
                review(json!({"result": {"status": "Failure"}})),
                "failed: response.result.status was 'Failure', not 'Success'",
            ),
            (review(json!({"result": {"status": "Failure", "message": "no way"}})), "failed: no way"),
            (success(json!([])), "returned 0 objects, expected 1"),
            (
                success(json!([thing(json!({"apiVersion": "x.io/v3"}))])),
                "returned invalid object at index 0: invalid groupVersion (expected x.io/v2, received x.io/v3)",
            ),
            (
                success(json!([thing(json!({"kind": "Other"}))])),
                "returned invalid object at index 0: invalid kind (expected Thing, received Other)",
            ),
            (
                success(json!([thing(json!({"metadata": {"name": "b"}}))])),
                "returned invalid object: must have the same name: a != b",
            ),
            (
                success(json!([thing(json!({"metadata": {"uid": "2"}}))])),
                "returned invalid object: must have the same UID: 1 != 2",
            ),
            (
                success(json!([thing(json!({"metadata": {"labels": {"x": 1}}}))])),
                "returned invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object",
            ),
            (
                success(json!([thing(json!({"metadata": {"labels": {"x": "-"}}}))])),
                "returned invalid metadata: metadata.labels: Invalid value: \"-\": ",
            ),
        ];
        for (answer, why) in rows {
            let found = converted(&asked(), answer);
            let said = found[0].as_ref().expect_err("it is wrong");
            assert!(said.starts_with(&format!("conversion webhook for x.io/v1, Kind=Thing {why}")), "{said}");
        }
    }

    #[test]
    fn nothing_of_the_metadata_changes_but_labels_and_annotations() {
        let change = json!({
            "metadata": {"generation": 9, "finalizers": ["x"], "labels": null, "annotations": {"a": "b"}},
            "spec": {"new": 1},
        });
        let found = converted(&asked(), success(json!([thing(change)])));
        let object = found[0].as_ref().expect("it is right");
        let metadata =
            json!({"name": "a", "namespace": "n", "uid": "1", "generation": 3, "annotations": {"a": "b"}});
        assert_eq!((&object["metadata"], &object["spec"]), (&metadata, &json!({"new": 1})));
    }
}
