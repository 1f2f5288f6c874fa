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
