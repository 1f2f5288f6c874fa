//! Rules given to a real API server, and what it made of them.

use serde_json::{Value, json};

use super::{Program, Subject, Type};
use crate::schema::Schema;

/// What a rule comes to, in the words of the record.
fn answer(rule: &str, schema: &Schema, data: &Value, about: &Type) -> Value {
    let variables = [("self", about.clone()), ("oldSelf", about.clone())];
    let program = match Program::compile_typed(rule, &variables) {
        Ok((program, Type::Bool)) => program,
        Ok(_) => return json!({"compile": "cel expression must evaluate to a bool"}),
        Err(unsound) => return json!({"compile": unsound.shown(rule)}),
    };
    let subject = Subject { value: data, schema, root: false };
    match program.eval_rule(subject, Some(data), false) {
        Ok(value) => json!({"result": value}),
        Err(error) if error.starts_with("no such overload") => json!({"error": format!(
            "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        )}),
        Err(error) => json!({"error": format!("{error} evaluating rule: {}", rule.trim())}),
    }
}

#[test]
fn rules_as_a_real_server_takes_them() {
    let recorded: Value = serde_json::from_str(include_str!("../../recorded/rules.json")).expect("JSON");
    let schema = Schema::read(&json!({"type": "object", "properties": recorded["fields"]}));
    let about = Type::of_schema(&schema, false).expect("an object");
    let mut wrong = Vec::new();
    for case in recorded["cases"].as_array().expect("cases") {
        let rule = case["rule"].as_str().expect("a rule");
        let mut expected = case.clone();
        expected.as_object_mut().expect("a case").remove("rule");
        let found = answer(rule, &schema, &recorded["data"], &about);
        // A syntax error is told in the words of the parser that found it.
        let syntax =
            |value: &Value| value["compile"].as_str().is_some_and(|text| text.contains("Syntax error"));
        if found != expected && !(syntax(&found) && syntax(&expected)) {
            wrong.push(format!("{rule}\n  came to {found}\n  not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conditions_of_webhooks() {
    let object =
        json!({"metadata": {"name": "a", "labels": {"x/y": "z"}}, "spec": {"replicas": 3, "half": 0.5}});
    let request = json!({"operation": "UPDATE", "userInfo": {"username": "system:node:a", "groups": ["g"]}});
    let variables = [("object", &object), ("oldObject", &Value::Null), ("request", &request)];
    let eval = |text: &str| Program::compile(text).expect(text).eval(&variables);
    for (condition, value) in [
        ("object.spec.replicas > 2 && object.spec.half < 1", json!(true)),
        ("has(object.spec.nope)", json!(false)),
        ("oldObject == null", json!(true)),
        ("object.metadata.labels['x/y'] == 'z'", json!(true)),
        ("request.operation in ['CREATE', 'UPDATE']", json!(true)),
        ("!request.userInfo.username.startsWith('system:node:')", json!(false)),
        ("request.userInfo.groups.exists(group, group == 'g')", json!(true)),
        ("object.metadata.name + '!'", json!("a!")),
        ("{'a': [1, 2u, 1.5, null]}", json!({"a": [1, 2, 1.5, null]})),
        ("object.?spec.?nope.orValue(7)", json!(7)),
    ] {
        assert_eq!(eval(condition), Ok(value), "{condition}");
    }
    assert_eq!(eval("object.spec.nope == 1"), Err("no such key: nope".to_owned()));
    assert_eq!(eval("params.x == 1"), Err("no such attribute(s): params".to_owned()));
    let problem = Program::compile("object.spec ==").expect_err("half an expression");
    assert!(problem.shown("object.spec ==").starts_with("ERROR: <input>:1:15: Syntax error: "), "{problem}");
}

#[test]
fn what_never_ends_is_given_up() {
    let list: Vec<u32> = (0..300).collect();
    let list = json!(list);
    let text = "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))";
    let found = Program::compile(text).expect("an expression").eval(&[("l", &list)]);
    assert_eq!(found, Err("operation cancelled: actual cost limit exceeded".to_owned()));
    let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(Program::compile(&deep).is_err());
    let negated = format!("{}true", "!".repeat(50_000));
    assert!(Program::compile(&negated).is_err());
    let chained = format!("a{}", ".b".repeat(50_000));
    assert!(Program::compile(&chained).is_err());
    // What is long but not deep is fine.
    let row = format!("true{}", " && true".repeat(5_000));
    assert_eq!(Program::compile(&row).expect("a row").eval(&[]), Ok(json!(true)));
    let sum = format!("1{} == 290", " + 1".repeat(289));
    assert_eq!(Program::compile(&sum).expect("a sum").eval(&[]), Ok(json!(true)));
    let nested = format!("{}1{} == 1", "(".repeat(90), ")".repeat(90));
    assert_eq!(Program::compile(&nested).expect("parentheses").eval(&[]), Ok(json!(true)));
}
