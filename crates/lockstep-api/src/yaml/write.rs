//! JSON values written as YAML: always the same text for the same value, and for people to read.

use serde_json::{Map, Value};

use super::Data;
use super::scalar::plain;

/// Longer text is folded into several lines.
const WIDTH: usize = 100;

/// One document, without a marker before it.
pub(crate) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => entries(&mut out, map, 0),
        Value::Array(list) if !list.is_empty() => items(&mut out, list, 0),
        scalar => out.push_str(&inline(scalar)),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn entries(out: &mut String, map: &Map<String, Value>, depth: usize) {
    for (i, (key, value)) in map.iter().enumerate() {
        // The first entry of a list's item stands beside its dash.
        if i > 0 || !out.ends_with("- ") {
            indent(out, depth);
        }
        out.push_str(&text(key));
        out.push(':');
        below(out, value, depth);
    }
}

/// What follows a key's colon.
fn below(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            entries(out, map, depth + 1);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            items(out, list, depth);
        }
        Value::String(text) if folds(text) => {
            out.push_str(" >-\n");
            fold(out, text, depth + 1);
        }
        scalar => {
            out.push(' ');
            out.push_str(&inline(scalar));
            out.push('\n');
        }
    }
}

fn items(out: &mut String, list: &[Value], depth: usize) {
    for item in list {
        indent(out, depth);
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => entries(out, map, depth + 1),
            // A list in a list is rare enough for the short form.
            scalar => {
                out.push_str(&inline(scalar));
                out.push('\n');
            }
        }
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(given) => text(given),
        other => json(other),
    }
}

/// JSON is YAML, but for a few invisible characters that only JSON takes as they are.
fn json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text as it stands where nobody could take it for something else, else in quotes.
fn text(given: &str) -> String {
    let mild = |c: char| c.is_ascii_alphanumeric() || "_./-,;()'+=: ".contains(c);
    // A colon inside a word, as in `nginx:2`, separates nothing.
    let separates = given.contains(": ") || given.ends_with(':');
    let safe = given.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !given.ends_with(' ')
        && !separates
        && given.chars().all(mild)
        && matches!(plain(given), Data::Text(_));
    if safe { given.to_owned() } else { json(&Value::from(given)) }
}

/// Long text that is words with single spaces between them comes back from folding as it was.
fn folds(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && !word.chars().any(|c| c.is_whitespace() || c.is_control());
    text.len() > WIDTH && text.split(' ').all(word)
}

fn fold(out: &mut String, text: &str, depth: usize) {
    let mut width = WIDTH;
    for word in text.split(' ') {
        if width + 1 + word.chars().count() > WIDTH {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            indent(out, depth);
            width = 2 * depth;
        } else {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += word.chars().count();
    }
    out.push('\n');
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::yaml_to_json;

    #[test]
    fn reads_well() {
        let value = json!({
            "name": "a", "none": {}, "list": [{"a": 1, "b": [true]}, "x", []],
            "more": {"on": "yes", "at": "10:30", "half": 0.5, "image": "nginx:2", "says": "no: never"},
        });
        let text = "\
list:
- a: 1
  b:
  - true
- x
- []
more:
  at: \"10:30\"
  half: 0.5
  image: nginx:2
  \"on\": \"yes\"
  says: \"no: never\"
name: a
none: {}
";
        assert_eq!(write(&value), text);
    }

    #[test]
    fn comes_back_as_it_was() {
        let long = "word ".repeat(60).trim_end().to_owned();
        let hard = [
            "",
            " ",
            "a ",
            " a",
            "a: b",
            "a #b",
            "- a",
            "null",
            "~",
            "0644",
            "1e3",
            "yes",
            "2001-01-01",
            "a\nb\n",
            "\t",
            "{a}",
            "[a]",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "'a'",
            "\"a\"",
            "a\\b",
            "é…",
            "=",
            "<<",
            "a:",
            "?",
            ">-",
            "|",
            "https://x.y/z?a=b#c",
            "\u{7f}\u{0}\u{85}\u{2028}\u{feff}",
            ".5",
            "-",
            "---",
            "...",
            &long,
            &format!("{long}  {long}"),
            &format!("{long}\n{long}"),
            &format!("# {long} #"),
            &format!("{long} "),
        ];
        for text in hard {
            let value = json!({
                "plain": text, text: 1, "list": [text, {"in": text, "more": [[text]]}],
                "deep": {"deeper": [{"deepest": {"at": text}}]},
            });
            let written = write(&value);
            assert_eq!(yaml_to_json(&written).expect(&written), value, "{written}");
        }
    }

    #[test]
    fn long_text_is_folded() {
        let value = json!({"a": {"description": "word ".repeat(60).trim_end()}});
        let written = write(&value);
        assert!(written.starts_with("a:\n  description: >-\n    word word"), "{written}");
        assert!(written.lines().all(|line| line.len() <= WIDTH), "{written}");
    }
}
