//! The binary as a user meets it: exit codes, exact words, no panics.
//!
//! `UPDATE_EXPECTED=1 cargo test -p lockstep` writes the expected files anew; look at the difference.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Ran, expect, lockstep, with_stdin};

fn plan(name: &str) -> Ran {
    lockstep(&["plan", "-f", &format!("{name}.yaml"), "--to", &format!("{name}-v2.yaml")])
}

#[test]
fn plans_of_the_examples() {
    for name in ["prefill-decode", "recreate", "skew-40-20"] {
        let ran = plan(name);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        expect(&format!("plan-{name}.txt"), &ran.out);
    }
    let ran = lockstep(&[
        "plan",
        "-f",
        "prefill-decode.yaml",
        "--to",
        "prefill-decode-v2.yaml",
        "--ready",
        "prefill=8m,decode=6m",
        "--all",
    ]);
    expect("plan-prefill-decode-all.txt", &ran.out);
}

#[test]
fn a_first_start() {
    for name in ["minimal", "recreate"] {
        let ran = lockstep(&["plan", "--to", &format!("{name}.yaml"), "--ready", "5m"]);
        assert_eq!(ran.code, 0);
        expect(&format!("start-{name}.txt"), &ran.out);
    }
}

#[test]
fn rules_that_block_each_other_are_named() {
    let ran = plan("conflict");
    assert_eq!(ran.code, 2);
    expect("plan-conflict.txt", &ran.out);
    let json = lockstep(&["plan", "-f", "conflict.yaml", "--to", "conflict-v2.yaml", "-o", "json"]);
    assert_eq!(json.code, 2);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["canFinish"], false);
    assert_eq!(
        value["conflict"]["rules"],
        serde_json::json!(["spec.coordination[0]", "spec.coordination[1]"])
    );
}

#[test]
fn nothing_changes() {
    let ran = lockstep(&["plan", "-f", "minimal.yaml", "--to", "minimal.yaml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "hello: nothing changes\n"));
}

#[test]
fn scaling_is_shown() {
    let text = std::fs::read_to_string(common::examples().join("minimal.yaml")).unwrap();
    let ran =
        with_stdin(&["plan", "-f", "minimal.yaml", "--to", "-"], &text.replace("replicas: 3", "replicas: 5"));
    expect("scale-out.txt", &ran.out);
    let ran =
        with_stdin(&["plan", "-f", "-", "--to", "minimal.yaml"], &text.replace("replicas: 3", "replicas: 5"));
    expect("scale-in.txt", &ran.out);
}

#[test]
fn plan_for_machines() {
    let ran =
        lockstep(&["plan", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["canFinish"], true);
    assert_eq!(value["end"], "complete");
    assert_eq!(value["totals"]["replacements"], 12);
    assert_eq!(value["waves"][0]["moves"][0]["move"], "update");
    assert_eq!(value["waves"][0]["moves"][0]["because"][0], "canary-first step 1");
}

#[test]
fn the_picture_is_well_formed() {
    for name in ["prefill-decode", "recreate", "conflict"] {
        let ran = lockstep(&[
            "plan",
            "-f",
            &format!("{name}.yaml"),
            "--to",
            &format!("{name}-v2.yaml"),
            "-o",
            "svg",
        ]);
        common::well_formed(&ran.out);
        assert!(ran.out.contains("<rect"), "{name}");
    }
}

#[test]
fn wrong_input_is_named_with_its_line() {
    let text = std::fs::read_to_string(common::examples().join("prefill-decode.yaml")).unwrap();
    let wrong = text.replace("replicas: 4", "replicas: four").replace("maxSurge: 1", "maxSurgee: 1");
    let ran = with_stdin(&["plan", "-f", "prefill-decode.yaml", "--to", "-"], &wrong);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    expect("wrong-input.txt", &ran.err);
    let ran = with_stdin(&["plan", "-f", "minimal.yaml", "--to", "-"], &text);
    assert_eq!(
        ran.err,
        "stdin: error: this is set \"llama\", but minimal.yaml is set \"hello\": both must be the same set\n"
    );
    let ran = lockstep(&["plan", "--to", "minimal.yaml", "--ready", "wbe=5m"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, "--ready: error: no role \"wbe\"; there is web\n"));
}

#[test]
fn lint_names_everything() {
    let ran = lockstep(&["lint", "-f", "conflict.yaml", "-f", "minimal.yaml"]);
    assert_eq!(ran.code, 1);
    expect("lint-conflict.txt", &ran.out);
    let fine = ["minimal.yaml", "prefill-decode.yaml", "recreate.yaml", "skew-40-20.yaml", "web.yaml"];
    for name in fine {
        let ran = lockstep(&["lint", "-f", name, "--strict"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "1 file: nothing wrong\n"), "{name}");
    }
    let ran = with_stdin(&["lint", "-f", "-", "-o", "json"], "kind: LockstepSet\n");
    assert_eq!(ran.code, 1);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["problems"][0]["file"], "stdin");
    assert!(value["errors"].as_u64() > Some(0));
}

#[test]
fn warnings_are_errors_only_when_asked() {
    let text = std::fs::read_to_string(common::examples().join("web.yaml")).unwrap();
    let text = text.replace("    replicas: 4", "    replicas: 4\n    updateStrategy: {maxSurge: 1}");
    let text = text.replace("spec:\n  roles", "spec:\n  updateStrategy: {type: OnDelete}\n  roles");
    let ran = with_stdin(&["lint", "-f", "-"], &text);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.ends_with("1 file: 0 errors, 1 warning\n"), "{}", ran.out);
    assert_eq!(with_stdin(&["lint", "-f", "-", "--strict"], &text).code, 1);
}

#[test]
fn help_teaches() {
    let ran = lockstep(&["plan", "--help"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("lockstep plan -f old.yaml --to new.yaml --ready prefill=8m,decode=6m"));
    assert_eq!(lockstep(&["--version"]).out, format!("lockstep {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(lockstep(&["paln"]).code, 1);
}

#[test]
fn the_demo_needs_nothing() {
    let ran = lockstep(&["demo"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Can finish: yes"));
    assert!(ran.out.contains("Promises: all kept in 200 runs"), "{}", ran.out);
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = lockstep(&["completion", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.contains("to-revision"), "{shell}");
    }
    assert!(lockstep(&["man"]).out.contains(".TH lockstep 1"));
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    let ran = lockstep(&["man", "--dir", dir.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let page = std::fs::read_to_string(dir.join("lockstep-promote.1")).unwrap();
    assert!(page.contains("Let the pauses pass"), "{page}");
}
