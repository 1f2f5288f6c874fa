//! What the garbage collector of a real control plane knows: for whoever has to find out why something was left.

use std::fs;

use serde_json::json;

use super::access::client_from;
use super::{AGENT, Cluster, ClusterError, Component, ControlPlane};

/// Where the controller manager shows what the collector knows.
const GRAPH: &str = "/debug/controllers/garbage-collector-controller/graph";

/// The collector's lines in the log of the controller manager.
const SOURCES: [&str; 2] = ["garbagecollector.go", "graph_builder.go"];

/// How many of them are told.
const LINES: usize = 20;

/// What is told of an object, and only if it is so. One that is virtual the collector has merely heard of: until it knows
/// the kind it does not notice that the object goes.
const TOLD: [&str; 5] = [
    "label=",
    "missing=\"true\"",
    "beingDeleted=\"true\"",
    "deletingDependents=\"true\"",
    "virtual=\"true\"",
];

impl Cluster {
    /// What the garbage collector knows of objects and of all that belongs together with them, an object in each line. In
    /// words, also where it cannot be asked.
    pub async fn known_to_the_collector(&self, uids: &[String]) -> String {
        match &self.ours {
            Some(ours) => {
                ours.graph(uids).await.map_or_else(|error| error.to_string(), |graph| brief(&graph))
            }
            None => "the collector is no process of the test's own and cannot be asked".to_owned(),
        }
    }
}

impl ControlPlane {
    async fn graph(&self, uids: &[String]) -> Result<String, ClusterError> {
        let doing = "ask the garbage collector";
        let mut kubeconfig = self.access.kubeconfig();
        let url = format!("https://127.0.0.1:{}", self.ports.controllers);
        // It has made its certificate itself.
        kubeconfig["clusters"][0]["cluster"] = json!({"server": url, "insecure-skip-tls-verify": true});
        let kubeconfig = serde_json::from_value(kubeconfig).map_err(ClusterError::access(doing))?;
        let client = client_from(kubeconfig, AGENT, doing).await?;
        let uids: Vec<String> = uids.iter().map(|uid| format!("uid={uid}")).collect();
        let ask = http::Request::get(format!("{GRAPH}?{}", uids.join("&"))).body(Vec::new());
        client.request_text(ask.map_err(ClusterError::access(doing))?).await.map_err(ClusterError::api(doing))
    }

    /// Which components have ended by themselves, and what the garbage collector said last.
    pub(super) fn last_words(&self) -> String {
        let mut words = String::new();
        for (component, process) in self.running().iter_mut() {
            if let Some(status) = process.ended() {
                words += &format!("{component} has ended ({status}):\n{}\n", process.last_words());
            }
        }
        let log = self.dir.join(format!("{}.log", Component::ControllerManager));
        let log = fs::read_to_string(log).unwrap_or_default();
        let said = log.lines().filter(|line| SOURCES.iter().any(|source| line.contains(source)));
        let said: Vec<&str> = said.collect();
        let last = &said[said.len().saturating_sub(LINES)..];
        words + &format!("the garbage collector said last:\n{}", last.join("\n"))
    }
}

/// A graph with an object in each line.
fn brief(graph: &str) -> String {
    let object = |piece: &str| {
        let told = piece.lines().map(str::trim).filter(|line| TOLD.iter().any(|told| line.starts_with(told)));
        told.map(|line| line.replace("\\n", " ").trim_start_matches("label=").to_owned()).collect::<Vec<_>>()
    };
    let objects = graph.split("];\n").map(object).filter(|told| !told.is_empty());
    objects.map(|told| told.join(" ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn only_what_is_so_is_told_of_an_object() {
    let graph = r#"strict digraph full {
  // Node definitions.
  "u1" [
    label="uid=u1\nnamespace=ml\nToy.v1.example.com/one\n"
    kind="Toy"
    missing="false"
    beingDeleted="false"
    virtual="true"
  ];
  "u2" [
    label="uid=u2\nnamespace=ml\nConfigMap.v1/left\n"
    missing="false"
    beingDeleted="true"
    virtual="false"
  ];

  // Edge definitions.
  "u2" -> "u1";
}"#;
    let wanted = "\"uid=u1 namespace=ml Toy.v1.example.com/one \" virtual=\"true\"\n\
                  \"uid=u2 namespace=ml ConfigMap.v1/left \" beingDeleted=\"true\"";
    assert_eq!(brief(graph), wanted);
}
