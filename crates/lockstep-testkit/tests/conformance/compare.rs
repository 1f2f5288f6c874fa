//! Where two servers differ.

use serde_json::{Value, json};

use crate::play::{Played, Said};
use crate::sequence::{Sequence, Step};

/// The first difference of a sequence.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Equal differences have equal marks.
    pub mark: String,
    pub request: String,
    pub places: Vec<String>,
}

/// Finds it.
pub fn first(sequence: &Sequence, real: &Played, ours: &Played, space: &str) -> Option<Difference> {
    let steps = sequence.first.iter().chain(&sequence.steps).chain(&sequence.last);
    let said = steps.zip(real.said.iter().zip(&ours.said)).find(|(_, (real, ours))| real != ours);
    if let Some((step, (real, ours))) = said {
        return Some(of_answer(step, real, ours, space));
    }
    let watched = sequence.watches.iter().zip(real.watched.iter().zip(&ours.watched));
    let (path, (real, ours)) = watched.into_iter().find(|(_, (real, ours))| real != ours)?;
    let (real, ours) = (json!(real), json!(ours));
    let places = places(&real, &ours);
    Some(Difference {
        mark: mark(&format!("WATCH {}", general(path, space)), &places),
        request: format!("WATCH {path}"),
        places,
    })
}

fn of_answer(step: &Step, real: &Said, ours: &Said, space: &str) -> Difference {
    let (real, ours) = (value(real), value(ours));
    let places = places(&real, &ours);
    let request = format!("{} {} {}", step.method, general(&step.path, space), step.content_type);
    Difference {
        mark: mark(&request, &places),
        request: format!(
            "{} {} [{}] accept [{}] {:?}",
            step.method, step.path, step.content_type, step.accept, step.body
        ),
        places,
    }
}

fn value(said: &Said) -> Value {
    let Said { code, media, warnings, retry, body } = said;
    json!({"code": code, "media": media, "warnings": warnings, "retry": retry, "body": body})
}

/// A path without what is particular to its sequence.
fn general(path: &str, space: &str) -> String {
    path.split('?').next().unwrap_or_default().replace(space, "$")
}

fn mark(request: &str, places: &[String]) -> String {
    let short = |place: &String| {
        let place: String = place.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        place.chars().take(90).collect::<String>()
    };
    let places: std::collections::BTreeSet<String> = places.iter().map(short).collect();
    format!("{request}\n      {}", places.into_iter().take(4).collect::<Vec<_>>().join("\n      "))
}

/// The places where two values differ, with both values.
pub fn places(real: &Value, ours: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk("", real, ours, &mut found);
    found
}

fn walk(path: &str, real: &Value, ours: &Value, found: &mut Vec<String>) {
    match (real, ours) {
        _ if real == ours => {}
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => walk(&format!("{path}.{key}"), left, right, found),
                    (Some(left), None) => found.push(format!("{path}.{key}: only real: {left}")),
                    (None, Some(right)) => found.push(format!("{path}.{key}: only ours: {right}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                walk(&format!("{path}[{index}]"), left, right, found);
            }
        }
        _ => found.push(format!("{path}: real {real} ours {ours}")),
    }
}
