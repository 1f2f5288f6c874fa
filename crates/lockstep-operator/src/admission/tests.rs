use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::*;

const CONFLICT: &str = include_str!("../../../../examples/conflict.yaml");
const FINE: &str = include_str!("../../../../examples/prefill-decode.yaml");

/// The sentence that names the two rules, as the command line says it.
const SENTENCE: &str = "spec.coordination[1] prefill-first (steps) and spec.coordination[0] together (skew) block \
     each other: step 1 of prefill-first wants prefill at 100% before decode moves, but maxSkew 1% of together holds \
     prefill at 1 of 4 until decode moves. Raise maxSkew of together, or move decode in step 1 of prefill-first too.";

fn set(yaml: &str) -> Value {
    lockstep_api::yaml_to_json(yaml).expect("YAML")
}

fn with(mut set: Value, pointer: &str, value: Value) -> Value {
    *set.pointer_mut(pointer).expect("a field") = value;
    set
}

/// Every image is another one.
fn updated(mut set: Value) -> Value {
    for role in set["spec"]["roles"].as_array_mut().expect("roles") {
        let template = match role.get_mut("template") {
            Some(template) => template,
            None => &mut role["members"][0]["template"],
        };
        template["spec"]["containers"][0]["image"] = json!("other:2");
    }
    set
}

fn ask(operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u1", "kind": {"group": "lockstep.dev", "version": "v1alpha1", "kind": "LockstepSet"},
            "resource": {"group": "lockstep.dev", "version": "v1alpha1", "resource": "lockstepsets"},
            "name": "x", "namespace": "ai", "operation": operation, "userInfo": {"username": "eve"},
            "object": object, "oldObject": old, "dryRun": false,
        },
    })
}

fn answer(review_of: &Value) -> AdmissionResponse {
    review(&read(review_of.to_string().as_bytes()).expect("a review"), &Tongue::Ours)
}

fn create(object: &Value) -> AdmissionResponse {
    answer(&ask("CREATE", object, &Value::Null))
}

fn update(old: &Value, new: &Value) -> AdmissionResponse {
    answer(&ask("UPDATE", new, old))
}

#[test]
fn every_error_at_once_for_people_and_for_machines() {
    let mut bad = set(FINE);
    bad["spec"]["replicas"] = json!(-1);
    bad["spec"]["roles"][0]["replicas"] = json!("many");
    bad["spec"]["frobnicate"] = json!(true);
    let response = create(&bad);
    let status = &response.result;
    assert!(!response.allowed && response.uid == "u1");
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let details = status.details.as_ref().expect("details");
    assert_eq!((details.kind.as_str(), details.name.as_str()), ("LockstepSet", "x"));
    let fields: Vec<&str> = details.causes.iter().map(|cause| cause.field.as_str()).collect();
    for field in ["spec.replicas", "spec.roles[0].replicas", "spec.frobnicate"] {
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
        assert!(status.message.lines().any(|line| line.starts_with(field)), "{}", status.message);
    }
    assert_eq!(status.message.lines().count(), fields.len());
}

#[test]
fn rules_that_block_each_other_are_named_in_the_words_of_the_command_line() {
    let blocked = set(CONFLICT);
    let response = create(&blocked);
    let message = &response.result.message;
    assert!(!response.allowed);
    assert_eq!(*message, format!("spec.coordination[0]: an update of every role cannot finish: {SENTENCE}"));

    // It is there already (somebody switched the webhook off), and is updated.
    let response = update(&blocked, &updated(blocked.clone()));
    assert_eq!(
        response.result.message,
        format!("spec.coordination[0]: this update cannot finish: {SENTENCE}")
    );

    // To scale it finishes; that later updates will not is worth a word.
    let response = update(&blocked, &with(blocked.clone(), "/spec/roles/0/replicas", json!(5)));
    let warnings = response.warnings.expect("a warning");
    assert!(response.allowed && warnings.len() == 1, "{warnings:?}");
    assert!(warnings[0].contains("an update of every role cannot finish"), "{warnings:?}");
}

#[test]
fn what_is_right_is_allowed() {
    let fine = set(FINE);
    for response in [create(&fine), update(&fine, &updated(fine.clone()))] {
        assert!(response.allowed && response.warnings.is_none(), "{response:?}");
    }
    // From a stored object that nobody can read any more, as from nothing.
    assert!(update(&json!({"metadata": {}, "spec": {"roles": 3}}), &fine).allowed);
}

#[test]
fn what_does_not_concern_us_is_allowed_unseen() {
    let bad = with(set(FINE), "/spec/replicas", json!(-1));
    assert!(!update(&set(FINE), &bad).allowed, "else it would be refused");
    let leaving = {
        let mut object = bad.clone();
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object
    };
    let labelled = {
        let mut object = bad.clone();
        object["metadata"]["labels"] = json!({"a": "b"});
        object["status"] = json!({"replicas": 3});
        object
    };
    let other = |pointer, value| with(ask("UPDATE", &bad, &set(FINE)), pointer, value);
    let mut status = ask("UPDATE", &bad, &set(FINE));
    status["request"]["subResource"] = json!("status");
    for (what, request) in [
        ("on its way out", ask("UPDATE", &leaving, &set(FINE))),
        ("the same spec", ask("UPDATE", &labelled, &bad)),
        ("a deletion", ask("DELETE", &Value::Null, &bad)),
        ("another kind", other("/request/kind/kind", json!("RoleScale"))),
        ("another group", other("/request/kind/group", json!("apps"))),
        ("status", status),
    ] {
        let response = answer(&request);
        assert!(response.allowed && response.warnings.is_none(), "{what}: {response:?}");
    }
}

#[test]
fn warnings_have_one_line() {
    let problem = lockstep_api::Problem {
        path: "spec".to_owned(),
        value: Some("a\nb".to_owned()),
        message: "too\r\n long".to_owned(),
        line: None,
    };
    let question = match examine(
        &read(ask("CREATE", &set(FINE), &Value::Null).to_string().as_bytes()).expect("one"),
        &Tongue::Ours,
    ) {
        Examined::ToProve(question) => question,
        Examined::Answered(..) => panic!("nothing is wrong with it"),
    };
    let (response, outcome) = question.unproven(Duration::from_secs(2));
    assert_eq!(outcome, ReviewOutcome::Unproven);
    assert!(response.allowed && response.warnings.expect("one")[0].ends_with("took longer than 2s"));
    assert_eq!(super::review::one_line(&problem), "spec: a b: too long");
}

#[test]
fn what_is_no_review_is_an_error_and_not_a_panic() {
    let good = ask("CREATE", &set(FINE), &Value::Null);
    let whole = good.to_string();
    assert!(read(whole.as_bytes()).is_ok());
    for end in [0, 1, whole.len() / 2, whole.len() - 1] {
        assert!(read(&whole.as_bytes()[..end]).is_err());
    }
    for bad in
        ["null", "3", "[]", "{}", "\u{0}", r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#]
    {
        assert!(read(bad.as_bytes()).is_err(), "{bad}");
    }
    // Any value in any place of the object: an answer, whichever.
    for value in [json!(null), json!(3), json!("x"), json!([]), json!({}), json!([{"a": [1]}])] {
        for pointer in
            ["/spec", "/spec/roles", "/spec/roles/0", "/spec/coordination", "/spec/roles/0/replicas"]
        {
            let object = with(set(FINE), pointer, value.clone());
            let _ = create(&object);
            let _ = update(&set(FINE), &object);
            let _ = update(&object, &set(FINE));
        }
    }
}

fn desk(limits: Limits) -> Desk {
    Desk::new(Metrics::new(), limits, None)
}

#[tokio::test]
async fn who_gets_no_turn_in_time_is_admitted_with_a_warning() {
    let limits = Limits { proof: Duration::from_millis(50), proofs: 1 };
    let desk = desk(limits);
    let turn = Arc::clone(&desk.turns).acquire_owned().await.expect("a turn");
    let request = read(ask("CREATE", &set(CONFLICT), &Value::Null).to_string().as_bytes()).expect("a review");
    let response = desk.answer(&request).await;
    assert!(response.allowed && response.warnings.is_some_and(|w| w[0].contains("longer than 50ms")));
    assert!(desk.metrics.encode().contains("admission_reviews_total{outcome=\"unproven\"} 1"));
    // What is wrong by itself is refused all the same.
    let bad = with(set(FINE), "/spec/replicas", json!(-1));
    let request = read(ask("CREATE", &bad, &Value::Null).to_string().as_bytes()).expect("a review");
    assert!(!desk.answer(&request).await.allowed);
    drop(turn);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_reviews_at_once_are_all_answered_rightly() {
    let desk = desk(Limits { proof: Duration::from_secs(60), proofs: 2 });
    let start = Arc::new(Barrier::new(32));
    let mut all = tokio::task::JoinSet::new();
    for i in 0..32 {
        let (desk, start) = (desk.clone(), Arc::clone(&start));
        all.spawn(async move {
            let object = set(if i % 2 == 0 { FINE } else { CONFLICT });
            let request =
                read(ask("CREATE", &object, &Value::Null).to_string().as_bytes()).expect("a review");
            start.wait().await;
            assert_eq!(desk.answer(&request).await.allowed, i % 2 == 0);
        });
    }
    while let Some(done) = all.join_next().await {
        done.expect("no panic");
    }
}

/// A dialect in which rules stand elsewhere, and whose name for a set may not change.
struct Other;

static KINDS: [lockstep_dialects::Kind; 1] = [lockstep_dialects::Kind {
    group: "other.example",
    versions: &["v2", "v1"],
    kind: "Other",
    plural: "others",
    namespaced: true,
    becomes_set: true,
}];

impl lockstep_dialects::Dialect for Other {
    fn name(&self) -> &'static str {
        "other"
    }

    fn definitions(&self) -> Vec<Value> {
        Vec::new()
    }

    fn kinds(&self) -> &'static [lockstep_dialects::Kind] {
        &KINDS
    }

    fn lower(
        &self,
        object: &Value,
        _: &lockstep_dialects::World,
    ) -> Result<lockstep_dialects::Lowered, Vec<lockstep_api::Problem>> {
        let mut set = object["spec"]["set"].clone();
        set["metadata"]["name"] = object["metadata"]["name"].clone();
        let mut places = lockstep_dialects::Places::default();
        places.put("spec", "spec.set.spec");
        places.put("spec.coordination[0]", "spec.together");
        let translated = |problems: Vec<lockstep_api::Problem>| {
            problems.iter().map(|problem| places.translate(problem)).collect::<Vec<_>>()
        };
        let set = lockstep_api::parse_json(&set).map_err(translated)?.set.into_inner();
        let found = lockstep_dialects::Findings::new(object);
        lockstep_dialects::Lowered::close(&set, Vec::new(), places, found)
    }

    fn forbidden_changes(&self, old: &Value, new: &Value) -> Vec<lockstep_api::Problem> {
        let mut found = lockstep_dialects::Findings::new(new);
        if old["spec"]["colour"] != new["spec"]["colour"] {
            found.error("spec.colour", "cannot be changed");
        }
        found.close().err().unwrap_or_default()
    }

    fn raise(
        &self,
        _: &Value,
        _: &lockstep_dialects::Seen<'_>,
        _: &lockstep_dialects::World,
    ) -> lockstep_dialects::Raised {
        lockstep_dialects::Raised::default()
    }
}

fn other(set: &Value, colour: &str) -> Value {
    json!({
        "apiVersion": "other.example/v2", "kind": "Other", "metadata": {"name": "x"},
        "spec": {"set": set, "colour": colour},
    })
}

fn answer_theirs(operation: &str, object: &Value, old: &Value) -> AdmissionResponse {
    let mut request = ask(operation, object, old);
    request["request"]["kind"] = json!({"group": "other.example", "version": "v2", "kind": "Other"});
    let request = read(request.to_string().as_bytes()).expect("a review");
    review(&request, &Tongue::Theirs(&Other, Box::default()))
}

#[test]
fn objects_of_a_dialect_are_refused_in_their_own_terms() {
    let none = Value::Null;
    assert!(answer_theirs("CREATE", &other(&set(FINE), "red"), &none).allowed);
    let mut bad = set(FINE);
    bad["spec"]["replicas"] = json!(-1);
    let response = answer_theirs("UPDATE", &other(&bad, "blue"), &other(&set(FINE), "red"));
    let details = response.result.details.as_ref().expect("details");
    let fields: Vec<&str> = details.causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(
        fields,
        ["spec.colour", "spec.set.spec.replicas"],
        "what is forbidden and what is wrong, at once"
    );
    assert_eq!(details.kind, "Other");

    let response = answer_theirs("CREATE", &other(&set(CONFLICT), "red"), &none);
    let message = &response.result.message;
    assert!(
        !response.allowed && message.starts_with("spec.together: an update of every role cannot finish"),
        "{message}"
    );
    assert!(message.contains("spec.together together (skew) block each other"), "{message}");
}

#[test]
fn objects_are_converted_and_keep_what_is_not_ours_to_change() {
    let review = |object: &Value| {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "u7", "desiredAPIVersion": "other.example/v1", "objects": [object]},
        });
        let answer = convert::answer(review.to_string().as_bytes(), &[&Other]).expect("a review");
        serde_json::to_value(answer).expect("JSON")["response"].clone()
    };
    let mut object = other(&json!({}), "red");
    object["metadata"]["uid"] = json!("u1");
    let response = review(&object);
    assert_eq!((&response["uid"], &response["result"]["status"]), (&json!("u7"), &json!("Success")));
    object["apiVersion"] = json!("other.example/v1");
    assert_eq!(response["convertedObjects"], json!([object]));
    let response = review(&json!({"apiVersion": "else/v1", "kind": "Else", "metadata": {"name": "e"}}));
    assert_eq!(response["result"]["message"], "Else e: nobody serves its kind");
    assert!(convert::answer(b"{}", &[]).is_err());
}
