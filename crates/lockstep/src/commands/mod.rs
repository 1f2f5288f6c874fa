//! The commands, and the way in.

mod demo;
mod lint;
pub mod live;
mod now;
mod plan;
mod simulate;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::input::complaint::{BadInput, Complaint, Severity};
use crate::screen::{Screen, with_streams};

/// Reads the command line, runs the command and says how it ended.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
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

fn run(command: &Command, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    match command {
        Command::Plan(args) if args.snapshot.is_some() => now::run(args, screen),
        Command::Plan(args) => plan::run(args, screen),
        Command::Simulate(args) => simulate::run(args, screen),
        Command::Lint(args) => lint::run(args, screen),
        Command::Demo => demo::run(screen),
        Command::Live(command) => live::run(command, screen),
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
            let _ = writeln!(screen.err, "{word}: {error:#}");
        }
    }
    Exit::BadInput
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
