//! One row for every error and warning: a piece of a spec and the exact words about it.
//!
//! The rows are in `complaints.txt`: fields of a spec beside the roles prefill (4) and decode (2), or a whole spec; then
//! a line for each error (`!`) or warning (`?`), then an empty line. A row without such lines is accepted.

use lockstep_dialects::World;

use crate::common::*;

const ROLES: &str = "template: {roles: [{name: prefill, replicas: 4, entryTemplate: $T}, {name: decode, replicas: 2, \
                     entryTemplate: $T}]}";

fn manifest(piece: &str) -> String {
    let roles = if piece.contains("template:") { "" } else { ROLES };
    let spec: String =
        [piece, roles].iter().flat_map(|it| it.lines()).map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: workload.serving.volcano.sh/v1alpha1\nkind: ModelServing\nmetadata: {{name: llama}}\nspec:\n{spec}"
    );
    text.replace("$T", "{spec: {containers: [{name: main, image: 'vllm:1'}]}}")
}

#[test]
fn every_word_is_as_written() {
    let is_word = |line: &&str| line.starts_with("! ") || line.starts_with("? ");
    let mut wrong = String::new();
    for row in include_str!("complaints.txt").trim_end().split("\n\n") {
        let words: Vec<&str> = row.lines().filter(is_word).collect();
        let piece: Vec<&str> = row.lines().filter(|line| !is_word(line)).collect();
        let said: Vec<String> = match lower(&manifest(&piece.join("\n")), &World::default()) {
            Ok(lowered) => lowered.warnings.iter().map(|it| format!("? {it}")).collect(),
            Err(problems) => problems.iter().map(|it| format!("! {it}")).collect(),
        };
        if said != words {
            wrong.push_str(&format!("{}\n{}\n\n", piece.join("\n"), said.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "what is said now:\n\n{wrong}");
}
