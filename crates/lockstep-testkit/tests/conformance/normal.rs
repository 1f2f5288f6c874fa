//! What may differ between two servers that behave the same: identities, times, versions and made-up names.
//! They are replaced by what must not differ: which are the same, and in which order they came.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::play::Played;

/// Replaces what may differ.
pub fn normal(mut played: Played) -> Played {
    let mut known = Known::default();
    for said in &played.said {
        known.learn(&said.body);
    }
    for event in played.watched.iter().flatten() {
        known.learn(event);
    }
    for said in &mut played.said {
        known.rewrite(&mut said.body, "");
        // What is said about pods that would surprise their owners is not said here.
        said.warnings.retain(|warning| !excused_warning(warning));
        // What was deleted in another version a moment ago may still be patched first where it is remembered.
        if said.code == 404 {
            said.warnings.retain(|warning| !warning.contains("unknown field"));
        }
        if said.body["details"]["kind"] == "Odd" {
            said.warnings.clear();
        }
        said.warnings.iter_mut().for_each(|warning| *warning = known.text(warning));
    }
    for event in played.watched.iter_mut().flatten() {
        known.rewrite(event, "");
    }
    for events in &mut played.watched {
        // What is deleted together goes in the order of names, and some are made up.
        for together in
            events.chunk_by_mut(|one, other| one["type"] == "DELETED" && other["type"] == "DELETED")
        {
            if together.len() > 1 && together.iter().any(|event| event.to_string().contains("gen-*")) {
                together
                    .iter_mut()
                    .for_each(|event| event["object"]["metadata"]["resourceVersion"] = json!("*"));
                together.sort_by_key(Value::to_string);
            }
        }
    }
    played
}

#[derive(Default)]
struct Known {
    uids: Vec<String>,
    versions: BTreeSet<u64>,
}

impl Known {
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(uid) = value["metadata"]["uid"].as_str()
                    && !self.uids.iter().any(|known| known == uid)
                {
                    self.uids.push(uid.to_owned());
                }
                let is_list = map.contains_key("items") || map.contains_key("rows");
                if let Some(version) = value["metadata"]["resourceVersion"].as_str()
                    && !is_list
                {
                    self.versions.extend(version.parse::<u64>());
                }
                map.values().for_each(|value| self.learn(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            _ => {}
        }
    }

    /// A version, as the number of those that came up to it.
    fn version(&self, text: &str) -> String {
        match text.parse::<u64>() {
            Ok(version) if version > 1 => format!("rv-{}", self.versions.range(..=version).count()),
            _ => text.to_owned(),
        }
    }

    fn rewrite(&self, value: &mut Value, key: &str) {
        match value {
            Value::Object(map) => {
                if map.keys().any(|key| key.starts_with("k:{\"uid\"")) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(key, value)| (self.text(&key), value))
                        .collect();
                }
                unordered(map);
                some(map);
                for (key, value) in map.iter_mut() {
                    match (key.as_str(), &*value) {
                        ("resourceVersion", Value::String(version)) => *value = json!(self.version(version)),
                        ("continue", Value::String(token)) if !token.is_empty() => *value = json!("(token)"),
                        _ => self.rewrite(value, key),
                    }
                }
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.rewrite(item, key));
                // Within one second they are sorted by name, else by time.
                if key == "managedFields" {
                    items.sort_by_key(|item| {
                        ["operation", "manager", "apiVersion", "subresource"].map(|key| item[key].to_string())
                    });
                }
                if matches!(key, "items" | "rows")
                    && items.iter().any(|item| item.to_string().contains("gen-*"))
                {
                    items.sort_by_key(Value::to_string);
                }
                // What holds a namespace comes in the order of a Go map.
                if key == "finalizers" && items.iter().any(|item| item == "foregroundDeletion") {
                    items.sort_by_key(Value::to_string);
                }
                if key == "cells" {
                    items.iter_mut().filter(|cell| is_age(cell)).for_each(|cell| *cell = json!("(age)"));
                }
            }
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = excused(text);
        for (number, uid) in self.uids.iter().enumerate() {
            if text.contains(uid.as_str()) {
                text = text.replace(uid.as_str(), &format!("uid-{number}"));
            }
        }
        for (number, length, shown) in [(27, 27, "(micro time)"), (20, 20, "(time)")] {
            while let Some(start) = text.as_bytes().windows(number).position(is_time) {
                text.replace_range(start..start + length, shown);
            }
        }
        if text.to_lowercase().contains("resourceversion") || text.contains("resource version") {
            text = self.numbers(&text);
        }
        let parts: Vec<&str> = text.split('.').collect();
        if parts.len() == 4 && parts[0] == "10" && parts.iter().all(|part| part.parse::<u8>().is_ok()) {
            return "(address)".to_owned();
        }
        generated(&text)
    }

    /// Versions in sentences.
    fn numbers(&self, text: &str) -> String {
        let mut out = String::new();
        let mut digits = String::new();
        let mut after_letter = false;
        for letter in text.chars().chain(['\0']) {
            if letter.is_ascii_digit() && !after_letter {
                digits.push(letter);
                continue;
            }
            out.push_str(&self.version(&digits));
            digits.clear();
            after_letter = letter.is_alphanumeric() || letter == '-';
            out.push(letter);
        }
        out.pop();
        out
    }
}

/// Which objects are on a page is not known where names are made up.
fn some(list: &mut serde_json::Map<String, Value>) {
    let goes_on = list
        .get("metadata")
        .is_some_and(|metadata| metadata["continue"].as_str().is_some_and(|token| !token.is_empty()));
    for key in ["items", "rows"] {
        if let Some(items) = list.get_mut(key).filter(|items| goes_on && items.to_string().contains("\"gen-"))
        {
            *items = json!("(some)");
        }
    }
}

/// Causes that come in the order of a Go map, which is none.
fn unordered(refusal: &mut serde_json::Map<String, Value>) {
    let ours = refusal.get("details").is_some_and(|details| details["group"] == "conformance.lockstep.dev");
    let other = refusal.get("details").is_some_and(|details| details["kind"] == "Odd");
    let causes = refusal.get_mut("details").and_then(|details| details.get_mut("causes"));
    if let Some(causes) = causes.filter(|_| other) {
        // One who calls itself something else is not looked at any further here.
        *causes = json!("(causes)");
        refusal.insert("message".to_owned(), json!("(causes)"));
        return;
    }
    let causes = refusal.get_mut("details").and_then(|details| details.get_mut("causes"));
    let Some(causes) = causes.and_then(Value::as_array_mut).filter(|causes| causes.len() > 1) else { return };
    if !ours && causes[0]["reason"] != "FieldManagerConflict" {
        return;
    }
    causes.sort_by_key(Value::to_string);
    if let Some(Value::String(message)) = refusal.get_mut("message")
        && let Some((about, _)) = message.split_once("is invalid: [")
    {
        *message = format!("{about}is invalid: [causes]");
    }
}

/// Advice about pods.
fn excused_warning(warning: &str) -> bool {
    warning.starts_with("299 - \"spec.") || warning.contains("which can result in surprising behavior")
}

/// Sentences that cannot be the same: "Known differences" of docs/embedded-cluster.md says why.
fn excused(text: &str) -> String {
    if let Some((before, after)) = text.split_once("failed to create typed patch object")
        && let Some((about, why)) = after.split_once("): ")
        && (why.starts_with("errors:") || why.ends_with("field not declared in schema"))
    {
        return format!("{before}failed to create typed patch object{about}): (errors)");
    }
    if let Some((before, _)) = text.split_once("failed to convert new object: ") {
        return format!("{before}failed to convert new object: (errors)");
    }
    if let Some((before, after)) = text.split_once("Invalid value: {}: `selector` does not match") {
        return format!("{before}Invalid value: null: `selector` does not match{after}");
    }
    if let Some((before, after)) = text.split_once("IPAddress.networking.k8s.io \"")
        && let Some((_, after)) = after.split_once('"')
    {
        return format!("{before}IPAddress.networking.k8s.io (address){after}");
    }
    if let Some((before, _)) = text.split_once("error encoding patch: yaml: ") {
        return format!("{before}error encoding patch: yaml: (why)");
    }
    if let Some((before, _)) = text.split_once("(allow it to be set to 1 if it was previously negative)\n") {
        return format!("{before}(and how it differs)");
    }
    if let Some((before, _)) = text.split_once("invalid continue token: continue key is not valid") {
        return format!("{before}invalid continue token");
    }
    if let Some((before, after)) = text.split_once("Invalid value: \"{")
        && let Some((_, why)) = after.rsplit_once("}\": ")
    {
        // Of several things that cannot be read, the first that is met is named.
        let unread = why.starts_with("json: cannot unmarshal") || why.starts_with("illegal base64");
        return format!("{before}Invalid value: (object): {}", if unread { "(unread)" } else { why });
    }
    if let Some((before, _)) = text.split_once("Invalid value: \"map[") {
        return format!("{before}Invalid value: (patch)");
    }
    text.to_owned()
}

/// `2026-03-04T05:06:07Z`, but for the one the sequences themselves use.
fn is_time(bytes: &[u8]) -> bool {
    let pattern: &[u8] =
        if bytes.len() == 20 { b"0000-00-00T00:00:00Z" } else { b"0000-00-00T00:00:00.000000Z" };
    let fits = bytes.iter().zip(pattern).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        wanted => byte == wanted,
    });
    fits && !bytes.starts_with(b"2026-01-01")
}

fn is_age(cell: &Value) -> bool {
    let Some(text) = cell.as_str() else { return false };
    let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
    text.len() == number.len() + 1 && number.parse::<u64>().is_ok()
}

/// Names that were made up.
fn generated(text: &str) -> String {
    let mut out = text.to_owned();
    let mut from = 0;
    while let Some(found) = out[from..].find("gen-") {
        let start = from + found + 4;
        let end = start + 5;
        if out.get(start..end).is_some_and(|suffix| suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            out.replace_range(start..end, "*");
        }
        from = start;
    }
    out
}
