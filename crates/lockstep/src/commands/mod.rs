//! The commands, and the way in.

mod convert;
mod demo;
pub mod install;
mod lint;
pub mod live;
mod manual;
pub mod migrate;
mod now;
pub mod operator;
mod over_clusters;
mod plan;
mod simulate;
pub mod uninstall;
pub mod up;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::input::complaint::{BadInput, Complaint, Severity};
use crate::screen::{Screen, with_streams};

/// Reads the command line, runs the command and says how it ended.
pub fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let _ = error.print();
            return if asked { Exit::Fine } else { Exit::BadInput }.into();
        }
    };
    let (ended, flushed) = with_streams(|screen| match run(&cli.command, screen) {
        Ok(exit) => exit,
        Err(error) => fail(&error, screen),
    });
    match flushed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::BadInput.into(),
        _ => ended.into(),
    }
}

/// Reads the command line. kubectl runs `kubectl lockstep` as `kubectl-lockstep`; then that is what help calls it.
fn parse() -> Result<Cli, clap::Error> {
    let called = std::env::args_os().next().map(PathBuf::from);
    let plugin = called.as_deref().and_then(Path::file_stem).is_some_and(|stem| stem == "kubectl-lockstep");
    let command = Cli::command();
    let command = if plugin { command.bin_name("kubectl lockstep") } else { command.bin_name("lockstep") };
    Cli::from_arg_matches(&command.try_get_matches()?)
}

fn run(command: &Command, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    match command {
        Command::Plan(args) => match &args.live {
            Some(name) => live::plan::run(args, name, screen),
            None if args.snapshot.is_some() => now::run(args, screen),
            None => plan::run(args, screen),
        },
        Command::Simulate(args) => simulate::run(args, screen),
        Command::Lint(args) => lint::run(args, screen),
        Command::Convert(args) => convert::run(args, screen),
        Command::Demo => demo::run(screen),
        Command::Live(command) => live::run(command, screen),
        Command::Up(args) => up::run(args, screen),
        Command::Completion { shell } => manual::completion(*shell, screen),
        Command::Man { dir } => manual::man(dir.as_deref(), screen),
        Command::Operator(args) => operator::run(args),
        Command::Federation(args) => operator::federate(args),
        Command::Install(args) => install::run(args, screen),
        Command::Migrate(args) => migrate::run(args, screen),
        Command::Uninstall(args) => uninstall::run(args, screen),
    }
}

/// Says what went wrong. A reader that stopped reading is no error.
fn fail(error: &anyhow::Error, screen: &mut Screen<'_>) -> Exit {
    let pipe = error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
    if pipe {
        return Exit::Fine;
    }
    match error.downcast_ref::<BadInput>() {
        Some(bad) => say(&bad.0, screen),
        None => {
            let word = screen.paint_err.bad("error");
            let _ = writeln!(screen.err, "{word}: {}", with_causes(error));
        }
    }
    Exit::BadInput
}

/// An error and what caused it, without causes that were told already.
fn with_causes(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.ends_with(&cause) {
            told += &format!(": {cause}");
        }
    }
    told
}

/// Writes complaints as messages.
fn say(complaints: &[Complaint], screen: &mut Screen<'_>) {
    for complaint in complaints {
        let _ = writeln!(screen.err, "{}", coloured(complaint, screen.paint_err));
    }
}

/// One complaint on one line.
fn coloured(complaint: &Complaint, paint: crate::screen::Paint) -> String {
    let word = match complaint.severity {
        Severity::Error => paint.bad("error"),
        Severity::Warning => paint.warn("warning"),
    };
    format!("{}: {word}: {}", paint.bold(&complaint.place()), complaint.problem)
}

#[cfg(test)]
mod tests {
    use super::with_causes;

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("taken").context("port 1: taken").context("cannot listen");
        assert_eq!(with_causes(&error), "cannot listen: port 1: taken");
    }
}
