//! Who asked for what, and what came of it: the audit log, in the words of a real API server's
//! (`audit.k8s.io/v1`, level `Metadata`).

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::path::{Place, ResourcePath};
use crate::request::{Method, Request};
use crate::selector::Selector;
use crate::server::{Body, Response};

/// The log: requests that were answered, in the order of their answers. A watch is answered when it ends.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Vec<Line>>);

/// A request, before it is answered.
#[derive(Debug)]
pub(super) struct Asked {
    received: Timestamp,
    verb: &'static str,
    user: String,
    groups: Vec<String>,
    user_agent: String,
    path: String,
    object: Option<Object>,
}

/// What a request is about.
#[derive(Debug)]
struct Object {
    place: ResourcePath,
    name: String,
}

/// A request that was answered.
#[derive(Debug)]
struct Line {
    asked: Asked,
    answered: Timestamp,
    code: u16,
}

impl Log {
    /// Notes an answer. Of an object that is created, only the answer tells the name.
    pub fn note(&self, mut asked: Asked, answer: &Response, now: Timestamp) {
        if let Some(object) = asked.object.as_mut().filter(|object| object.name.is_empty())
            && asked.verb == "create"
        {
            object.name = name_in(&answer.body).unwrap_or_default().to_owned();
        }
        self.push(asked, answer.code, now);
    }

    /// Notes that a watch has ended.
    pub fn ended(&self, asked: Asked, now: Timestamp) {
        self.push(asked, 200, now);
    }

    fn push(&self, asked: Asked, code: u16, answered: Timestamp) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(Line { asked, answered, code });
    }

    /// The log as a file has it: a JSON object in each line.
    pub fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| format!("{}\n", line.event())).collect()
    }
}

impl Asked {
    pub fn read(request: &Request, now: Timestamp) -> Self {
        let object = match Place::read(&request.path) {
            Place::Resource(place) => Some(Object::of(place, request)),
            _ => None,
        };
        Self {
            received: now,
            verb: verb(request, object.as_ref()),
            user: request.user.name.clone(),
            groups: request.user.groups.clone(),
            user_agent: request.user_agent.clone(),
            path: request.path.clone(),
            object,
        }
    }
}

impl Object {
    fn of(place: ResourcePath, request: &Request) -> Self {
        // One object, asked for in a roundabout way.
        let chosen = || {
            Selector::of_fields(request.query.get("fieldSelector")?)
                .ok()?
                .only("metadata.name")
                .map(str::to_owned)
        };
        let name = place.name.clone().or_else(chosen).unwrap_or_default();
        Self { place, name }
    }

    fn reference(&self) -> Value {
        let place = &self.place;
        // A namespace is said to lie in itself.
        let space = (place.plural == "namespaces").then_some(place.name.as_deref()).flatten();
        let texts = [
            ("resource", Some(place.plural.as_str())),
            ("namespace", place.namespace.as_deref().or(space)),
            ("name", Some(self.name.as_str())),
            ("apiGroup", Some(place.of.group.as_str())),
            ("apiVersion", Some(place.of.version.as_str())),
            ("subresource", place.subresource.as_deref()),
        ];
        let said = texts.into_iter().filter_map(|(key, text)| Some((key, text.filter(|it| !it.is_empty())?)));
        said.map(|(key, text)| (key.to_owned(), Value::from(text))).collect::<serde_json::Map<_, _>>().into()
    }
}

/// What is to be done, in one word.
fn verb(request: &Request, object: Option<&Object>) -> &'static str {
    let many = object.is_some_and(|object| object.place.name.is_none());
    match request.method {
        Method::Get if many && request.query.says("watch") => "watch",
        Method::Get if many => "list",
        Method::Get => "get",
        Method::Post if object.is_some() => "create",
        Method::Post => "post",
        Method::Put if object.is_some() => "update",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete if many => "deletecollection",
        Method::Delete => "delete",
    }
}

/// The name of what an answer is about: that of the object, or of what a refusal is about.
fn name_in(body: &Body) -> Option<&str> {
    let object = match body {
        Body::Made(object) => object,
        Body::Stored(object) => object,
        _ => return None,
    };
    match object["kind"] == "Status" {
        true => object["details"]["name"].as_str(),
        false => object["metadata"]["name"].as_str(),
    }
}

impl Line {
    fn event(&self) -> Value {
        let Asked { received, verb, user, groups, user_agent, path, object } = &self.asked;
        let time = |time: &Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete",
            "requestURI": path, "verb": verb, "user": {"username": user, "groups": groups},
            "userAgent": user_agent, "responseStatus": {"metadata": {}, "code": self.code},
            "requestReceivedTimestamp": time(received), "stageTimestamp": time(&self.answered),
        });
        if let Some(object) = object {
            event["objectRef"] = object.reference();
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: Method, path: &str, code: u16, body: Value) -> Value {
        let log = Log::default();
        let time = |text: &str| text.parse().expect("a time");
        let asked = Asked::read(&Request::new(method, path), time("2026-01-01T00:00:00.5Z"));
        log.note(asked, &Response::new(code, Body::Made(body)), time("2026-01-01T00:00:01Z"));
        let text = log.text();
        assert!(text.ends_with("}\n"), "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn requests_are_called_as_a_real_server_calls_them() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "made"}});
        let exists = json!({"kind": "Status", "metadata": {}, "details": {"name": "there"}});
        let table = [
            (Method::Get, "/api/v1/namespaces/x/pods/y", 200, &pod, "get pods x y"),
            (Method::Get, "/api/v1/pods", 200, &pod, "list pods  "),
            (Method::Get, "/api/v1/pods?watch=1", 200, &pod, "watch pods  "),
            (Method::Get, "/api/v1/pods?fieldSelector=metadata.name%3Dy", 200, &pod, "list pods  y"),
            (Method::Post, "/api/v1/namespaces/x/pods", 201, &pod, "create pods x made"),
            (Method::Post, "/api/v1/namespaces/x/pods", 409, &exists, "create pods x there"),
            (Method::Post, "/api/v1/namespaces/x/pods/y/eviction", 429, &exists, "create pods/eviction x y"),
            (
                Method::Put,
                "/apis/apps/v1/namespaces/x/deployments/y/scale",
                200,
                &pod,
                "update deployments/scale x y",
            ),
            (Method::Patch, "/api/v1/nodes/n/status", 200, &pod, "patch nodes/status  n"),
            (Method::Delete, "/api/v1/namespaces/x/pods/y", 200, &pod, "delete pods x y"),
            (Method::Delete, "/api/v1/namespaces/x/pods", 200, &pod, "deletecollection pods x "),
            (Method::Get, "/api/v1/namespaces/x", 200, &pod, "get namespaces x x"),
            (Method::Get, "/version", 200, &pod, "get   "),
        ];
        for (method, path, code, body, expected) in table {
            let line = line(method, path, code, body.clone());
            let text = |key: &str| line["objectRef"][key].as_str().unwrap_or_default().to_owned();
            let part = match text("subresource").as_str() {
                "" => String::new(),
                part => format!("/{part}"),
            };
            let verb = line["verb"].as_str().expect("a verb");
            let shown = format!("{verb} {}{part} {} {}", text("resource"), text("namespace"), text("name"));
            assert_eq!(shown, expected, "{path}");
            assert_eq!(line["responseStatus"]["code"], code, "{path}");
        }
    }

    #[test]
    fn times_are_told_to_the_microsecond() {
        let line = line(Method::Get, "/readyz", 200, json!({}));
        assert_eq!(line["requestReceivedTimestamp"], "2026-01-01T00:00:00.500000Z");
        assert_eq!(line["stageTimestamp"], "2026-01-01T00:00:01.000000Z");
        assert_eq!(line["objectRef"], Value::Null);
    }
}
