//! The documentation shows what the commands really say.
//!
//! Every ```` ```console ```` block is run from the root of the repository: a line `$ lockstep …`, what it
//! prints below it, `| head -5` understood. `UPDATE_EXPECTED=1 cargo test -p lockstep` writes them anew.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a line `$ lockstep …` prints.
fn answer(line: &str) -> String {
    let (command, head) = match line.split_once(" | head -") {
        Some((command, lines)) => (command, lines.trim().parse().unwrap()),
        None => (line, usize::MAX),
    };
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("lockstep"), "{line}");
    let run = Command::new(env!("CARGO_BIN_EXE_lockstep")).args(words).current_dir(root()).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap() + &String::from_utf8(run.stderr).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).take(head).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The same text with every answer as it is now.
fn refreshed(text: &str) -> String {
    let mut fresh: Vec<String> = Vec::new();
    let (mut console, mut answering) = (false, false);
    for line in text.lines() {
        if line.starts_with("```") {
            console = line == "```console";
            answering = false;
        }
        if let Some(command) = line.strip_prefix("$ ").filter(|_| console) {
            fresh.push(line.to_owned());
            fresh.push(answer(command));
            answering = true;
        } else if !answering {
            fresh.push(line.to_owned());
        }
    }
    fresh.join("\n") + "\n"
}

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let fresh = refreshed(&text);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(path, &fresh).unwrap();
        return;
    }
    for (i, (written, now)) in text.lines().zip(fresh.lines()).enumerate() {
        assert_eq!(written, now, "{} line {}", path.display(), i + 1);
    }
    assert_eq!(text.lines().count(), fresh.lines().count(), "{}", path.display());
}

#[test]
fn every_answer_shown_is_the_real_one() {
    check(&root().join("README.md"));
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            check(&path);
        }
    }
}
