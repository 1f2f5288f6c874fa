//! Addresses and ports of services.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::access::{
    at, default_empty, drop_field, flag, has, int, keep, list, list_mut, made, put, same, text,
};
use super::causes::{At, Causes, quoted};
use crate::refusal::Cause;

/// The addresses of services: `10.0.0.0/16`, the second of which is the API server's.
const FIRST: u32 = 0x0a00_0002;
const LAST: u32 = 0x0a00_fffe;
const PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// What other services have.
pub struct Taken<'a> {
    /// Whether one has this address.
    pub address: &'a dyn Fn(&str) -> bool,
    /// Whether one has this port on the nodes.
    pub node_port: &'a dyn Fn(i64) -> bool,
}

/// Gives a service that is created, or updated from `old`, its addresses and ports: the first that are free. After
/// admission, before it is prepared.
pub fn allocate(object: &mut Value, old: Option<&Value>, taken: &Taken<'_>) -> Result<(), Vec<Cause>> {
    if let Some(old) = old {
        keep_allocated(made(object, "spec"), at(old, &["spec"]));
    }
    let nameless = old.is_none() && text(at(object, &["metadata"]), "name").is_empty();
    let spec = made(object, "spec");
    let nameless = nameless && text(spec, "clusterIP").is_empty();
    if old.is_none() && !text(spec, "clusterIP").is_empty() && list(spec, "clusterIPs").is_empty() {
        let address = text(spec, "clusterIP").to_owned();
        put(spec, "clusterIPs", json!([address]));
    }
    if text(spec, "type") == "ExternalName" {
        return Ok(());
    }
    families(spec)?;
    let before = old.map_or(&Value::Null, |old| at(old, &["spec"]));
    address(spec, before, taken)?;
    if nameless {
        // The address is written down for the service, which takes a name.
        let why = format!(
            "failed to allocate IP: IPAddress.networking.k8s.io {} is invalid: spec.parentRef.name: Required value",
            quoted(text(spec, "clusterIP"))
        );
        let mut causes = Causes::default();
        causes.invalid(&At::new("spec").child("clusterIPs"), &json!([""]), &why);
        return causes.result();
    }
    node_ports(spec, before, taken)
}

/// A service as it is read: one that only stands for a name says nothing of traffic within the cluster, whatever is
/// stored.
pub fn is_read_otherwise(service: &Value) -> bool {
    let spec = at(service, &["spec"]);
    text(spec, "type") == "ExternalName" && has(spec, "internalTrafficPolicy")
}

/// Who does not name what was allocated keeps it.
fn keep_allocated(spec: &mut Value, old: &Value) {
    let with_address = |spec: &Value| text(spec, "type") != "ExternalName";
    let (one, before) = (text(spec, "clusterIP").to_owned(), text(old, "clusterIP"));
    if one.is_empty() && !before.is_empty() && at(spec, &["clusterIPs"]) == at(old, &["clusterIPs"]) {
        drop_field(spec, "clusterIPs");
    }
    if with_address(old) && with_address(spec) {
        for field in ["clusterIP", "clusterIPs"] {
            let gone = if field == "clusterIP" {
                text(spec, field).is_empty()
            } else {
                list(spec, field).is_empty()
            };
            if gone {
                keep(spec, field, old);
            }
        }
    }
    if !one.is_empty() && one != before && at(spec, &["clusterIPs"]) == at(old, &["clusterIPs"]) {
        // Whoever names another address means the list, too.
        put(spec, "clusterIPs", json!([one]));
    }
    for field in ["ipFamilyPolicy", "ipFamilies"] {
        if with_address(old) && with_address(spec) && !has(spec, field) {
            keep(spec, field, old);
        }
    }
    if with_ports(old) && with_ports(spec) {
        for port in list_mut(spec, "ports") {
            let same_port = |before: &&Value| {
                text(before, "protocol") == text(port, "protocol") && int(before, "port") == int(port, "port")
            };
            let before = list(old, "ports").iter().find(same_port).and_then(|before| int(before, "nodePort"));
            if let Some(before) = before {
                default_empty(port, "nodePort", before);
            }
        }
    }
}

fn with_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// There are only addresses of one family.
fn families(spec: &mut Value) -> Result<(), Vec<Cause>> {
    // Who has neither an address nor pods may have endpoints of any family.
    let any = text(spec, "clusterIP") == "None" && !has(spec, "selector");
    if !has(spec, "ipFamilyPolicy") {
        put(spec, "ipFamilyPolicy", if any { "RequireDualStack" } else { "SingleStack" });
    }
    if list(spec, "ipFamilies").is_empty() {
        let both = any && text(spec, "ipFamilyPolicy") != "SingleStack";
        put(spec, "ipFamilies", if both { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) });
    }
    let mut causes = Causes::default();
    let here = At::new("spec");
    if !any {
        if text(spec, "ipFamilyPolicy") == "RequireDualStack" {
            let why = "this cluster is not configured for dual-stack services";
            causes.invalid(&here.child("ipFamilyPolicy"), at(spec, &["ipFamilyPolicy"]), why);
        }
        for (place, family) in
            list(spec, "ipFamilies").iter().enumerate().filter(|(_, family)| *family == "IPv6")
        {
            causes.invalid(&here.child("ipFamilies").index(place), family, "not configured on this cluster");
        }
    }
    causes.result()
}

fn address(spec: &mut Value, old: &Value, taken: &Taken<'_>) -> Result<(), Vec<Cause>> {
    let said = text(spec, "clusterIP").to_owned();
    if said == "None" || (!said.is_empty() && said == text(old, "clusterIP")) {
        return Ok(());
    }
    if said.is_empty() && !old.is_null() && text(old, "type") != "ExternalName" {
        // Whoever was stored without an address, by whoever wrote its status, gets none later.
        return Ok(());
    }
    if said.is_empty() {
        let free = (FIRST..=LAST).map(|address| Ipv4Addr::from(address).to_string());
        if let Some(free) = free.into_iter().find(|address| !(taken.address)(address)) {
            put(spec, "clusterIPs", json!([free]));
            put(spec, "clusterIP", free);
        }
        return Ok(());
    }
    // What is no address is refused when the object is validated.
    let Ok(IpAddr::V4(address)) = said.parse() else { return Ok(()) };
    let why = if !(FIRST - 1..=LAST).contains(&u32::from(address)) {
        format!("the provided IP ({said}) is not in the valid range. The range of valid IPs is 10.0.0.0/16")
    } else if (taken.address)(&said) {
        "provided IP is already allocated".to_owned()
    } else {
        return Ok(());
    };
    let mut causes = Causes::default();
    let addresses = at(spec, &["clusterIPs"]);
    causes.invalid(
        &At::new("spec").child("clusterIPs"),
        addresses,
        &format!("failed to allocate IP {said}: {why}"),
    );
    Err(causes.into())
}

fn node_ports(spec: &mut Value, old: &Value, taken: &Taken<'_>) -> Result<(), Vec<Cause>> {
    let wanted = text(spec, "type") == "NodePort"
        || text(spec, "type") == "LoadBalancer" && flag(spec, "allocateLoadBalancerNodePorts");
    let mine: Vec<i64> = list(old, "ports").iter().filter_map(|port| int(port, "nodePort")).collect();
    let mut used: Vec<(String, i64)> = Vec::new();
    let mut causes = Causes::default();
    for (place, port) in list_mut(spec, "ports").iter_mut().enumerate() {
        let protocol = text(port, "protocol").to_owned();
        let here = At::new("spec").child("ports").index(place).child("nodePort");
        match int(port, "nodePort").filter(|number| *number != 0) {
            Some(number) => {
                let twice = used.contains(&(protocol.clone(), number));
                if !PORTS.contains(&number) {
                    let why =
                        "provided port is not in the valid range. The range of valid ports is 30000-32767";
                    causes.invalid(&here, &Value::from(number), why);
                } else if twice || (taken.node_port)(number) && !mine.contains(&number) {
                    causes.invalid(&here, &Value::from(number), "provided port is already allocated");
                }
                used.push((protocol, number));
            }
            None if wanted => {
                let free = |number: &i64| {
                    !(taken.node_port)(*number) && !used.iter().any(|(_, used)| used == number)
                };
                if let Some(number) = PORTS.into_iter().find(free) {
                    put(port, "nodePort", number);
                    used.push((protocol, number));
                }
            }
            None => {}
        }
    }
    let local = text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local";
    if local && int(spec, "healthCheckNodePort").unwrap_or_default() == 0 {
        let free = |number: &i64| !(taken.node_port)(*number) && !used.iter().any(|(_, used)| used == number);
        match int(old, "healthCheckNodePort").or_else(|| PORTS.into_iter().find(free)) {
            Some(number) => put(spec, "healthCheckNodePort", number),
            None => causes.internal(&At::new("spec").child("healthCheckNodePort"), "no port is left"),
        }
    }
    causes.result()
}

/// A service that changes its type loses what only the former type has.
pub(super) fn drop_what_the_type_has_not(new: &mut Value, old: &Value) {
    let old = at(old, &["spec"]);
    let spec = made(new, "spec");
    let kept = |spec: &Value, field: &str| same(at(spec, &[field]), at(old, &[field]));
    if text(old, "type") != "ExternalName" && text(spec, "type") == "ExternalName" {
        if kept(spec, "clusterIP") && kept(spec, "clusterIPs") {
            drop_field(spec, "clusterIP");
            drop_field(spec, "clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if kept(spec, field) {
                drop_field(spec, field);
            }
        }
    }
    if with_ports(old) && !with_ports(spec) {
        let before: Vec<i64> = list(old, "ports").iter().filter_map(|port| int(port, "nodePort")).collect();
        let known = |port: &Value| int(port, "nodePort").is_none_or(|number| before.contains(&number));
        if list(spec, "ports").iter().all(known) {
            list_mut(spec, "ports").iter_mut().for_each(|port| drop_field(port, "nodePort"));
        }
        if kept(spec, "externalTrafficPolicy") {
            drop_field(spec, "externalTrafficPolicy");
        }
    }
    if text(old, "type") == "LoadBalancer" && text(spec, "type") != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if kept(spec, field) {
                drop_field(spec, field);
            }
        }
    }
    if text(spec, "type") != "LoadBalancer" {
        put(made(new, "status"), "loadBalancer", json!({}));
    }
}
