//! One row for every error and warning: a piece of a manifest and the exact words about it.
//!
//! The rows are in `complaints/`: a piece of a spec, then a line for each error (`!`) or warning (`?`), then an
//! empty line. A row without such lines is accepted.

mod common;

use common::{complaints, manifest, with_roles};

#[track_caller]
fn check(rows: &str, build: impl Fn(&str) -> String) {
    let is_word = |line: &&str| line.starts_with("! ") || line.starts_with("? ");
    let mut wrong = String::new();
    for row in rows.split("\n\n") {
        let words: Vec<&str> = row.lines().filter(is_word).collect();
        let spec: Vec<&str> = row.lines().filter(|line| !is_word(line)).collect();
        let said = complaints(&build(&spec.join("\n  ")));
        if said != words {
            wrong.push_str(&format!("{}\n{}\n\n", spec.join("\n"), said.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "what is said now:\n\n{wrong}");
}

// Beside the roles decode (2) and prefill (4).

#[test]
fn rules() {
    check(include_str!("complaints/rules.txt"), with_roles);
}

#[test]
fn steps() {
    check(include_str!("complaints/steps.txt"), with_roles);
}

#[test]
fn affinity() {
    check(include_str!("complaints/affinity.txt"), with_roles);
}

#[test]
fn numbers() {
    check(include_str!("complaints/numbers.txt"), with_roles);
}

#[test]
fn identity() {
    check(include_str!("complaints/identity.txt"), with_roles);
}

// The whole spec.

#[test]
fn roles() {
    check(include_str!("complaints/roles.txt"), manifest);
}

#[test]
fn start_order() {
    check(include_str!("complaints/start_order.txt"), manifest);
}

#[test]
fn templates() {
    check(include_str!("complaints/templates.txt"), manifest);
}

/// Whole files.
#[test]
fn files() {
    let header = "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {name: x}\n";
    let good = manifest("roles: [{name: a, template: $T}]");
    let rows: Vec<(String, &[&str])> = vec![
        (String::new(), &["nothing in it; a LockstepSet (lockstep.dev/v1alpha1) is expected"]),
        (
            "# nothing\n---\n".to_owned(),
            &["nothing in it; a LockstepSet (lockstep.dev/v1alpha1) is expected"],
        ),
        ("hello".to_owned(), &["\"hello\": must be a map, not text"]),
        ("- a\n- b\n".to_owned(), &["must be a map, not a list"]),
        ("a: [1, 2\nb: {".to_owned(), &["not YAML that can be read: illegal placement of ':' indicator"]),
        (
            "\tx: y".to_owned(),
            &[
                "apiVersion: required",
                "kind: required",
                "metadata: required",
                "spec: required",
                "x: unknown field; accepted here: apiVersion, kind, metadata, spec, status",
            ],
        ),
        (header.to_owned(), &["spec: required"]),
        (format!("{header}spec: 5\n"), &["spec: 5: must be a map, not a number"]),
        (
            good.replace("kind: LockstepSet", "kind: Deployment"),
            &["kind: \"Deployment\": must be LockstepSet"],
        ),
        (good.replace("v1alpha1", "v1"), &["apiVersion: \"lockstep.dev/v1\": must be lockstep.dev/v1alpha1"]),
        (
            good.replace("apiVersion", "apiversion"),
            &["apiVersion: required", "apiversion: unknown field; did you mean apiVersion?"],
        ),
        (
            good.replace("name: llama", "nmae: llama"),
            &["metadata.name: required", "metadata.nmae: unknown field; did you mean name?"],
        ),
        (
            good.replace("name: llama", "name: Llama"),
            &[
                "metadata.name: \"Llama\": must be lower case letters, digits and '-', starting and ending with a letter or digit",
            ],
        ),
        (
            good.replace("metadata", "meta"),
            &[
                "metadata: required",
                "meta: unknown field; accepted here: apiVersion, kind, metadata, spec, status",
            ],
        ),
        (
            good.replace(
                "name: llama",
                "name: a-set-with-a-name-of-just-sixty-characters-in-all-aaaaaaaaaaa",
            ),
            &[
                "spec.roles[0].name: \"a\": the pod name a-set-with-a-name-of-just-sixty-characters-in-all-aaaaaaaaaaa-0-a-0 has 67 characters, 4 too many; shorten a name in it",
            ],
        ),
        (
            good.replace("name: llama", "name: llama, labels: {a: 1}"),
            &["metadata.labels[a]: 1: must be text; put it in quotes"],
        ),
        (format!("{good}---\n{good}"), &["document 2: a second LockstepSet; document 1 is one already"]),
        (
            format!("kind: Service\napiVersion: v1\n---\n{good}---\nfoo: bar\n"),
            &["document 3: not a Kubernetes object: apiVersion and kind are required"],
        ),
        (
            "kind: Service\napiVersion: v1\n---\nkind: Pod\napiVersion: v1\n".to_owned(),
            &["no LockstepSet (lockstep.dev/v1alpha1) among its 2 documents"],
        ),
        (format!("kind: Service\napiVersion: v1\n---\n{good}").replace("replicas", "x"), &[]),
        (
            "a: &a [x]\nb: *c\n".to_owned(),
            &["not YAML that can be read: while parsing node, found unknown anchor"],
        ),
        (
            format!("{good}spec: {{}}\n"),
            &["spec: written twice; the first is on line 4", "spec.roles: required"],
        ),
    ];
    for (text, words) in rows {
        let words: Vec<String> = words.iter().map(|word| format!("! {word}")).collect();
        let said: Vec<String> = complaints(&text).into_iter().filter(|word| word.starts_with('!')).collect();
        assert_eq!(said, words, "{text}");
    }
}
