//! Services and what leads to them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;
use crate::table::look::{
    count, is_there, joined, labels, list, name, number, or, selector_or_none, text, text_or,
};

/// The cells of a Service.
pub fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let address = text_or(object, "/spec/clusterIPs/0", text_or(object, "/spec/clusterIP", "<none>"));
    let port = |port: &Value| {
        let node_port = match number(port, "/nodePort") {
            0 => String::new(),
            number => format!(":{number}"),
        };
        format!("{}{node_port}/{}", number(port, "/port"), text(port, "/protocol"))
    };
    let ports: Vec<String> = list(object, "/spec/ports").iter().map(port).collect();
    vec![
        name(object),
        text(object, "/spec/type").into(),
        address.into(),
        external_address(object).into(),
        or(&ports.join(","), "<none>").into(),
        age::of(object, now),
        labels(object, "/spec/selector").into(),
    ]
}

fn external_address(service: &Value) -> String {
    let given = joined(service, "/spec/externalIPs", ",");
    match text(service, "/spec/type") {
        "ClusterIP" | "NodePort" => or(&given, "<none>").to_owned(),
        "LoadBalancer" => {
            let parts: Vec<String> =
                [balanced(service), given].into_iter().filter(|part| !part.is_empty()).collect();
            or(&parts.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of a load balancer.
fn balanced(object: &Value) -> String {
    let points = list(object, "/status/loadBalancer/ingress").iter();
    let addresses = points.map(|point| text_or(point, "/ip", text(point, "/hostname")));
    let addresses: BTreeSet<&str> = addresses.filter(|address| !address.is_empty()).collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

/// The cells of an EndpointSlice.
pub fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match port.get("port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => port.get("name").and_then(Value::as_str).unwrap_or("*").to_owned(),
    };
    let ports = list(object, "/ports").iter().map(port).collect();
    let endpoints = list(object, "/endpoints").iter().flat_map(|endpoint| list(endpoint, "/addresses"));
    let addresses = endpoints.map(|address| address.as_str().unwrap_or_default().to_owned()).collect();
    vec![
        name(object),
        text(object, "/addressType").into(),
        or(&first_three(ports), "<unset>").into(),
        or(&first_three(addresses), "<unset>").into(),
        age::of(object, now),
    ]
}

/// The cells of an Endpoints object.
pub fn endpoints(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in list(object, "/subsets") {
        let addresses = || list(subset, "/addresses").iter().map(|address| text(address, "/ip"));
        let ports = list(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let port = number(port, "/port");
            all.extend(addresses().map(|address| match address.contains(':') {
                true => format!("[{address}]:{port}"),
                false => format!("{address}:{port}"),
            }));
        }
    }
    let shown = match list(object, "/subsets") {
        [] => "<none>".to_owned(),
        _ => first_three(all),
    };
    vec![name(object), shown.into(), age::of(object, now)]
}

fn first_three(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(3);
    all.truncate(3);
    let shown = all.join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}

/// The cells of an Ingress.
pub fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let class = object.pointer("/spec/ingressClassName").and_then(Value::as_str).unwrap_or("<none>");
    let ports = if count(object, "/spec/tls") > 0 { "80, 443" } else { "80" };
    vec![
        name(object),
        class.into(),
        hosts(list(object, "/spec/rules")).into(),
        balanced(object).into(),
        ports.into(),
        age::of(object, now),
    ]
}

/// The first three hosts. Rules without a host are not shown, yet counted among those left out.
fn hosts(rules: &[Value]) -> String {
    let named = |rule: &&Value| !text(rule, "/host").is_empty();
    let shown: Vec<&str> = rules.iter().filter(named).take(3).map(|rule| text(rule, "/host")).collect();
    let third = rules.iter().enumerate().filter(|(_, rule)| named(rule)).nth(2).map(|(index, _)| index);
    match third {
        Some(index) if index + 1 < rules.len() => {
            format!("{} + {} more...", shown.join(","), rules.len() - 3)
        }
        _ => or(&shown.join(","), "*").to_owned(),
    }
}

/// The cells of an IngressClass.
pub fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let annotation = object.pointer("/metadata/annotations/ingressclass.kubernetes.io~1is-default-class");
    let default = if annotation.is_some_and(|told| told == "true") { " (default)" } else { "" };
    let parameters = match is_there(object, "/spec/parameters") {
        false => "<none>".to_owned(),
        true => {
            let of = |field: &str| text(object, &format!("/spec/parameters/{field}"));
            let dot = if is_there(object, "/spec/parameters/apiGroup") { "." } else { "" };
            format!("{}{dot}{}/{}", of("kind"), of("apiGroup"), of("name"))
        }
    };
    vec![
        format!("{}{default}", text(object, "/metadata/name")).into(),
        text(object, "/spec/controller").into(),
        parameters.into(),
        age::of(object, now),
    ]
}

/// The cells of a NetworkPolicy.
pub fn policy(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), selector_or_none(object, "/spec/podSelector").into(), age::of(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::print::noon;

    #[test]
    fn cells_of_a_service() {
        let object = json!({
            "metadata": {"name": "s", "creationTimestamp": "2026-01-02T11:59:00Z"},
            "spec": {
                "type": "NodePort", "clusterIPs": ["10.0.0.1"], "selector": {"a": "b"},
                "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
            },
        });
        let cells = json!(["s", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "60s", "a=b"]);
        assert_eq!(Value::from(service(&object, noon())), cells);
    }

    #[test]
    fn addresses_outside() {
        let at = json!({"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.1.1.1"}]}});
        for (spec, status, shown) in [
            (json!({"type": "ClusterIP"}), json!({}), "<none>"),
            (
                json!({"type": "ClusterIP", "externalIPs": ["2.2.2.2", "3.3.3.3"]}),
                json!({}),
                "2.2.2.2,3.3.3.3",
            ),
            (json!({"type": "LoadBalancer"}), json!({}), "<pending>"),
            (json!({"type": "LoadBalancer"}), at.clone(), "1.1.1.1,h"),
            (json!({"type": "LoadBalancer", "externalIPs": ["2.2.2.2"]}), at, "1.1.1.1,h,2.2.2.2"),
            (json!({"type": "ExternalName", "externalName": "there"}), json!({}), "there"),
            (json!({}), json!({}), "<unknown>"),
        ] {
            assert_eq!(external_address(&json!({"spec": spec, "status": status})), shown, "{spec}");
        }
    }

    #[test]
    fn endpoints_and_slices() {
        let slice = json!({
            "addressType": "IPv4", "ports": [{"port": 80}, {"name": "x"}, {}],
            "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}, {"addresses": ["e"]}],
        });
        assert_eq!(endpoint_slice(&slice, noon())[1..4], ["IPv4", "80,x,*", "a,b,c + 2 more..."]);
        assert_eq!(endpoint_slice(&json!({}), noon())[2..4], ["<unset>", "<unset>"]);
        let shown = |subsets: Value| endpoints(&json!({"subsets": subsets}), noon())[1].clone();
        assert_eq!(shown(json!([])), "<none>");
        assert_eq!(shown(json!([{"addresses": [{"ip": "1.1.1.1"}]}])), "1.1.1.1");
        let both =
            json!([{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 1}, {"port": 2}]}]);
        assert_eq!(shown(both), "1.1.1.1:1,[::1]:1,1.1.1.1:2 + 1 more...");
    }

    #[test]
    fn hosts_of_an_ingress() {
        let rules = |hosts: &[&str]| hosts.iter().map(|host| json!({"host": host})).collect::<Vec<_>>();
        for (given, shown) in [
            (rules(&[]), "*"),
            (rules(&[""]), "*"),
            (rules(&["a", "", "b"]), "a,b"),
            (rules(&["a", "b", "c"]), "a,b,c"),
            (rules(&["a", "", "b", "c", ""]), "a,b,c + 2 more..."),
        ] {
            assert_eq!(hosts(&given), shown, "{given:?}");
        }
        let class = json!({
            "metadata": {"name": "c", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
            "spec": {"controller": "x", "parameters": {"apiGroup": "g", "kind": "K", "name": "n"}},
        });
        assert_eq!(ingress_class(&class, noon())[..3], ["c (default)", "x", "K.g/n"]);
    }
}
