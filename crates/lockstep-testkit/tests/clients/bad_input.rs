//! Requests no client of good manners sends.

use http::Request;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, WARNING};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use crate::script::Said;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/bad";
const STRICT: &str = "/api/v1/namespaces/default/configmaps?fieldValidation=Strict";
const WARN: &str = "/api/v1/namespaces/default/configmaps?fieldValidation=Warn&dryRun=All";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const GOOD: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"}}"#;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";

/// Method, path, content type, what is accepted, body. They come in this order: a few build on others.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    // Bodies that cannot be read.
    ("POST", MAPS, JSON, "", ""),
    ("POST", MAPS, JSON, "", "{"),
    ("POST", MAPS, JSON, "", "nonsense"),
    ("POST", MAPS, JSON, "", "[]"),
    ("POST", MAPS, JSON, "", "null"),
    ("POST", MAPS, JSON, "", "\"text\""),
    ("POST", MAPS, JSON, "", "{}"),
    ("POST", MAPS, JSON, "", r#"{"kind":"ConfigMap"}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1"}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"Gadget","metadata":{"name":"bad"}}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"}}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"apps/v1","kind":"ConfigMap","metadata":{"name":"bad"}}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":7}}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}"#),
    (
        "POST",
        MAPS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"a":1}}"#,
    ),
    (
        "POST",
        MAPS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":[1]}"#,
    ),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"}} trailing"#),
    ("POST", MAPS, YAML, "", "apiVersion: v1\nkind: [\n"),
    ("POST", MAPS, YAML, "", "just words"),
    ("POST", MAPS, PROTOBUF, "", "k8s\0rubbish"),
    ("POST", MAPS, PROTOBUF, "", "rubbish"),
    ("POST", MAPS, "text/plain", "", GOOD),
    ("POST", MAPS, "application/xml", "", "<a/>"),
    ("POST", MAPS, "not a type", "", GOOD),
    ("POST", MAPS, MERGE, "", GOOD),
    (
        "POST",
        PODS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{"containers":{}}}"#,
    ),
    (
        "POST",
        PODS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{"terminationGracePeriodSeconds":"soon"}}"#,
    ),
    // Fields nobody knows.
    (
        "POST",
        STRICT,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","x":1},"y":2}"#,
    ),
    (
        "POST",
        STRICT,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","name":"bad"}}"#,
    ),
    ("POST", STRICT, YAML, "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nx: 1\nx: 2\n"),
    (
        "POST",
        WARN,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","x":1},"y":2}"#,
    ),
    ("POST", "/api/v1/namespaces/default/configmaps?fieldValidation=Perhaps", JSON, "", GOOD),
    ("POST", "/api/v1/namespaces/default/configmaps?dryRun=Some", JSON, "", GOOD),
    ("POST", "/api/v1/namespaces/default/configmaps?pretty=perhaps&dryRun=All", JSON, "", GOOD),
    // Names.
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not_A_Name"}}"#),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":""}}"#),
    (
        "POST",
        MAPS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","namespace":"other"}}"#,
    ),
    ("POST", MAPS, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"Bad-"}}"#),
    ("POST", "/api/v1/namespaces/Not_A_Name/configmaps", JSON, "", GOOD),
    ("POST", "/api/v1/namespaces/nowhere/configmaps", JSON, "", GOOD),
    (
        "POST",
        "/api/v1/namespaces",
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a.b"}}"#,
    ),
    ("GET", "/api/v1/namespaces/default/configmaps/Not_A_Name", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps/a%2Fb", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps/..", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps/%00", "", "", ""),
    // Places that are none.
    ("GET", "/nowhere", "", "", ""),
    ("GET", "/api/v2", "", "", ""),
    ("GET", "/api/v1/gadgets", "", "", ""),
    ("GET", "/api/v1/namespaces/default/gadgets/bad", "", "", ""),
    ("GET", "/apis/nobody.example/v1/gadgets", "", "", ""),
    ("GET", "/apis/apps/v9/deployments", "", "", ""),
    ("POST", "/apis/apps/v9/deployments", JSON, "", GOOD),
    ("GET", "/api/v1/namespaces/default/configmaps/bad/status", "", "", ""),
    ("GET", "/api/v1/namespaces/default/pods/bad/nothing", "", "", ""),
    ("GET", "/api/v1/namespaces/default/pods/bad/status/more", "", "", ""),
    ("GET", "/api/v1/nodes/node-9/status", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps/bad", "", "", ""),
    ("DELETE", MAP, "", "", ""),
    ("PUT", MAP, JSON, "", GOOD),
    ("DELETE", MAP, "", "", ""),
    // Verbs nobody knows, or not here.
    ("PUT", MAPS, JSON, "", GOOD),
    ("PATCH", MAPS, MERGE, "", "{}"),
    ("POST", MAP, JSON, "", GOOD),
    ("POST", "/api/v1/configmaps", JSON, "", GOOD),
    ("DELETE", "/api/v1/configmaps", "", "", ""),
    ("OPTIONS", MAPS, "", "", ""),
    ("BREW", MAPS, "", "", ""),
    ("POST", "/version", JSON, "", "{}"),
    ("POST", "/api", JSON, "", "{}"),
    ("DELETE", "/api/v1", "", "", ""),
    ("PUT", "/api/v1/namespaces/default/pods/bad/eviction", JSON, "", "{}"),
    ("GET", "/api/v1/namespaces/default/pods/bad/eviction", "", "", ""),
    ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", "", ""),
    // Answers nobody can give.
    ("GET", MAPS, "", "text/html", ""),
    ("GET", MAPS, "", "application/xml", ""),
    ("GET", MAPS, "", "nonsense", ""),
    ("GET", MAPS, "", "application/json;as=Gadget;v=v1;g=meta.k8s.io", ""),
    ("GET", MAPS, "", "application/json;as=Table;v=v9;g=meta.k8s.io", ""),
    ("GET", MAP, "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", ""),
    (
        "GET",
        "/api/v1/namespaces/default/configmaps/none",
        "",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "",
    ),
    ("GET", "/api/v1/namespaces/default/configmaps/none", "", YAML, ""),
    ("GET", "/api/v1/namespaces/default/configmaps/none", "", "text/html, */*", ""),
    ("GET", "/openapi/v3/nowhere", "", "", ""),
    ("GET", "/apis", "", "text/html", ""),
    ("GET", MAP, "", "text/html", ""),
    ("GET", "/api", "", "text/html", ""),
    ("GET", "/apis/apps", "", "text/html", ""),
    ("GET", "/apis/apps/v1", "", "text/html", ""),
    // What needs no other form than that of all.
    ("GET", "/api", "", "", ""),
    ("GET", "/apis/apps", "", "", ""),
    ("POST", "/healthz", JSON, "", "{}"),
    ("POST", "/nowhere", JSON, "", "{}"),
    // Questions nobody understands.
    ("GET", "/api/v1/namespaces/default/configmaps?limit=many", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?limit=-1&labelSelector=x", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?continue=rubbish", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?continue=r!b", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?continue=e30", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=new", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?resourceVersionMatch=Exact", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=1&resourceVersionMatch=Most", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?labelSelector=a%20b%20c", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?labelSelector=a%3D-", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?fieldSelector=a", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?fieldSelector=spec.x%3D1", "", "", ""),
    (
        "GET",
        "/api/v1/namespaces/default/configmaps?watch=perhaps&timeoutSeconds=1&labelSelector=x",
        "",
        "",
        "",
    ),
    ("GET", "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=soon", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=new", "", "", ""),
    ("GET", "/api/v1/namespaces/default/configmaps?watch=true", "", "text/html", ""),
    // Patches.
    ("POST", MAPS, JSON, "", GOOD),
    ("POST", MAPS, JSON, "", GOOD),
    ("PATCH", MAP, JSON, "", "{}"),
    ("PATCH", MAP, "", "", "{}"),
    ("PATCH", MAP, MERGE, "", "{"),
    ("PATCH", MAP, MERGE, "", "[]"),
    ("PATCH", MAP, MERGE, "", ""),
    ("PATCH", MAP, STRATEGIC, "", "{"),
    ("PATCH", MAP, STRATEGIC, "", "[]"),
    ("PATCH", MAP, STRATEGIC, "", r#"{"data":{"a":1}}"#),
    ("PATCH", MAP, STRATEGIC, "", r#"{"data":{"a":true}}"#),
    ("PATCH", MAP, STRATEGIC, "", r#"{"data":{"a":{}}}"#),
    ("PATCH", MAP, STRATEGIC, "", r#"{"data":[]}"#),
    ("PATCH", MAP, STRATEGIC, "", r#"{"immutable":"yes"}"#),
    ("PATCH", MAP, STRATEGIC, "", r#"{"$patch":"rubbish"}"#),
    ("PATCH", MAP, JSON_PATCH, "", "{}"),
    ("PATCH", MAP, JSON_PATCH, "", r#"[{"op":"grow","path":"/data"}]"#),
    ("PATCH", MAP, JSON_PATCH, "", r#"[{"op":"remove","path":"data"}]"#),
    ("PATCH", MAP, JSON_PATCH, "", r#"[{"op":"remove","path":"/data/none"}]"#),
    ("PATCH", MAP, JSON_PATCH, "", r#"[{"op":"replace","path":"/metadata/name","value":"other"}]"#),
    ("PATCH", MAP, MERGE, "", r#"{"metadata":{"uid":"00000000-0000-4000-8000-000000000001"}}"#),
    ("PATCH", MAP, MERGE, "", r#"{"metadata":{"resourceVersion":"1"}}"#),
    ("PATCH", MAP, MERGE, "", r#"{"metadata":{"resourceVersion":"new"}}"#),
    ("PATCH", MAP, MERGE, "", r#"{"kind":"Secret"}"#),
    ("PATCH", MAP, MERGE, "", r#"{"metadata":{"labels":{"a":"not a label"}}}"#),
    ("PATCH", MAP, APPLY, "", GOOD),
    ("PATCH", "/api/v1/namespaces/default/configmaps/bad?fieldManager=me", APPLY, "", "kind: [\n"),
    ("PATCH", "/api/v1/namespaces/default/configmaps/bad?fieldManager=me", APPLY, "", "data: {a: b}"),
    ("PATCH", "/api/v1/namespaces/default/configmaps/other?fieldManager=me", APPLY, "", GOOD),
    ("PATCH", "/api/v1/namespaces/default/configmaps/bad?fieldManager=me&force=perhaps", APPLY, "", GOOD),
    ("PATCH", "/api/v1/namespaces/default/configmaps/bad?force=true", MERGE, "", "{}"),
    ("PUT", MAP, JSON, "", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}"#),
    (
        "PUT",
        MAP,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","resourceVersion":"1"}}"#,
    ),
    ("DELETE", MAP, JSON, "", r#"{"propagationPolicy":"Perhaps"}"#),
    ("DELETE", MAP, JSON, "", r#"{"orphanDependents":true,"propagationPolicy":"Orphan"}"#),
    ("DELETE", MAP, JSON, "", r#"{"preconditions":{"uid":"00000000-0000-4000-8000-000000000001"}}"#),
    ("DELETE", MAP, JSON, "", r#"{"kind":"Pod","apiVersion":"v1"}"#),
    ("DELETE", MAP, JSON, "", "{"),
    ("DELETE", "/api/v1/namespaces/default/configmaps/bad?gracePeriodSeconds=soon", "", "", ""),
    ("DELETE", "/api/v1/namespaces/default/configmaps/bad?gracePeriodSeconds=-5&dryRun=All", "", "", ""),
    ("DELETE", MAP, "", "", ""),
    // Objects that are not as they should be.
    (
        "POST",
        DEPLOYMENTS,
        JSON,
        "",
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bad"},"spec":{}}"#,
    ),
    ("POST", PODS, JSON, "", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"}}"#),
    (
        "POST",
        PODS,
        JSON,
        "",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad","labels":{"a b":"c"}},"spec":{"containers":[{"name":"A","image":""}]}}"#,
    ),
];

/// Sends them all, and one that is too large.
pub async fn play(client: kube::Client) -> Vec<Said> {
    let mut said = Vec::new();
    for (method, path, content_type, accept, body) in CASES {
        let command = format!("{method} {path} [{content_type}] accept [{accept}] {body}");
        let answer = send(&client, method, path, content_type, accept, body.as_bytes().to_vec()).await;
        said.push(Said::new(&command, &answer));
    }
    for (what, size) in [("a little", 3 * 1024 * 1024 + 1), ("much", 4 * 1024 * 1024 + 1)] {
        let filler = "x".repeat(size);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"large"}},"data":{{"a":"{filler}"}}}}"#
        );
        let answer = send(&client, "POST", MAPS, JSON, "", body.into_bytes()).await;
        said.push(Said::new(&format!("{what} too large a body"), &answer));
    }
    said
}

/// What is answered: the code, the headers that tell something, the body.
async fn send(
    client: &kube::Client,
    method: &str,
    path: &str,
    content_type: &str,
    accept: &str,
    body: Vec<u8>,
) -> String {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in [(CONTENT_TYPE, content_type), (ACCEPT, accept)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let request = request.body(Body::from(body)).expect("a request");
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) => return format!("no answer: {error}"),
    };
    let (head, body) = response.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let mut answer = format!("{}\n", head.status);
    for name in [CONTENT_TYPE, ALLOW, WARNING] {
        for value in head.headers.get_all(&name) {
            answer += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
        }
    }
    answer + &readable(&body)
}

/// The body; JSON with a line for each value, since the order of its fields means nothing.
fn readable(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => format!("{value:#}"),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}
