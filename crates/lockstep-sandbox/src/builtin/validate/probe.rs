//! What is wrong with probes and hooks.

use serde_json::Value;

use super::pod::Pod;
use crate::builtin::access::{at, has, int, list, text};
use crate::builtin::causes::{At, Causes};
use crate::builtin::formats::{header, port, port_name};

/// The probes of a container.
pub(super) fn probes(pod: &Pod<'_>, container: &Value, here: &At, causes: &mut Causes) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, name) {
            let (probe, here) = (at(container, &[name]), here.child(name));
            check(pod, probe, &here, causes);
            if name == "readinessProbe" {
                if has(probe, "terminationGracePeriodSeconds") {
                    let here = here.child("terminationGracePeriodSeconds");
                    let why = "must not be set for readinessProbes";
                    causes.invalid(&here, at(probe, &["terminationGracePeriodSeconds"]), why);
                }
            } else if int(probe, "successThreshold") != Some(1) {
                let threshold = int(probe, "successThreshold").unwrap_or_default();
                causes.invalid(&here.child("successThreshold"), &Value::from(threshold), "must be 1");
            }
        }
    }
}

fn check(pod: &Pod<'_>, probe: &Value, here: &At, causes: &mut Causes) {
    handler(pod, probe, &["exec", "httpGet", "tcpSocket", "grpc"], here, causes);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        causes.not_negative(&here.child(field), int(probe, field));
    }
    if let Some(period) = int(probe, "terminationGracePeriodSeconds").filter(|period| *period <= 0) {
        let here = here.child("terminationGracePeriodSeconds");
        causes.invalid(&here, &Value::from(period), "must be greater than 0");
    }
}

/// What a probe or a hook does: one of these.
pub(super) fn handler(pod: &Pod<'_>, of: &Value, sorts: &[&str], here: &At, causes: &mut Causes) {
    let mut said = sorts.iter().filter(|sort| has(of, sort));
    let Some(first) = said.next() else {
        causes.required(here, "must specify a handler type");
        return;
    };
    let (action, place) = (at(of, &[first]), here.child(first));
    match *first {
        "exec" if list(action, "command").is_empty() => causes.required(&place.child("command"), ""),
        "httpGet" => http_get(action, &place, causes),
        "tcpSocket" | "grpc" => number_or_name(at(action, &["port"]), &place.child("port"), causes),
        "sleep" => {
            let seconds = int(action, "seconds").unwrap_or_default();
            let grace = int(pod.spec, "terminationGracePeriodSeconds").unwrap_or_default();
            if !(0..=grace).contains(&seconds) {
                let why =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                causes.invalid(&place, &Value::from(seconds), &why);
            }
        }
        _ => {}
    }
    for other in said {
        causes.forbidden(&here.child(other), "may not specify more than 1 handler type");
    }
}

fn http_get(get: &Value, here: &At, causes: &mut Causes) {
    if text(get, "path").is_empty() {
        causes.required(&here.child("path"), "");
    }
    number_or_name(at(get, &["port"]), &here.child("port"), causes);
    let scheme = text(get, "scheme");
    if !["HTTP", "HTTPS"].contains(&scheme) {
        causes.unsupported(&here.child("scheme"), &Value::from(scheme), &["HTTP", "HTTPS"]);
    }
    for of in list(get, "httpHeaders") {
        let name = text(of, "name");
        causes.invalid_each(&here.child("httpHeaders"), name, header(name));
    }
    if has(get, "protocol") {
        let protocol = text(get, "protocol");
        if !["HTTP1", "HTTP2"].contains(&protocol) {
            causes.unsupported(&here.child("protocol"), &Value::from(protocol), &["HTTP1", "HTTP2"]);
        } else if protocol == "HTTP2" && scheme != "HTTP" {
            causes.invalid(
                &here.child("protocol"),
                &Value::from(protocol),
                "is only supported with HTTP (H2C)",
            );
        }
    }
}

/// A port, by number or by name.
pub(super) fn number_or_name(of: &Value, here: &At, causes: &mut Causes) {
    match of {
        Value::String(name) => causes.invalid_each(here, name, port_name(name)),
        other => {
            let number = other.as_i64().unwrap_or_default();
            for why in port(number) {
                causes.invalid(here, &Value::from(number), &why);
            }
        }
    }
}
