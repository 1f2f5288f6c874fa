//! Building with Go.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{BuildError, Part};

/// How often a build that goes on says so.
const EVERY: Duration = Duration::from_secs(10);

/// How much of what Go said is repeated in an error.
const LAST_LINES: usize = 20;

/// Whether there is a Go to build with.
pub(super) fn is_there() -> bool {
    Command::new("go").arg("version").output().is_ok()
}

/// Builds all programs of a part into `into`.
pub(super) fn build(part: Part, into: &Path, say: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
    let sources = into.join("modules");
    write_module_files(part, &sources)?;
    let started = Instant::now();
    say(&format!("{part}: downloading modules"));
    let mut download = go(&sources, &["mod", "download"]);
    run(&mut download, |_| {}).map_err(|output| BuildError::Download { part, output })?;

    let all = count_packages(part, &sources);
    let mut compiled = 0;
    let mut said = Instant::now();
    for program in part.programs() {
        let mut command = go(&sources, &["build", "-v", "-trimpath", "-ldflags", &part.linker_flags(), "-o"]);
        command.arg(into.join(program.name)).arg(program.package);
        let progress = |_: &str| {
            compiled += 1;
            if said.elapsed() >= EVERY {
                said = Instant::now();
                let seconds = started.elapsed().as_secs();
                say(&format!("{part}: {compiled} of {all} packages compiled, {seconds} s"));
            }
        };
        run(&mut command, progress).map_err(|output| BuildError::Compile { part, output })?;
        say(&format!("{part}: {} is there", program.name));
    }
    say(&format!("{part}: built in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// The folder with the sources of the main module of a part that was built `into` here. They are downloaded again
/// if somebody cleaned Go's cache.
pub(super) fn sources(part: Part, into: &Path) -> Result<PathBuf, BuildError> {
    let failed = |output: String| BuildError::Download { part, output };
    let mut command = go(&into.join("modules"), &["mod", "download", "-json", part.module()]);
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match told["Dir"].as_str() {
        Some(dir) => Ok(dir.into()),
        None => Err(failed(
            told["Error"]
                .as_str()
                .map_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned(), ToOwned::to_owned),
        )),
    }
}

fn write_module_files(part: Part, sources: &Path) -> Result<(), BuildError> {
    let (module, sums) = part.module_files();
    fs::create_dir_all(sources).map_err(BuildError::file(sources))?;
    for (name, text) in [("go.mod", module), ("go.sum", sums)] {
        let path = sources.join(name);
        fs::write(&path, text).map_err(BuildError::file(&path))?;
    }
    Ok(())
}

fn go(sources: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("go");
    command.current_dir(sources).args(arguments);
    // Nothing of the user's own Go settings may change what is built.
    command.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
    command
}

/// How many packages there are in all, for people who wait; a guess is better than none.
fn count_packages(part: Part, sources: &Path) -> usize {
    let packages = part.programs().iter().map(|program| program.package);
    let listed = go(sources, &["list", "-deps"]).args(packages).output();
    listed.map_or(0, |output| output.stdout.split(|byte| *byte == b'\n').count())
}

/// Runs a command to its end and hands on every line it says; its last lines are the error.
fn run(command: &mut Command, mut line: impl FnMut(&str)) -> Result<(), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut last = VecDeque::new();
    if let Some(stderr) = child.stderr.take() {
        for said in BufReader::new(stderr).lines().map_while(Result::ok) {
            line(&said);
            last.push_back(said);
            if last.len() > LAST_LINES {
                last.pop_front();
            }
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(());
    }
    last.push_back(status.to_string());
    Err(last.into_iter().collect::<Vec<_>>().join("\n"))
}
