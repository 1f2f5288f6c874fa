//! `lockstep simulate`: traces, summaries, fault profiles.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Ran, expect, lockstep, with_stdin};

fn simulate(more: &[&str]) -> Ran {
    let mut args = vec!["simulate", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml"];
    args.extend(more);
    lockstep(&args)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed: &str| simulate(&["--faults", "faults/rough-day.yaml", "--seed", seed, "-o", "jsonl"]);
    let (one, again, other) = (run("7"), run("7"), run("8"));
    assert_eq!(one.code, 0);
    assert_eq!(one.out, again.out);
    assert_ne!(one.out, other.out);
    for line in one.out.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["t"].is_u64() && event["event"].is_string(), "{line}");
    }
    assert!(one.out.lines().last().unwrap().contains(r#""event":"end","outcome":"complete""#));
}

#[test]
fn without_faults_there_is_one_answer() {
    let ran = simulate(&["--ready", "prefill=8m,decode=6m"]);
    assert_eq!(ran.code, 0);
    expect("simulate-ideal.txt", &ran.out);
}

#[test]
fn every_example_profile_keeps_the_promises() {
    for name in ["rough-day", "bad-image", "second-thoughts", "lost-nodes"] {
        let ran = simulate(&["--faults", &format!("faults/{name}.yaml"), "--runs", "20"]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.ends_with("Promises: all kept in 20 runs\n"), "{name}: {}", ran.out);
    }
}

#[test]
fn profiles_that_name_no_role_fit_any_set() {
    for set in ["recreate", "skew-40-20"] {
        let (from, to) = (format!("{set}.yaml"), format!("{set}-v2.yaml"));
        for name in ["rough-day", "bad-image"] {
            let faults = format!("faults/{name}.yaml");
            let ran = lockstep(&["simulate", "-f", &from, "--to", &to, "--faults", &faults, "--runs", "3"]);
            assert_eq!(ran.code, 0, "{set}, {name}: {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn one_instance_is_struck_at_one_time() {
    let profile = "strikes: [{at: 10m, what: evict, role: prefill, instance: 2, group: 1}]\nlag: 1s\n";
    let args = ["simulate", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml", "--faults", "-"];
    let ran = with_stdin(&[&args[..], &["-o", "jsonl"]].concat(), profile);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let by_world: Vec<&str> = ran.out.lines().filter(|line| line.contains(r#""by":"world""#)).collect();
    // The change comes ten seconds and the longest minReadySeconds (ten more) after the beginning.
    let [struck] = by_world[..] else { panic!("{by_world:?}") };
    assert!(
        struck.starts_with(r#"{"t":620000,"event":"delete","group":1,"role":"prefill","instance":2,"#),
        "{struck}"
    );
}

/// Four decode and no room for a fifth, though none of them may be unavailable.
#[test]
fn nodes_without_room_for_the_surge_are_no_broken_promise() {
    let set = |image: &str| {
        format!(
            "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {{name: a}}\nspec:\n  roles:\n  \
             - name: decode\n    replicas: 4\n    updateStrategy: {{maxUnavailable: 0, maxSurge: 1}}\n    \
             template: {{spec: {{containers: [{{name: main, image: '{image}'}}]}}}}\n"
        )
    };
    let folder = std::env::temp_dir().join(format!("lockstep-no-room-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (from, to) = (write("old.yaml", &set("vllm:1")), write("new.yaml", &set("vllm:2")));
    for (pods, held) in [(4, true), (5, false)] {
        let profile = write("room.yaml", &format!("nodes: [{pods}]\n"));
        let ran = lockstep(&["simulate", "-f", &from, "--to", &to, "--faults", &profile]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("4 with 1 extra are needed"), held, "{}", ran.out);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn holding_a_bad_image_breaks_no_promise() {
    let profile = "badImage: [{role: decode, how: neverReady}]\n";
    let args = ["simulate", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml", "--faults", "-"];
    let ran = with_stdin(&args, profile);
    assert_eq!(ran.code, 0, "{}", ran.out);
    expect("simulate-held.txt", &ran.out);
}

#[test]
fn the_summary_for_machines() {
    let ran = simulate(&["--runs", "5", "-o", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["ended"]["complete"], 5);
    assert_eq!(value["broken"], serde_json::json!([]));
    assert_eq!(value["least"]["decode"], serde_json::json!([1, 2]));
}

#[test]
fn a_conflict_is_told_apart_from_a_broken_promise() {
    let ran = lockstep(&["simulate", "-f", "conflict.yaml", "--to", "conflict-v2.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
fn traces_are_of_one_run() {
    let ran = simulate(&["--runs", "2", "-o", "jsonl"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.err,
        "error: -o jsonl writes the trace of one run: leave --runs out and choose it with --seed\n"
    );
}

#[test]
fn every_error_of_a_profile_is_named() {
    let profile = "\
startUp: {prefil: 5m, default: soon}
lag: 5s..1s
nodes: {count: 0, pods: 8}
every: {crash: 10m, boredom: 1h}
badImage:
- {role: decode, how: ugly}
- {how: failing}
strikes:
- {at: 5m, what: evict, role: prefill}
- {at: 5m, what: evict, role: prefill, instance: 99}
- {at: soon, what: hit, role: nobody, instance: -1, group: first}
changes:
- {scale: {prefill: 6}}
- {at: 5m}
- {at: 4m, scale: {prefill: many}, groups: -1, paused: maybe, apply: nowhere.yaml}
colour: blue
";
    let args = ["simulate", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml", "--faults", "-"];
    let ran = with_stdin(&args, profile);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    expect("wrong-profile.txt", &ran.err);
}
