//! Tables as a real API server (1.37) made them, beside ours.

use std::io::Read;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde_json::Value;

use super::{Columns, Include, table};

const RECORDED: &[u8] = include_bytes!("recorded.json.gz");

fn recorded() -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(RECORDED).read_to_string(&mut text).expect("packed");
    serde_json::from_str(&text).expect("JSON")
}

fn columns(of: &Value) -> Columns {
    let name = |field: &str| of[field].as_str().expect("a name");
    match (name("group"), of["additional"].as_array()) {
        ("*scale", _) => Columns::scale(),
        ("*customscale", _) => Columns::custom_scale(&of["scale"]),
        (_, Some(additional)) => Columns::custom(additional),
        (group, None) => Columns::built_in(group, name("plural")),
    }
}

#[test]
fn ours_are_the_same() {
    let all = recorded();
    assert!(all.len() > 25);
    for one in all {
        let (columns, real) = (columns(&one), &one["table"]);
        let objects = real["rows"].as_array().expect("rows").iter().map(|row| &row["object"]);
        let now: Timestamp = one["now"].as_str().expect("a time").parse().expect("a time");
        let ours = table(&columns, objects, now, Include::Object, real["metadata"].clone());
        assert_eq!(ours["rows"], real["rows"], "{} {}", one["plural"], one["group"]);
        // The heads of built-in kinds are facts and need no second copy here.
        if !real["columnDefinitions"].is_null() {
            assert_eq!(ours["columnDefinitions"], real["columnDefinitions"], "{}", one["plural"]);
        }
    }
}
