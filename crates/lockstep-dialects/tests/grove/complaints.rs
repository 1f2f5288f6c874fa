//! One row for every error and warning: a spec and the exact words about it.
//!
//! A row of `complaints/grove.txt` is a spec, then a line for each error (`!`) or warning (`?`), then an empty line. A row
//! without such lines is accepted.

use crate::support::{grove, object, said, yaml};

#[test]
fn rows() {
    let is_word = |line: &&str| line.starts_with("! ") || line.starts_with("? ");
    let mut wrong = String::new();
    for row in include_str!("../complaints/grove.txt").trim_end().split("\n\n") {
        let words: Vec<&str> = row.lines().filter(is_word).collect();
        let spec: Vec<&str> = row.lines().filter(|line| !is_word(line)).collect();
        let said = said(&object(&spec.join("\n")));
        if said != words {
            wrong.push_str(&format!("{}\n{}\n\n", spec.join("\n"), said.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "what is said now:\n\n{wrong}");
}

/// What stands outside of the spec.
#[test]
fn whole_objects() {
    let spec = "{replicas: 1, template: {cliques: [{name: a, spec: {podSpec: {containers: [{name: a, image: a}]}}}]}}";
    let head = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n";
    let rows = [
        (format!("metadata: {{name: x}}\nspec: {spec}"), &[][..]),
        (format!("spec: {spec}"), &["! metadata: required"]),
        (format!("metadata: {{}}\nspec: {spec}"), &["! metadata.name: required"]),
        ("metadata: {name: x}".to_owned(), &["! spec: required"]),
        (
            format!("metadata: {{name: X}}\nspec: {spec}"),
            &[
                "! metadata.name: \"X\": must be lower case letters, digits and '-', starting and ending with a letter or digit",
            ],
        ),
        (
            format!("metadata: {{name: x}}\nspec: {spec}\nmore: 1"),
            &["! more: unknown field; accepted here: apiVersion, kind, metadata, spec, status"],
        ),
    ];
    for (text, words) in rows {
        assert_eq!(said(&yaml(&format!("{head}{text}"))), words, "{text}");
    }
}

/// Who applies one clique leaves the others as they are.
#[test]
fn cliques_are_known_by_name() {
    let sets = grove().definitions().into_iter().find(|it| it["spec"]["names"]["kind"] == "PodCliqueSet");
    let sets = sets.expect("a definition");
    let spec = &sets["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let cliques = &spec["properties"]["template"]["properties"]["cliques"];
    assert_eq!(cliques["x-kubernetes-list-type"], "map");
    assert_eq!(cliques["x-kubernetes-list-map-keys"], serde_json::json!(["name"]));
}
