//! A script of shell commands: played on a cluster, and compared with what it says on another.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::normal::normal;

/// How long the world may take until a command succeeds.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is tried.
const PAUSE: Duration = Duration::from_millis(50);

/// What a client did, and what it was told.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub command: String,
    pub lines: Vec<String>,
    pub sort: Sort,
}

/// What is made of what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// It must be the same.
    Equal,
    /// The embedded cluster may say less.
    Within,
    /// It was waited for something that never came true.
    Vain,
}

impl Said {
    pub fn new(command: &str, text: &str) -> Self {
        Self { command: command.to_owned(), lines: normal(text), sort: Sort::Equal }
    }

    /// Whether this, said by the real cluster, goes with what the embedded one said.
    fn goes_with(&self, ours: &Self) -> bool {
        match self.sort {
            Sort::Within => ours.lines.iter().all(|line| self.lines.contains(line)),
            _ => self.lines == ours.lines || same_mistakes(&self.lines, &ours.lines),
        }
    }
}

/// How an API server begins to say what is wrong with an object.
const REFUSED: &str = " is invalid:";

/// Whether two refusals name the same mistakes: an API server finds those of a custom object in the order of a Go map,
/// which is another one every time.
fn same_mistakes(real: &[String], ours: &[String]) -> bool {
    let refused = |lines: &[String]| lines.iter().any(|line| line.contains(REFUSED));
    refused(real) && refused(ours) && mistakes(real) == mistakes(ours)
}

/// The sentences of a refusal, sorted, without what holds lists together and encloses texts.
fn mistakes(lines: &[String]) -> Vec<String> {
    let text = lines.join(", ").replace(REFUSED, &format!("{REFUSED}, "));
    let bare = |piece: &str| piece.replace(['[', ']', '{', '}', ',', '"', '\\'], "").trim().to_owned();
    let mut pieces: Vec<String> = text.split(", ").map(bare).filter(|piece| !piece.is_empty()).collect();
    pieces.sort();
    pieces
}

#[test]
fn mistakes_come_in_any_order_but_are_the_same() {
    let said = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let real = said("Widget \"w\" is invalid: [a: Invalid value: 0, b: Required value]");
    let cases = [
        ("Widget \"w\" is invalid: [b: Required value, a: Invalid value: 0]", true),
        ("Widget \"w\" is invalid: [b: Required value]", false),
        ("Widget \"w\" is invalid: [b: Required value, a: Invalid value: 1]", false),
        ("Widget \"v\" is invalid: [b: Required value, a: Invalid value: 0]", false),
        ("b: Required value, a: Invalid value: 0", false),
    ];
    let json = said(r#" "message": "\"w\" is invalid: [a: of type \"integer\", b: 1]","#);
    assert!(same_mistakes(
        &json,
        &said(r#" "message": "\"w\" is invalid: [b: 1, a: of type \"integer\"]","#)
    ));
    for (ours, wanted) in cases {
        assert_eq!(same_mistakes(&real, &said(ours)), wanted, "{ours}");
    }
}

/// A script.
#[derive(Debug, Clone)]
pub struct Script(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    /// What it says is compared.
    Tell(String),
    /// What it says may be less.
    Within(String),
    /// It is repeated until it succeeds.
    Until(String),
}

impl Script {
    /// Reads a script: a command in each line, comments, and commands that are waited for. Sections that are not
    /// for those in a hurry are left out for them.
    pub fn read(text: &str, hurry: bool) -> Self {
        let sections = text.split("\n\n").filter(|section| !hurry || !section.contains(", in full.\n"));
        let lines = sections.flat_map(str::lines).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let step = |line: &str| match line.split_once(": ") {
            Some(("until", command)) => Step::Until(command.to_owned()),
            Some(("within", command)) => Step::Within(command.to_owned()),
            _ => Step::Tell(line.to_owned()),
        };
        Self(lines.map(step).collect())
    }

    /// Plays it to its end, whatever is said.
    pub fn play(&self, shell: &Shell) -> Vec<Said> {
        let mut said = Vec::new();
        for step in &self.0 {
            match step {
                Step::Tell(command) => said.push(Said::new(command, &shell.run(command).1)),
                Step::Within(command) => {
                    said.push(Said { sort: Sort::Within, ..Said::new(command, &shell.run(command).1) });
                }
                Step::Until(command) => said.extend(shell.until(command)),
            }
        }
        shell.keep(&said);
        said
    }
}

/// A shell in which `kubectl` is a certain one and the cluster is the current one.
#[derive(Debug)]
pub struct Shell {
    path: std::ffi::OsString,
    home: PathBuf,
    kubeconfig: PathBuf,
}

impl Shell {
    pub fn new(home: &Path, kubeconfig: &Path, kubectl: &Path) -> Self {
        // Discovery is cached at home: nobody may find what another client left there.
        let _ = std::fs::remove_dir_all(home);
        let programs = home.join("bin");
        std::fs::create_dir_all(&programs).expect("a folder");
        std::os::unix::fs::symlink(kubectl, programs.join("kubectl")).expect("a link");
        let own = home.join("kubeconfig");
        std::fs::copy(kubeconfig, &own).expect("a kubeconfig");
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs).chain(std::env::split_paths(&others));
        let path = std::env::join_paths(folders).expect("a path");
        Self { path, home: home.to_owned(), kubeconfig: own }
    }

    /// Whether it succeeds, and all that is said.
    fn run(&self, command: &str) -> (bool, String) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(here.join("tests/clients/files"))
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("CRDS", here.join("../../deploy/crds"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut said = text(&output.stdout) + &text(&output.stderr);
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            said += &format!("\n(exit code {code})\n");
        }
        (output.status.success(), said)
    }

    /// Writes down all that was said, for those who keep the folder of a cluster.
    fn keep(&self, said: &[Said]) {
        let text = |said: &Said| format!("$ {}\n{}\n", said.command, said.lines.join("\n"));
        let all: String = said.iter().map(text).collect();
        let _ = std::fs::write(self.home.join("said.txt"), all);
    }

    /// Nothing if it succeeds in time, which is what is expected; else what it says in the end.
    fn until(&self, command: &str) -> Option<Said> {
        let began = Instant::now();
        loop {
            let (success, said) = self.run(command);
            if success {
                return None;
            }
            if began.elapsed() > PATIENCE {
                return Some(Said { sort: Sort::Vain, ..Said::new(command, &said) });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Fails with every difference there is, so that one run tells them all.
pub fn assert_equal(real: &[Said], ours: &[Said]) {
    let mut report = String::new();
    for said in real.iter().chain(ours).filter(|said| said.sort == Sort::Vain) {
        report +=
            &format!("\n$ {}\n  it never came true:\n    {}\n", said.command, said.lines.join("\n    "));
    }
    let told = |said: &&Said| said.sort != Sort::Vain;
    let (real, ours) = (real.iter().filter(told), ours.iter().filter(told));
    for (real, ours) in real.zip(ours).filter(|(real, ours)| !real.goes_with(ours)) {
        report += &format!("\n$ {}\n{}", real.command, difference(&real.lines, &ours.lines));
    }
    assert!(report.is_empty(), "the clusters differ (- real, + embedded):\n{report}");
}

/// The lines that are in one text only, in their order, with what both have left out.
fn difference(real: &[String], ours: &[String]) -> String {
    let common = common(real, ours);
    let (mut left, mut right) = (real.iter(), ours.iter());
    let mut report = String::new();
    let ends = common.iter().map(Some).chain(std::iter::once(None));
    for shared in ends {
        for (sign, lines) in [('-', &mut left), ('+', &mut right)] {
            for line in lines.by_ref().take_while(|line| Some(*line) != shared) {
                report += &format!("  {sign} {line}\n");
            }
        }
    }
    report
}

/// The longest sequence of lines both have.
fn common(real: &[String], ours: &[String]) -> Vec<String> {
    let mut lengths = vec![vec![0_usize; ours.len() + 1]; real.len() + 1];
    for i in (0..real.len()).rev() {
        for j in (0..ours.len()).rev() {
            lengths[i][j] = if real[i] == ours[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut common) = (0, 0, Vec::new());
    while i < real.len() && j < ours.len() {
        if real[i] == ours[j] {
            common.push(real[i].clone());
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}
