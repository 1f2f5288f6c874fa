//! What is wrong with services.

use std::net::IpAddr;

use serde_json::Value;

use super::meta;
use super::pod::address;
use super::probe::number_or_name;
use crate::builtin::access::{at, has, int, list, text, texts};
use crate::builtin::causes::{At, Causes, quoted};
use crate::builtin::formats::{NameRule, label, port, qualified, subdomain};
use crate::builtin::metadata::labels;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// One that is created.
pub(super) fn create(object: &Value, causes: &mut Causes) {
    meta::create(object, true, NameRule::Label, causes);
    spec(at(object, &["spec"]), causes);
}

/// One that is updated.
pub(super) fn update(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    let (new, old) = (at(new, &["spec"]), at(old, &["spec"]));
    addresses_stay(new, old, causes);
    let class = At::new("spec").child("loadBalancerClass");
    let balanced = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if balanced(new) && balanced(old) && at(new, &["loadBalancerClass"]) != at(old, &["loadBalancerClass"]) {
        causes.invalid(&class, at(new, &["loadBalancerClass"]), "may not change once set");
    }
    load_balancer_class(new, causes);
    spec(new, causes);
}

/// The status of one.
pub(super) fn update_status(new: &Value, old: &Value, causes: &mut Causes) {
    meta::update(new, old, causes);
    let here = At::new("status").child("loadBalancer").child("ingress");
    let all = list(at(new, &["status", "loadBalancer"]), "ingress");
    if text(at(new, &["spec"]), "type") != "LoadBalancer" {
        if !all.is_empty() {
            causes.forbidden(&here, "may only be used when `spec.type` is 'LoadBalancer'");
        }
        return;
    }
    for (place, ingress) in all.iter().enumerate() {
        let here = here.index(place);
        let (of, name, mode) = (text(ingress, "ip"), text(ingress, "hostname"), text(ingress, "ipMode"));
        if !of.is_empty() {
            address(of, &here.child("ip"), causes);
        }
        match (has(ingress, "ipMode"), of.is_empty()) {
            (false, false) => causes.required(&here.child("ipMode"), "must be specified when `ip` is set"),
            (true, true) => {
                causes.forbidden(&here.child("ipMode"), "may not be specified when `ip` is not set")
            }
            (true, false) if !["Proxy", "VIP"].contains(&mode) => {
                causes.unsupported(&here.child("ipMode"), &Value::from(mode), &["Proxy", "VIP"]);
            }
            _ => {}
        }
        if !name.is_empty() {
            causes.invalid_each(&here.child("hostname"), name, subdomain(name));
            if name.parse::<IpAddr>().is_ok() {
                let why = "must be a DNS name, not an IP address";
                causes.invalid(&here.child("hostname"), &Value::from(name), why);
            }
        }
    }
}

fn headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

fn addresses_stay(new: &Value, old: &Value, causes: &mut Causes) {
    let outside = |spec: &Value| text(spec, "type") == "ExternalName";
    if outside(new) || outside(old) || headless(new) && headless(old) {
        return;
    }
    let here = At::new("spec").child("clusterIPs");
    let (now, before) = (texts(new, "clusterIPs"), texts(old, "clusterIPs"));
    let shown = at(new, &["clusterIPs"]);
    if !before.is_empty() && now.is_empty() {
        causes.invalid(&here.index(0), shown, "primary clusterIP can not be unset");
    }
    for (place, (now, before)) in now.iter().zip(&before).enumerate() {
        if now != before {
            causes.invalid(&here.index(place), shown, "may not change once set");
        }
    }
    let families = (texts(new, "ipFamilies"), texts(old, "ipFamilies"));
    let stood = !families.1.is_empty();
    if stood && headless(new) == headless(old) && families.0.first() != families.1.first() {
        let here = At::new("spec").child("ipFamilies").index(0);
        causes.invalid(&here, at(new, &["ipFamilies"]), "may not change once set");
    }
}

fn spec(spec: &Value, causes: &mut Causes) {
    let here = At::new("spec");
    let sort = text(spec, "type");
    if list(spec, "ports").is_empty() && !headless(spec) && sort != "ExternalName" {
        causes.required(&here.child("ports"), "");
    }
    by_type(spec, &here, causes);
    ports(spec, &here.child("ports"), causes);
    labels(at(spec, &["selector"]), &here.child("selector"), causes);
    causes.one_of(&here.child("sessionAffinity"), text(spec, "sessionAffinity"), &["ClientIP", "None"]);
    if text(spec, "sessionAffinity") == "ClientIP" {
        let timeout =
            int(at(spec, &["sessionAffinityConfig", "clientIP"]), "timeoutSeconds").unwrap_or_default();
        if !(1..=86_400).contains(&timeout) {
            let here = here.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
            causes.invalid(&here, &Value::from(timeout), "must be greater than 0 and less than 86400");
        }
    }
    cluster_addresses(spec, &here, causes);
    for (place, outer) in texts(spec, "externalIPs").into_iter().enumerate() {
        address(outer, &here.child("externalIPs").index(place), causes);
    }
    causes.one_of(&here.child("type"), sort, &TYPES);
    repeated_ports(spec, &here.child("ports"), causes);
    source_ranges(spec, &here.child("LoadBalancerSourceRanges"), causes);
    if has(spec, "allocateLoadBalancerNodePorts") && sort != "LoadBalancer" {
        let here = here.child("allocateLoadBalancerNodePorts");
        causes.forbidden(&here, "may only be used when `type` is 'LoadBalancer'");
    }
    load_balancer_class(spec, causes);
    traffic(spec, &here, causes);
}

fn by_type(spec: &Value, here: &At, causes: &mut Causes) {
    match text(spec, "type") {
        sort @ ("LoadBalancer" | "NodePort") if headless(spec) => {
            let why = format!("may not be set to 'None' for {sort} services");
            causes.invalid(&here.child("clusterIPs").index(0), &Value::from("None"), &why);
        }
        "ExternalName" => {
            for field in
                ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].iter().filter(|field| has(spec, field))
            {
                causes.forbidden(&here.child(field), "may not be set for ExternalName services");
            }
            let name = text(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => causes.required(&here.child("externalName"), ""),
                name => causes.invalid_each(&here.child("externalName"), name, subdomain(name)),
            }
        }
        _ => {}
    }
}

fn ports(spec: &Value, here: &At, causes: &mut Causes) {
    let all = list(spec, "ports");
    let mut names: Vec<&str> = Vec::new();
    for (place, of) in all.iter().enumerate() {
        let here = here.index(place);
        let name = text(of, "name");
        if name.is_empty() {
            if all.len() > 1 {
                causes.required(&here.child("name"), "");
            }
        } else {
            causes.invalid_each(&here.child("name"), name, label(name));
            if names.contains(&name) {
                causes.duplicate(&here.child("name"), &Value::from(name));
            }
            names.push(name);
        }
        let number = int(of, "port").unwrap_or_default();
        for why in port(number) {
            causes.invalid(&here.child("port"), &Value::from(number), &why);
        }
        causes.one_of(&here.child("protocol"), text(of, "protocol"), &PROTOCOLS);
        number_or_name(at(of, &["targetPort"]), &here.child("targetPort"), causes);
        if has(of, "appProtocol") {
            let protocol = text(of, "appProtocol");
            causes.invalid_each(&here.child("appProtocol"), protocol, qualified(protocol));
        }
    }
}

fn repeated_ports(spec: &Value, here: &At, causes: &mut Causes) {
    let all = list(spec, "ports");
    if text(spec, "type") == "ClusterIP" {
        for (place, _) in all.iter().enumerate().filter(|(_, port)| int(port, "nodePort").is_some()) {
            let why = "may not be used when `type` is 'ClusterIP'";
            causes.forbidden(&here.index(place).child("nodePort"), why);
        }
    }
    let key =
        |port: &Value, field: &str| (text(port, "protocol").to_owned(), int(port, field).unwrap_or_default());
    for (place, port) in all.iter().enumerate() {
        let number = key(port, "nodePort");
        if number.1 != 0 && all[..place].iter().any(|other| key(other, "nodePort") == number) {
            causes.duplicate(&here.index(place).child("nodePort"), &Value::from(number.1));
        }
    }
    for (place, port) in all.iter().enumerate() {
        let (protocol, number) = key(port, "port");
        if all[..place].iter().any(|other| key(other, "port") == (protocol.clone(), number)) {
            // A real one shows its own type here.
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                quoted(&protocol)
            );
            causes.duplicate_shown(&here.index(place), &shown, "");
        }
    }
}

fn cluster_addresses(spec: &Value, here: &At, causes: &mut Causes) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let place = here.child("clusterIPs");
    let (one, all) = (text(spec, "clusterIP"), texts(spec, "clusterIPs"));
    let shown = at(spec, &["clusterIPs"]);
    match (one, all.first()) {
        ("", Some(_)) => causes.invalid(&place, shown, "must be empty when `clusterIP` is not specified"),
        ("", None) => {}
        (_, None) => causes.required(&place, ""),
        (one, Some(first)) if *first != one => {
            causes.invalid(&place, shown, "first value must match `clusterIP`")
        }
        _ => {}
    }
    let mut seen: Vec<&str> = Vec::new();
    for (number, family) in texts(spec, "ipFamilies").into_iter().enumerate() {
        let here = here.child("ipFamilies").index(number);
        if !["IPv4", "IPv6"].contains(&family) {
            causes.unsupported(&here, &Value::from(family), &["IPv4", "IPv6"]);
        }
        if seen.contains(&family) {
            causes.duplicate(&here, &Value::from(family));
        }
        seen.push(family);
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    let policy = text(spec, "ipFamilyPolicy");
    if has(spec, "ipFamilyPolicy") && !policies.contains(&policy) {
        causes.unsupported(&here.child("ipFamilyPolicy"), &Value::from(policy), &policies);
    }
    for (number, of) in all.iter().enumerate() {
        if number == 0 && *of == "None" {
            if all.len() > 1 {
                causes.invalid(&place, shown, "'None' must be the first and only value");
            }
            continue;
        }
        address(of, &place.index(number), causes);
        let family = texts(spec, "ipFamilies").get(number).copied().unwrap_or_default();
        match (of.parse(), family) {
            (Ok(IpAddr::V6(_)), "IPv4") | (Ok(IpAddr::V4(_)), "IPv6") => {
                let why = format!("expected an {family} value as indicated by `ipFamilies[{number}]`");
                causes.invalid(&place.index(number), &Value::from(*of), &why);
            }
            _ => {}
        }
    }
}

fn load_balancer_class(spec: &Value, causes: &mut Causes) {
    let here = At::new("spec").child("loadBalancerClass");
    if has(spec, "loadBalancerClass") {
        if text(spec, "type") == "LoadBalancer" {
            let class = text(spec, "loadBalancerClass");
            causes.invalid_each(&here, class, qualified(class));
        } else {
            causes.forbidden(&here, "may only be used when `type` is 'LoadBalancer'");
        }
    }
}

fn traffic(spec: &Value, here: &At, causes: &mut Causes) {
    let sort = text(spec, "type");
    let outside =
        matches!(sort, "LoadBalancer" | "NodePort") || sort == "ClusterIP" && has(spec, "externalIPs");
    let policy = text(spec, "externalTrafficPolicy");
    let place = here.child("externalTrafficPolicy");
    if outside {
        causes.one_of(&place, policy, &["Cluster", "Local"]);
    } else if !policy.is_empty() {
        causes.invalid(&place, &Value::from(policy), "may only be set for externally-accessible services");
    }
    let number = int(spec, "healthCheckNodePort").unwrap_or_default();
    if number != 0 && !(sort == "LoadBalancer" && policy == "Local") {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.invalid(&here.child("healthCheckNodePort"), &Value::from(number), why);
    }
    let place = here.child("internalTrafficPolicy");
    if TYPES.contains(&sort) && sort != "ExternalName" && !has(spec, "internalTrafficPolicy") {
        causes.required(&place, "");
    }
    let policy = text(spec, "internalTrafficPolicy");
    if has(spec, "internalTrafficPolicy") && !["Cluster", "Local"].contains(&policy) {
        causes.unsupported(&place, &Value::from(policy), &["Cluster", "Local"]);
    }
    let near = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    let said = text(spec, "trafficDistribution");
    if has(spec, "trafficDistribution") && !near.contains(&said) {
        causes.unsupported(&here.child("trafficDistribution"), &Value::from(said), &near);
    }
}

fn source_ranges(spec: &Value, here: &At, causes: &mut Causes) {
    let ranges = texts(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() && text(spec, "type") != "LoadBalancer" {
        causes.forbidden(here, "may only be used when `type` is 'LoadBalancer'");
    }
    for (place, range) in ranges.into_iter().enumerate() {
        super::cluster::address_range(range.trim(), &here.index(place), causes);
    }
}
