//! One row for every error and warning: a piece of a manifest and the exact words about it.
//!
//! The rows are in `complaints.txt`: a piece of a spec, then a line for each error (`!`) or warning (`?`), then an
//! empty line. A row without such lines is accepted. `$T` is a pod template, and where no roles are given there are
//! prefill (4) and decode (2).

use lockstep_dialects::{Dialect, World, rbg::Rbg};

use crate::common::{documents, said};

const TEMPLATE: &str = "{spec: {containers: [{name: main, image: 'engine:1'}]}}";
const ROLES: &str =
    "roles: [{name: prefill, replicas: 4, template: $T}, {name: decode, replicas: 2, template: $T}]";

fn manifest(spec: &str) -> String {
    let roles = if spec.lines().any(|line| line.starts_with("roles:") || line.starts_with("replicas:")) {
        ""
    } else {
        ROLES
    };
    let kind = if spec.starts_with("replicas:") { "RoleBasedGroupSet" } else { "RoleBasedGroup" };
    let spec = format!("{}\n{roles}", spec).replace('\n', "\n  ").replace("$T", TEMPLATE);
    format!(
        "apiVersion: workloads.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: pd}}\nspec:\n  {spec}\n"
    )
}

fn complaints(spec: &str) -> Vec<String> {
    let objects = documents(&manifest(spec));
    match Rbg.lower(&objects[0], &World::default()) {
        Ok(lowered) => said(&lowered.warnings).into_iter().map(|it| format!("? {it}")).collect(),
        Err(problems) => said(&problems).into_iter().map(|it| format!("! {it}")).collect(),
    }
}

#[test]
fn every_complaint_in_its_words() {
    let is_word = |line: &&str| line.starts_with("! ") || line.starts_with("? ");
    let mut wrong = String::new();
    for row in include_str!("complaints.txt").split("\n\n") {
        let words: Vec<&str> = row.lines().filter(is_word).collect();
        let spec: Vec<&str> = row.lines().filter(|line| !is_word(line)).collect();
        let said = complaints(&spec.join("\n"));
        if said != words {
            wrong.push_str(&format!("{}\n{}\n\n", spec.join("\n"), said.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "what is said now:\n\n{wrong}");
}
