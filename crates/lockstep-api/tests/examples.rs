//! The examples: each passes without a word, and a v2 differs from its v1 in templates alone.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use lockstep_api::{LockstepSet, Parsed, lower, parse};
use lockstep_core::prove::{Proof, prove};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example(name: &str) -> Parsed {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    parse(&text).unwrap_or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{name}:\n{}", lines.join("\n"))
    })
}

fn all() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter(|name| name.ends_with(".yaml")).collect();
    names.sort();
    names
}

#[test]
fn every_example_is_clean() {
    assert!(all().len() >= 9);
    for name in all() {
        assert_eq!(example(&name).warnings, [], "{name}");
    }
}

#[test]
fn a_second_version_changes_templates_only() {
    for first in all() {
        let second = first.replace(".yaml", "-v2.yaml");
        if !all().contains(&second) {
            continue;
        }
        let (old, mut new) = (lower(&example(&first).set), lower(&example(&second).set));
        assert_ne!(old.revision(), new.revision(), "{first}");
        for (new, old) in new.roles.iter_mut().zip(&old.roles) {
            assert_ne!(new.revision, old.revision, "{first}: {}", old.name);
            new.revision = old.revision;
        }
        assert_eq!(old, new, "{first}");
    }
}

#[test]
fn the_smallest_set_has_ten_lines() {
    assert_eq!(fs::read_to_string(folder().join("minimal.yaml")).unwrap().lines().count(), 10);
}

#[test]
fn written_out_and_read_again_it_is_the_same() {
    for name in all() {
        let set = example(&name).set;
        let json = serde_json::to_value(&*set).unwrap();
        assert_eq!(lockstep_api::parse_json(&json).unwrap().set, set, "{name}");
        assert_eq!(parse(&serde_json::to_string_pretty(&json).unwrap()).unwrap().set, set, "{name}");
        // The derived reader, which a Kubernetes client uses, agrees with the one that explains.
        assert_eq!(serde_json::from_value::<LockstepSet>(json).unwrap(), *set, "{name}");
    }
}

#[test]
fn every_update_can_finish_but_the_conflict() {
    for first in all() {
        let second = first.replace(".yaml", "-v2.yaml");
        if !all().contains(&second) {
            continue;
        }
        let proof = prove(Some(&lower(&example(&first).set)), &lower(&example(&second).set));
        assert_eq!(proof == Proof::Finishes, first != "conflict.yaml", "{first}: {proof:?}");
    }
}
