//! Whatever is thrown at it, the binary answers; it never panics.

#![allow(clippy::unwrap_used)]

mod common;

use common::{examples, with_bytes};

const ODD: &[&str] = &[
    "",
    "\u{0}",
    "{",
    "[",
    "- - - -",
    "a: &a [*a]",
    "a: *b",
    "---\n---\n",
    "null",
    "5",
    "\"text\"",
    "{a: b}",
    "? [x]\n: y",
    "\u{feff}kind: x",
    "kind: LockstepSet\napiVersion: lockstep.dev/v1alpha1\nspec: 5\n",
];

fn commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["lint", "-f", "-"],
        vec!["plan", "--to", "-"],
        vec!["plan", "-f", "web.yaml", "--snapshot", "-"],
        vec!["simulate", "--to", "web.yaml", "--faults", "-"],
    ]
}

fn survive(args: &[&str], stdin: &[u8]) {
    let ran = with_bytes(args, stdin);
    let shown = String::from_utf8_lossy(stdin);
    assert!((0..=3).contains(&ran.code) && !ran.err.contains("panicked"), "{args:?} {shown}\n{}", ran.err);
}

#[test]
fn odd_files() {
    for args in commands() {
        for text in ODD {
            survive(&args, text.as_bytes());
        }
        survive(&args, &[0xff, 0xfe, 0x00]);
    }
}

/// Every example with one line taken away, and with one line's value put wrong.
#[test]
fn broken_examples() {
    let folders: [(&str, &[&str]); 3] = [
        ("web.yaml", &["plan", "--to", "-"]),
        ("state/bad-image.yaml", &["plan", "-f", "web.yaml", "--snapshot", "-"]),
        (
            "faults/second-thoughts.yaml",
            &["simulate", "-f", "prefill-decode.yaml", "--to", "prefill-decode-v2.yaml", "--faults", "-"],
        ),
    ];
    for (file, args) in folders {
        let text = std::fs::read_to_string(examples().join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let mut fewer = lines.clone();
            fewer.remove(i);
            survive(args, fewer.join("\n").as_bytes());
            let mut wrong: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            wrong[i] = format!("{}: [-1, {{}}]", line.split(':').next().unwrap_or_default());
            survive(args, wrong.join("\n").as_bytes());
        }
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_reading_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(["simulate", "-f", "skew-40-20.yaml", "--to", "skew-40-20-v2.yaml", "-o", "jsonl"])
        .current_dir(examples())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
