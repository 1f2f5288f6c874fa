//! What is wrong with configurations of webhooks. Their match conditions are taken as they are.

use serde_json::Value;

use crate::builtin::access::{at, has, int, list, text, texts};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{NameRule, old_label, port, subdomain};
use crate::builtin::metadata::{selector, validate_metadata};

/// A configuration, whenever it is written.
pub(super) fn configuration(object: &Value, causes: &mut Causes) {
    validate_metadata(at(object, &["metadata"]), false, NameRule::Subdomain, causes);
    let mut names: Vec<&str> = Vec::new();
    for (place, hook) in list(object, "webhooks").iter().enumerate() {
        let here = At::new("webhooks").index(place);
        webhook(hook, &here, causes);
        versions(hook, &here.child("admissionReviewVersions"), causes);
        let name = text(hook, "name");
        if !name.is_empty() && names.contains(&name) {
            causes.duplicate(&here.child("name"), &Value::from(name));
        }
        names.push(name);
    }
}

fn webhook(hook: &Value, here: &At, causes: &mut Causes) {
    full_name(text(hook, "name"), &here.child("name"), causes);
    for (place, of) in list(hook, "rules").iter().enumerate() {
        rule(of, &here.child("rules").index(place), causes);
    }
    let choices: [(&str, &[&str]); 4] = [
        ("failurePolicy", &["Fail", "Ignore"]),
        ("matchPolicy", &["Equivalent", "Exact"]),
        ("sideEffects", &["None", "NoneOnDryRun"]),
        ("reinvocationPolicy", &["IfNeeded", "Never"]),
    ];
    for (field, known) in &choices[..2] {
        choice(hook, field, known, here, causes);
    }
    if !has(hook, "sideEffects") {
        causes.required(&here.child("sideEffects"), "must specify one of None, NoneOnDryRun");
    }
    choice(hook, choices[2].0, choices[2].1, here, causes);
    if let Some(seconds) = int(hook, "timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.invalid(&here.child("timeoutSeconds"), &Value::from(seconds), why);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector(at(hook, &[field]), &here.child(field), causes);
    }
    choice(hook, choices[3].0, choices[3].1, here, causes);
    client(at(hook, &["clientConfig"]), &here.child("clientConfig"), causes);
}

fn choice(hook: &Value, field: &str, known: &[&str], here: &At, causes: &mut Causes) {
    if has(hook, field) && !known.contains(&text(hook, field)) {
        causes.unsupported(&here.child(field), at(hook, &[field]), known);
    }
}

fn full_name(name: &str, here: &At, causes: &mut Causes) {
    if name.is_empty() {
        causes.required(here, "");
        return;
    }
    let wrong = subdomain(name);
    if !wrong.is_empty() {
        causes.invalid(here, &Value::from(name), &wrong.join(","));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        causes.invalid(here, &Value::from(name), why);
    }
}

fn rule(rule: &Value, here: &At, causes: &mut Causes) {
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let operations = texts(rule, "operations");
    alone(rule, "operations", "operations", here, causes);
    for (place, operation) in operations.into_iter().enumerate() {
        if !known.contains(&operation) {
            causes.unsupported(&here.child("operations").index(place), &Value::from(operation), &known);
        }
    }
    alone(rule, "apiGroups", "API groups", here, causes);
    alone(rule, "apiVersions", "API versions", here, causes);
    for (place, _) in texts(rule, "apiVersions").iter().enumerate().filter(|(_, version)| version.is_empty())
    {
        causes.required(&here.child("apiVersions").index(place), "");
    }
    resources(rule, &here.child("resources"), causes);
    let scopes = ["*", "Cluster", "Namespaced"];
    if has(rule, "scope") && !scopes.contains(&text(rule, "scope")) {
        causes.unsupported(&here.child("scope"), at(rule, &["scope"]), &scopes);
    }
}

/// At least one, and all of them only without others.
fn alone(rule: &Value, field: &str, what: &str, here: &At, causes: &mut Causes) {
    let all = texts(rule, field);
    if all.is_empty() {
        causes.required(&here.child(field), "");
    } else if all.len() > 1 && all.contains(&"*") {
        let why = format!("if '*' is present, must not specify other {what}");
        causes.invalid(&here.child(field), at(rule, &[field]), &why);
    }
}

fn resources(rule: &Value, here: &At, causes: &mut Causes) {
    let all = texts(rule, "resources");
    if all.is_empty() {
        causes.required(here, "");
    }
    let (mut whole, mut parts): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut plain = false;
    for (place, of) in all.iter().enumerate() {
        let here = here.index(place);
        if of.is_empty() {
            causes.required(&here, "");
            continue;
        }
        let Some((resource, part)) = of.split_once('/') else {
            plain = *of != "*";
            continue;
        };
        if whole.contains(&resource) {
            let why = format!("if '{resource}/*' is present, must not specify {of}");
            causes.invalid(&here, &Value::from(*of), &why);
        }
        if parts.contains(&part) {
            causes.invalid(
                &here,
                &Value::from(*of),
                &format!("if '*/{part}' is present, must not specify {of}"),
            );
        }
        if part == "*" {
            whole.push(resource);
        }
        if resource == "*" {
            parts.push(part);
        }
    }
    let shown = at(rule, &["resources"]);
    if all.len() > 1 && all.contains(&"*/*") {
        causes.invalid(here, shown, "if '*/*' is present, must not specify other resources");
    }
    if all.contains(&"*") && plain {
        let why = "if '*' is present, must not specify other resources without subresources";
        causes.invalid(here, shown, why);
    }
}

fn versions(hook: &Value, here: &At, causes: &mut Causes) {
    let all = texts(hook, "admissionReviewVersions");
    if all.is_empty() {
        causes.required(here, "must specify one of v1, v1beta1");
        return;
    }
    for (place, version) in all.iter().enumerate() {
        let here = here.index(place);
        if all[..place].contains(version) {
            causes.invalid(&here, &Value::from(*version), "duplicate version");
        } else {
            causes.invalid_each(&here, version, old_label(version));
        }
    }
    if !all.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        causes.invalid(
            here,
            at(hook, &["admissionReviewVersions"]),
            "must include at least one of v1, v1beta1",
        );
    }
}

fn client(config: &Value, here: &At, causes: &mut Causes) {
    match (has(config, "url"), has(config, "service")) {
        (true, false) => url(text(config, "url"), &here.child("url"), causes),
        (false, true) => service(at(config, &["service"]), &here.child("service"), causes),
        _ => causes.required(here, "exactly one of url or service is required"),
    }
}

fn url(url: &str, here: &At, causes: &mut Causes) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        causes.invalid(here, &Value::from(scheme), &why);
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if host.is_empty() {
        causes.invalid(here, &Value::from(""), &format!("host must be specified{FORM}"));
    }
    for (part, what) in
        [(user, "user information is"), (fragment, "fragments are"), (query, "query parameters are")]
    {
        if !part.is_empty() {
            causes.invalid(here, &Value::from(part), &format!("{what} not permitted in the URL"));
        }
    }
}

fn service(service: &Value, here: &At, causes: &mut Causes) {
    // A real API server confuses the two.
    for (field, named) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, field).is_empty() {
            causes.required(&here.child(named), "");
        }
    }
    let number = int(service, "port").unwrap_or_default();
    let wrong = port(number);
    if !wrong.is_empty() {
        let why = format!("port is not valid: {}", wrong.join(", "));
        causes.invalid(&here.child("port"), &Value::from(number), &why);
    }
    let path = text(service, "path");
    let here = here.child("path");
    match path {
        "" | "/" => return,
        "//" => {
            causes.invalid(&here, &Value::from(path), "segment[0] may not be empty");
            return;
        }
        _ if !path.starts_with('/') => causes.invalid(&here, &Value::from(path), "must start with a '/'"),
        _ => {}
    }
    let steps: String = path.chars().skip(1).collect();
    for (place, step) in steps.strip_suffix('/').unwrap_or(&steps).split('/').enumerate() {
        if step.is_empty() {
            causes.invalid(&here, &Value::from(path), &format!("segment[{place}] may not be empty"));
        } else {
            for why in subdomain(step) {
                causes.invalid(&here, &Value::from(path), &format!("segment[{place}]: {why}"));
            }
        }
    }
}
