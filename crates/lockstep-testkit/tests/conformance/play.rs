//! Sends a sequence to a server, and keeps all it says.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT, WARNING};
use http_body_util::BodyExt;
use kube::client::Body as Bytes;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::sequence::{Body, END, Sequence, Step};

/// The program all requests come from.
pub const AGENT: &str = "conformance";

/// How long the last event may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was said to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub code: u16,
    pub media: String,
    pub warnings: Vec<String>,
    pub retry: String,
    pub body: Value,
}

/// All that was said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    pub said: Vec<Said>,
    /// The events of each watch.
    pub watched: Vec<Vec<Value>>,
}

/// What a client remembers of a sequence.
#[derive(Default)]
struct Memory {
    seen: BTreeMap<String, Value>,
    oldest: BTreeMap<String, String>,
    last: String,
    token: String,
}

/// Plays a sequence.
pub async fn play(client: &kube::Client, sequence: &Sequence) -> Played {
    let mut memory = Memory::default();
    let mut played = Played::default();
    for step in &sequence.first {
        played.said.push(memory.send(client, step).await);
    }
    let mut watches = Vec::new();
    for path in &sequence.watches {
        watches.push(watch(client, path).await);
    }
    for step in sequence.steps.iter().chain(&sequence.last) {
        played.said.push(memory.send(client, step).await);
    }
    for watch in watches {
        played.watched.push(watch.await.unwrap_or_default());
    }
    played
}

impl Memory {
    async fn send(&mut self, client: &kube::Client, step: &Step) -> Said {
        let body = match &step.body {
            Body::Text(text) => self.filled(text),
            Body::Changed { of, patch } => {
                let mut object = self.seen.get(of).cloned().unwrap_or_else(|| json!({}));
                let patch = serde_json::from_str(&self.filled(&patch.to_string())).unwrap_or_default();
                merge(&mut object, &patch);
                object.to_string()
            }
        };
        let path = self.filled(&step.path);
        let said = send(client, step, &path, body).await;
        self.remember(step, &said);
        said
    }

    /// Fills in what only this server knows.
    fn filled(&self, text: &str) -> String {
        let mut text = text.replace("$last", if self.last.is_empty() { "1" } else { &self.last });
        text = text.replace("$continue", &self.token);
        for (sign, key) in [("$rv{", "resourceVersion"), ("$uid{", "uid"), ("$old{", "")] {
            while let Some(start) = text.find(sign) {
                let Some(length) = text[start..].find('}') else { break };
                let of = text[start + sign.len()..start + length].to_owned();
                let value = match key {
                    "" => self.oldest.get(&of).cloned(),
                    key => {
                        self.seen.get(&of).and_then(|seen| seen["metadata"][key].as_str()).map(str::to_owned)
                    }
                };
                let none = if key == "uid" { "00000000-0000-4000-8000-000000000001" } else { "1" };
                text.replace_range(start..=start + length, value.as_deref().unwrap_or(none));
            }
        }
        text
    }

    fn remember(&mut self, step: &Step, said: &Said) {
        let body = &said.body;
        if let Some(token) = body["metadata"]["continue"].as_str() {
            self.token = token.to_owned();
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&body["kind"]), text(&body["metadata"]["name"]));
        let kept = said.code < 300 && !step.path.contains("dryRun") && !name.is_empty();
        let whole = !matches!(&*kind, "Status" | "Scale" | "PartialObjectMetadata" | "Table" | "Binding");
        if kept && whole {
            let key = format!("{kind}/{name}");
            let version = text(&body["metadata"]["resourceVersion"]);
            self.oldest.entry(key.clone()).or_insert_with(|| version.clone());
            if !version.is_empty() {
                self.last = version;
            }
            self.seen.insert(key, body.clone());
        }
    }
}

/// Sends one request.
pub async fn once(client: &kube::Client, step: &Step) -> Said {
    Memory::default().send(client, step).await
}

async fn send(client: &kube::Client, step: &Step, path: &str, body: String) -> Said {
    let mut request = Request::builder().method(step.method).uri(path).header(USER_AGENT, AGENT);
    for (name, value) in [(ACCEPT, step.accept), (CONTENT_TYPE, step.content_type)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let request = request.body(Bytes::from(body.into_bytes())).expect("a request");
    let answer =
        tokio::time::timeout(PATIENCE, client.send(request)).await.expect("an answer").expect("an answer");
    let (head, body) = answer.into_parts();
    let all = |name| {
        let values = head.headers.get_all(name).iter();
        values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect::<Vec<_>>()
    };
    let body = body.collect().await.expect("a body").to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
    Said {
        code: head.status.as_u16(),
        media: all(CONTENT_TYPE).join(","),
        warnings: all(WARNING),
        retry: all(RETRY_AFTER).join(","),
        body,
    }
}

/// Opens a watch, and reads it until its last object comes.
async fn watch(client: &kube::Client, path: &str) -> JoinHandle<Vec<Value>> {
    let request = Request::builder().uri(path).header(ACCEPT, "application/json").header(USER_AGENT, AGENT);
    let request = request.body(Bytes::from(Vec::new())).expect("a request");
    let answer = client.send(request).await.expect("an answer");
    tokio::spawn(async move {
        let mut events = Vec::new();
        let read = read(answer.into_body(), &mut events);
        if tokio::time::timeout(PATIENCE, read).await.is_err() {
            events.push(json!("the last event never came"));
        }
        events
    })
}

async fn read(mut body: kube::client::Body, events: &mut Vec<Value>) {
    let mut rest = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            let last = event["object"]["metadata"]["name"].as_str().is_some_and(|name| name.ends_with(END));
            if event["type"] != "BOOKMARK" {
                events.push(event);
            }
            if last {
                return;
            }
        }
    }
    if !rest.is_empty() {
        events.push(serde_json::from_slice(&rest).unwrap_or_default());
    }
}

/// A merge patch, as everybody means it.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in patch {
        match value {
            Value::Null => drop(object.as_object_mut().and_then(|object| object.remove(key))),
            value => merge(&mut object[key.as_str()], value),
        }
    }
}
