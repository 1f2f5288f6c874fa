//! The columns of custom kinds, as their definitions tell.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::heads::{head, of_metadata};
use super::jsonpath::JsonPath;
use super::look::{name, number, or, text};

/// Where the cells of a custom kind come from, besides the name.
#[derive(Debug, Clone)]
pub struct CustomColumns(Vec<Column>);

#[derive(Debug, Clone)]
struct Column {
    kind: String,
    path: JsonPath,
}

impl CustomColumns {
    /// Reads `additionalPrinterColumns`, with the heads of the table. If there are none, the age is shown; those after
    /// one whose path cannot be understood are left out, with it.
    pub fn read(additional: &[Value]) -> (Vec<Value>, Self) {
        let (mut heads, mut columns) = (vec![name_head()], Vec::new());
        let default = [age_column()];
        for column in if additional.is_empty() { &default } else { additional } {
            let Some(path) = JsonPath::read(text(column, "/jsonPath")) else { break };
            heads.push(head_of(column));
            columns.push(Column { kind: text(column, "/type").to_owned(), path });
        }
        (heads, Self(columns))
    }

    /// The columns of the `scale` of a kind.
    pub fn scale(scale: &Value) -> (Vec<Value>, Self) {
        let column = |name: &str, description: &str, path: &str| json!({"name": name, "type": "integer", "description": description, "jsonPath": path});
        let desired = column("Desired", "Number of desired replicas", ".spec.replicas");
        let actual = column("Available", "Number of actual replicas", ".status.replicas");
        let all = [("/specReplicasPath", desired), ("/statusReplicasPath", actual)];
        let told = all.into_iter().filter(|(path, _)| !text(scale, path).is_empty());
        let columns: Vec<Value> = told.map(|(_, column)| column).chain([age_column()]).collect();
        Self::read(&columns)
    }

    /// The cells of an object.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let others = self.0.iter().map(|column| column.cell(object, now));
        [name(object)].into_iter().chain(others).collect()
    }
}

fn name_head() -> Value {
    let mut name = head("Name", "string", of_metadata("name"));
    name["format"] = json!("name");
    name
}

fn age_column() -> Value {
    json!({
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": of_metadata("creationTimestamp"),
    })
}

fn head_of(column: &Value) -> Value {
    let path = text(column, "/jsonPath");
    let by_path = format!("Custom resource definition column (in JSONPath format): {path}");
    json!({
        "name": text(column, "/name"), "type": text(column, "/type"), "format": text(column, "/format"),
        "description": or(text(column, "/description"), &by_path), "priority": number(column, "/priority"),
    })
}

impl Column {
    /// The first thing the path leads to, if it fits the type of the column.
    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.find(object).and_then(|found| found.first().copied());
        let Some(found) = found else { return Value::Null };
        match (self.kind.as_str(), found) {
            ("string", _) => as_text(found).into(),
            ("integer", Value::Number(number)) => whole(number),
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => found.clone(),
            ("date", Value::String(text)) => age::of_text(text, now).into(),
            _ => Value::Null,
        }
    }
}

/// Without what comes after the point.
fn whole(number: &serde_json::Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.into(),
        (None, Some(other)) => {
            format!("{:.0}", other.trunc()).parse().map_or(Value::Null, |whole: i64| whole.into())
        }
        (None, None) => Value::Null,
    }
}

/// As a program in Go prints it.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => number.as_f64().map(float).unwrap_or_default(),
        },
        Value::Array(_) | Value::Object(_) => json_for_pages(value),
    }
}

/// With an exponent only where the number is very large or very small.
fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    let shown = format!("{number:e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// JSON in which nothing looks like markup.
fn json_for_pages(value: &Value) -> String {
    let plain = value.to_string();
    let mut safe = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-02T12:00:00Z".parse().expect("a time")
    }

    #[test]
    fn cells_by_type() {
        let rows = [
            ("string", json!("x"), json!("x")),
            ("string", json!(5), json!("5")),
            ("string", json!(0.5), json!("0.5")),
            ("string", json!(1e21), json!("1e+21")),
            ("string", json!(0.00001), json!("1e-05")),
            ("string", json!(true), json!("true")),
            ("string", json!({"b": "<", "a": [1]}), json!(r#"{"a":[1],"b":"\u003c"}"#)),
            ("integer", json!(5), json!(5)),
            ("integer", json!(-5.9), json!(-5)),
            ("integer", json!("5"), json!(null)),
            ("number", json!(0.5), json!(0.5)),
            ("boolean", json!(false), json!(false)),
            ("boolean", json!("true"), json!(null)),
            ("date", json!("2026-01-02T11:59:00Z"), json!("60s")),
            ("date", json!("soon"), json!("<invalid>")),
            ("date", json!(5), json!(null)),
        ];
        for (kind, value, cell) in rows {
            let column = json!({"name": "X", "type": kind, "jsonPath": ".x"});
            let (_, columns) = CustomColumns::read(&[column]);
            let object = json!({"metadata": {"name": "n"}, "x": value});
            assert_eq!(columns.cells(&object, now()), [json!("n"), cell], "{kind} {value}");
            assert_eq!(columns.cells(&json!({}), now()), [json!(""), json!(null)]);
        }
    }

    #[test]
    fn heads_by_definition() {
        let told = json!({
            "name": "X", "type": "string", "format": "f", "description": "d", "priority": 1, "jsonPath": ".x",
        });
        let (heads, _) = CustomColumns::read(&[told, json!({"name": "Y", "type": "date", "jsonPath": ".y"})]);
        assert_eq!((&heads[0]["name"], &heads[0]["format"]), (&json!("Name"), &json!("name")));
        let x = json!({"name": "X", "type": "string", "format": "f", "description": "d", "priority": 1});
        assert_eq!(heads[1], x);
        let by_path = "Custom resource definition column (in JSONPath format): .y";
        assert_eq!((&heads[2]["description"], &heads[2]["priority"]), (&json!(by_path), &json!(0)));
    }

    #[test]
    fn the_age_if_nothing_is_told() {
        let (heads, columns) = CustomColumns::read(&[]);
        assert_eq!((heads.len(), &heads[1]["type"]), (2, &json!("date")));
        let object = json!({"metadata": {"name": "n", "creationTimestamp": "2026-01-02T11:00:00Z"}});
        assert_eq!(columns.cells(&object, now()), ["n", "60m"]);
    }

    #[test]
    fn what_cannot_be_understood_ends_the_row() {
        let column = |path: &str| json!({"name": path, "type": "string", "jsonPath": path});
        let (heads, columns) = CustomColumns::read(&[column(".a"), column(".b["), column(".c")]);
        assert_eq!((heads.len(), columns.cells(&json!({}), now()).len()), (2, 2));
    }

    #[test]
    fn scales() {
        let told = json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"});
        let (heads, columns) = CustomColumns::scale(&told);
        assert_eq!(heads.len(), 4);
        let scale = json!({"metadata": {"name": "n"}, "spec": {"replicas": 3}, "status": {"replicas": 2}});
        assert_eq!(columns.cells(&scale, now())[..3], [json!("n"), json!(3), json!(2)]);
    }
}
