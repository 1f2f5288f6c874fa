//! Whatever a file holds, it is answered, and soon.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lockstep_api::{check, lower, parse};

/// A small generator, so that a failure can be had again from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides.max(1) as u64).unwrap()
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

const WORDS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    ",",
    "&a ",
    "*a",
    "<<: *a",
    "\n",
    "\n---\n",
    "\t",
    "  ",
    "#",
    "'",
    "\"",
    "|\n",
    "!!int ",
    "? ",
    "-1",
    "0",
    "100001",
    "99999999999999999999",
    "120%",
    "0%",
    "1e400",
    ".nan",
    "null",
    "true",
    "é",
    "\u{feff}",
    "\0",
    "decode",
    "{set}",
    "4h",
];

/// How many rounds; more on demand: `LOCKSTEP_ROUNDS=100000 cargo test -p lockstep-api --release`.
fn seeds(usual: u64) -> u64 {
    std::env::var("LOCKSTEP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

fn examples() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Reads it; what is accepted can be lowered, what is not has a reason that can be shown.
fn try_one(text: &str) {
    match parse(text) {
        Ok(parsed) => {
            let spec = lower(&parsed.set);
            assert_eq!(spec.roles.len(), parsed.set.spec.roles.len());
            // Written out and read again, it is the same.
            assert_eq!(check(&parsed.set).map(|again| again.set), Ok(parsed.set), "{text}");
        }
        Err(problems) => assert!(problems.iter().any(|problem| !problem.to_string().is_empty())),
    }
}

fn mutated(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(chars.len());
        let length = dice.roll(12).min(chars.len() - at);
        match dice.roll(4) {
            0 => chars.truncate(at),
            1 => drop(chars.drain(at..at + length)),
            2 => drop(chars.splice(at..at, dice.pick(&WORDS).chars())),
            _ => drop(chars.splice(at..at + length, dice.pick(&WORDS).chars())),
        }
        if chars.is_empty() {
            break;
        }
    }
    chars.into_iter().collect()
}

/// Takes a line out, doubles it, moves it in or out, or gives its field another value.
fn with_other_lines(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(lines.len());
        let line = lines[at].clone();
        match dice.roll(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => lines[at] = format!("  {line}"),
            3 => lines[at] = line.trim_start().to_owned(),
            _ => {
                let key = line.split(": ").next().unwrap_or_default();
                lines[at] = format!("{key}: {}", dice.pick(&WORDS));
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn cut_off_anywhere() {
    for text in examples() {
        for (at, _) in text.char_indices() {
            try_one(&text[..at]);
        }
    }
}

#[test]
fn changed_anywhere() {
    let examples = examples();
    for seed in 0..seeds(2500) {
        let mut dice = Dice(seed);
        let text = &examples[dice.roll(examples.len())];
        try_one(&mutated(text, &mut dice));
        try_one(&with_other_lines(text, &mut dice));
    }
}

#[test]
fn noise() {
    for seed in 0..seeds(1000) {
        let mut dice = Dice(seed);
        let words: Vec<&str> = (0..dice.roll(60)).map(|_| dice.pick(&WORDS)).collect();
        try_one(&words.concat());
    }
}

#[test]
fn bombs_are_refused_soon() {
    let head = "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {name: a}\n";
    let mut aliases = format!("{head}status:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let before = format!("*a{}, ", i - 1).repeat(10);
        aliases.push_str(&format!("  a{i}: &a{i} [{before}]\n"));
    }
    let role = |i: usize| format!("  - {{name: R{i}, startsAfter: [x{i}], nonsense: {i}}}\n");
    let many: String = (0..20_000).map(role).collect();
    let rules: String = (0..5_000).map(|i| format!("  - {{name: r, roles: [x{i}, x{i}]}}\n")).collect();
    for text in [
        aliases,
        "[".repeat(1_000_000),
        "{a: ".repeat(200_000),
        "- ".repeat(300_000),
        "? ".repeat(300_000),
        "&a ".repeat(300_000),
        "a: &a [*a]".to_owned(),
        format!("{head}spec:\n  roles:\n{many}"),
        format!(
            "{head}spec:\n  coordination:\n{rules}  roles:\n{}",
            many.chars().take(100_000).collect::<String>()
        ),
        "x".repeat(4_000_000),
        format!("{head}spec: \"{}", "\\u00e9".repeat(100_000)),
    ] {
        let start = Instant::now();
        try_one(&text);
        assert!(start.elapsed() < Duration::from_secs(20), "{}", &text[..80.min(text.len())]);
    }
}
